//! The headers of the transport.

use super::Problem;
use crate::limits::ID_CHARS;
use axum::http::{HeaderMap, HeaderName};

/// The id of a connection.
pub(crate) const CONNECTION_ID: HeaderName = HeaderName::from_static("acp-connection-id");
/// The id of a session.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("acp-session-id");
/// The negotiated protocol version.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("acp-protocol-version");
/// The client's number of a posted message.
pub(crate) const MESSAGE_ID: HeaderName = HeaderName::from_static("acp-message-id");
/// The number of the last message that a client received on its previous WebSocket.
pub(crate) const LAST_FRAME: HeaderName = HeaderName::from_static("acp-last-frame");
/// The id of the last event that a client received.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Returns the value of an id header: visible ASCII, at most [`ID_CHARS`] characters.
pub(crate) fn id<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut given = headers.get_all(name).iter();
    let Some(value) = given.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| {
        (1..=ID_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    });
    match (text, given.next()) {
        (Some(text), None) => Ok(Some(text)),
        _ => Err(Problem::bad_request(format!(
            "the header {name} must be given once, with 1 to {ID_CHARS} visible ASCII characters"
        ))),
    }
}

/// Returns the value of a header that holds a number.
pub(crate) fn number(headers: &HeaderMap, name: &HeaderName) -> Result<Option<u64>, Problem> {
    let Some(text) = id(headers, name)? else { return Ok(None) };
    let number = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    number.map(Some).ok_or_else(|| Problem::bad_request(format!("the header {name} must hold a number")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(values: &[&[u8]]) -> HeaderMap {
        let values = values.iter().map(|value| HeaderValue::from_bytes(value).unwrap());
        values.map(|value| (CONNECTION_ID, value)).collect()
    }

    #[test]
    fn an_id_is_short_visible_ascii_and_given_once() {
        assert_eq!(id(&headers(&[]), &CONNECTION_ID), Ok(None));
        assert_eq!(id(&headers(&[b"a-1"]), &CONNECTION_ID), Ok(Some("a-1")));
        let long = vec![b'x'; ID_CHARS + 1];
        for wrong in [vec![&b"a"[..], b"a"], vec![b""], vec![b"a b"], vec!["ü".as_bytes()], vec![&long]] {
            assert_eq!(id(&headers(&wrong), &CONNECTION_ID).unwrap_err().status, 400);
        }
    }

    #[test]
    fn a_number_has_digits_only() {
        assert_eq!(number(&headers(&[b"17"]), &CONNECTION_ID), Ok(Some(17)));
        for wrong in [&b"+1"[..], b"-1", b"1.0", b"99999999999999999999", b"x"] {
            assert!(number(&headers(&[wrong]), &CONNECTION_ID).is_err());
        }
    }
}
