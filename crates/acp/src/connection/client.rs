//! The client of a session: an editor at the other end of the connection.

use super::{Connection, Outbox, Peer, Projection, Update, Wire, settings::Settings};
use crate::{
    native::{self, Event, Step, Switch},
    system::ToolSet,
};
use agent::{
    AnyTool, Client, Models, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent,
    SessionId, TurnError,
};
use agent_client_protocol::{
    Client as ClientRole, ConnectionTo, is_connection_terminated, is_incoming_transport_closed,
};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use system::System;
use tokio_util::sync::CancellationToken;
#[cfg(feature = "v2")]
use {agent::MessageId, agent_client_protocol::Error};

/// What a session works with: who drives it, and where its effects happen.
pub(crate) struct Outfit<W: Wire> {
    /// Who is told and asked.
    pub(crate) client: AcpClient<W>,
    /// Where tools act.
    pub(crate) system: Arc<dyn System>,
}

/// What a session's events become: updates of the protocol, and, where the client asked for them, events of the native layer.
struct Projections<W: Wire> {
    wire: W::Projection,
    native: native::Projection,
}

/// An editor that drives a session.
pub(crate) struct AcpClient<W: Wire> {
    session: SessionId,
    connection: ConnectionTo<ClientRole>,
    outbox: Arc<Outbox<W>>,
    projection: Mutex<Projections<W>>,
    native: Arc<Switch>,
    models: Arc<dyn Models>,
    /// What is asked is made to fit what the client shows of it.
    fits: fn(PermissionRequest) -> PermissionRequest,
    /// Whether the client shows forms.
    forms: bool,
    /// The tools that act on the client's machine.
    tools: Vec<Arc<dyn AnyTool>>,
    /// Which tools act where; `None` where the client offers nothing to act through.
    tool_set: Option<Arc<ToolSet>>,
    /// Cancelled when the client closes the session, or is gone: its own prompts are taken back.
    left: CancellationToken,
}

impl<W: Wire> AcpClient<W> {
    /// The client of `session`.
    pub(crate) fn new(
        connection: &Connection<W>,
        peer: &Peer<W>,
        session: &SessionId,
        projection: W::Projection,
    ) -> Self {
        Self {
            session: session.clone(),
            connection: peer.connection.clone(),
            outbox: peer.outbox.clone(),
            projection: Mutex::new(Projections { wire: projection, native: native::Projection::default() }),
            native: connection.native.clone(),
            models: connection.runtime.models().clone(),
            fits: std::convert::identity,
            forms: peer.forms,
            tools: Vec::new(),
            tool_set: None,
            left: connection.gone.child_token(),
        }
    }

    /// Adds the tools that act on the client's machine.
    pub(crate) fn with_tools(mut self, tools: Vec<Arc<dyn AnyTool>>, set: Option<Arc<ToolSet>>) -> Self {
        (self.tools, self.tool_set) = (tools, set);
        self
    }

    /// Makes permission requests fit what the client shows of them.
    #[must_use]
    pub(crate) fn asking(mut self, fits: fn(PermissionRequest) -> PermissionRequest) -> Self {
        self.fits = fits;
        self
    }

    /// Which tools act where, where that can be chosen.
    pub(crate) fn tool_set(&self) -> Option<&ToolSet> {
        self.tool_set.as_deref()
    }

    /// Cancelled when the client closes the session, or is gone.
    pub(crate) fn left(&self) -> &CancellationToken {
        &self.left
    }

    /// Says what the session is set to, so that later changes can be told in full.
    pub(crate) fn set_settings(&self, settings: Settings) {
        let mut projection = self.projection();
        projection.native.set_settings(settings.clone());
        projection.wire.set_settings(settings);
    }

    /// Tells of the end of a message's turn, if no event did.
    #[cfg(feature = "v2")]
    pub(crate) fn failed(&self, message: &MessageId, error: &Error) {
        let mut projection = self.projection();
        let updates = projection.wire.failed(message, error);
        self.outbox.push(&self.session, updates);
    }

    /// Tells of an event of the native layer that is no event of the session, if the client asked for such.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if self.native.prefix().is_some() {
            let mut projection = self.projection();
            let frame = projection.native.frame(event());
            self.outbox.push(&self.session, vec![Step::Frame(frame).into()]);
        }
    }

    /// Tells the native layer of the end of a turn, if no event did.
    pub(crate) fn broken(&self, error: &TurnError) {
        if self.native.prefix().is_some() {
            let mut projection = self.projection();
            let steps = projection.native.broken(error.to_string());
            self.outbox.push(&self.session, steps.into_iter().map(Update::from).collect());
        }
    }

    fn tell_waiting(&self, for_the_user: bool) {
        let mut projection = self.projection();
        let updates = projection.wire.waiting(for_the_user);
        self.outbox.push(&self.session, updates);
    }

    fn projection(&self) -> MutexGuard<'_, Projections<W>> {
        self.projection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl<W: Wire> Client for AcpClient<W> {
    fn notify(&self, event: &SessionEvent) {
        // The lock is kept until the updates are in their lane: two events never overtake each other.
        let mut projection = self.projection();
        let models = || self.models.list();
        let mut updates = projection.wire.project(event, &models);
        if self.native.prefix().is_some() {
            updates = projection.native.along(event, updates, &models);
        } else {
            projection.native.pass_over(event);
        }
        self.outbox.push(&self.session, updates);
    }

    fn catch_up(&self, going_on: &[SessionEvent]) {
        let mut projection = self.projection();
        // It is told of them in another way, and what the updates say is in the projection now.
        for event in going_on {
            drop(projection.wire.project(event, &|| self.models.list()));
            projection.native.pass_over(event);
        }
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let request = (self.fits)(request);
        if self.native.prefix().is_some() {
            let mut projection = self.projection();
            let frame = projection.native.asking(&self.session, &request);
            self.outbox.push(&self.session, vec![Step::Frame(frame).into()]);
        }
        self.outbox.flush(&self.session);
        // Dropping the request (the turn was cancelled) tells the client to take its question back.
        match W::request_permission(&self.connection, &self.session, request).await {
            Ok(outcome) => outcome,
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
        let _waiting = Waiting::new(self);
        self.outbox.flush(&self.session);
        // Dropping the request (the turn was cancelled) tells the client to take its question back.
        W::ask(&self.connection, &self.session, question).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the client failed a question; taken as nobody to ask");
            QuestionOutcome::Unavailable
        })
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.clone()
    }

    async fn room(&self) {
        self.outbox.room().await;
    }

    async fn flush(&self) {
        self.outbox.flush(&self.session);
    }
}

/// A question that is open; dropped when it was answered or taken back.
struct Waiting<'a, W: Wire>(&'a AcpClient<W>);

impl<'a, W: Wire> Waiting<'a, W> {
    fn new(client: &'a AcpClient<W>) -> Self {
        client.tell_waiting(true);
        Self(client)
    }
}

impl<W: Wire> Drop for Waiting<'_, W> {
    fn drop(&mut self) {
        self.0.tell_waiting(false);
    }
}
