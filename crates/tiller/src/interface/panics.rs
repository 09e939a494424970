//! Panics, and lines of standard error, while the interface has the terminal.
//!
//! Printed, they would be in the middle of the screen: the interface shows them as messages. A
//! panic that the runtime catches is no end. One that unwinds the main thread gives the terminal
//! back and prints its text below the conversation.

use crate::{
    limits,
    streams::{self, Diverted},
};
use std::{
    io::Write as _,
    panic::PanicHookInfo,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
};
use tui::{client::messages::Messages, terminal::device::restore};

/// What is kept while the interface has the terminal.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

struct Kept {
    interface: Arc<Messages>,
    /// The text of the last panic.
    last: Option<String>,
}

/// Keeps panics and lines of standard error from the terminal until it is dropped.
pub(super) struct Panics {
    diverted: Option<Diverted>,
}

impl Panics {
    /// Returns the guard, and the messages for the interface.
    pub(super) fn keep() -> (Self, Arc<Messages>) {
        static HOOK: Once = Once::new();
        let messages = Arc::new(Messages::default());
        let (interface, lines) = (Arc::clone(&messages), Arc::clone(&messages));
        let diverted = streams::divert_stderr(move |line| {
            lines.push(line.strip_prefix("tiller: ").unwrap_or(line));
        });
        *kept() = Some(Kept { interface, last: None });
        HOOK.call_once(|| {
            let print = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if !keep(panic) {
                    print(panic);
                }
            }));
        });
        (Self { diverted: Some(diverted) }, messages)
    }

    /// Ends the keeping; returns the text of the last panic.
    pub(super) fn end(mut self) -> Option<String> {
        self.stop()
    }

    fn stop(&mut self) -> Option<String> {
        self.diverted.take();
        kept().take()?.last
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        let last = self.stop();
        if std::thread::panicking() {
            let session = restore();
            let text = last.unwrap_or_default();
            // The exit code says it too.
            let _ = writeln!(streams::stderr(), "tiller: {text}\nThis is a defect, please report it.");
            if let Some(id) = session {
                let _ = writeln!(streams::stderr(), "The session is stored: tiller --session {id}");
            }
            streams::finish_stderr(limits::LAST_WRITES);
        }
    }
}

fn kept() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows a panic in the interface and keeps its text; returns whether the interface is there.
fn keep(panic: &PanicHookInfo<'_>) -> bool {
    let mut kept = kept();
    let Some(Kept { interface, last }) = &mut *kept else { return false };
    let place = panic.location().map(|place| format!(" ({place})")).unwrap_or_default();
    let text = agent::one_line(&format!("{}{place}", agent::panic_text(panic.payload())));
    interface.push(&format!("internal error, please report it: {text}"));
    *last = Some(text);
    true
}
