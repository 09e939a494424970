//! Responses that are read as a whole: error pages, and answers that are not an event stream.

use super::failure::{Failure, Peer, looks_like_html};
use crate::limits;
use agent::ModelError;
use reqwest::Response;
use serde_json::Value;

/// Returns the failure for a success status whose body is not an event stream.
pub(crate) fn not_a_stream(peer: &Peer, body: &[u8]) -> Failure {
    let bad_response =
        |what: &str| Failure::permanent(ModelError::BadResponse(format!("{} {what}", peer.url)));
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        let text = String::from_utf8_lossy(body);
        let shape = if looks_like_html(&text) { "a web page" } else { "a broken or very long JSON text" };
        return bad_response(&format!(
            "answered with {shape} instead of an event stream; check the base URL of {}",
            peer.provider
        ));
    };
    if value.get("error").is_some_and(|error| !error.is_null()) || value.get("type") == Some(&"error".into())
    {
        return peer.reported(None, &value);
    }
    if ["choices", "output", "content"].iter().any(|key| value.get(key).is_some_and(Value::is_array)) {
        return bad_response(
            "ignored the request to stream and sent a complete response; use a server that streams",
        );
    }
    bad_response(&format!(
        "answered with JSON that is not a model's answer: {}; check the base URL of {}",
        peer.clean(&value.to_string()),
        peer.provider
    ))
}

/// Reads a body up to [`limits::MAX_ERROR_BYTES`]. A body that breaks off is kept as far as it
/// came.
pub(crate) async fn read_up_to(response: &mut Response, body: &mut Vec<u8>) {
    while body.len() < limits::MAX_ERROR_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => return,
        }
    }
}
