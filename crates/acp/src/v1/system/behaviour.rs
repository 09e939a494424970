//! How a client behaves where the protocol is open: facts from the table of clients, and results of
//! probes on this connection.

use crate::client_facts::{Buffers, ClientFacts, Ranges, Stdin, Terminal};
use std::{
    future::Future,
    sync::{Mutex, PoisonError},
};
use tokio::sync::OnceCell;

/// Facts and probe results about the client of a connection. Shared by its sessions.
#[derive(Debug, Default)]
pub(crate) struct ClientBehaviour {
    facts: ClientFacts,
    /// The probed way in which its terminals interpret commands, if the table does not contain it.
    terminal: OnceCell<Terminal>,
    /// Whether it honours ranges, if that was probed.
    ranges: Mutex<Option<Ranges>>,
    /// Locked while ranges are probed.
    range_probe: tokio::sync::Mutex<()>,
}

impl ClientBehaviour {
    /// Starts with the facts from the table.
    pub(crate) fn new(facts: ClientFacts) -> Self {
        Self { facts, ..Self::default() }
    }

    /// Returns how its terminals interpret commands, as far as it is known.
    pub(super) fn terminal(&self) -> Terminal {
        match self.facts.terminal {
            Terminal::Unknown => self.terminal.get().copied().unwrap_or_default(),
            known => known,
        }
    }

    /// Returns how its terminals interpret commands; probes it once if it is unknown. Concurrent
    /// callers share one probe; if it fails or is dropped, the next caller probes.
    pub(super) async fn probe_terminal<E, F>(&self, probe: impl FnOnce() -> F) -> Result<Terminal, E>
    where
        F: Future<Output = Result<Terminal, E>>,
    {
        if self.terminal() != Terminal::Unknown {
            return Ok(self.terminal());
        }
        let found = self.terminal.get_or_try_init(async || {
            let found = probe().await?;
            match found {
                Terminal::Unsafe => tracing::warn!(
                    "the client's terminals do not run commands as given; commands run on this machine from now on"
                ),
                found => tracing::debug!(?found, "probed how the client's terminals interpret commands"),
            }
            Ok(found)
        });
        found.await.copied()
    }

    /// Returns whether its reads return the file on disk.
    pub(super) fn reads_from_disk(&self) -> bool {
        self.facts.buffers == Buffers::None
    }

    /// Returns what a command in its terminals reads from standard input.
    pub(super) fn stdin(&self) -> Stdin {
        self.facts.stdin
    }

    /// Returns whether it honours line ranges, as far as it is known.
    pub(super) fn ranges(&self) -> Ranges {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(self.facts.ranges)
    }

    /// Stores whether it honours line ranges.
    pub(super) fn set_ranges(&self, ranges: Ranges) {
        if ranges.is_wrong() {
            tracing::info!(
                "the client returns other lines than requested; files are read in full from now on"
            );
        }
        *self.ranges.lock().unwrap_or_else(PoisonError::into_inner) = Some(ranges);
    }

    /// Locks the probe of ranges; `None` while another call holds the lock.
    pub(super) fn range_probe(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        self.range_probe.try_lock().ok()
    }
}
