//! Background commands that keep running when their session closes, until the process ends.

use super::Shell;
use crate::{
    SessionId,
    limits::{SHELLS_END_WAIT, SHELLS_KEPT},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// The kept commands of all sessions of a process.
pub(crate) struct KeptShells {
    permits: Arc<Semaphore>,
    /// Those of closed sessions.
    held: Mutex<HashMap<SessionId, HeldShells>>,
}

/// The kept commands of a closed session.
pub(super) struct HeldShells {
    pub(super) shells: Vec<Arc<Shell>>,
    /// Where they report their end.
    pub(super) news: Arc<Notify>,
}

impl Default for KeptShells {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(SHELLS_KEPT)), held: Mutex::default() }
    }
}

impl KeptShells {
    /// Reserves a place; `None` if the process keeps as many commands as it may.
    pub(super) fn reserve(&self) -> Option<OwnedSemaphorePermit> {
        self.permits.clone().try_acquire_owned().ok()
    }

    /// Takes over the running commands of a session that closes. Those of other sessions that have
    /// ended are dropped.
    pub(super) fn hold(&self, session: SessionId, held: HeldShells) {
        let mut all = self.lock();
        all.retain(|_, held| held.shells.iter().any(|shell| shell.is_running()));
        if !held.shells.is_empty() {
            all.insert(session, held);
        }
    }

    /// Returns the commands of a session that is opened again.
    pub(super) fn take(&self, session: &SessionId) -> Option<HeldShells> {
        self.lock().remove(session)
    }

    /// Stops the commands of a session that is deleted.
    pub(crate) async fn end_of(&self, session: &SessionId) {
        if let Some(held) = self.take(session) {
            stop(held.shells).await;
        }
    }

    /// Stops all commands, because the process ends.
    pub(crate) async fn end(&self) {
        let held: Vec<_> = self.lock().drain().flat_map(|(_, held)| held.shells).collect();
        stop(held).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, HeldShells>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops commands and waits for them, with a timeout.
pub(super) async fn stop(shells: Vec<Arc<Shell>>) {
    let ends = shells.iter().filter(|shell| shell.is_running()).map(|shell| shell.stop());
    if timeout(SHELLS_END_WAIT, futures::future::join_all(ends)).await.is_err() {
        tracing::warn!("a command in the background did not end in time; it is killed");
    }
}
