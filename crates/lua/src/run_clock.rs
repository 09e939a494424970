//! Measures what a run has used, and ends it at its limits.

use crate::RunLimits;
use std::{
    cell::{Cell, RefCell},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// The reason why a run was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    Cpu,
    Wall,
    Memory,
    Cancelled,
}

/// The usage of one run. Lives on the interpreter's thread.
pub(crate) struct RunClock {
    began: Instant,
    /// The time spent waiting for calls of the script.
    outside: Cell<Duration>,
    limits: RunLimits,
    cancel: CancellationToken,
    end_reason: RefCell<Option<EndReason>>,
}

impl RunClock {
    pub(crate) fn new(limits: RunLimits, cancel: CancellationToken) -> Self {
        let (began, outside) = (Instant::now(), Cell::default());
        Self { began, outside, limits, cancel, end_reason: RefCell::default() }
    }

    /// Fails once a limit is exceeded, and on every later call.
    pub(crate) fn check(&self) -> mlua::Result<()> {
        let reason = self.end_reason();
        let reason =
            reason.or_else(|| self.cancel.is_cancelled().then_some(EndReason::Cancelled)).or_else(|| {
                let elapsed = self.began.elapsed();
                if elapsed > self.limits.wall {
                    Some(EndReason::Wall)
                } else if elapsed.saturating_sub(self.outside.get()) > self.limits.cpu {
                    Some(EndReason::Cpu)
                } else {
                    None
                }
            });
        match reason {
            None => Ok(()),
            Some(reason) => Err(self.end(reason)),
        }
    }

    /// Ends the run for this reason, unless it has already been ended for another one. Returns the
    /// error.
    pub(crate) fn end(&self, reason: EndReason) -> mlua::Error {
        let reason = *self.end_reason.borrow_mut().get_or_insert(reason);
        mlua::Error::RuntimeError(self.message(reason))
    }

    /// Returns the reason why the run was ended, if it was.
    pub(crate) fn end_reason(&self) -> Option<EndReason> {
        *self.end_reason.borrow()
    }

    /// Returns the message about the end of a run, for the author of the script.
    pub(crate) fn message(&self, reason: EndReason) -> String {
        match reason {
            EndReason::Cpu => format!("CPU limit of {} exceeded.", seconds(self.limits.cpu)),
            EndReason::Wall => format!("Time limit of {} exceeded.", seconds(self.limits.wall)),
            EndReason::Memory => {
                format!("Memory limit of {} MB exceeded.", self.limits.memory / crate::MEGABYTE)
            }
            EndReason::Cancelled => "The run was cancelled.".to_owned(),
        }
    }

    /// Runs something outside the interpreter: it counts as wall time, but not as interpreter time.
    pub(crate) fn outside<T>(&self, what: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = what();
        self.outside.set(self.outside.get() + start.elapsed());
        done
    }

    /// Returns the remaining wall time.
    pub(crate) fn remaining(&self) -> Duration {
        self.limits.wall.saturating_sub(self.began.elapsed())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn limits(&self) -> &RunLimits {
        &self.limits
    }

    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
