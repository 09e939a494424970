//! Measures what a run has used, and ends it at its limits.

use crate::RunLimits;
use std::{
    cell::{Cell, RefCell},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// The reason why a run was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Cpu,
    Wall,
    Memory,
    Cancelled,
}

/// The usage of one run. Lives on the interpreter's thread.
pub(crate) struct Meter {
    began: Instant,
    /// The time spent waiting for calls of the script.
    away: Cell<Duration>,
    limits: RunLimits,
    cancel: CancellationToken,
    stopped: RefCell<Option<Stop>>,
}

impl Meter {
    pub(crate) fn new(limits: RunLimits, cancel: CancellationToken) -> Self {
        let (began, away) = (Instant::now(), Cell::default());
        Self { began, away, limits, cancel, stopped: RefCell::default() }
    }

    /// Fails once a limit is exceeded, and on every later call.
    pub(crate) fn check(&self) -> mlua::Result<()> {
        let stop = self.stopped();
        let stop = stop.or_else(|| self.cancel.is_cancelled().then_some(Stop::Cancelled)).or_else(|| {
            let took = self.began.elapsed();
            if took > self.limits.wall {
                Some(Stop::Wall)
            } else if took.saturating_sub(self.away.get()) > self.limits.cpu {
                Some(Stop::Cpu)
            } else {
                None
            }
        });
        match stop {
            None => Ok(()),
            Some(stop) => Err(self.stop(stop)),
        }
    }

    /// Ends the run for this reason, unless it has already been ended for another one. Returns the
    /// error.
    pub(crate) fn stop(&self, stop: Stop) -> mlua::Error {
        let stop = *self.stopped.borrow_mut().get_or_insert(stop);
        mlua::Error::RuntimeError(self.words(stop))
    }

    /// Returns the reason why the run was ended, if it was.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        *self.stopped.borrow()
    }

    /// Returns the message about the end of a run, for the author of the script.
    pub(crate) fn words(&self, stop: Stop) -> String {
        match stop {
            Stop::Cpu => format!("CPU limit of {} exceeded.", seconds(self.limits.cpu)),
            Stop::Wall => format!("Time limit of {} exceeded.", seconds(self.limits.wall)),
            Stop::Memory => {
                format!("Memory limit of {} MB exceeded.", self.limits.memory / crate::MEGABYTE)
            }
            Stop::Cancelled => "The run was cancelled.".to_owned(),
        }
    }

    /// Runs something outside the interpreter: it counts as wall time, but not as interpreter time.
    pub(crate) fn away<T>(&self, what: impl FnOnce() -> T) -> T {
        let left = Instant::now();
        let done = what();
        self.away.set(self.away.get() + left.elapsed());
        done
    }

    /// Returns the remaining wall time.
    pub(crate) fn left(&self) -> Duration {
        self.limits.wall.saturating_sub(self.began.elapsed())
    }

    pub(crate) fn took(&self) -> Duration {
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
