//! Another name for something, in all files that are shown.

use super::messages::{answer, user};
use agent::Message;
use serde_json::{Value, json};

/// The system prompt of the request that reads the two names.
pub(super) const SYSTEM: &str = "Which name is replaced by which?\n";

/// Returns the messages that ask for the two names.
pub(super) fn messages(prompt: &str) -> Vec<Message> {
    vec![
        user("Rename the variable `a` to `b` in all files."),
        answer(r#"{"old": "a", "new": "b"}"#),
        user(prompt),
    ]
}

/// The JSON Schema of the answer.
pub(super) fn schema() -> Value {
    let name = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": { "old": name, "new": name },
        "required": ["old", "new"],
        "additionalProperties": false,
    })
}

/// Reads the old and the new name. `None` unless both are identifiers that the prompt contains and
/// that differ.
pub(super) fn read(answer: &Value, prompt: &str) -> Option<(String, String)> {
    let name = |key: &str| {
        let name = answer.get(key)?.as_str()?;
        let is_name = !name.is_empty()
            && name.chars().all(is_part)
            && !name.starts_with(|c: char| c.is_numeric())
            && prompt.contains(name);
        is_name.then(|| name.to_owned())
    };
    let (old, new) = (name("old")?, name("new")?);
    (old != new).then_some((old, new))
}

/// Replaces an identifier where it stands alone: `put` is not replaced in `puts` or `input`.
pub(super) fn replaced(text: &str, old: &str, new: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    let mut any = false;
    while let Some(at) = rest.find(old) {
        let (head, tail) = (&rest[..at], &rest[at + old.len()..]);
        let preceding = head.chars().next_back().or(before);
        let is_alone = !preceding.is_some_and(is_part) && !tail.starts_with(is_part);
        out.push_str(head);
        out.push_str(if is_alone { new } else { old });
        any |= is_alone;
        before = old.chars().next_back();
        rest = tail;
    }
    out.push_str(rest);
    any.then_some(out)
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_identifiers_are_replaced() {
        let text = "put(puts, input, put_all); x.put = put";
        assert_eq!(replaced(text, "put", "push").unwrap(), "push(puts, input, put_all); x.push = push");
        assert_eq!(replaced("puts input", "put", "push"), None);
        assert_eq!(replaced("putput", "put", "push"), None);
    }

    #[test]
    fn names_that_the_prompt_does_not_contain_are_refused() {
        let prompt = "Rename `put` to `stack_push`";
        let read = |answer: &str| read(&serde_json::from_str(answer).unwrap(), prompt);
        let names = Some(("put".to_owned(), "stack_push".to_owned()));
        assert_eq!(read(r#"{"old": "put", "new": "stack_push"}"#), names);
        for wrong in [r#"{"old": "get", "new": "put"}"#, r#"{"old": "put", "new": "put"}"#, "{}", r#""put""#]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
