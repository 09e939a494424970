//! Members of a message or a call that nobody here knows, put together from their pieces.
//!
//! Servers put signatures and encrypted reasoning there and want them back. Texts come in pieces, lists
//! come element by element, and an element in pieces of its own.

use crate::fields::Fields;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// Members that say something of a piece alone and are not for the message.
const OF_A_PIECE: &[&str] = &["channel", "logprobs", "token_id", "token_ids"];
/// Members of an element of a list that come in pieces.
const IN_PIECES: &[&str] = &["text", "summary", "thinking"];

/// The members so far.
#[derive(Debug, Default)]
pub(super) struct More(Fields<'static>);

impl More {
    /// Takes what is unknown of a piece. Numbers, truth values and what is empty says nothing.
    pub(super) fn add(&mut self, piece: Fields<'_>) {
        for (name, value) in piece.0 {
            let says = matches!(value.get().as_bytes(), [b'"' | b'[' | b'{', _, _, ..]);
            if !says || OF_A_PIECE.contains(&name.as_ref()) {
                continue;
            }
            let whole =
                self.0.get(&name).map_or_else(|| value.clone().into_owned(), |so_far| joined(so_far, &value));
            self.0.set(&name, &whole);
        }
    }

    /// What came, if anything did.
    pub(super) fn take(&mut self) -> Fields<'static> {
        std::mem::take(&mut self.0)
    }
}

/// A member of which a further piece came.
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

/// The elements of both, where the first of the second may go on with the last of the first.
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

/// An element with the piece that goes on with it: of the same kind and place, and neither complete nor
/// of another item.
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
            Some(before) if before.get() == value.get() && !IN_PIECES.contains(&name.as_ref()) => continue,
            Some(before) if is_nothing(before.get()) => value.clone().into_owned(),
            Some(_) if is_nothing(value.get()) => continue,
            Some(before) if IN_PIECES.contains(&name.as_ref()) => joined_text(before, value),
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
        let mut more = More::default();
        pieces.iter().for_each(|piece| more.add(serde_json::from_str(piece).unwrap()));
        assert_eq!(more.take().to_json(), expected, "{pieces:?}");
    }

    #[test]
    fn what_comes_whole_keeps_its_bytes() {
        let whole = r#"{"z":{ "b" : 1.0, "a":"\u00e9"},"x":"s","a":[ {"type":"t"} ]}"#;
        check(&[whole], whole);
        check(&[whole, whole], whole);
        check(&[r#"{"n":1,"b":true,"e":"","l":[],"o":{},"z":null,"token_id":"7"}"#], "{}");
    }

    #[test]
    fn pieces_become_whole() {
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
