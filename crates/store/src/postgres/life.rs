//! How long a node is certain of its leases: arithmetic on milliseconds of its own clock, which
//! counts the time asleep. Pure, so that a test can try every order of what may happen.

use crate::limits::{LAPSE_LOOKS, NODE_LIFE, NODE_SELF_LIFE};
use std::time::Duration;

/// What a node knows of its own life.
///
/// A process that was stopped for too long continues where it was, maybe just before it starts a
/// command for a session that another node has by now, and its first heartbeat may be confirmed
/// before it does. So heartbeats count again only when the process has run for a while since it
/// noticed, and all its tasks have seen that it is not certain. That time is counted in looks: a
/// clock would go on while the process is stopped once more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Certainty {
    /// Until when its leases are certainly its own.
    until: u64,
    /// The number of looks since it noticed that this time was over.
    lapsed: Option<u32>,
}

/// A heartbeat that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// A time before that.
    at: u64,
    /// Whether it counts although the certainty is over.
    after_lapse: bool,
}

impl Certainty {
    /// Takes note that a heartbeat is about to be sent.
    pub(super) fn send(&mut self, now: u64) -> Sent {
        if self.is_over(now) {
            self.lapsed.get_or_insert(0);
        }
        Sent { at: now, after_lapse: self.lapsed.is_some_and(|looks| looks >= LAPSE_LOOKS) }
    }

    /// Takes note that the database has confirmed a heartbeat. Returns until when the node is
    /// certain of its leases.
    pub(super) fn confirm(&mut self, sent: Sent, now: u64) -> u64 {
        if self.is_over(now) && !sent.after_lapse {
            self.lapsed.get_or_insert(0);
            return self.until;
        }
        let life = u64::try_from(NODE_SELF_LIFE.as_millis()).unwrap_or(u64::MAX);
        self.lapsed = None;
        self.until = self.until.max(sent.at.saturating_add(life));
        self.until
    }

    /// Whether the process looks again and again, before its heartbeats count.
    pub(super) fn has_lapsed(&self) -> bool {
        self.lapsed.is_some()
    }

    /// Takes note that the process has run for a moment. Returns whether a heartbeat would count.
    pub(super) fn look(&mut self) -> bool {
        let looks = self.lapsed.map(|looks| looks.saturating_add(1));
        self.lapsed = looks;
        looks.is_none_or(|looks| looks >= LAPSE_LOOKS)
    }

    fn is_over(&self, now: u64) -> bool {
        self.until > 0 && !is_certain(now, self.until)
    }
}

/// Whether a node that is certain of its leases until then is so now.
pub(super) fn is_certain(now: u64, until: u64) -> bool {
    now < until
}

/// Returns for how many seconds a heartbeat extends a node's row, by the clock of the database.
pub(super) fn row_seconds() -> i32 {
    i32::try_from(NODE_LIFE.as_secs()).unwrap_or(i32::MAX)
}

/// The moment that one look stands for.
pub(super) const LOOK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
