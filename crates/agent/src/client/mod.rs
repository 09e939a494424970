//! The seam to whoever drives a session: an editor, a script, a terminal, a parent session.

pub(crate) mod display;
pub(crate) mod pages;
pub(crate) mod watchers;

use crate::{
    AnyTool, AskUser, Location, PermissionOutcome, Question, QuestionOutcome, SessionEvent, ToolCallId,
    ToolContent, ToolKind,
};
use async_trait::async_trait;
use serde_json::Value;
use std::sync::Arc;
use system::System;

/// Whoever drives a session.
#[async_trait]
pub trait Client: Send + Sync {
    /// Tells of an event. Never blocks and never fails: a slow client gets merged text, and what
    /// can wait is held back by [`Client::room`].
    fn notify(&self, event: &SessionEvent);

    /// What is going on in a session that it joins in the middle, before the first [`Client::notify`]: whoever joins is shown it otherwise, and has only
    /// to know it, so that what follows from it is told right.
    fn catch_up(&self, _going_on: &[SessionEvent]) {}

    /// Asks for a permission and waits for the answer as long as the client takes; the caller cancels by dropping the future. No
    /// answer, an unknown answer or an error is [`PermissionOutcome::Cancelled`] or a rejection, never an approval.
    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome;

    /// What the model is told of a rejected request, where more can be said than that the user said no: that nobody is there to ask, and
    /// what would have to be set.
    fn rejection(&self, _request: &PermissionRequest) -> Option<String> {
        None
    }

    /// Whether there is somebody who can be asked a question ([`Client::ask`]). Never changes for a session.
    fn takes_questions(&self) -> bool {
        false
    }

    /// Asks the user a question and waits for the answer as long as it takes; the caller cancels by dropping the future.
    async fn ask(&self, _question: Question) -> QuestionOutcome {
        QuestionOutcome::Unavailable
    }

    /// The tools it brings: what can be done where it is. Asked once, when a session is made or opened.
    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    /// Waits until it has room for more: what it was notified of and has not read yet stays below a
    /// bound of its own. Whoever has much to tell awaits it first; what must be told is told all
    /// the same. One that takes everything at once is always ready. Never fails: a client that has
    /// gone has room.
    async fn room(&self) {}

    /// Waits until what was notified so far has been handed to the transport, so that a response can follow it.
    async fn flush(&self) {}
}

/// Whoever drives a session, and where its effects happen.
#[derive(Clone)]
pub struct Surface {
    /// Who is told and asked.
    pub client: Arc<dyn Client>,
    /// Where tools act.
    pub system: Arc<dyn System>,
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The call.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// One line for people: what will happen, where.
    pub title: String,
    /// The question in words, with all that it is about and what made it necessary: for somebody
    /// who sees nothing else.
    pub question: String,
    /// The question for somebody who sees the title and the content too, which have the command: it
    /// is not told again.
    pub brief: String,
    /// What kind of thing it does.
    pub kind: ToolKind,
    /// What it shows: the diffs that will be written; the command that will run, where the title
    /// does not have all of it.
    pub content: Vec<ToolContent>,
    /// Where it works.
    pub locations: Vec<Location>,
    /// The arguments.
    pub raw_input: Value,
    /// What "always" would cover, in words: `cargo test …` in the sandbox, in this session. Empty where no answer is remembered.
    pub grant_label: String,
}

/// A client as tools see it: they can ask the user a question, and nothing else.
pub(crate) struct User(pub(crate) Arc<dyn Client>);

#[async_trait]
impl AskUser for User {
    async fn ask(&self, question: Question) -> QuestionOutcome {
        self.0.ask(question).await
    }
}
