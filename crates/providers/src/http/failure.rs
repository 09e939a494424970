//! Classifies failures as errors of the domain, and decides whether a retry can help.

use crate::{Secret, limits::MAX_MESSAGE_CHARS};
use agent::ModelError;
use serde_json::Value;
use std::{error::Error as _, time::Duration};

/// The server we talk to, for messages.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// The provider's name, such as `openai`.
    pub(crate) provider: String,
    /// The model's name at the provider.
    pub(crate) model: String,
    /// The address, without secrets.
    pub(crate) url: String,
    /// The setting or variable that holds the provider's key.
    pub(crate) key_setting: String,
    /// The setting for how long the server may send nothing.
    pub(crate) silence_setting: String,
    /// The key in use, to redact it from messages.
    pub(crate) key: Option<Secret>,
}

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The error to report if no further attempt follows.
    pub(crate) error: ModelError,
    /// Whether another attempt may help.
    pub(crate) retry: bool,
    /// The delay that the server asked for.
    pub(crate) after: Option<Duration>,
}

impl Failure {
    /// Creates a permanent failure: another attempt would fail in the same way.
    pub(crate) fn permanent(error: ModelError) -> Self {
        Self { error, retry: false, after: None }
    }

    /// Creates a transient failure: the next attempt may succeed.
    pub(crate) fn transient(error: ModelError) -> Self {
        Self { error, retry: true, after: None }
    }
}

impl Peer {
    /// Converts a connection error before or during an answer.
    pub(crate) fn interrupted(&self, what: &str, error: &reqwest::Error) -> Failure {
        let cause = root_cause(error);
        Failure::transient(ModelError::Transport(format!(
            "{what} {} at {} failed: {}",
            self.provider,
            self.url,
            self.clean(cause.as_deref().unwrap_or("connection error")),
        )))
    }

    /// Converts an HTTP status that is not a success.
    pub(crate) fn status(&self, status: u16, body: &[u8]) -> Failure {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => self.reported(Some(status), &value),
            Err(_) if looks_like_html(&text) => self.classify(Some(status), "", "an error page in HTML"),
            Err(_) => self.classify(Some(status), "", text.trim()),
        }
    }

    /// Converts an error event of a stream.
    pub(crate) fn reported_event(&self, data: &str) -> Failure {
        self.reported(None, &serde_json::from_str(data).unwrap_or_default())
    }

    /// Converts an error object, from an error response or from the middle of a stream. Each vendor
    /// has its own shape.
    pub(crate) fn reported(&self, status: Option<u16>, value: &Value) -> Failure {
        // Google wraps the error in a list if a stream was requested.
        let value = value.get(0).unwrap_or(value);
        let inner = match value.get("error") {
            Some(Value::Null) | None => value,
            Some(error) => error,
        };
        let message = ["message", "detail", "error"]
            .iter()
            .find_map(|key| inner.get(key).and_then(Value::as_str))
            .or_else(|| inner.as_str())
            .map_or_else(|| inner.to_string(), str::to_owned);
        let mut kind = String::new();
        for key in ["type", "code", "status"] {
            match inner.get(key) {
                Some(Value::String(text)) => kind.push_str(text),
                Some(Value::Number(number)) => kind.push_str(&number.to_string()),
                _ => continue,
            }
            kind.push(' ');
        }
        let code = inner.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let failure =
            self.classify(status.or(code.filter(|code| (400..600).contains(code))), &kind, &message);
        match google_delay(inner) {
            // A refusal with a retry delay is a rate limit, not a lack of credit.
            Some(after) if status == Some(429) => {
                let error = ModelError::Overloaded(failure.error.to_string());
                Failure { after: Some(after), ..Failure::transient(error) }
            }
            _ => failure,
        }
    }

    /// Creates the failure for an answer with an implausible number of calls.
    pub(crate) fn too_many_calls(&self, limit: usize) -> Failure {
        Failure::permanent(ModelError::BadResponse(format!(
            "{} asked for more than {limit} tool calls in one answer",
            self.provider
        )))
    }

    /// Redacts the key from an external text and shortens it.
    pub(crate) fn clean(&self, text: &str) -> String {
        let text = self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text));
        shorten(&text)
    }

    fn classify(&self, status: Option<u16>, kind: &str, message: &str) -> Failure {
        let Self { provider, model, url, key_setting, .. } = self;
        let number = status.map_or_else(String::new, |status| format!(" ({status})"));
        let explanation = if message.is_empty() { "no explanation" } else { message };
        let explanation = self.clean(explanation);
        let kind = kind.to_lowercase();
        let lower = message.to_lowercase();
        let any = |words: &[&str]| words.iter().any(|word| kind.contains(word) || lower.contains(word));
        if any(OVERFLOW) {
            return Failure::permanent(ModelError::ContextOverflow(format!(
                "the conversation is too long for {model}: {explanation}; shorten it with /compact or choose a model with a larger context"
            )));
        }
        if any(&["insufficient_quota", "billing", "credit balance"]) {
            return Failure::permanent(ModelError::BadRequest(format!(
                "{provider} refused the request{number}: the account has no credit left: {explanation}; add credit or choose another model"
            )));
        }
        let is_key_refused = status == Some(401)
            || status == Some(400) && lower.contains("api key not valid")
            || ["authentication_error", "invalid_api_key"].iter().any(|word| kind.contains(word));
        if let Some(key) = self.key.as_ref().filter(|_| is_key_refused) {
            key.note(false);
        }
        match status {
            Some(401 | 403) => Failure::permanent(ModelError::Auth(format!(
                "{provider} refused the credentials{number}: {explanation}; set {key_setting}"
            ))),
            // Google reports an invalid key as an invalid argument.
            Some(400) if lower.contains("api key not valid") => Failure::permanent(ModelError::Auth(
                format!("{provider} refused the credentials{number}: {explanation}; set {key_setting}"),
            )),
            _ if ["authentication_error", "invalid_api_key", "permission_error"]
                .iter()
                .any(|word| kind.contains(word)) =>
            {
                Failure::permanent(ModelError::Auth(format!(
                    "{provider} refused the credentials{number}: {explanation}; set {key_setting}"
                )))
            }
            Some(404) => Failure::permanent(ModelError::BadRequest(format!(
                "{provider} has no model `{model}` at {url}{number}: {explanation}; check the model's name and the base URL"
            ))),
            Some(429 | 503 | 529) => Failure::transient(ModelError::Overloaded(format!(
                "{provider} is overloaded or limits requests{number}: {explanation}; wait a little or choose another model"
            ))),
            Some(300..400) => Failure::permanent(ModelError::BadResponse(format!(
                "{url} redirects{number}, which no model API does; check the base URL of {provider}"
            ))),
            Some(status @ 400..500) if status != 408 => Failure::permanent(ModelError::BadRequest(format!(
                "{provider} refused the request to {model}{number}: {explanation}; change the request or choose another model"
            ))),
            _ if any(&["overloaded", "rate_limit", "rate limit", "too many requests", "slow_down"]) => {
                Failure::transient(ModelError::Overloaded(format!(
                    "{provider} is overloaded{number}: {explanation}; wait a little or choose another model"
                )))
            }
            None if any(&["invalid_request", "invalid_prompt", "not_found", "bad_request"]) => {
                Failure::permanent(ModelError::BadRequest(format!(
                    "{provider} refused the request to {model}: {explanation}; change the request or choose another model"
                )))
            }
            _ => Failure::transient(ModelError::Transport(format!(
                "{provider} failed{number}: {explanation}; try again or choose another model"
            ))),
        }
    }
}

