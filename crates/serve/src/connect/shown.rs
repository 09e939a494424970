//! What the editor was shown of a session, so that it sees nothing twice when the session is opened
//! again.

use super::splice::without_member;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, collections::VecDeque};

/// Texts that may be in progress: an answer and its reasoning, and some that are between two
/// stored events.
const TEXTS: usize = 8;
/// The members of an update that say how a turn stands.
const META: [&str; 2] = ["params", "_meta"];

/// What was shown of one session.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The number of the last stored event that was shown, if the server sends numbers.
    seq: Option<u64>,
    /// The last texts, the newest at the end.
    texts: VecDeque<Text>,
    /// Whether the session is being opened again: the texts are sent again.
    again: bool,
}

/// The text of a message or a thought.
#[derive(Debug)]
struct Text {
    kind: String,
    id: String,
    text: String,
    /// How much of it was sent again.
    repeated: usize,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    update: Update<'a>,
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Update<'a> {
    #[serde(rename = "sessionUpdate", borrow)]
    kind: Cow<'a, str>,
    #[serde(rename = "messageId", borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

impl Shown {
    /// Returns the number of the last stored event that was shown, if the server sends numbers.
    pub(super) fn seq(&self) -> Option<u64> {
        self.seq
    }

    /// Takes note that the editor opens the session, and is shown its texts anew.
    pub(super) fn forget_texts(&mut self) {
        self.texts.clear();
    }

    /// Takes note that the session is about to be opened again.
    pub(super) fn begin_again(&mut self) {
        self.again = true;
        self.texts.iter_mut().for_each(|text| text.repeated = 0);
    }

    /// Takes note that the session is open again.
    pub(super) fn end_again(&mut self) {
        self.again = false;
    }

    /// Takes an update of the session, and returns it as the editor is to see it: without what it
    /// has seen, and without numbers unless it `asked` for them. `None` if nothing is left.
    pub(super) fn update<'a>(&mut self, text: &'a str, asked: bool) -> Option<Cow<'a, str>> {
        let Ok(Message { params }) = serde_json::from_str::<Message<'_>>(text) else {
            return Some(Cow::Borrowed(text));
        };
        let meta: Value =
            params.meta.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default();
        if let Some(seq) = meta.pointer("/tiller/seq").and_then(Value::as_u64) {
            self.seq = Some(self.seq.unwrap_or_default().max(seq));
        }
        let reports_turn = meta.pointer("/tiller/turn").is_some();
        if reports_turn && !asked || self.again && params.update.kind == "user_message_chunk" {
            return None;
        }
        let plain = || match asked {
            true => Cow::Borrowed(text),
            false => numberless(text, &meta),
        };
        let chunk = matches!(&*params.update.kind, "agent_message_chunk" | "agent_thought_chunk");
        let content =
            params.update.content.and_then(|content| serde_json::from_str::<Content<'_>>(content.get()).ok());
        let (Some(id), Some(piece), true) =
            (&params.update.id, content.and_then(|content| content.text), chunk)
        else {
            return Some(plain());
        };
        let seen = self.piece(&params.update.kind, id, &piece);
        match piece.get(seen..) {
            _ if seen == 0 => Some(plain()),
            Some("") | None => None,
            Some(rest) => {
                let mut message: Value = serde_json::from_str(&plain()).ok()?;
                message["params"]["update"]["content"]["text"] = rest.into();
                Some(Cow::Owned(message.to_string()))
            }
        }
    }

    /// Takes a piece of a text; returns how many bytes of it the editor has seen.
    fn piece(&mut self, kind: &str, id: &str, piece: &str) -> usize {
        let at = self.texts.iter().position(|text| text.id == id && text.kind == kind);
        let Some(text) = at.and_then(|at| self.texts.get_mut(at)) else {
            if self.texts.len() == TEXTS {
                self.texts.pop_front();
            }
            let text = Text {
                kind: kind.to_owned(),
                id: id.to_owned(),
                text: piece.to_owned(),
                repeated: piece.len(),
            };
            self.texts.push_back(text);
            return 0;
        };
        if !self.again {
            text.text.push_str(piece);
            return 0;
        }
        let repeats = text.text.get(text.repeated..).unwrap_or_default();
        if repeats.starts_with(piece) {
            text.repeated += piece.len();
            return piece.len();
        }
        if piece.starts_with(repeats) {
            let seen = repeats.len();
            text.text.push_str(&piece[seen..]);
            text.repeated = text.text.len();
            return seen;
        }
        // It is another text of the same name.
        piece.clone_into(&mut text.text);
        text.repeated = piece.len();
        0
    }
}

