//! The trace that a request's headers name, in the forms of W3C Trace Context.

use crate::message::Head;
use axum::http::HeaderMap;
use serde_json::{Value, json};

/// The members of `_meta` that ACP reserves for a trace, and the headers of the same names.
const NAMES: [&str; 2] = ["traceparent", "tracestate"];

/// The trace of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace([Option<String>; 2]);

impl Trace {
    /// Reads the headers of a request.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self(NAMES.map(|name| headers.get(name)?.to_str().ok().map(str::to_owned)))
    }

    /// Returns a message of the client with the trace in `params._meta`, if it is a prompt whose
    /// own `_meta` names none.
    pub(super) fn added_to(&self, head: &Head, text: String) -> String {
        if self.0[0].is_none() || !head.is_method("session/prompt") {
            return text;
        }
        let Ok(mut message) = serde_json::from_str::<Value>(&text) else { return text };
        let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) else { return text };
        let meta = params.entry("_meta").or_insert(Value::Null);
        if meta.is_null() {
            *meta = json!({});
        }
        let Some(meta) = meta.as_object_mut().filter(|meta| !meta.contains_key(NAMES[0])) else {
            return text;
        };
        for (name, value) in NAMES.into_iter().zip(&self.0) {
            if let Some(value) = value {
                meta.insert(name.to_owned(), value.as_str().into());
            }
        }
        message.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn added(message: &Value) -> Value {
        let headers = NAMES.map(|name| (name.parse().unwrap(), HeaderValue::from_static(PARENT)));
        let text = message.to_string();
        let added = Trace::of(&HeaderMap::from_iter(headers)).added_to(&Head::of(&text), text);
        serde_json::from_str(&added).unwrap()
    }

    #[test]
    fn the_trace_of_a_request_is_that_of_its_prompt() {
        for meta in [Value::Null, json!({}), json!({ "tiller": { "promptId": "p" } })] {
            let params = json!({ "sessionId": "s", "_meta": meta });
            let prompt = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params });
            let added = added(&prompt);
            assert_eq!(added["params"]["_meta"]["traceparent"], PARENT);
            assert_eq!(added["params"]["_meta"]["tracestate"], PARENT);
            assert_eq!(added["params"]["_meta"]["tiller"], prompt["params"]["_meta"]["tiller"]);
        }
    }

    #[test]
    fn a_prompt_with_a_trace_of_its_own_and_other_messages_stay_as_they_are() {
        let own = json!({ "traceparent": "00-1-2-01" });
        for message in [
            json!({ "id": 1, "method": "session/prompt", "params": { "sessionId": "s", "_meta": own } }),
            json!({ "id": 1, "method": "session/load", "params": { "sessionId": "s" } }),
            json!({ "id": 1, "method": "session/prompt", "params": { "sessionId": "s", "_meta": 7 } }),
            json!({ "id": 1, "method": "session/prompt", "params": [] }),
            json!({ "id": 1, "result": {} }),
        ] {
            assert_eq!(added(&message), message);
        }
    }
}
