//! The process in whose name leases are taken.

use super::Machine;
use std::{fmt, sync::LazyLock};

/// A process that may hold leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// A unique id of letters, digits and dashes.
    pub process: String,
    /// The process id.
    pub pid: u32,
    /// Identifies the start time, see [`system::ProcessState`]; 0 if the system does not report it.
    pub start: u64,
    /// The machine it runs on.
    pub machine: Machine,
}

impl Holder {
    /// Returns this process.
    pub fn this_process() -> Self {
        static THIS: LazyLock<Holder> = LazyLock::new(|| {
            let (pid, machine) = (std::process::id(), Machine::here().clone());
            let start = machine.processes.state(pid).map_or(0, |state| state.start);
            Holder { process: uuid::Uuid::now_v7().to_string(), pid, start, machine }
        });
        THIS.clone()
    }

    /// Returns another process with the same process id on the same machine, as if this one had
    /// been restarted. For tests.
    pub fn like_this_process() -> Self {
        Self { process: uuid::Uuid::now_v7().to_string(), ..Self::this_process() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.pid, self.machine.host)
    }
}
