//! Adds a member to a JSON text, and removes one, and leaves everything else as it was written.

use serde_json::value::RawValue;
use std::{borrow::Cow, collections::BTreeMap, ops::Range};

type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Returns a text with the member `name` in the object at `path`, whose missing objects are
/// added; `None` if there is such a member, or something else than an object in the way.
pub(super) fn with_member(text: &str, path: &[&str], name: &str, value: &str) -> Option<String> {
    let mut object = text;
    for (depth, key) in path.iter().enumerate() {
        let members = members(object)?;
        match members.get(*key) {
            Some(inner) => object = inner.get(),
            None => {
                let missing = path[depth + 1..].iter().rev();
                let inner = missing
                    .fold(format!("{{{name:?}:{value}}}"), |inner, key| format!("{{{key:?}:{inner}}}"));
                return Some(inserted(text, object, members.is_empty(), &format!("{key:?}:{inner}")));
            }
        }
    }
    let members = members(object)?;
    if members.contains_key(name) {
        return None;
    }
    Some(inserted(text, object, members.is_empty(), &format!("{name:?}:{value}")))
}

/// Returns the text of the member at `path`.
pub(super) fn member<'a>(text: &'a str, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(text, |object, key| Some(members(object)?.get(*key)?.get()))
}

/// Returns a text without the member at `path`, if that is written without blanks around its name,
/// as programs write it.
pub(super) fn without_member(text: &str, path: &[&str]) -> Option<String> {
    let value = place(text, member(text, path)?);
    let name = format!("{:?}:", path.last()?);
    let mut removed = value.start.checked_sub(name.len())?..value.end;
    if text.get(removed.start..value.start) != Some(name.as_str()) {
        return None;
    }
    if text[removed.end..].starts_with(',') {
        removed.end += 1;
    } else if text[..removed.start].ends_with(',') {
        removed.start -= 1;
    }
    Some([&text[..removed.start], &text[removed.end..]].concat())
}

fn members(object: &str) -> Option<Members<'_>> {
    serde_json::from_str(object).ok()
}

/// Where a part of a text is.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// Returns the text with a member at the beginning of `object`, a part of it.
fn inserted(text: &str, object: &str, is_empty: bool, member: &str) -> String {
    let blanks = object.len() - object.trim_start().len();
    let at = place(text, object).start + blanks + 1;
    let comma = if is_empty { "" } else { "," };
    format!("{}{member}{comma}{}", &text[..at], &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: [&str; 3] = ["params", "_meta", "tiller"];

    #[test]
    fn a_member_is_added_wherever_its_objects_end_and_nothing_else_changes() {
        for (before, after) in [
            (r#"{"id":1}"#, r#"{"params":{"_meta":{"tiller":{"n":7}}},"id":1}"#),
            (r#" {"params":{}}"#, r#" {"params":{"_meta":{"tiller":{"n":7}}}}"#),
            (r#"{"params": {"_meta" : {} } }"#, r#"{"params": {"_meta" : {"tiller":{"n":7}} } }"#),
            (
                r#"{"id":123456789012345678901234567890,"params":{"_meta":{"a":1,"tiller":{"x":"\u00e9 "}}}}"#,
                r#"{"id":123456789012345678901234567890,"params":{"_meta":{"a":1,"tiller":{"n":7,"x":"\u00e9 "}}}}"#,
            ),
        ] {
            assert_eq!(with_member(before, &PATH, "n", "7").as_deref(), Some(after));
            assert_eq!(member(after, &["params", "_meta", "tiller", "n"]), Some("7"));
        }
        for kept in [
            r#"{"params":{"_meta":{"tiller":{"n":1}}}}"#,
            r#"{"params":[]}"#,
            r#"{"params":{"_meta":null}}"#,
            r#"{"params":{"_meta":{"tiller":true}}}"#,
            "[]",
            "x",
        ] {
            assert_eq!(with_member(kept, &PATH, "n", "7"), None, "{kept}");
        }
    }

    #[test]
    fn a_member_is_removed_with_its_comma() {
        let path = ["params", "_meta"];
        for (before, after) in [
            (r#"{"params":{"_meta":{"a":1},"b":2}}"#, r#"{"params":{"b":2}}"#),
            (r#"{"params":{"b":2,"_meta":{"a":1}}}"#, r#"{"params":{"b":2}}"#),
            (r#"{"params":{"_meta":{"a":1}}}"#, r#"{"params":{}}"#),
            (r#"{"params":{"b":"\"_meta\":{}","_meta":1}}"#, r#"{"params":{"b":"\"_meta\":{}"}}"#),
        ] {
            assert_eq!(without_member(before, &path).as_deref(), Some(after));
        }
        for kept in [r#"{"params":{"_meta" :1}}"#, r#"{"params":{}}"#, "{}"] {
            assert_eq!(without_member(kept, &path), None, "{kept}");
        }
    }
}
