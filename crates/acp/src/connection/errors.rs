//! Maps failures to JSON-RPC errors: a code and data for programs, a message for people.

use crate::limits::QUOTED_CHARS;
use agent::{
    ModelError, ModelInfo, NotAdmitted, OperatorLimit, Scope, SessionError, SessionId, StoreError, TurnError,
};
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::{Error, ErrorCode};
use serde_json::Value;
use serde_json::json;

/// Returns `-32602` with a message that names what is wrong.
pub(crate) fn invalid_params(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, shorten(&message.into()))
}

/// Returns `-32600` with a message that names what is wrong.
pub(crate) fn invalid_request(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_REQUEST, shorten(&message.into()))
}

/// Shortens a message that may quote the client's input: puts it on one line, and if it is longer
/// than any message without a long quotation, keeps its beginning and its end.
fn shorten(message: &str) -> String {
    let line = agent::one_line(message);
    let count = line.chars().count();
    if count <= QUOTED_CHARS * 2 {
        return line;
    }
    let (start, end): (String, String) =
        (line.chars().take(QUOTED_CHARS).collect(), line.chars().skip(count - QUOTED_CHARS / 2).collect());
    format!("{start}…{end}")
}

/// Prepares the client's input for quotation in an error: one line, truncated.
fn quote(text: &str) -> String {
    let line = agent::one_line(text);
    match line.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns `-32022`: the client requested an earlier version than the served one.
pub(crate) fn unsupported_version(requested: &Value, served: ProtocolVersion) -> Error {
    let message = format!("unsupported protocol version {requested}; version {served} is served here");
    Error::new(ErrorCode::new(-32022), message).data(json!({ "requested": requested, "supported": [served] }))
}

/// Returns `-32601`, naming the method.
pub(crate) fn unknown_method(method: &str) -> Error {
    let method = quote(method);
    Error::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method: {method}"))
        .data(json!({ "method": method }))
}

/// Returns `-32601` in the wording of the native layer and the legacy dialect.
pub(crate) fn method_not_found(method: &str) -> Error {
    let method = quote(method);
    Error::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {method}"))
        .data(json!({ "method": method }))
}

/// Returns `-32002`, naming the session.
pub(crate) fn unknown_session(id: &SessionId) -> Error {
    let id = quote(id.as_str());
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, format!("resource not found: no session {id}"))
        .data(json!({ "sessionId": id }))
}

/// Returns `-32000`: no model is configured. Names the authentication methods, and what a user of a
/// server can do if `is_served`.
pub(crate) fn unconfigured(methods: &[&str], is_served: bool) -> Error {
    let message = match is_served {
        true => {
            "no model is set up for you on this server: give a key of your own (providers/configure), ask the server's administrator for a model, or try without a model"
        }
        false => {
            "no model is set up: set up a provider (`tiller setup`), set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or try without a model"
        }
    };
    let data = json!({ "reason": "not_configured", "code": "auth_required", "authMethods": methods });
    Error::new(ErrorCode::AUTH_REQUIRED, message).data(data)
}

/// Returns `-32000`: the client is logged out, and the model's provider needs credentials.
pub(crate) fn logged_out() -> Error {
    Error::new(ErrorCode::AUTH_REQUIRED, "logged out; log in first")
        .data(json!({ "reason": "logged_out", "code": "auth_required" }))
}

/// Returns `-32603`: another process goes on with the turn.
pub(crate) fn moved() -> Error {
    internal(
        "the session goes on in another process; load it again, and send the prompt again with its promptId to get its answer".to_owned(),
        "moved",
    )
}

/// Returns `-32800`: the client cancelled the request, or disconnected.
pub(crate) fn request_cancelled() -> Error {
    Error::new(ErrorCode::REQUEST_CANCELLED, "the request was cancelled")
}

