//! Permission requests in version 1.

use super::to_acp;
use crate::connection::permission_options::{options, permission_outcome};
use agent::{Description, PermissionOutcome, PermissionRequest, SessionId, ToolContent};
use agent_client_protocol::v1::schema as acp;

/// Creates the request.
///
/// Diffs come first, because some clients look for one there and nowhere else; then the question,
/// then the remaining content. A command is either in the title or in a block of the content, not
/// in both.
pub(crate) fn request(session: &SessionId, request: PermissionRequest) -> acp::RequestPermissionRequest {
    let option = |(id, name)| acp::PermissionOption::new(id, name, kind(id));
    let options: Vec<_> = options(&request).into_iter().map(option).collect();
    let is_diff = |content: &ToolContent| matches!(content, ToolContent::Diff(_));
    let (mut content, rest): (Vec<_>, Vec<_>) = request.content.into_iter().partition(is_diff);
    if !request.brief.is_empty() {
        content.push(ToolContent::Content(agent::Content::text(request.brief)));
    }
    content.extend(rest);
    let fields = acp::ToolCallUpdateFields::new()
        .title(request.description.title)
        .name(request.name)
        .kind(to_acp::tool_kind(request.description.kind))
        .status(acp::ToolCallStatus::Pending)
        .content(to_acp::tool_content(&content))
        .locations(to_acp::locations(&request.description.locations))
        .raw_input(request.raw_input);
    let call = acp::ToolCallUpdate::new(request.id.0, fields);
    acp::RequestPermissionRequest::new(session.as_str().to_owned(), call, options)
}

/// Adapts a request for a client that displays only the title: the title contains the whole
/// question, and content other than diffs is omitted.
pub(crate) fn with_question_in_title(request: PermissionRequest) -> PermissionRequest {
    let mut content = request.content;
    content.retain(|content| matches!(content, ToolContent::Diff(_)));
    let description = Description { title: request.question.clone(), ..request.description };
    PermissionRequest { description, brief: String::new(), content, ..request }
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
        acp::RequestPermissionOutcome::Cancelled => PermissionOutcome::Cancelled,
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
            (json!({"outcome": "selected", "optionId": "ALLOW_ONCE"}), PermissionOutcome::RejectOnce),
            (json!({"outcome": "cancelled"}), PermissionOutcome::Cancelled),
        ] {
            assert_eq!(outcome(&serde_json::from_value(answer.clone()).unwrap()), expected, "{answer}");
        }
    }

    #[test]
    fn diffs_precede_all_other_content() {
        let diff = agent::Diff {
            path: system::AbsPath::new("/w/a").unwrap(),
            old_text: None,
            new_text: Some("x".to_owned()),
        };
        let note = ToolContent::Content(agent::Content::text("a note"));
        let request = PermissionRequest {
            id: "tool_0".into(),
            name: "apply_patch".to_owned(),
            description: Description {
                title: "Edit a".to_owned(),
                kind: agent::ToolKind::Edit,
                locations: vec![agent::Location {
                    path: system::AbsPath::new("/w/a").unwrap(),
                    line: Some(7),
                }],
            },
            question: "Write /w/a?".to_owned(),
            brief: "Write /w/a?".to_owned(),
            place: agent::CallPlace::default(),
            content: vec![note, ToolContent::Diff(diff)],
            raw_input: json!({}),
            grant_label: String::new(),
            remedy: agent::Remedy::default(),
        };
        for request in [request.clone(), with_question_in_title(request)] {
            let value = serde_json::to_value(super::request(&"s".into(), request)).unwrap();
            let call = &value["toolCall"];
            assert_eq!(call["content"][0]["type"], "diff", "{call}");
            assert_eq!(call["locations"], json!([{ "path": "/w/a", "line": 7 }]));
            assert_eq!(call.to_string().matches("Write /w/a?").count(), 1, "{call}");
        }
    }

    #[test]
    fn a_request_offers_four_options_whose_ids_are_their_kinds() {
        let request = PermissionRequest {
            id: "tool_0".into(),
            name: "bash".to_owned(),
            description: Description {
                title: "Run ls".to_owned(),
                kind: agent::ToolKind::Execute,
                locations: Vec::new(),
            },
            question: "Run `ls` in your terminal?".to_owned(),
            brief: "Run this in your terminal?".to_owned(),
            place: agent::CallPlace::default(),
            content: Vec::new(),
            raw_input: json!({"command": "ls"}),
            grant_label: "`ls …` in this session".to_owned(),
            remedy: agent::Remedy::default(),
        };
        let title_only = super::request(&"s".into(), with_question_in_title(request.clone()));
        let value = serde_json::to_value(super::request(&"s".into(), request)).unwrap();
        let options = value["options"].as_array().unwrap();
        assert_eq!(options.len(), 4);
        for option in options {
            assert_eq!(option["optionId"], option["kind"]);
        }
        assert_eq!(options[1]["name"], "Always allow: `ls …` in this session");
        let call = &value["toolCall"];
        assert_eq!(call["title"], "Run ls");
        assert_eq!(call["content"].as_array().unwrap().len(), 1);
        assert_eq!(call["content"][0]["content"]["text"], "Run this in your terminal?");
        let title_only = serde_json::to_value(title_only).unwrap();
        assert_eq!(title_only["toolCall"]["title"], "Run `ls` in your terminal?");
        assert_eq!(title_only["toolCall"]["content"], json!([]));
        assert_eq!(value["toolCall"]["rawInput"], json!({"command": "ls"}));
    }
}
