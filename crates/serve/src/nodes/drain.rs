//! The orderly end of a node: its work goes elsewhere first.

use super::hop::{Hop, Hops};
use crate::{
    application::EndReason,
    auth::Source,
    http::Site,
    limits::{DRAIN_STEP, HAND_OVER_WAIT, PIPE_BYTES},
    message::Head,
};
use agent::Principal;
use serde_json::json;
use std::sync::Arc;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    time::timeout,
};

/// Moves what a server does to other nodes before it stops.
#[derive(Clone)]
pub struct Drain {
    site: Site,
    hops: Arc<Hops>,
}

/// A session that goes on elsewhere without a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandoned {
    /// The user whom it belongs to, with all that its turn may do.
    pub principal: Principal,
    /// Where the user's last client was.
    pub source: Source,
    /// The session.
    pub session: String,
    /// The session's directory.
    pub cwd: String,
}

impl Drain {
    pub(super) fn new(site: Site, hops: Arc<Hops>) -> Self {
        Self { site, hops }
    }

    /// Refuses new connections. From now on the sessions of this node's clients are opened at other
    /// nodes.
    pub fn begin(&self) {
        self.site.draining.cancel();
    }

    /// Ends the connections that nodes forward: they look for their sessions elsewhere.
    pub fn end_forwarded(&self) {
        self.site.registry.end_forwarded(EndReason::Stopping);
    }

    /// Has another node open a session, so that its turn goes on there.
    ///
    /// # Errors
    /// If no node answers in time; the turn goes on when the session is opened next.
    pub async fn hand_over(&self, abandoned: Abandoned) -> Result<(), String> {
        let session = abandoned.session.clone();
        match timeout(HAND_OVER_WAIT, hand_over(self.hops.clone(), abandoned)).await {
            Ok(result) => result,
            Err(_elapsed) => Err(format!("no node has taken session {session} in time")),
        }
    }

    /// Waits until no client of this node waits for the end of a turn.
    pub async fn until_idle(&self) {
        while self.site.registry.has_running_prompts() {
            tokio::time::sleep(DRAIN_STEP).await;
        }
    }
}

/// Opens a session over a hop, and leaves it.
async fn hand_over(hops: Arc<Hops>, abandoned: Abandoned) -> Result<(), String> {
    let Abandoned { principal, source, session, cwd } = abandoned;
    let hop = Hop::new(hops, principal, source, Some(session.clone()));
    let (mut input, reader) = tokio::io::duplex(PIPE_BYTES);
    let (writer, output) = tokio::io::duplex(PIPE_BYTES);
    let request = |id: u32, method: &str, params| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    };
    let initialize = request(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let load = request(2, "session/load", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
    let talk = async move {
        input.write_all(format!("{initialize}{load}").as_bytes()).await.map_err(|error| error.to_string())?;
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let head = Head::of(&line);
            if head.is_response() && head.id.as_deref() == Some("2") {
                return if head.is_error { Err(line) } else { Ok(()) };
            }
        }
        Err("the hop ended without an answer".to_owned())
    };
    let (carried, talked) = tokio::join!(hop.carry(reader, writer), talk);
    carried.map_err(|error| error.to_string())?;
    talked
}
