//! Messages that are too large for clients: common WebSocket libraries read frames of 16 MiB.

use crate::limits::{OUTGOING_BYTES, SHOWN_TEXT_BYTES};
use agent::ContentHash;
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// Where a message of the protocol goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fitted {
    /// It goes to the client.
    Send(Bytes),
    /// It is a request that cannot go to the client; this response to it goes to the protocol.
    Answer(String),
}

/// Makes a message small enough to be sent. What a client only shows loses its long texts: each is
/// replaced by a note, and `params._meta.tiller.omitted` has its size and hash. A request that the
/// client would have to carry out is answered with an error, and so is the client's request whose
/// response is too large.
pub(super) fn fit(text: Bytes) -> Fitted {
    if text.len() <= OUTGOING_BYTES {
        return Fitted::Send(text);
    }
    let Ok(Value::Object(mut message)) = serde_json::from_slice(&text) else { return Fitted::Send(text) };
    let bytes = text.len();
    drop(text);
    let id = message.get("id").filter(|id| !id.is_null()).cloned();
    match (message.get("method").and_then(Value::as_str), id) {
        (None, id) => {
            let error = too_large("the answer", bytes, "ask for less of it");
            Fitted::Send(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into())
        }
        (Some(method), Some(id)) if !method.ends_with("request_permission") => {
            let error = too_large("the request", bytes, "the client cannot be sent so much at once");
            Fitted::Answer(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
        }
        (Some(_), _) => {
            omit_long_texts(&mut message);
            Fitted::Send(Value::Object(message).to_string().into())
        }
    }
}

fn too_large(what: &str, bytes: usize, advice: &str) -> Value {
    let mib = |bytes: usize| bytes.div_ceil(1024 * 1024);
    let message = format!(
        "{what} has {} MiB, and a message to a client has at most {}: {advice}",
        mib(bytes),
        mib(OUTGOING_BYTES)
    );
    json!({ "code": -32603, "message": message, "data": { "reason": "too_large", "bytes": bytes } })
}

fn omit_long_texts(message: &mut Map<String, Value>) {
    let Some(params) = message.get_mut("params") else { return };
    let mut omitted = Vec::new();
    omit(params, "", &mut omitted);
    let Some(params) = params.as_object_mut() else { return };
    let mut place = params;
    for name in ["_meta", "tiller"] {
        let value = place.entry(name).or_insert_with(|| json!({}));
        if !value.is_object() {
            *value = json!({});
        }
        let Some(inner) = value.as_object_mut() else { return };
        place = inner;
    }
    place.insert("omitted".to_owned(), omitted.into());
}

/// Replaces the long texts in a value; returns the bytes that it lost. Contents that would not be
/// valid without theirs become texts.
fn omit(value: &mut Value, pointer: &str, omitted: &mut Vec<Value>) -> usize {
    match value {
        Value::String(text) if text.len() > SHOWN_TEXT_BYTES => {
            let (bytes, hash) = (text.len(), ContentHash::of(text.as_bytes()).0);
            omitted.push(json!({ "pointer": pointer, "bytes": bytes, "hash": hash }));
            *text = note(bytes);
            bytes
        }
        Value::Array(values) => {
            let each = values.iter_mut().enumerate();
            each.map(|(index, value)| omit(value, &format!("{pointer}/{index}"), omitted)).sum()
        }
        Value::Object(members) => {
            let each = members.iter_mut();
            let bytes = each
                .map(|(name, value)| {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    omit(value, &format!("{pointer}/{name}"), omitted)
                })
                .sum();
            if bytes > 0
                && let Some(shown) = shown_without(members, bytes)
            {
                *value = shown;
            }
            bytes
        }
        _ => 0,
    }
}

/// Returns what a client shows in place of a content that has lost some of its bytes; `None` if
/// the content can be shown without them.
fn shown_without(content: &Map<String, Value>, bytes: usize) -> Option<Value> {
    let text = json!({ "type": "text", "text": note(bytes) });
    match content.get("type")?.as_str()? {
        // Half a change would be shown as another change.
        "diff" => Some(json!({ "type": "content", "content": text })),
        "image" | "audio" | "resource" => Some(text),
        _ => None,
    }
}

fn note(bytes: usize) -> String {
    format!("[{bytes} bytes are not shown: the message would be too large for the connection]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large() -> String {
        "x".repeat(OUTGOING_BYTES)
    }

    fn fitted(message: &Value) -> Fitted {
        fit(message.to_string().into())
    }

    fn sent(message: &Value) -> Value {
        let Fitted::Send(text) = fitted(message) else { panic!("not sent") };
        assert!(text.len() <= OUTGOING_BYTES);
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn a_message_of_the_largest_size_is_sent_as_it_is() {
        let message = Bytes::from(vec![b' '; OUTGOING_BYTES]);
        assert_eq!(fit(message.clone()), Fitted::Send(message));
    }

    #[test]
    fn the_texts_of_a_large_change_are_named_by_their_hashes() {
        let new = large();
        let update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c",
            "content": [
                { "type": "content", "content": { "type": "text", "text": "short" } },
                { "type": "diff", "path": "/p/a.csv", "oldText": "old", "newText": new },
            ],
            "rawInput": { "path": "a.csv", "content": new } });
        let message = json!({ "jsonrpc": "2.0", "method": "session/update",
            "params": { "sessionId": "s", "update": update, "_meta": { "other": 1 } } });
        let sent = sent(&message);
        let update = &sent["params"]["update"];
        assert_eq!(update["content"][0], message["params"]["update"]["content"][0]);
        assert_eq!(update["content"][1]["type"], "content");
        assert!(update["content"][1]["content"]["text"].as_str().unwrap().contains("16777216 bytes"));
        assert_eq!(update["rawInput"]["path"], "a.csv");
        let meta = &sent["params"]["_meta"];
        assert_eq!(meta["other"], 1);
        let hash = ContentHash::of(new.as_bytes()).0;
        let mut pointers: Vec<_> = meta["tiller"]["omitted"].as_array().unwrap().clone();
        pointers.sort_by_key(|omitted| omitted["pointer"].to_string());
        let omitted = |pointer: &str| json!({ "pointer": pointer, "bytes": OUTGOING_BYTES, "hash": hash });
        assert_eq!(pointers, [omitted("/update/content/1/newText"), omitted("/update/rawInput/content")]);
    }

    #[test]
    fn an_image_that_is_left_out_becomes_a_text() {
        let content = json!({ "type": "image", "mimeType": "image/png", "data": large() });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        let message = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "update": update } });
        assert_eq!(sent(&message)["params"]["update"]["content"]["type"], "text");
    }

    #[test]
    fn a_permission_request_is_still_asked() {
        let call = json!({ "content": [{ "type": "diff", "path": "/a", "newText": large() }] });
        let params = json!({ "sessionId": "s", "toolCall": call, "options": [{ "optionId": "yes" }] });
        let message =
            json!({ "jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": params });
        let sent = sent(&message);
        assert_eq!((&sent["id"], &sent["params"]["options"]), (&json!(7), &params["options"]));
    }

    #[test]
    fn a_request_that_must_be_carried_out_is_refused_to_the_protocol() {
        let params = json!({ "sessionId": "s", "path": "/a", "content": large() });
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "fs/write_text_file", "params": params });
        let Fitted::Answer(answer) = fitted(&message) else { panic!("sent") };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["data"]["reason"]), (&json!(7), &json!("too_large")));
        assert_eq!(
            answer["error"]["message"],
            "the request has 17 MiB, and a message to a client has at most 16: \
             the client cannot be sent so much at once"
        );
    }

    #[test]
    fn a_response_that_is_too_large_becomes_an_error() {
        let sent = sent(&json!({ "jsonrpc": "2.0", "id": "a", "result": { "text": large() } }));
        assert_eq!((&sent["id"], &sent["error"]["code"]), (&json!("a"), &json!(-32603)));
    }
}
