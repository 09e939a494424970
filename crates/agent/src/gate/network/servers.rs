//! The network of the servers that a project brings along. Each has temporary files, a room and a
//! judge of its own, so that a question names the program that connects.

use super::{ConnectionsOf, Judge, Place, Running, Subject};
use crate::{
    NetworkUse, SessionEvent, ToolCallId,
    programs::{Attached, ServerNetworks},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use system::AbsPath;

/// The networks of a session's servers.
pub(crate) struct SessionServers {
    connections: ConnectionsOf,
    place: Place,
    /// The servers that were started, each by its name.
    started: Mutex<Vec<(String, Weak<Judge>)>>,
}

impl SessionServers {
    /// Returns the networks of the servers of a session whose programs run in a place.
    pub(crate) fn new(connections: ConnectionsOf, place: Place) -> Arc<Self> {
        Arc::new(Self { connections, place, started: Mutex::default() })
    }

    /// Returns the events with what the servers have used of the network since the last time.
    pub(crate) fn used(&self) -> Vec<SessionEvent> {
        let started = self.started();
        let used = started.iter().filter_map(|(name, judge)| {
            let hosts = judge.upgrade()?.lock().take_used();
            let call = ToolCallId(format!("server_{name}"));
            (!hosts.is_empty()).then(|| SessionEvent::NetworkUsed(NetworkUse { call, hosts }))
        });
        used.collect()
    }

    fn started(&self) -> MutexGuard<'_, Vec<(String, Weak<Judge>)>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for SessionServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionServers").finish_non_exhaustive()
    }
}

impl ServerNetworks for SessionServers {
    fn open(&self, server: &str, line: &str) -> (AbsPath, Attached) {
        let mut started = self.started();
        let own_files = self.connections.own_files.of_server(started.len());
        let temp = own_files.temp.clone();
        let running = Running::new(Subject::Server(server.to_owned()), line);
        let (judge, attached) = self.connections.judge(own_files, self.place.clone(), Some(running));
        started.push((server.to_owned(), Arc::downgrade(&judge)));
        (temp, attached)
    }

    fn ask_wait(&self) -> Duration {
        self.connections.settings.seen().sandbox.network.ask_wait
    }
}
