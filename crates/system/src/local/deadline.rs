//! Until when the commands of this process may run, if it holds what it works on for a time only.
//!
//! The deadline is in memory that the supervisors of all commands share. So it is extended for all
//! of them at once, and they end their commands by themselves when this process no longer extends
//! it: because it hangs, is stopped, or does not reach what grants it the time.

use std::io;

/// The deadline of all commands that this process starts from now on. There is one in a process;
/// without one, commands may run for as long as the process lives.
#[derive(Debug, Clone)]
pub struct CommandDeadline(#[cfg(target_os = "linux")] std::sync::Arc<std::fs::File>);

#[cfg(target_os = "linux")]
static INSTALLED: std::sync::OnceLock<CommandDeadline> = std::sync::OnceLock::new();

#[cfg(target_os = "linux")]
impl CommandDeadline {
    /// Gives the commands of this process a deadline, which is over until it is set. Returns the
    /// same one when called again.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn install() -> io::Result<Self> {
        use rustix::fs::{MemfdFlags, memfd_create};
        if let Some(installed) = INSTALLED.get() {
            return Ok(installed.clone());
        }
        let memory = std::fs::File::from(memfd_create("tiller-deadline", MemfdFlags::CLOEXEC)?);
        let deadline = Self(std::sync::Arc::new(memory));
        deadline.set(0);
        Ok(INSTALLED.get_or_init(|| deadline).clone())
    }

    /// Sets the deadline, in milliseconds of the clock since the boot that counts the time asleep.
    pub fn set(&self, until: u64) {
        use std::os::unix::fs::FileExt as _;
        if let Err(error) = self.0.write_all_at(&until.to_ne_bytes(), 0) {
            tracing::error!(%error, "the deadline of commands was not extended");
        }
    }

    /// Returns the deadline of this process, if it has one.
    pub(super) fn installed() -> Option<Self> {
        INSTALLED.get().cloned()
    }
}

#[cfg(target_os = "linux")]
impl std::os::fd::AsFd for CommandDeadline {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(not(target_os = "linux"))]
impl CommandDeadline {
    /// Does nothing: no supervisor outlives this process here.
    ///
    /// # Errors
    /// Never.
    pub fn install() -> io::Result<Self> {
        Ok(Self())
    }

    /// Does nothing.
    pub fn set(&self, _until: u64) {}
}

/// The deadline as the supervisor of a command sees it.
#[cfg(target_os = "linux")]
pub(super) struct Watched(std::fs::File);

#[cfg(target_os = "linux")]
impl Watched {
    pub(super) fn new(memory: std::os::fd::OwnedFd) -> Self {
        Self(memory.into())
    }

    /// Returns how much time is left; none if it cannot be read.
    pub(super) fn left(&self) -> std::time::Duration {
        use rustix::time::{ClockId, clock_gettime};
        use std::os::unix::fs::FileExt as _;
        let mut until = [0; 8];
        if self.0.read_exact_at(&mut until, 0).is_err() {
            return std::time::Duration::ZERO;
        }
        let now = clock_gettime(ClockId::Boottime);
        let now = std::time::Duration::new(
            now.tv_sec.cast_unsigned(),
            u32::try_from(now.tv_nsec).unwrap_or_default(),
        );
        std::time::Duration::from_millis(u64::from_ne_bytes(until)).saturating_sub(now)
    }
}
