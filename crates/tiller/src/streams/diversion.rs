//! Lines of standard error while the interface has the terminal: printed, they would be in the
//! middle of the screen.

use std::sync::{Mutex, PoisonError};

static DIVERSION: Mutex<Option<Diversion>> = Mutex::new(None);

struct Diversion {
    take: Box<dyn Fn(&str) + Send>,
    /// The beginning of a line.
    begun: Vec<u8>,
}

/// Passes each line of standard error to `take` until the guard is dropped. Does nothing if
/// standard error is no terminal.
pub(crate) fn divert_stderr(take: impl Fn(&str) + Send + 'static) -> Diverted {
    if super::stderr_is_terminal() {
        let diversion = Diversion { take: Box::new(take), begun: Vec::new() };
        *DIVERSION.lock().unwrap_or_else(PoisonError::into_inner) = Some(diversion);
    }
    Diverted
}

/// Ends the diversion of [`divert_stderr`] when dropped.
pub(crate) struct Diverted;

impl Drop for Diverted {
    fn drop(&mut self) {
        DIVERSION.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Takes bytes of standard error; returns whether they are diverted.
pub(super) fn take(bytes: &[u8]) -> bool {
    let mut diversion = DIVERSION.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Diversion { take, begun }) = &mut *diversion else { return false };
    begun.extend_from_slice(bytes);
    while let Some(end) = begun.iter().position(|byte| *byte == b'\n') {
        let line: Vec<u8> = begun.drain(..=end).collect();
        take(String::from_utf8_lossy(&line).trim_end());
    }
    true
}