/// Returns the innermost cause of a connection error, which states what happened; the outermost
/// message repeats the address, including secrets.
pub(crate) fn root_cause(error: &reqwest::Error) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Some(cause.to_string())
}

/// Returns Google's retry delay from the details of an error:
/// `{"@type": "…RetryInfo", "retryDelay": "34s"}`.
fn google_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// Shortens an external text to [`MAX_MESSAGE_CHARS`], on one line.
fn shorten(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut short = String::new();
    let mut left = MAX_MESSAGE_CHARS;
    for word in &mut words {
        if !short.is_empty() {
            short.push(' ');
        }
        let taken: String = word.chars().take(left).collect();
        left = left.saturating_sub(taken.chars().count() + 1);
        short.push_str(&taken);
        if left == 0 {
            short.push('…');
            break;
        }
    }
    short
}

/// Returns whether a body that is not JSON is a web page.
pub(super) fn looks_like_html(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// How vendors report a conversation that is too long: OpenAI, Anthropic, llama.cpp, vLLM, LM
/// Studio, gateways.
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "model_context_window_exceeded",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "exceed context limit",
    "input token count",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_every_vendor_are_classified() {
        let peer = Peer {
            provider: "openai".into(),
            model: "m".into(),
            url: "https://h/v1".into(),
            key_setting: "OPENAI_API_KEY".into(),
            silence_setting: "providers.openai.silence".into(),
            key: Some(Secret::new("sk-7secret")),
        };
        let overflow = r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#;
        let long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens"}}"#;
        for (status, body, expected, retry) in [
            (401, r#"{"error":{"message":"bad sk-7secret"}}"#, "Auth: OPENAI_API_KEY [key]", false),
            (403, "nope", "Auth: nope", false),
            (404, r#"{"error":"no such model"}"#, "BadRequest: `m`", false),
            (400, overflow, "ContextOverflow:", false),
            (400, long, "ContextOverflow:", false),
            (
                400,
                r#"{"error":{"message":"the request exceeds the available context size"}}"#,
                "ContextOverflow:",
                false,
            ),
            (400, r#"{"detail":"x is wrong"}"#, "BadRequest: wrong", false),
            (422, "", "BadRequest: explanation", false),
            (429, r#"{"error":{"message":"slow"}}"#, "Overloaded: slow", true),
            (429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#, "BadRequest: pay", false),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "Overloaded: 529",
                true,
            ),
            (500, "<html><body>oops</body></html>", "Transport: HTML", true),
            (302, "", "BadResponse: redirects", false),
            (504, "", "Transport: 504", true),
        ] {
            let failure = peer.status(status, body.as_bytes());
            let (class, words) = expected.split_once(':').unwrap();
            let shown = format!("{:?}", failure.error);
            assert!(shown.starts_with(class), "{status} {body}: {shown}");
            assert!(words.split_whitespace().all(|word| shown.contains(word)), "{status} {body}: {shown}");
            assert!(!shown.contains("sk-7secret"), "{shown}");
            assert_eq!(failure.retry, retry, "{status} {body}");
        }
        let long = peer.status(400, "word ".repeat(9_000).as_bytes()).error.to_string();
        assert!(long.chars().count() < MAX_MESSAGE_CHARS + 100, "{}", long.len());
    }
}