/// Maps an error from creating, opening or changing a session.
pub(crate) fn session(error: &SessionError) -> Error {
    match error {
        SessionError::Store(error) => store(error),
        SessionError::Model(error) => model(error),
        SessionError::NotAdmitted(refused) => not_admitted(refused),
        SessionError::OtherFolder { actual, .. } => {
            let message = format!(
                "{error}, or move the session to the new one with \"_meta\": {{\"tiller\": {{\"rebind\": true}}}}"
            );
            invalid_params(message).data(json!({ "cwd": actual.as_str() }))
        }
        SessionError::AtWork(_) => invalid_params(error.to_string()),
        SessionError::Subagent { root, .. } => {
            invalid_params(error.to_string()).data(json!({ "sessionId": root.as_str() }))
        }
        SessionError::Settings(_) => internal(error.to_string(), "settings"),
        SessionError::Closed => internal(error.to_string(), "closed"),
    }
}

/// Maximum number of models named in an error.
const NAMED_MODELS: usize = 5;
/// The similarity, from 0 to 1, at which one name is suggested for another.
const ALIKE: f64 = 0.8;

/// Maps an error about a model that the client named. A name without a model is the client's error,
/// and the message suggests similar names.
pub(crate) fn named_model(error: &SessionError, id: &str, known: &[ModelInfo]) -> Error {
    let SessionError::Model(ModelError::NotConfigured(why)) = error else { return session(error) };
    let name = |id: &str| id.rsplit('/').next().unwrap_or_default().to_lowercase();
    let alike =
        |known: &str| strsim::jaro_winkler(known, id).max(strsim::jaro_winkler(&name(known), &name(id)));
    let mut near: Vec<_> = known.iter().map(|model| (alike(&model.id), model.id.as_str())).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let meant = near.iter().filter(|near| near.0 >= ALIKE).count();
    let (words, most) = if meant > 0 { ("did you mean", meant) } else { ("there are", near.len()) };
    let ids: Vec<_> = near.iter().take(most.min(NAMED_MODELS)).map(|near| near.1).collect();
    let why = agent::sanitise(why);
    let message = match ids.is_empty() {
        true => format!("model {id:?} cannot be used: {why}"),
        false => format!("model {id:?} cannot be used: {why} ({words}: {})", ids.join(", ")),
    };
    invalid_params(message).data(json!({ "model": id, "near": ids }))
}

/// Maps an error of the store.
pub(crate) fn store(error: &StoreError) -> Error {
    match error {
        StoreError::NotFound(id) => unknown_session(id),
        StoreError::BadCursor(_) => invalid_params(error.to_string()),
        StoreError::Held { holder, .. } => {
            let holder = json!({ "pid": holder.pid, "host": holder.host, "since": holder.since });
            internal(error.to_string(), "held").data(json!({ "reason": "held", "holder": holder }))
        }
        StoreError::Fenced(_) | StoreError::Unconfirmed(_) => internal(error.to_string(), "fenced"),
        StoreError::Format(_) | StoreError::Damaged(_) => internal(error.to_string(), "store_format"),
        StoreError::Io(_) => internal(error.to_string(), "store"),
    }
}

/// Maps the error of a failed turn.
pub(crate) fn turn(error: &TurnError) -> Error {
    match error {
        TurnError::Model(error) => model(error),
        TurnError::Store(error) => store(error),
        TurnError::BadPrompt(message) => invalid_params(message.clone()),
        TurnError::QueueFull(waiting) => internal(error.to_string(), "queue_full")
            .data(json!({ "reason": "queue_full", "waiting": waiting })),
        TurnError::NotAdmitted(refused) => not_admitted(refused),
        TurnError::FoldersElsewhere(folders) => internal(error.to_string(), "workspace_unavailable")
            .data(json!({ "reason": "workspace_unavailable", "folders": folders })),
        TurnError::Closed => internal(error.to_string(), "closed"),
        TurnError::OwnerLost => internal(error.to_string(), "owner_lost"),
        TurnError::Earlier(_) => internal(error.to_string(), "turn_failed"),
        TurnError::Panicked(_) => internal(error.to_string(), "defect"),
    }
}

