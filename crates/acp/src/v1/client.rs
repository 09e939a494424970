//! The client of a session: an editor at the other end of the connection.

use super::{Outbox, elicitation, settings::Settings, to_acp, update::Update};
use crate::system::ToolSet;
use agent::{
    AnyTool, Client, Models, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent,
    SessionId, ToolContent,
};
use agent_client_protocol::{
    Client as ClientRole, ConnectionTo, is_connection_terminated, is_incoming_transport_closed,
    v1::schema as acp,
};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An editor that drives a session.
pub(crate) struct AcpClient {
    session: SessionId,
    connection: ConnectionTo<ClientRole>,
    outbox: Arc<Outbox>,
    projection: Mutex<to_acp::Projection>,
    models: Arc<dyn Models>,
    /// Whether the client shows forms.
    forms: bool,
    /// The tools that act on the client's machine.
    tools: Vec<Arc<dyn AnyTool>>,
    /// Which tools act where; `None` where the client offers nothing to act through.
    tool_set: Option<Arc<ToolSet>>,
}

impl AcpClient {
    /// The client of `session`.
    pub(crate) fn new(
        session: SessionId,
        connection: ConnectionTo<ClientRole>,
        outbox: Arc<Outbox>,
        projection: to_acp::Projection,
        models: Arc<dyn Models>,
        forms: bool,
    ) -> Self {
        let (projection, tools) = (Mutex::new(projection), Vec::new());
        Self { session, connection, outbox, projection, models, forms, tools, tool_set: None }
    }

    /// Adds the tools that act on the client's machine.
    pub(crate) fn with_tools(mut self, tools: Vec<Arc<dyn AnyTool>>, set: Option<Arc<ToolSet>>) -> Self {
        (self.tools, self.tool_set) = (tools, set);
        self
    }

    /// Which tools act where, where that can be chosen.
    pub(crate) fn tool_set(&self) -> Option<&ToolSet> {
        self.tool_set.as_deref()
    }

    /// Says what the session is set to, so that later changes can be told in full.
    pub(crate) fn set_settings(&self, settings: Settings) {
        self.projection().set_settings(settings);
    }

    /// What a client that plays the stored events back must be told beside them.
    pub(crate) fn unstored(&self) -> Vec<Update> {
        self.projection().unstored()
    }

    fn projection(&self) -> MutexGuard<'_, to_acp::Projection> {
        self.projection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Client for AcpClient {
    fn notify(&self, event: &SessionEvent) {
        // The lock is kept until the updates are in their lane: two events never overtake each other.
        let mut projection = self.projection();
        let updates = projection.updates(event, || self.models.list());
        self.outbox.push(&self.session, updates);
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        self.outbox.flush(&self.session);
        let request = permission_request(&self.session, request);
        // Dropping the request (the turn was cancelled) tells the client to take its question back.
        match self.connection.send_request(request).block_task().await {
            Ok(response) => outcome(&response.outcome),
            Err(error) if is_incoming_transport_closed(&error) || is_connection_terminated(&error) => {
                PermissionOutcome::Cancelled
            }
            Err(error) => {
                tracing::warn!(%error, "the client failed a permission request; taken as a refusal");
                PermissionOutcome::RejectOnce
            }
        }
    }

    fn takes_questions(&self) -> bool {
        self.forms
    }

    async fn ask(&self, question: Question) -> QuestionOutcome {
        if !self.forms {
            return QuestionOutcome::Unavailable;
        }
        self.outbox.flush(&self.session);
        let request = elicitation::request(&self.session, &question);
        // Dropping the request (the turn was cancelled) tells the client to take its question back.
        match self.connection.send_request(request).block_task().await {
            Ok(response) => elicitation::outcome(response.action, &question),
            Err(error) => {
                tracing::warn!(%error, "the client failed a question; taken as nobody to ask");
                QuestionOutcome::Unavailable
            }
        }
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.clone()
    }

    async fn flush(&self) {
        self.outbox.flush(&self.session);
    }
}

fn permission_request(session: &SessionId, request: PermissionRequest) -> acp::RequestPermissionRequest {
    let mut content = vec![ToolContent::Content(agent::Content::text(request.question))];
    content.extend(request.content);
    let fields = acp::ToolCallUpdateFields::new()
        .title(request.title)
        .name(request.name)
        .kind(to_acp::tool_kind(request.kind))
        .status(acp::ToolCallStatus::Pending)
        .content(to_acp::tool_content(&content))
        .locations(to_acp::locations(&request.locations))
        .raw_input(request.raw_input);
    let call = acp::ToolCallUpdate::new(request.id.0, fields);
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
    acp::RequestPermissionRequest::new(session.as_str().to_owned(), call, options)
}

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// What an answer means; whatever is not one of ours is a refusal.
fn outcome(outcome: &acp::RequestPermissionOutcome) -> PermissionOutcome {
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
        _ => PermissionOutcome::Cancelled,
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
            (json!({"outcome": "selected", "optionId": "ALLOW_ONCE"}), PermissionOutcome::RejectOnce),
            (json!({"outcome": "cancelled"}), PermissionOutcome::Cancelled),
        ] {
            assert_eq!(outcome(&serde_json::from_value(answer.clone()).unwrap()), expected, "{answer}");
        }
    }

    #[test]
    fn a_request_offers_four_options_whose_ids_are_their_kinds() {
        let request = PermissionRequest {
            id: "tool_0".into(),
            name: "bash".to_owned(),
            title: "Run ls".to_owned(),
            question: "Run ls in your terminal?".to_owned(),
            kind: agent::ToolKind::Execute,
            content: Vec::new(),
            locations: Vec::new(),
            raw_input: json!({"command": "ls"}),
            grant_label: "`ls …` in this session".to_owned(),
        };
        let value = serde_json::to_value(permission_request(&"s".into(), request)).unwrap();
        let options = value["options"].as_array().unwrap();
        assert_eq!(options.len(), 4);
        for option in options {
            assert_eq!(option["optionId"], option["kind"]);
        }
        assert_eq!(options[1]["name"], "Always allow: `ls …` in this session");
        assert_eq!(value["toolCall"]["content"][0]["content"]["text"], "Run ls in your terminal?");
        assert_eq!(value["toolCall"]["rawInput"], json!({"command": "ls"}));
    }
}
