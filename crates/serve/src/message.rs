//! What the wires need to know of a JSON-RPC message: its id, its method and its session.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

/// The head of a message. A message that is not a JSON object with unique members has none; the
/// protocol answers it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// The id, as JSON text.
    pub(crate) id: Option<String>,
    /// The method of a request or a notification.
    pub(crate) method: Option<String>,
    /// `params.sessionId`, if it is text.
    pub(crate) session: Option<String>,
    /// Whether it is an error response.
    pub(crate) is_error: bool,
}

/// The members of a message, as JSON text.
#[derive(Deserialize)]
pub(crate) struct Members<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "sessionId")]
    session_id: Option<Value>,
}

impl Head {
    /// Reads the head of a message; an empty one if it is not a JSON object.
    pub(crate) fn of(text: &str) -> Self {
        let Ok(members) = serde_json::from_str::<Members<'_>>(text) else { return Self::default() };
        let params = members.params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
        let session = match params.and_then(|params| params.session_id) {
            Some(Value::String(session)) => Some(session),
            _ => None,
        };
        Self {
            id: members.id.map(|id| id.get().to_owned()),
            method: members.method.map(Cow::into_owned),
            session,
            is_error: members.error.is_some(),
        }
    }

    /// Whether it is a request: it has a method and an id.
    pub(crate) fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }

    /// Whether it is a response: it has an id and no method.
    pub(crate) fn is_response(&self) -> bool {
        self.method.is_none() && self.id.is_some()
    }

    /// Whether it has this method.
    pub(crate) fn is_method(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// Whether it cancels something, and so must not wait behind other messages.
    pub(crate) fn cancels(&self) -> bool {
        matches!(self.method.as_deref(), Some("session/cancel" | "$/cancel_request" | "_session/cancel"))
    }
}

/// Returns a message as one line: JSON has no line break inside a token.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    match text.contains(['\n', '\r']) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.replace(['\n', '\r'], " ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_message_is_read_and_nothing_else_is_required() {
        let request =
            Head::of(r#"{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{"sessionId":"s"}}"#);
        assert_eq!(request.id.as_deref(), Some(r#""a""#));
        assert!(request.is_request() && request.is_method("session/prompt") && !request.is_response());
        assert_eq!(request.session.as_deref(), Some("s"));
        let response = Head::of(r#"{"id":7,"error":{"code":1,"message":"m"}}"#);
        assert!(response.is_response() && response.is_error && !response.is_request());
        for text in ["", "[]", "{", r#"{"id":1,"id":2}"#, "7"] {
            assert_eq!(Head::of(text), Head::default(), "{text}");
        }
        let strange = Head::of(r#"{"id":1,"method":"m","params":[1]}"#);
        assert!(strange.is_request() && strange.session.is_none());
        assert_eq!(Head::of(r#"{"method":"m","params":{"sessionId":7}}"#).session, None);
    }

    #[test]
    fn a_message_over_several_lines_becomes_one_line_with_the_same_content() {
        let text = "{\r\n \"a\": \"b\\n\"\n}";
        let line = one_line(text);
        assert!(!line.contains(['\n', '\r']));
        assert_eq!(
            serde_json::from_str::<Value>(&line).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }
}
