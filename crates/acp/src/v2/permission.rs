//! Permission requests in version 2.

use super::to_acp;
use crate::connection::permission_options::{options, permission_outcome};
use agent::{PermissionOutcome, PermissionRequest, SessionId, ToolContent};
use agent_client_protocol_schema::v2 as acp;

/// Creates the request: the question is its description, the call its subject. Diffs come first.
/// The title, which may contain the command, is the request's and is not repeated in the subject.
pub(crate) fn request(session: &SessionId, request: PermissionRequest) -> acp::RequestPermissionRequest {
    let option = |(id, name)| acp::PermissionOption::new(id, name, kind(id));
    let options: Vec<_> = options(&request).into_iter().map(option).collect();
    let is_diff = |content: &ToolContent| matches!(content, ToolContent::Diff(_));
    let (mut content, rest): (Vec<_>, Vec<_>) = request.content.into_iter().partition(is_diff);
    content.extend(rest);
    let call = acp::ToolCallUpdate::new(request.id.0)
        .name(request.name)
        .kind(to_acp::tool_kind(request.description.kind))
        .status(acp::ToolCallStatus::Pending)
        .content(to_acp::tool_content(&content))
        .locations(to_acp::locations(&request.description.locations))
        .raw_input(request.raw_input);
    let subject =
        acp::RequestPermissionSubject::ToolCall(Box::new(acp::ToolCallPermissionSubject::new(call)));
    acp::RequestPermissionRequest::new(session.as_str().to_owned(), request.description.title, options)
        .description(request.brief)
        .subject(subject)
}

/// Returns the kind of an option, by its id.
fn kind(id: &str) -> acp::PermissionOptionKind {
    match permission_outcome(id) {
        PermissionOutcome::AllowOnce => acp::PermissionOptionKind::AllowOnce,
        PermissionOutcome::AllowAlways | PermissionOutcome::AllowForUser => {
            acp::PermissionOptionKind::AllowAlways
        }
        PermissionOutcome::RejectAlways => acp::PermissionOptionKind::RejectAlways,
        PermissionOutcome::RejectOnce | PermissionOutcome::Cancelled => acp::PermissionOptionKind::RejectOnce,
    }
}

/// Maps the client's response; an unknown option is a rejection.
pub(crate) fn outcome(outcome: &acp::RequestPermissionOutcome) -> PermissionOutcome {
    match outcome {
        acp::RequestPermissionOutcome::Selected(selected) => permission_outcome(&selected.option_id.0),
        acp::RequestPermissionOutcome::Cancelled(_) => PermissionOutcome::Cancelled,
        unknown => {
            tracing::warn!(?unknown, "the client's permission response is invalid; treated as a rejection");
            PermissionOutcome::RejectOnce
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_allow_option_ids_allow() {
        for (answer, expected) in [
            (json!({"outcome": "selected", "optionId": "allow_once"}), PermissionOutcome::AllowOnce),
            (json!({"outcome": "selected", "optionId": "allow_always"}), PermissionOutcome::AllowAlways),
            (json!({"outcome": "selected", "optionId": "allow_for_user"}), PermissionOutcome::AllowForUser),
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
