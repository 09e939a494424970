//! What was asked of the fake, and what it is to do wrong.

use std::{collections::BTreeMap, fmt};

/// One operation that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method of [`crate::System`].
    pub operation: &'static str,
    /// The path, or the command's line.
    pub subject: String,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operation, self.subject)
    }
}

/// How an operation goes wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Fail,
    Hang,
}

/// The calls so far, and the faults by the number of the call.
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
