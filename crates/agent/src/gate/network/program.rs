//! A program whose connections are decided about, and the questions about it.

use super::super::running;
use crate::{
    Description, Destination, PermissionRequest, Remedy, SessionEvent, ToolCallId, ToolCallUpdate, ToolKind,
    ToolResult, ToolStatus,
    event::network::byte_size,
    policy::network::{Group, GroupTraffic, NetworkScope},
};
use std::{
    collections::{HashMap, HashSet},
    sync::atomic::Ordering,
};
use tokio_util::sync::CancellationToken;

/// The name of the calls by which the user is asked about a server.
const SERVER_CALL: &str = "server";

/// The program that connects.
#[derive(Debug, Clone)]
pub(super) enum Subject {
    /// A command, by its call.
    Command { call: ToolCallId, tool: String },
    /// A server of the project, by its name. A question about it is a call of its own.
    Server(String),
}

/// A program that runs, and the answers about it.
pub(super) struct Running {
    pub(super) subject: Subject,
    pub(super) line: String,
    pub(super) cancel: CancellationToken,
    pub(super) questions: usize,
    /// The repositories that the command reaches without another question.
    pub(super) repositories: HashSet<String>,
    /// The answers for this command; an error is the reason of a refusal.
    pub(super) answers: HashMap<NetworkScope, Result<(), String>>,
}

impl Running {
    pub(super) fn new(subject: Subject, line: &str) -> Self {
        Self {
            subject,
            line: line.to_owned(),
            cancel: CancellationToken::new(),
            questions: 0,
            repositories: HashSet::new(),
            answers: HashMap::new(),
        }
    }

    /// Returns the program in words.
    pub(super) fn name(&self) -> String {
        match &self.subject {
            Subject::Command { .. } => format!("`{}`", crate::one_line(&self.line)),
            Subject::Server(name) => format!("the project's server `{}`", crate::one_line(name)),
        }
    }

    /// Lets a server ask in a turn. Its questions are counted in each.
    pub(super) fn begin_turn(&mut self, turn: CancellationToken) {
        if self.cancel.is_cancelled() {
            self.questions = 0;
        }
        self.cancel = turn;
    }

    pub(super) fn is_server(&self) -> bool {
        matches!(self.subject, Subject::Server(_))
    }

    /// Returns whether it is the program that a question was about.
    pub(super) fn is_of(&self, call: &ToolCallId) -> bool {
        match &self.subject {
            Subject::Command { call: own, .. } => own == call,
            Subject::Server(_) => true,
        }
    }

    /// Returns the question whether the command may do something at a place.
    pub(super) fn question(&self, title: String, what: &str, place: String) -> PermissionRequest {
        let (call, tool) = match &self.subject {
            Subject::Command { call, tool } => (call.clone(), tool.as_str()),
            Subject::Server(_) => {
                (ToolCallId(format!("server_{}", uuid::Uuid::now_v7().simple())), SERVER_CALL)
            }
        };
        let asked =
            running::question(call, tool, &self.name(), &self.line, self.titled(title), what, Some(place));
        match self.subject {
            Subject::Command { .. } => asked,
            // No call above the question says which server it is.
            Subject::Server(_) => PermissionRequest { brief: asked.question.clone(), ..asked },
        }
    }

    /// Returns a title that names a server, as the titles of subagents' calls name them.
    fn titled(&self, title: String) -> String {
        match &self.subject {
            Subject::Command { .. } => title,
            Subject::Server(name) => format!("[{}] {title}", crate::one_line(name)),
        }
    }
}

/// Returns the question about a destination for the command that runs.
pub(super) fn request(
    running: &Running,
    destination: &Destination,
    scope: &NetworkScope,
) -> PermissionRequest {
    let (place, grant) = match scope {
        NetworkScope::Group(group) => {
            (format!("{destination} (group {})", group.name), format!("the group {}", group.name))
        }
        NetworkScope::Host(..) | NetworkScope::Address(_) | NetworkScope::Local(_) => {
            (destination.to_string(), destination.to_string())
        }
    };
    let what = format!("connect to {place}? It can send there what it can read.");
    PermissionRequest {
        raw_input: serde_json::json!({ "command": running.line, "connects_to": destination.to_string() }),
        grant_label: format!("connections to {grant} in this session"),
        remedy: Remedy {
            hosts: vec![scope.rule()],
            in_prometheus: matches!(scope, NetworkScope::Group(_) | NetworkScope::Host(_, None)),
            ..Remedy::default()
        },
        ..running.question(format!("Connect to {place}"), &what, destination.to_string())
    }
}

/// Returns the question whether more may be sent to the hosts of a group.
pub(super) fn more_request(
    running: &Running,
    destination: &Destination,
    group: &'static Group,
    traffic: &GroupTraffic,
) -> PermissionRequest {
    let name = group.name;
    let (sent, received) = (traffic.sent.load(Ordering::Relaxed), traffic.received.load(Ordering::Relaxed));
    let facts = format!(
        "Commands of this session sent {} to the hosts of the group {name} and received {}: more than downloads send",
        byte_size(sent),
        byte_size(received)
    );
    let program = running.name();
    let asked = request(running, destination, &NetworkScope::Group(group));
    PermissionRequest {
        description: Description {
            title: running.titled(format!("Send more to the group {name}")),
            ..asked.description
        },
        question: format!("{facts}. Let {program} send more to {destination}?"),
        brief: format!("{facts}. Let it send more to {destination}?"),
        grant_label: format!("sending to the group {name} in this session"),
        // A rule allows downloads.
        remedy: Remedy::default(),
        ..asked
    }
}

/// Returns the event that begins or ends the call of a question about a server.
pub(super) fn own_call(
    request: &PermissionRequest,
    status: ToolStatus,
    result: Option<ToolResult>,
) -> SessionEvent {
    let mut update = ToolCallUpdate::of(request.id.clone(), request.name.clone()).status(status);
    update.display.title = Some(request.description.title.clone());
    update.display.kind = Some(ToolKind::Other);
    update.display.raw_input = Some(request.raw_input.clone());
    update.result = result;
    SessionEvent::ToolCall(update)
}
