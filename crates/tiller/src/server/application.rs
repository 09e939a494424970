//! The protocol behind the server: each connection is served like stdin and stdout.

use ::serve::{Application, Carried, EndReason, Presence, auth::Source};
use acp::{AcpOptions, AfterEnd, ClientTools, Link};
use agent::Runtime;
use async_trait::async_trait;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// Serves the protocol on every connection.
pub(crate) struct ServedProtocol {
    pub(crate) runtime: Arc<Runtime>,
    /// The options of every connection.
    pub(crate) options: AcpOptions,
    /// Whether the settings say which tools act on the client's machine.
    pub(crate) tools_are_set: bool,
    /// How long a session with neither a client nor a turn stays open; `None` if turns end with
    /// their client.
    pub(crate) linger: Option<Duration>,
}

#[async_trait]
impl Application for ServedProtocol {
    async fn serve(&self, connection: Carried) {
        let Carried { id, principal, source, reader, writer, presence, waiting } = connection;
        let mut options = self.options.clone();
        options.output_closed = Default::default();
        options.link = Arc::new(NetworkLink { presence, waiting, linger: self.linger });
        options.bounds.line_bytes = ::serve::limits::MESSAGE_BYTES;
        if !self.tools_are_set {
            options.machines.client_tools = match source {
                Source::Unix(_) => ClientTools::Transparent,
                // The client is on another machine.
                Source::Address(_) => ClientTools::Ide,
            };
        }
        tracing::info!(connection = %id, user = %principal.user, %source, "a connection begins");
        if let Err(error) = acp::serve(self.runtime.clone(), reader, writer, options).await {
            tracing::warn!(connection = %id, %error, "a connection failed");
        }
        tracing::info!(connection = %id, "a connection has ended");
    }
}

/// The way to a client over sockets that come and go.
struct NetworkLink {
    presence: watch::Receiver<Presence>,
    waiting: Arc<dyn Fn(usize) + Send + Sync>,
    linger: Option<Duration>,
}

#[async_trait]
impl Link for NetworkLink {
    fn after_end(&self) -> AfterEnd {
        let stops =
            matches!(*self.presence.borrow(), Presence::Ended(EndReason::Deleted | EndReason::Stopped));
        match self.linger.filter(|_| !stops) {
            Some(linger) => AfterEnd::GoOn(linger),
            None => AfterEnd::Cancel,
        }
    }

    fn waiting(&self, bytes: usize) {
        (self.waiting)(bytes);
    }

    fn turns_wait(&self) -> bool {
        false
    }

    async fn elapsed(&self, limit: Duration) {
        Carried::elapsed(self.presence.clone(), limit).await;
    }
}
