//! The interface to the client of a session: an editor, a script, a terminal or a parent session.

pub(crate) mod display;
pub(crate) mod pages;
pub(crate) mod watchers;

use crate::{
    AnyTool, AskUser, CallPlace, Description, PermissionOutcome, Question, QuestionOutcome, Remedy,
    SessionEvent, ToolCallId, ToolContent,
};
use async_trait::async_trait;
use serde_json::Value;
use std::sync::Arc;
use system::System;

/// The client of a session.
#[async_trait]
pub trait Client: Send + Sync {
    /// Notifies the client of an event. Never blocks and never fails: a slow client receives merged
    /// text, and [`Client::room`] holds back events that can wait.
    fn notify(&self, event: &SessionEvent);

    /// Notifies the client of an event in both forms: as data, with what the model and the user
    /// wrote, and sanitised for display. For a client whose output is data, such as a file or JSON.
    /// Others take the second. Neither has control sequences.
    fn notify_written(&self, _written: &SessionEvent, shown: &SessionEvent) {
        self.notify(shown);
    }

    /// Passes the operations in progress to a client that joins a running session, before the first
    /// [`Client::notify`].
    ///
    /// They are displayed by other means; the client needs them only to interpret the events that
    /// follow.
    fn catch_up(&self, _going_on: &[SessionEvent]) {}

    /// Takes note of the number of the last stored event, before the notification about that event.
    /// Later events that are not stored follow it.
    fn stored(&self, _number: u64) {}

    /// Requests a permission and waits without a timeout for the answer; the caller cancels by
    /// dropping the future.
    ///
    /// A missing answer, an unknown answer or an error is [`PermissionOutcome::Cancelled`] or a
    /// rejection, never an approval.
    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome;

    /// Returns the message for the model about a rejected request, if the client can say more than
    /// that the user refused: for example that no user is present, and which setting would allow
    /// the call.
    fn rejection(&self, _request: &PermissionRequest) -> Option<String> {
        None
    }

    /// Whether the client may answer permission requests and questions; one that only watches is
    /// not asked.
    fn answers(&self) -> bool {
        true
    }

    /// Whether the client can ask the user a question ([`Client::ask`]). Constant for a session.
    fn takes_questions(&self) -> bool {
        false
    }

    /// Asks the user a question and waits without a timeout for the answer; the caller cancels by
    /// dropping the future.
    async fn ask(&self, _question: Question) -> QuestionOutcome {
        QuestionOutcome::Unavailable
    }

    /// Returns the tools that the client contributes. Called once, when a session is created or
    /// opened.
    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    /// Waits until the client has room for more events: its unread events stay below a bound of its
    /// own.
    ///
    /// Producers of many events await this first; mandatory events are sent regardless. A client
    /// without a buffer is always ready. Never fails: a disconnected client has room.
    async fn room(&self) {}

    /// Waits until all notifications so far have been handed to the transport, so that a response
    /// can follow them.
    async fn flush(&self) {}
}

/// A client of a session and the system where its effects happen.
#[derive(Clone)]
pub struct Surface {
    /// The client that receives events and questions.
    pub client: Arc<dyn Client>,
    /// The system through which tools act.
    pub system: Arc<dyn System>,
}

/// A request for the user's permission.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The id of the call.
    pub id: ToolCallId,
    /// The name of the tool.
    pub name: String,
    /// What will happen, and where.
    pub description: Description,
    /// The complete question, with everything it is about and the reason for asking, for a client
    /// that shows nothing else.
    pub question: String,
    /// The question for a client that also shows the title and the content; it does not repeat the
    /// command that those contain.
    pub brief: String,
    /// Where the call acts, for a client that shows the question in parts.
    pub place: CallPlace,
    /// The content to show: the diffs that will be written, or the command that will run if the
    /// title does not contain all of it.
    pub content: Vec<ToolContent>,
    /// The arguments of the call.
    pub raw_input: Value,
    /// The scope of "always" in words: `cargo test …` in the sandbox, in this session. Empty if no
    /// answer is remembered.
    pub grant_label: String,
    /// What would allow the call without a question.
    pub remedy: Remedy,
}

/// A client as tools see it: they can ask the user a question and do nothing else.
pub(crate) struct User(pub(crate) Arc<dyn Client>);

#[async_trait]
impl AskUser for User {
    async fn ask(&self, question: Question) -> QuestionOutcome {
        self.0.ask(question).await
    }
}