/// Returns an update without the number that the editor did not ask for, if its `_meta` has nothing
/// else.
fn numberless<'a>(text: &'a str, meta: &Value) -> Cow<'a, str> {
    let only = |object: &Value, name: &str| {
        object.as_object().is_some_and(|object| object.len() == 1 && object.contains_key(name))
    };
    let removed = (only(meta, "tiller") && only(&meta["tiller"], "seq")).then(|| without_member(text, &META));
    removed.flatten().map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chunk(id: &str, text: &str, seq: u64) -> String {
        let update = json!({
            "sessionUpdate": "agent_message_chunk", "messageId": id, "content": { "type": "text", "text": text },
        });
        let params = json!({ "sessionId": "s", "update": update, "_meta": { "tiller": { "seq": seq } } });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
    }

    /// Returns the text that the editor sees of a chunk.
    fn sees(shown: &mut Shown, id: &str, text: &str, seq: u64) -> String {
        let chunk = chunk(id, text, seq);
        let Some(seen) = shown.update(&chunk, false) else { return String::new() };
        let seen: Value = serde_json::from_str(&seen).unwrap();
        assert!(seen["params"].get("_meta").is_none(), "{seen}");
        seen["params"]["update"]["content"]["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_text_that_is_sent_again_in_any_pieces_is_seen_once() {
        let whole = "One, zwö, trois.";
        let ends: Vec<_> = whole.char_indices().map(|(at, _)| at).chain([whole.len()]).collect();
        for seen in &ends {
            for piece in &ends {
                let mut shown = Shown::default();
                let mut text = sees(&mut shown, "m", &whole[..*seen], 4);
                shown.begin_again();
                text += &sees(&mut shown, "m", &whole[..*piece], 4);
                text += &sees(&mut shown, "m", &whole[*piece..], 5);
                shown.end_again();
                text += &sees(&mut shown, "m", " On.", 5);
                assert_eq!(text, "One, zwö, trois. On.", "{seen} {piece}");
                assert_eq!(shown.seq(), Some(5));
            }
        }
    }

    #[test]
    fn another_text_of_the_same_name_is_seen_whole() {
        let mut shown = Shown::default();
        assert_eq!(sees(&mut shown, "m", "What was lost", 1), "What was lost");
        shown.begin_again();
        assert_eq!(sees(&mut shown, "m", "Something", 2), "Something");
        assert_eq!(sees(&mut shown, "m", " else", 2), " else");
    }

    #[test]
    fn an_editor_sees_what_it_asked_for_and_its_own_prompts_once() {
        let update = |kind: &str, meta: Value| {
            let params = json!({ "sessionId": "s", "update": { "sessionUpdate": kind }, "_meta": meta });
            json!({ "method": "session/update", "params": params }).to_string()
        };
        let mut shown = Shown::default();
        let turn =
            update("session_info_update", json!({ "tiller": { "seq": 1, "turn": { "state": "idle" } } }));
        assert_eq!(shown.update(&turn, false), None);
        assert_eq!(shown.update(&turn, true).as_deref(), Some(&*turn));
        let other = update("plan", json!({ "tiller": { "seq": 2 }, "own": 1 }));
        assert_eq!(shown.update(&other, false).as_deref(), Some(&*other));
        let prompt = update("user_message_chunk", Value::Null);
        assert!(shown.update(&prompt, false).is_some());
        shown.begin_again();
        assert_eq!(shown.update(&prompt, false), None);
        assert_eq!(shown.update("{}", false).as_deref(), Some("{}"));
    }
}
