//! Thinking that is valid only after the messages it was written after.

use agent::{AssistantMessage, Message};

/// Models from before thinking was bound, a closed list: generation numbers, and whole names.
const OLD_GENERATIONS: [&str; 5] = ["1", "2", "3", "4", "instant"];
const OLD_NAMES: [&str; 6] = ["opus-5", "sonnet-5", "haiku-5", "fable-5", "mythos-5", "mythos-preview"];

/// How much of an answer's thinking is sent back to the model that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinks {
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
pub(super) fn thinks(answer: &AssistantMessage, model: &str, in_running_turn: bool) -> Thinks {
    match own_name(model) {
        None => Thinks::Unsigned,
        Some(name) if !answer.prefix_changed || (in_running_turn && is_old(name)) => Thinks::Signed,
        Some(_) => Thinks::No,
    }
}

/// Returns the index at which the answers of the running turn begin: after the last user message,
/// and at the last answer at the latest.
pub(super) fn running(messages: &[Message]) -> usize {
    let said = messages.iter().rposition(|message| matches!(message, Message::User(_)));
    let last = messages.iter().rposition(|message| matches!(message, Message::Assistant(_)));
    said.unwrap_or(0).min(last.unwrap_or(0))
}

/// Returns the part of a model's name after `claude-`, ignoring the prefix that a platform adds;
/// `None` for other vendors' models.
fn own_name(model: &str) -> Option<&str> {
    model.rsplit_once("claude-").map(|(_, name)| name)
}

fn is_old(name: &str) -> bool {
    let is_old_name = |old: &&str| {
        // A date may follow the name; one more digit means a later model.
        name.strip_prefix(*old).is_some_and(|rest| rest.is_empty() || rest.starts_with("-20"))
    };
    let generation = name.split(['-', '.', '@']).find(|part| part.parse::<u32>().is_ok());
    OLD_NAMES.iter().any(is_old_name) || generation.is_some_and(|number| OLD_GENERATIONS.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_after_a_change_is_for_older_models_in_the_running_turn_alone() {
        let changed = AssistantMessage { prefix_changed: true, ..AssistantMessage::default() };
        for (model, running, earlier) in [
            ("claude-opus-5-5", Thinks::No, Thinks::No),
            ("claude-fable-5-1", Thinks::No, Thinks::No),
            ("claude-mythos-5-2-20260901", Thinks::No, Thinks::No),
            ("us.anthropic.claude-haiku-5-5-v1:0", Thinks::No, Thinks::No),
            ("claude-sonnet-6", Thinks::No, Thinks::No),
            ("claude-opus-5", Thinks::Signed, Thinks::No),
            ("claude-sonnet-5-20260201", Thinks::Signed, Thinks::No),
            ("claude-mythos-preview", Thinks::Signed, Thinks::No),
            ("claude-opus-4-6", Thinks::Signed, Thinks::No),
            ("anthropic/claude-sonnet-4.5", Thinks::Signed, Thinks::No),
            ("claude-3-7-sonnet-latest", Thinks::Signed, Thinks::No),
            ("deepseek-v4", Thinks::Unsigned, Thinks::Unsigned),
        ] {
            let got = [true, false].map(|in_running_turn| thinks(&changed, model, in_running_turn));
            assert_eq!(got, [running, earlier], "{model}");
            assert_ne!(thinks(&AssistantMessage::default(), model, false), Thinks::No, "{model}");
        }
    }
}
