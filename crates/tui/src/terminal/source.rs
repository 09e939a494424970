//! Waiting for the terminal: for bytes from it, and for room for bytes to it.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd, BorrowedFd, OwnedFd},
    io::Errno,
};
use std::io;
use tokio::io::{Interest, unix::AsyncFd};

/// Where bytes come from.
#[derive(Debug)]
pub enum Source {
    /// A terminal, pipe or socket.
    Waitable(AsyncFd<OwnedFd>),
    /// A file, which is always ready.
    File(OwnedFd),
}

impl Source {
    /// Creates a source that reads from a descriptor. Needs a runtime with I/O.
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn new(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        let waitable = registered(descriptor, Interest::READABLE);
        match waitable {
            Ok(waitable) => Ok(Self::Waitable(waitable)),
            // The kernel does not wait for files.
            Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
                Ok(Self::File(descriptor.try_clone_to_owned()?))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads bytes; 0 at the end. Cancel-safe.
    ///
    /// # Errors
    /// If the other end is gone.
    pub async fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => Ok(retried(|| rustix::io::read(file, &mut *bytes))?),
            Self::Waitable(waitable) => loop {
                let mut ready = waitable.readable().await?;
                // The descriptor may block: it is read only when it is ready at this moment.
                match is_readable(waitable.get_ref().as_fd()) {
                    true => match retried(|| rustix::io::read(waitable.get_ref(), &mut *bytes)) {
                        Err(Errno::AGAIN) => ready.clear_ready(),
                        read => return Ok(read?),
                    },
                    false => ready.clear_ready(),
                }
            },
        }
    }
}

/// Whether there is room for more bytes.
#[derive(Debug)]
pub struct Room(Option<AsyncFd<OwnedFd>>);

impl Room {
    /// Creates it for a descriptor. Needs a runtime with I/O.
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn new(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        // A file always has room.
        Ok(Self(registered(descriptor, Interest::WRITABLE).ok()))
    }

    /// Waits until there is room. Cancel-safe.
    pub async fn wait(&self) {
        if let Some(waitable) = &self.0
            && let Ok(mut ready) = waitable.writable().await
        {
            ready.clear_ready();
        }
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe for types whose descriptor may change; that of `OwnedFd` does not"
)]
fn registered(descriptor: BorrowedFd<'_>, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor.try_clone_to_owned()?, interest)
}

fn is_readable(descriptor: BorrowedFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&now)) != Ok(0)
}

fn retried(mut read: impl FnMut() -> rustix::io::Result<usize>) -> rustix::io::Result<usize> {
    loop {
        match read() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
