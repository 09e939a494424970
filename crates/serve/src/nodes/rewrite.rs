//! The ids of requests that nodes send to a client: each is marked with the hop that it came over,
//! since the nodes count independently of each other.

use crate::message::{Head, Members};
use serde_json::Value;

/// The method with which either side cancels a request.
pub(super) const CANCEL_REQUEST: &str = "$/cancel_request";

/// Returns a message with another id, which is JSON text.
pub(super) fn with_id(text: &str, id: &str) -> Option<String> {
    let Members { method, params, result, error, .. } = serde_json::from_str(text).ok()?;
    let mut message = format!(r#"{{"jsonrpc":"2.0","id":{id}"#);
    if let Some(method) = method {
        message.push_str(&format!(r#","method":{}"#, Value::from(method.into_owned())));
    }
    for (name, value) in [("params", params), ("result", result), ("error", error)] {
        if let Some(value) = value {
            message.push_str(&format!(r#","{name}":{}"#, value.get()));
        }
    }
    message.push('}');
    Some(message)
}

/// Returns the id that a client gets in place of a node's.
fn marked(hop: u64, id: &str) -> String {
    Value::from(format!("hop{hop}:{id}")).to_string()
}

/// Splits the id of a client's response into the hop and the node's id.
fn unmarked(id: &str) -> Option<(u64, String)> {
    let id: String = serde_json::from_str(id).ok()?;
    let (hop, id) = id.strip_prefix("hop")?.split_once(':')?;
    Some((hop.parse().ok()?, id.to_owned()))
}

/// Returns a node's message as its client gets it.
pub(super) fn to_client(hop: u64, head: &Head, text: String) -> String {
    match &head.id {
        Some(id) if head.is_request() => with_id(&text, &marked(hop, id)).unwrap_or(text),
        None if head.is_method(CANCEL_REQUEST) => {
            let Ok(mut message) = serde_json::from_str::<Value>(&text) else { return text };
            let Some(id) = message.get("params").and_then(|params| params.get("requestId")) else {
                return text;
            };
            message["params"]["requestId"] = Value::from(format!("hop{hop}:{id}"));
            message.to_string()
        }
        _ => text,
    }
}

/// Returns a client's response to a node's request as the node gets it, with the hop; `None` if it
/// answers no request that came over a hop.
pub(super) fn to_node(head: &Head, text: &str) -> Option<(u64, String)> {
    let (hop, id) = unmarked(head.id.as_deref().filter(|_| head.is_response())?)?;
    Some((hop, with_id(text, &id)?))
}

/// Returns the request that a cancellation names, as JSON text.
pub(super) fn cancelled_request(text: &str) -> Option<String> {
    let message: Value = serde_json::from_str(text).ok()?;
    Some(message.get("params")?.get("requestId")?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_request_gets_its_answer_whatever_its_id_is() {
        for id in ["7", r#""a \" b""#, "-1.5e3"] {
            let asked =
                format!(r#"{{"id":{id},"method":"session/request_permission","params":{{"a":1.0}}}}"#);
            let shown = to_client(12, &Head::of(&asked), asked.clone());
            assert_eq!(value(&shown)["params"], json!({ "a": 1.0 }), "{shown}");
            let answer = format!(r#"{{"id":{},"result":{{"outcome":"x"}}}}"#, value(&shown)["id"]);
            let (hop, answer) = to_node(&Head::of(&answer), &answer).unwrap_or_else(|| panic!("{id}"));
            assert_eq!(hop, 12);
            assert_eq!(
                value(&answer),
                json!({ "jsonrpc": "2.0", "id": value(id), "result": { "outcome": "x" } })
            );
        }
    }

    #[test]
    fn a_nodes_cancellation_names_the_request_as_the_client_knows_it() {
        let asked = r#"{"id":7,"method":"m"}"#;
        let shown = to_client(3, &Head::of(asked), asked.to_owned());
        let cancel = r#"{"method":"$/cancel_request","params":{"requestId":7}}"#;
        let cancelled = to_client(3, &Head::of(cancel), cancel.to_owned());
        assert_eq!(value(&cancelled)["params"]["requestId"], value(&shown)["id"]);
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        for text in [r#"{"id":1,"result":{}}"#, r#"{"method":"session/update","params":{}}"#, "nonsense"] {
            assert_eq!(to_client(1, &Head::of(text), text.to_owned()), text);
        }
        for text in
            [r#"{"id":"x","result":{}}"#, r#"{"id":"hop:1","result":{}}"#, r#"{"id":"hop1:1","method":"m"}"#]
        {
            assert_eq!(to_node(&Head::of(text), text), None, "{text}");
        }
    }
}