fn model(error: &ModelError) -> Error {
    let reason = match error {
        ModelError::NotConfigured(_) => "model_not_configured",
        ModelError::Auth(_) => {
            return Error::new(ErrorCode::AUTH_REQUIRED, agent::sanitise(&error.to_string()))
                .data(json!({ "reason": "model_auth", "code": "auth_required" }));
        }
        ModelError::BadRequest(_) => "model_bad_request",
        ModelError::ContextOverflow(_) => "model_context_overflow",
        ModelError::Overloaded(_) => "model_overloaded",
        ModelError::Transport(_) => "model_transport",
        ModelError::BadResponse(_) => "model_bad_response",
        ModelError::AnswerTooLong => "model_answer_too_long",
        ModelError::NotAdmitted(refused) => return not_admitted(refused),
    };
    internal(error.to_string(), reason)
}

/// Maps the refusal of the operator of the runtime.
fn not_admitted(refused: &NotAdmitted) -> Error {
    let mut data = match refused.limit {
        OperatorLimit::Quota(name) => json!({ "reason": "quota", "quota": name }),
        OperatorLimit::Load => json!({ "reason": "overloaded" }),
    };
    if let Some(wait) = refused.retry_after {
        data["retryAfterMs"] = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).into();
    }
    Error::new(ErrorCode::INTERNAL_ERROR, agent::sanitise(&refused.message)).data(data)
}

/// The connection's credential does not permit a request.
pub(crate) fn forbidden(scope: Scope) -> Error {
    internal(
        format!("the credential of this connection lacks the scope {scope}; use one that has it"),
        "forbidden",
    )
}

fn internal(message: String, reason: &str) -> Error {
    // The message may quote a provider's response.
    Error::new(ErrorCode::INTERNAL_ERROR, agent::sanitise(&message)).data(json!({ "reason": reason }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_input_in_errors_is_one_short_line() {
        let long = "secret\n".repeat(10_000);
        for error in [
            invalid_params(format!("invalid type: string {long:?}, expected u32")),
            invalid_params(long.clone()),
            invalid_request(long.clone()),
            unknown_method(&long),
            method_not_found(&long),
            unknown_session(&long.as_str().into()),
        ] {
            let text = serde_json::to_string(&error).unwrap();
            assert!(text.len() < 1000 && !error.message.contains('\n'), "{text}");
        }
        let kept = invalid_params(format!("invalid type: string {long:?}, expected u32")).message;
        assert!(kept.starts_with("invalid type: string") && kept.ends_with("expected u32"), "{kept}");
    }

    #[test]
    fn a_refusal_of_the_operator_says_which_limit_and_when_to_try_again() {
        let refused = |limit, retry_after| {
            let refused = NotAdmitted { limit, message: "not now".to_owned(), retry_after };
            let error = turn(&TurnError::NotAdmitted(refused.clone()));
            assert_eq!(error, session(&SessionError::NotAdmitted(refused.clone())));
            assert_eq!(error, turn(&TurnError::Model(ModelError::NotAdmitted(refused))));
            assert_eq!((i32::from(error.code), error.message.as_str()), (-32603, "not now"));
            error.data.unwrap()
        };
        let wait = Some(std::time::Duration::from_millis(1500));
        assert_eq!(
            refused(OperatorLimit::Quota("prompts_per_minute"), wait),
            json!({ "reason": "quota", "quota": "prompts_per_minute", "retryAfterMs": 1500 })
        );
        assert_eq!(
            refused(OperatorLimit::Quota("open_sessions"), None),
            json!({ "reason": "quota", "quota": "open_sessions" })
        );
        assert_eq!(
            refused(OperatorLimit::Load, wait),
            json!({ "reason": "overloaded", "retryAfterMs": 1500 })
        );
    }

    #[test]
    fn each_failure_maps_to_its_error_code() {
        let missing = StoreError::NotFound("s1".into());
        for (error, code) in [
            (turn(&TurnError::Model(ModelError::Auth("no key".into()))), -32000),
            (turn(&TurnError::BadPrompt("empty".into())), -32602),
            (turn(&TurnError::Panicked("x".into())), -32603),
            (session(&SessionError::Store(missing)), -32002),
            (store(&StoreError::BadCursor("x".into())), -32602),
            (unknown_method("x/y"), -32601),
        ] {
            assert_eq!(i32::from(error.code), code, "{error:?}");
            assert!(error.message.len() > 4, "{error:?}");
        }
        assert!(unknown_session(&"s1".into()).message.contains("s1"));
    }
}
