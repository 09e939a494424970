//! Thinking that is bound to what stood before it.

use agent::{AssistantMessage, Message};

/// Models of before thinking was bound, a closed list: what their names begin with, and whole names.
const OLD_GENERATIONS: [&str; 5] = ["1", "2", "3", "4", "instant"];
const OLD_NAMES: [&str; 6] = ["opus-5", "sonnet-5", "haiku-5", "fable-5", "mythos-5", "mythos-preview"];

/// Whether an answer's thinking goes back to the model that wrote it. `in_running_turn` tells whether the
/// answer is of the turn that the request goes on with.
///
/// Newer models take thinking back only after the very messages that it was written after; once those
/// have changed it is left out for good. Older ones do not need it any more then, but for that of the
/// running turn, which they insist on. Other vendors' models behind this wire have no such rule.
/// <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>
pub(super) fn thinks(answer: &AssistantMessage, model: &str, in_running_turn: bool) -> bool {
    !answer.prefix_changed
        || match own_name(model) {
            Some(name) => in_running_turn && is_old(name),
            None => true,
        }
}

/// Where the answers of the running turn begin: after the last thing that the user said, and never after
/// the last answer.
pub(super) fn running(messages: &[Message]) -> usize {
    let said = messages.iter().rposition(|message| matches!(message, Message::User(_)));
    let last = messages.iter().rposition(|message| matches!(message, Message::Assistant(_)));
    said.unwrap_or(0).min(last.unwrap_or(0))
}

/// What follows `claude-` in the name of a model of the vendor, whatever a platform puts before it.
fn own_name(model: &str) -> Option<&str> {
    model.rsplit_once("claude-").map(|(_, name)| name)
}

fn is_old(name: &str) -> bool {
    let is_old_name = |old: &&str| {
        // A date may follow the name; one more digit is a later model.
        name.strip_prefix(*old).is_some_and(|rest| rest.is_empty() || rest.starts_with("-20"))
    };
    let generation = name.split(['-', '.', '@']).find(|part| part.parse::<u32>().is_ok());
    OLD_NAMES.iter().any(|old| is_old_name(old))
        || generation.is_some_and(|number| OLD_GENERATIONS.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_after_a_change_is_for_older_models_in_the_running_turn_alone() {
        let changed = AssistantMessage { prefix_changed: true, ..AssistantMessage::default() };
        for (model, running, earlier) in [
            ("claude-opus-5-5", false, false),
            ("claude-fable-5-1", false, false),
            ("claude-mythos-5-2-20260901", false, false),
            ("us.anthropic.claude-haiku-5-5-v1:0", false, false),
            ("claude-sonnet-6", false, false),
            ("claude-opus-5", true, false),
            ("claude-sonnet-5-20260201", true, false),
            ("claude-mythos-preview", true, false),
            ("claude-opus-4-6", true, false),
            ("anthropic/claude-sonnet-4.5", true, false),
            ("claude-3-7-sonnet-latest", true, false),
            ("deepseek-v4", true, true),
        ] {
            let got = [true, false].map(|in_running_turn| thinks(&changed, model, in_running_turn));
            assert_eq!(got, [running, earlier], "{model}");
            assert!(thinks(&AssistantMessage::default(), model, false), "{model}");
        }
    }
}
