//! Thinking that is valid only after the messages it was written after.

use agent::{AssistantMessage, Message};

/// Models from before thinking was bound, a closed list: generations, and whole names.
const UNBOUND_GENERATIONS: [&str; 5] = ["1", "2", "3", "4", "instant"];
const UNBOUND_NAMES: [&str; 6] = ["opus-5", "sonnet-5", "haiku-5", "fable-5", "mythos-5", "mythos-preview"];

/// How much of an answer's thinking is sent back to the model that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplayedThinking {
    /// Nothing.
    No,
    /// Signed thinking; the vendor rejects all other.
    Signed,
    /// All of it: other vendors behind this wire do not sign thinking, and some require it back.
    Unsigned,
}

/// Returns how much of an answer's thinking to send back. `in_running_turn` states whether the
/// answer belongs to the turn that the request continues.
///
/// Newer models accept thinking only after the very messages it was written after; once those have
/// changed, it is left out permanently. Older models no longer need it then, except for the
/// thinking of the running turn, which they require. Other vendors' models behind this wire have no
/// such rule. <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>
pub(super) fn replayed_thinking(
    answer: &AssistantMessage,
    model: &str,
    in_running_turn: bool,
) -> ReplayedThinking {
    match claude_name(model) {
        None => ReplayedThinking::Unsigned,
        Some(name) if !answer.prefix_changed || (in_running_turn && precedes_binding(name)) => {
            ReplayedThinking::Signed
        }
        Some(_) => ReplayedThinking::No,
    }
}

/// Returns the index at which the answers of the running turn begin: after the last user message,
/// and at the last answer at the latest.
pub(super) fn running_turn_start(messages: &[Message]) -> usize {
    let last_user = messages.iter().rposition(|message| matches!(message, Message::User(_)));
    let last_answer = messages.iter().rposition(|message| matches!(message, Message::Assistant(_)));
    last_user.unwrap_or(0).min(last_answer.unwrap_or(0))
}

/// Returns the part of a model's name after `claude-`, ignoring the prefix that a platform adds;
/// `None` for other vendors' models.
fn claude_name(model: &str) -> Option<&str> {
    model.rsplit_once("claude-").map(|(_, name)| name)
}

fn precedes_binding(name: &str) -> bool {
    let is_unbound_name = |old: &&str| {
        // A date may follow the name; one more digit means a later model.
        name.strip_prefix(*old).is_some_and(|rest| rest.is_empty() || rest.starts_with("-20"))
    };
    let generation =
        name.split(['-', '.', '@']).find(|part| *part == "instant" || part.parse::<u32>().is_ok());
    UNBOUND_NAMES.iter().any(is_unbound_name)
        || generation.is_some_and(|number| UNBOUND_GENERATIONS.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_change_only_older_models_get_the_running_turns_thinking_back() {
        let changed = AssistantMessage { prefix_changed: true, ..AssistantMessage::default() };
        for (model, running, earlier) in [
            ("claude-opus-5-5", ReplayedThinking::No, ReplayedThinking::No),
            ("claude-fable-5-1", ReplayedThinking::No, ReplayedThinking::No),
            ("claude-mythos-5-2-20260901", ReplayedThinking::No, ReplayedThinking::No),
            ("us.anthropic.claude-haiku-5-5-v1:0", ReplayedThinking::No, ReplayedThinking::No),
            ("claude-sonnet-6", ReplayedThinking::No, ReplayedThinking::No),
            ("claude-opus-5", ReplayedThinking::Signed, ReplayedThinking::No),
            ("claude-sonnet-5-20260201", ReplayedThinking::Signed, ReplayedThinking::No),
            ("claude-mythos-preview", ReplayedThinking::Signed, ReplayedThinking::No),
            ("claude-opus-4-6", ReplayedThinking::Signed, ReplayedThinking::No),
            ("anthropic/claude-sonnet-4.5", ReplayedThinking::Signed, ReplayedThinking::No),
            ("claude-3-7-sonnet-latest", ReplayedThinking::Signed, ReplayedThinking::No),
            ("claude-instant-1.2", ReplayedThinking::Signed, ReplayedThinking::No),
            ("anthropic.claude-instant-v1", ReplayedThinking::Signed, ReplayedThinking::No),
            ("deepseek-v4", ReplayedThinking::Unsigned, ReplayedThinking::Unsigned),
        ] {
            let got =
                [true, false].map(|in_running_turn| replayed_thinking(&changed, model, in_running_turn));
            assert_eq!(got, [running, earlier], "{model}");
            assert_ne!(
                replayed_thinking(&AssistantMessage::default(), model, false),
                ReplayedThinking::No,
                "{model}"
            );
        }
    }
}
