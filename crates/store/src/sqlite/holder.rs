//! In whose name leases are taken.

use super::Machine;
use std::{fmt, sync::LazyLock};

/// A process that may hold leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// A text of letters, digits and dashes that no other process ever has.
    pub process: String,
    /// The process's id.
    pub pid: u32,
    /// Stands for the moment it started, see [`system::ProcessState`]; 0 where the system does not
    /// tell.
    pub start: u64,
    /// The machine it runs on.
    pub machine: Machine,
}

impl Holder {
    /// This process.
    pub fn this_process() -> Self {
        static THIS: LazyLock<Holder> = LazyLock::new(|| {
            let (pid, machine) = (std::process::id(), Machine::here().clone());
            let start = machine.processes.state(pid).map_or(0, |state| state.start);
            Holder { process: uuid::Uuid::now_v7().to_string(), pid, start, machine }
        });
        THIS.clone()
    }

    /// What this process would be if it had been started once more: a process of the same number
    /// and machine that is another one. For tests.
    pub fn like_this_process() -> Self {
        Self { process: uuid::Uuid::now_v7().to_string(), ..Self::this_process() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.pid, self.machine.host)
    }
}
