//! A permission as this version asks for it.

use super::to_acp;
use agent::{PermissionOutcome, PermissionRequest, SessionId};
use agent_client_protocol::v2::schema as acp;

/// The request: the question is its description, the call as it would run its subject.
pub(crate) fn request(session: &SessionId, request: PermissionRequest) -> acp::RequestPermissionRequest {
    let option = |id, name: String, kind| acp::PermissionOption::new(id, name, kind);
    let options = vec![
        option(ALLOW_ONCE, "Allow".to_owned(), acp::PermissionOptionKind::AllowOnce),
        option(
            ALLOW_ALWAYS,
            format!("Always allow: {}", request.grant_label),
            acp::PermissionOptionKind::AllowAlways,
        ),
        option(REJECT_ONCE, "Reject".to_owned(), acp::PermissionOptionKind::RejectOnce),
        option(
            REJECT_ALWAYS,
            format!("Always reject: {}", request.grant_label),
            acp::PermissionOptionKind::RejectAlways,
        ),
    ];
    let call = acp::ToolCallUpdate::new(request.id.0)
        .title(request.title.clone())
        .name(request.name)
        .kind(to_acp::tool_kind(request.kind))
        .status(acp::ToolCallStatus::Pending)
        .content(to_acp::tool_content(&request.content))
        .locations(to_acp::locations(&request.locations))
        .raw_input(request.raw_input);
    let subject =
        acp::RequestPermissionSubject::ToolCall(Box::new(acp::ToolCallPermissionSubject::new(call)));
    acp::RequestPermissionRequest::new(session.as_str().to_owned(), request.title, options)
        .description(request.question)
        .subject(subject)
}

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// What an answer means; whatever is not one of ours is a refusal.
pub(crate) fn outcome(outcome: &acp::RequestPermissionOutcome) -> PermissionOutcome {
    match outcome {
        acp::RequestPermissionOutcome::Selected(selected) => match &*selected.option_id.0 {
            ALLOW_ONCE => PermissionOutcome::AllowOnce,
            ALLOW_ALWAYS => PermissionOutcome::AllowAlways,
            REJECT_ALWAYS => PermissionOutcome::RejectAlways,
            REJECT_ONCE => PermissionOutcome::RejectOnce,
            unknown => {
                tracing::warn!(
                    option = unknown,
                    "the client chose an option it was not given; taken as a refusal"
                );
                PermissionOutcome::RejectOnce
            }
        },
        acp::RequestPermissionOutcome::Cancelled(_) => PermissionOutcome::Cancelled,
        unknown => {
            tracing::warn!(?unknown, "the client answered a permission unclearly; taken as a refusal");
            PermissionOutcome::RejectOnce
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_allows_only_by_the_ids_that_allow() {
        for (answer, expected) in [
            (json!({"outcome": "selected", "optionId": "allow_once"}), PermissionOutcome::AllowOnce),
            (json!({"outcome": "selected", "optionId": "allow_always"}), PermissionOutcome::AllowAlways),
            (json!({"outcome": "selected", "optionId": "reject_once"}), PermissionOutcome::RejectOnce),
            (json!({"outcome": "selected", "optionId": "reject_always"}), PermissionOutcome::RejectAlways),
            (json!({"outcome": "selected", "optionId": "yes"}), PermissionOutcome::RejectOnce),
            (json!({"outcome": "_granted"}), PermissionOutcome::RejectOnce),
            (json!({"outcome": "cancelled"}), PermissionOutcome::Cancelled),
        ] {
            assert_eq!(outcome(&serde_json::from_value(answer.clone()).unwrap()), expected, "{answer}");
        }
    }
}
