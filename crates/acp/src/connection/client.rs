//! The `Client` of a session: an editor at the other end of the connection.

use super::{Connection, Outbox, Peer, Projection, ToolSet, Update, Wire, elicitation, settings::Settings};
use crate::native::{self, Event, EventsSwitch, Step};
use agent::{
    AnyTool, Client, Models, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent,
    SessionId, TurnError, principal::Operation,
};
use agent_client_protocol::{
    Client as ClientRole, ConnectionTo, is_connection_terminated, is_incoming_transport_closed,
};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;
use {agent::MessageId, agent_client_protocol::Error};

/// The projections of a session's events: to updates of the protocol, and to native events if the
/// client asked for them.
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
    native: Arc<EventsSwitch>,
    models: Arc<dyn Models>,
    /// Adapts a permission request to what the client displays.
    adapt_permission: fn(PermissionRequest) -> PermissionRequest,
    /// Whether the client supports forms.
    forms: bool,
    /// The tools that act on the client's machine.
    tools: Vec<Arc<dyn AnyTool>>,
    /// Which tools act on which machine; `None` if the client offers neither files nor terminals.
    tool_set: Option<Arc<ToolSet>>,
    /// Cancelled when the client closes the session or disconnects; its queued prompts are then
    /// withdrawn.
    leave_token: CancellationToken,
    /// Whether the connection's credential permits answering permission requests and questions.
    answers: bool,
}

impl<W: Wire> AcpClient<W> {
    /// Creates the client of `session`.
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
            adapt_permission: std::convert::identity,
            forms: peer.forms,
            tools: Vec::new(),
            tool_set: None,
            leave_token: connection.gone.child_token(),
            answers: (connection.options.permits)(Operation::Answer).is_ok(),
        }
    }

    /// Adds the tools that act on the client's machine.
    pub(crate) fn with_tools(mut self, tools: Vec<Arc<dyn AnyTool>>, set: Option<Arc<ToolSet>>) -> Self {
        (self.tools, self.tool_set) = (tools, set);
        self
    }

    /// Sets the function that adapts permission requests to what the client displays.
    #[must_use]
    pub(crate) fn with_permission_adapter(
        mut self,
        adapt_permission: fn(PermissionRequest) -> PermissionRequest,
    ) -> Self {
        self.adapt_permission = adapt_permission;
        self
    }

    /// Returns which tools act on which machine, if that is configurable.
    pub(crate) fn tool_set(&self) -> Option<&ToolSet> {
        self.tool_set.as_deref()
    }

    /// Returns the token that is cancelled when the client closes the session or disconnects.
    pub(crate) fn leave_token(&self) -> &CancellationToken {
        &self.leave_token
    }

    /// Stores the session's current settings, so that later changes can be reported in full.
    pub(crate) fn set_settings(&self, settings: Settings) {
        let mut projection = self.projection();
        projection.native.set_settings(settings.clone());
        projection.wire.set_settings(settings);
    }

    /// Reports the end of a message's turn that ended without an event.
    pub(crate) fn failed(&self, message: &MessageId, error: &Error) {
        let mut projection = self.projection();
        let updates = projection.wire.failed(message, error);
        self.outbox.push(&self.session, updates);
    }

    /// Sends a native event that is not a session event, if the client asked for native events.
    pub(crate) fn send_native(&self, event: impl FnOnce() -> Event) {
        if self.native.prefix().is_some() {
            let mut projection = self.projection();
            let frame = projection.native.frame(event());
            self.outbox.push(&self.session, vec![Step::Frame(frame).into()]);
        }
    }

    /// Reports the end of a turn to the native layer, if the turn ended without an event.
    pub(crate) fn report_unrecorded_end(&self, error: &TurnError) {
        if self.native.prefix().is_some() {
            let mut projection = self.projection();
            let steps = projection.native.report_unrecorded_end(error.to_string());
            self.outbox.push(&self.session, steps.into_iter().map(Update::from).collect());
        }
    }

    fn notify_waiting(&self, for_the_user: bool) {
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
        // Hold the lock until the updates are queued, so that two events never overtake each other.
        let mut projection = self.projection();
        let models = || self.models.list();
        let mut updates = projection.wire.project(event, &models);
        if self.native.prefix().is_some() {
            updates = projection.native.with_updates(event, updates, &models);
        } else {
            projection.native.observe(event);
        }
        self.outbox.push(&self.session, updates);
    }

    fn catch_up(&self, going_on: &[SessionEvent]) {
        let mut projection = self.projection();
        // Drop the updates: the client gets this state in another way. The projections still have
        // to learn it.
        for event in going_on {
            drop(projection.wire.project(event, &|| self.models.list()));
            projection.native.observe(event);
        }
    }

    fn stored(&self, number: u64) {
        self.outbox.stored(&self.session, number);
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        self.outbox.until_released(&self.session).await;
        let request = (self.adapt_permission)(request);
        if self.native.prefix().is_some() {
            let mut projection = self.projection();
            let frame = projection.native.permission_requested(&self.session, &request);
            self.outbox.push(&self.session, vec![Step::Frame(frame).into()]);
        }
        self.outbox.flush(&self.session);
        // Dropping the request (the turn was cancelled) sends the client a cancellation.
        match W::request_permission(&self.connection, &self.session, request).await {
            Ok(outcome) => outcome,
            Err(error) if is_incoming_transport_closed(&error) || is_connection_terminated(&error) => {
                PermissionOutcome::Cancelled
            }
            Err(error) => {
                tracing::warn!(%error, "the client failed a permission request; treated as a rejection");
                PermissionOutcome::RejectOnce
            }
        }
    }

    fn answers(&self) -> bool {
        self.answers
    }

    fn takes_questions(&self) -> bool {
        self.forms
    }

    async fn ask(&self, question: Question) -> QuestionOutcome {
        if !self.forms {
            return QuestionOutcome::Unavailable;
        }
        self.outbox.until_released(&self.session).await;
        let _waiting = OpenQuestion::new(self);
        self.outbox.flush(&self.session);
        // Dropping the request (the turn was cancelled) sends the client a cancellation.
        let answer = elicitation::ask::<W::FormAnswer>(&self.connection, &self.session, &question).await;
        answer.unwrap_or_else(|error| {
            tracing::warn!(%error, "the client failed to answer a question; treated as dismissed");
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

/// Reports an open question; when dropped, reports that it was answered or withdrawn.
struct OpenQuestion<'a, W: Wire>(&'a AcpClient<W>);

impl<'a, W: Wire> OpenQuestion<'a, W> {
    fn new(client: &'a AcpClient<W>) -> Self {
        client.notify_waiting(true);
        Self(client)
    }
}

impl<W: Wire> Drop for OpenQuestion<'_, W> {
    fn drop(&mut self) {
        self.0.notify_waiting(false);
    }
}
