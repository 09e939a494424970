//! How a client behaves where the protocol is open: facts from the table of clients, and results of
//! probes on this connection.

use crate::facts::{Buffers, Facts, Ranges, Stdin, Terminal};
use std::{
    future::Future,
    sync::{Mutex, PoisonError},
};
use tokio::sync::OnceCell;

/// Facts and probe results about the client of a connection. Shared by its sessions.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    facts: Facts,
    /// The probed way in which its terminals interpret commands, if the table does not contain it.
    terminal: OnceCell<Terminal>,
    /// Whether it honours ranges, if that was probed.
    ranges: Mutex<Option<Ranges>>,
    /// Locked while ranges are probed.
    settling: tokio::sync::Mutex<()>,
}

impl Learned {
    /// Starts with the facts from the table.
    pub(crate) fn new(facts: Facts) -> Self {
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
    pub(super) async fn find_out_terminal<E, F>(&self, find_out: impl FnOnce() -> F) -> Result<Terminal, E>
    where
        F: Future<Output = Result<Terminal, E>>,
    {
        if self.terminal() != Terminal::Unknown {
            return Ok(self.terminal());
        }
        let found = self.terminal.get_or_try_init(async || {
            let found = find_out().await?;
            match found {
                Terminal::Unsafe => tracing::warn!(
                    "the client's terminals run other commands than they are given; commands run on this machine from now on"
                ),
                found => tracing::debug!(?found, "how the client's terminals take commands"),
            }
            Ok(found)
        });
        found.await.copied()
    }

    /// Returns whether its reads return the file on disk.
    pub(super) fn reads_the_disk(&self) -> bool {
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
                "the client gives other lines than it is asked for; files are read whole from now on"
            );
        }
        *self.ranges.lock().unwrap_or_else(PoisonError::into_inner) = Some(ranges);
    }

    /// Locks the probe of ranges; `None` while another call holds the lock.
    pub(super) fn settling(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        self.settling.try_lock().ok()
    }
}
