//! The record of calls to the fake, and its planned faults.

use std::{collections::BTreeMap, fmt};

/// A recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The name of the [`crate::System`] method.
    pub operation: &'static str,
    /// The path, or the command line.
    pub subject: String,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operation, self.subject)
    }
}

/// A way in which an operation fails.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Fail,
    Hang,
}

/// All calls so far, and the planned faults by call number.
#[derive(Debug, Default)]
pub(super) struct Faults {
    calls: Vec<Call>,
    planned: BTreeMap<usize, Fault>,
}

impl Faults {
    pub(super) fn plan(&mut self, n: usize, fault: Fault) {
        assert!(n > 0, "operations are counted from 1");
        self.planned.insert(self.calls.len() + n, fault);
    }

    pub(super) fn record(&mut self, operation: &'static str, subject: String) -> Option<Fault> {
        self.calls.push(Call { operation, subject });
        self.planned.remove(&self.calls.len())
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.clone()
    }
}
