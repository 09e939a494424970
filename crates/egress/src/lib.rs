//! The network of confined commands, served from outside of their sandbox.
//!
//! In a room, a name server of this crate invents an address for each host, and every connection to
//! a captured port arrives here with the address that it was meant for. So the host and the port of
//! each connection are known before anything is sent: the session's [`ConnectionJudge`] decides
//! about them, and asks the user while the connection waits. Then this crate dials, and only an
//! address that was checked.
//!
//! TLS is not opened. Of a connection to port 443 the server name in the clear is compared with the
//! host, and of one to port 80 the `Host` of each request; otherwise a host that is listed would
//! stand for all others at the same address.
//!
//! Architecture Invariant: this crate must never connect to an address that it has not checked, or
//! look up a host that is not decided about.

mod accept;
mod connection;
mod counted;
#[expect(clippy::disallowed_methods, reason = "connections of commands are checked and made here")]
mod dial;
mod dns;
#[expect(clippy::disallowed_methods, reason = "servers of commands are served and reached here")]
mod forward;
mod git;
mod hello;
pub mod limits;
mod names;
mod outbound;
mod web;

pub use dial::{Dialer, Direct};
pub use git::GitAccess;

use agent::{CommandNetwork, ConnectionJudge};
use async_trait::async_trait;
use connection::Room;
use git::Git;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use system::{AbsPath, GitRemote, RoomInside, RoomNetwork, RoomSockets};
use tokio::task::JoinHandle;

/// The judges of the sessions, by their directories for temporary files.
type Judges = Arc<Mutex<HashMap<AbsPath, Arc<dyn ConnectionJudge>>>>;

/// The port of the name server of a room.
const NAME_PORT: u16 = 53;

/// The server of the network of all sessions of a process.
#[derive(Clone)]
pub struct Egress {
    judges: Judges,
    dialer: Arc<dyn Dialer>,
    git: Option<Arc<Git>>,
}

impl Egress {
    /// Creates a server that connects by a dialer.
    pub fn new(dialer: Arc<dyn Dialer>) -> Self {
        Self { judges: Judges::default(), dialer, git: None }
    }

    /// Lets commands reach the remote repositories of their projects with the user's credentials.
    pub fn with_git(self, access: GitAccess) -> Self {
        Self { git: Some(Arc::new(Git::new(access))), ..self }
    }
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Egress").finish_non_exhaustive()
    }
}

impl CommandNetwork for Egress {
    fn attach(&self, session: &AbsPath, judge: Arc<dyn ConnectionJudge>) -> Box<dyn Any + Send + Sync> {
        locked(&self.judges).insert(session.clone(), judge);
        Box::new(Attached { egress: self.clone(), session: session.clone() })
    }
}

#[async_trait]
impl RoomNetwork for Egress {
    fn serve(
        &self,
        session: &AbsPath,
        sockets: RoomSockets,
        inside: RoomInside,
    ) -> Box<dyn Any + Send + Sync> {
        let (judges, key) = (Arc::clone(&self.judges), session.clone());
        let judge = move || locked(&judges).get(&key).cloned();
        let git = self.git.clone().map(|git| (git, session.clone()));
        let own = sockets.listeners.iter().filter_map(|socket| Some(socket.local_addr().ok()?.port()));
        let own = own.chain([NAME_PORT]).collect();
        let forwarding = tokio::spawn(forward::serve(inside, own, judge.clone()));
        let dialer = Arc::clone(&self.dialer);
        let room = Arc::new(Room::new(judge, dialer, git, sockets.local.iter().copied()));
        let serving = tokio::spawn(async move {
            if let Err(error) = room.serve(sockets).await {
                tracing::warn!(%error, "the network of commands cannot be served");
            }
        });
        Box::new(Served([serving, forwarding]))
    }

    async fn variables(
        &self,
        session: &AbsPath,
        roots: &[AbsPath],
        remotes: Vec<GitRemote>,
    ) -> Vec<(String, String)> {
        match &self.git {
            Some(git) => {
                let signs = locked(&self.judges).get(session).map(|judge| judge.signs());
                git.variables(session, roots, remotes, signs.unwrap_or_default()).await
            }
            None => git::variables(Vec::new()),
        }
    }
}

fn locked(
    judges: &Mutex<HashMap<AbsPath, Arc<dyn ConnectionJudge>>>,
) -> MutexGuard<'_, HashMap<AbsPath, Arc<dyn ConnectionJudge>>> {
    judges.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the judge of a session when it ends.
struct Attached {
    egress: Egress,
    session: AbsPath,
}

impl Drop for Attached {
    fn drop(&mut self) {
        locked(&self.egress.judges).remove(&self.session);
        if let Some(git) = &self.egress.git {
            git.forget(&self.session);
        }
    }
}

/// Ends the tasks that serve a room.
struct Served([JoinHandle<()>; 2]);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}
