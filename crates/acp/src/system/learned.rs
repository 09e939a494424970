//! How a client does what it advertises: what the table of clients knows, and what was found out
//! since, for the connection.

use crate::facts::{Buffers, Facts, Ranges, Stdin, Terminal};
use std::{
    future::Future,
    sync::{Mutex, PoisonError},
};
use tokio::sync::OnceCell;

/// What is known of the client of a connection. Shared by its sessions.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    facts: Facts,
    /// How its terminals take commands, where the table does not know and it was found out.
    terminal: OnceCell<Terminal>,
    /// Whether it honours ranges, where that was found out.
    ranges: Mutex<Option<Ranges>>,
    /// Held while that is being found out.
    settling: tokio::sync::Mutex<()>,
}

impl Learned {
    /// What the table knows.
    pub(crate) fn new(facts: Facts) -> Self {
        Self { facts, ..Self::default() }
    }

    /// How its terminals take commands, as far as that is known.
    pub(super) fn terminal(&self) -> Terminal {
        match self.facts.terminal {
            Terminal::Unknown => self.terminal.get().copied().unwrap_or_default(),
            known => known,
        }
    }

    /// How its terminals take commands; found out once, if nobody knows. Those who ask at the same
    /// time share the finding; where one that finds out is given up or fails, the next one tries.
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

    /// Whether what it reads is what the disk holds.
    pub(super) fn reads_the_disk(&self) -> bool {
        self.facts.buffers == Buffers::None
    }

    /// What a command in its terminals reads from its standard input.
    pub(super) fn stdin(&self) -> Stdin {
        self.facts.stdin
    }

    /// Whether it honours ranges of lines, as far as that is known.
    pub(super) fn ranges(&self) -> Ranges {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(self.facts.ranges)
    }

    /// Takes note of whether it honours them.
    pub(super) fn set_ranges(&self, ranges: Ranges) {
        if ranges.is_wrong() {
            tracing::info!(
                "the client gives other lines than it is asked for; files are read whole from now on"
            );
        }
        *self.ranges.lock().unwrap_or_else(PoisonError::into_inner) = Some(ranges);
    }

    /// The right to find out about ranges; `None` while another call does.
    pub(super) fn settling(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        self.settling.try_lock().ok()
    }
}
