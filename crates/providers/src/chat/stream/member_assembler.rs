//! Assembles the unknown members of a message or a call from their pieces.
//!
//! Servers send signatures and encrypted reasoning in such members and require them back. Texts
//! arrive in pieces; lists arrive element by element, and an element may itself arrive in pieces.

use crate::fields::Fields;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// Members that describe a single piece and do not belong to the message.
const PER_PIECE_MEMBERS: &[&str] = &["channel", "logprobs", "token_id", "token_ids"];
/// Members of a list element that arrive in pieces.
const SPLIT_MEMBERS: &[&str] = &["text", "summary", "thinking"];

/// The members so far.
#[derive(Debug, Default)]
pub(super) struct MemberAssembler(Fields<'static>);

impl MemberAssembler {
    /// Adds the unknown members of a piece. Numbers, booleans, `null` and empty values are skipped.
    pub(super) fn add(&mut self, piece: Fields<'_>) {
        for (name, value) in piece.0 {
            let says = matches!(value.get().as_bytes(), [b'"' | b'[' | b'{', _, _, ..]);
            if !says || PER_PIECE_MEMBERS.contains(&name.as_ref()) {
                continue;
            }
            let whole =
                self.0.get(&name).map_or_else(|| value.clone().into_owned(), |so_far| joined(so_far, &value));
            self.0.set(&name, &whole);
        }
    }

    /// Takes the members received so far.
    pub(super) fn take(&mut self) -> Fields<'static> {
        std::mem::take(&mut self.0)
    }
}

/// Appends a further piece to a member.
fn joined(so_far: &RawValue, piece: &RawValue) -> Box<RawValue> {
    if so_far.get() == piece.get() {
        return so_far.to_owned();
    }
    match (kind(so_far), kind(piece)) {
        (b'"', b'"') => joined_text(so_far, piece),
        (b'[', b'[') => joined_list(so_far, piece),
        (b'{', b'{') => {
            let mut whole: Fields<'_> = read(so_far);
            let piece: Fields<'_> = read(piece);
            piece.0.iter().for_each(|(name, value)| whole.set(name, value));
            raw(&whole)
        }
        _ => piece.to_owned(),
    }
}

fn joined_text(so_far: &RawValue, piece: &RawValue) -> Box<RawValue> {
    raw(&(read::<String>(so_far) + &read::<String>(piece)))
}

/// Joins two lists. The first element of the second may continue the last of the first.
fn joined_list(so_far: &RawValue, piece: &RawValue) -> Box<RawValue> {
    let mut elements: Vec<Cow<'_, RawValue>> = borrowed(so_far);
    for element in borrowed(piece) {
        let whole = elements.last().and_then(|last| continued(last, &element));
        match (whole, elements.last_mut()) {
            (Some(whole), Some(last)) => *last = Cow::Owned(whole),
            _ => elements.push(element),
        }
    }
    raw(&elements)
}

/// Returns the element continued by the piece, or `None` if the piece begins another element. Both
/// must be objects of the same type and index, and the element must not be signed, which marks it
/// as complete.
fn continued(last: &RawValue, piece: &RawValue) -> Option<Box<RawValue>> {
    if (kind(last), kind(piece)) != (b'{', b'{') {
        return None;
    }
    let (mut whole, piece): (Fields<'_>, Fields<'_>) = (read(last), read(piece));
    let text = |fields: &Fields<'_>, name: &str| fields.get(name).map(|value| value.get().to_owned());
    let same = |name: &str| text(&whole, name) == text(&piece, name);
    let is_signed = text(&whole, "signature").is_some_and(|signature| !is_nothing(&signature));
    if text(&whole, "type").is_none() || !same("type") || !same("index") || is_signed {
        return None;
    }
    for (name, value) in &piece.0 {
        let joined = match whole.get(name) {
            Some(before) if before.get() == value.get() && !SPLIT_MEMBERS.contains(&name.as_ref()) => {
                continue;
            }
            Some(before) if is_nothing(before.get()) => value.clone().into_owned(),
            Some(_) if is_nothing(value.get()) => continue,
            Some(before) if SPLIT_MEMBERS.contains(&name.as_ref()) => joined_text(before, value),
            Some(_) => return None,
            None => value.clone().into_owned(),
        };
        whole.set(name, &joined);
    }
    Some(raw(&whole))
}

fn is_nothing(value: &str) -> bool {
    matches!(value, "null" | "\"\"")
}

fn kind(value: &RawValue) -> u8 {
    value.get().as_bytes().first().copied().unwrap_or_default()
}

fn borrowed(list: &RawValue) -> Vec<Cow<'_, RawValue>> {
    read::<Vec<&RawValue>>(list).into_iter().map(Cow::Borrowed).collect()
}

fn read<'a, T: Deserialize<'a> + Default>(value: &'a RawValue) -> T {
    serde_json::from_str(value.get()).unwrap_or_default()
}

fn raw(value: &(impl serde::Serialize + ?Sized)) -> Box<RawValue> {
    to_raw_value(value).expect("strings and JSON values always serialise")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expected: &str) {
        let mut more = MemberAssembler::default();
        pieces.iter().for_each(|piece| more.add(serde_json::from_str(piece).unwrap()));
        assert_eq!(more.take().to_json(), expected, "{pieces:?}");
    }

    #[test]
    fn complete_values_keep_their_bytes() {
        let whole = r#"{"z":{ "b" : 1.0, "a":"\u00e9"},"x":"s","a":[ {"type":"t"} ]}"#;
        check(&[whole], whole);
        check(&[whole, whole], whole);
        check(&[r#"{"n":1,"b":true,"e":"","l":[],"o":{},"z":null,"token_id":"7"}"#], "{}");
    }

    #[test]
    fn pieces_are_joined() {
        check(
            &[
                r#"{"d":[{"type":"reasoning.text","text":"Hm","index":0,"format":"f"}]}"#,
                r#"{"d":[{"type":"reasoning.text","text":", so","index":0,"format":"f"}]}"#,
                r#"{"d":[{"type":"reasoning.text","signature":"c2ln","index":0,"format":"f"}]}"#,
                r#"{"d":[{"type":"reasoning.text","text":"Next","index":1,"format":"f"}]}"#,
                r#"{"d":[{"type":"reasoning.encrypted","data":"eA==","id":"r1","index":0}]}"#,
                r#"{"d":[{"type":"reasoning.encrypted","data":"eQ==","id":"r2","index":0}]}"#,
            ],
            r#"{"d":[{"type":"reasoning.text","text":"Hm, so","index":0,"format":"f","signature":"c2ln"},{"type":"reasoning.text","text":"Next","index":1,"format":"f"},{"type":"reasoning.encrypted","data":"eA==","id":"r1","index":0},{"type":"reasoning.encrypted","data":"eQ==","id":"r2","index":0}]}"#,
        );
        check(
            &[
                r#"{"b":[{"type":"thinking","thinking":"a","signature":""}]}"#,
                r#"{"b":[{"type":"thinking","thinking":"a","signature":"s"}]}"#,
                r#"{"b":[{"type":"thinking","thinking":"c","signature":"t"}]}"#,
            ],
            r#"{"b":[{"type":"thinking","thinking":"aa","signature":"s"},{"type":"thinking","thinking":"c","signature":"t"}]}"#,
        );
        check(&[r#"{"t":"ab"}"#, r#"{"t":"c"}"#], r#"{"t":"abc"}"#);
        check(&[r#"{"o":{"a":1}}"#, r#"{"o":{"b":2,"a":3}}"#], r#"{"o":{"a":3,"b":2}}"#);
    }
}
