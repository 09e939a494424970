//! Several nodes: each serves any client of any session.
//!
//! A session has one owner, the node that holds its lease in the shared database. A client may be
//! connected to another node, its edge. For each session of the client the edge opens a *hop*: it
//! is a client of the owner over the same WebSocket, with the resumption and the recovery of
//! `tiller connect`. When the owner dies, drains or loses the session, the hop finds the next one
//! and opens the session there again, so that the client sees a pause.
//!
//! Architecture Invariant: what arrives over a hop is never forwarded again. A node that does not
//! hold the session answers so, and the edge looks again.

mod directory;
mod drain;
mod hop;
pub(crate) mod identity;
mod rewrite;
mod router;

pub use directory::{Directory, Holder, NodeAddress};
pub use drain::{Abandoned, Drain};

use crate::{
    application::{Application, Carried, Unreadable},
    auth::Source,
    http::Site,
    listen::CertificateFiles,
};
use agent::Principal;
use async_trait::async_trait;
use directory::Watched;
use hop::{Enter, Hops};
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// What a node needs to work with others.
pub struct NodeOptions {
    /// Who holds which session.
    pub directory: Arc<dyn Directory>,
    /// The certificate of this node, and the authority of all of them. Each holder of a certificate
    /// of that authority speaks for every user.
    pub certificate: CertificateFiles,
}

/// An application whose sessions may be at other nodes.
pub(crate) struct Forwarding {
    inner: Arc<dyn Application>,
    hops: Arc<Hops>,
}

impl Forwarding {
    pub(crate) fn new(
        inner: Arc<dyn Application>,
        options: NodeOptions,
        draining: CancellationToken,
    ) -> Self {
        let NodeOptions { directory, certificate } = options;
        let (watched, here) = (Watched::default(), OnceLock::new());
        Self { inner, hops: Arc::new(Hops { directory, certificate, watched, here, draining }) }
    }

    /// Returns what moves the work of a server elsewhere.
    pub(crate) fn drain(&self, site: Site) -> Drain {
        Drain::new(site, self.hops.clone())
    }

    /// Sets the way into this process, for hops to itself.
    pub(crate) fn enter_by(&self, enter: Enter) {
        // It is set once, when the server begins to run.
        let _ = self.hops.here.set(enter);
    }

    /// Ends sockets to nodes that are no longer alive. Never completes.
    pub(crate) async fn follow_nodes(&self) {
        self.hops.watched.follow(self.hops.directory.clone()).await;
    }
}

#[async_trait]
impl Application for Forwarding {
    async fn serve(&self, connection: Carried) {
        match connection.is_forwarded {
            true => self.inner.serve(connection).await,
            false => router::route(self.hops.clone(), self.inner.clone(), connection).await,
        }
    }

    async fn content(
        &self,
        principal: &Principal,
        source: Source,
        session: &str,
        hash: &str,
    ) -> Result<Option<Vec<u8>>, Unreadable> {
        // It is in the database that all nodes share.
        self.inner.content(principal, source, session, hash).await
    }
}
