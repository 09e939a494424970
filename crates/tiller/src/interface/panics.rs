//! Panics, and lines of the log, while the interface has the terminal.
//!
//! Printed, they would be in the middle of the screen: the interface shows them as messages. A
//! panic that the runtime catches is no end. One that unwinds the main thread gives the terminal
//! back and prints its text below the conversation.

use std::{
    io::Write as _,
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tui::terminal::device::restore;

/// Whether the interface has the terminal.
static KEPT: AtomicBool = AtomicBool::new(false);

/// Where the interface takes the texts of panics.
static INTERFACE: Mutex<Option<UnboundedSender<String>>> = Mutex::new(None);

/// The text of the last panic.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the texts of panics from the terminal until it is dropped.
pub(super) struct Panics;

impl Panics {
    /// Returns the guard and the texts.
    pub(super) fn keep() -> (Self, UnboundedReceiver<String>) {
        static HOOK: Once = Once::new();
        let (sender, receiver) = unbounded_channel();
        *INTERFACE.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        KEPT.store(true, Ordering::Relaxed);
        HOOK.call_once(|| {
            let print = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| match KEPT.load(Ordering::Relaxed) {
                true => take(panic.to_string()),
                false => print(panic),
            }));
        });
        (Self, receiver)
    }

    /// Returns the text of the last panic.
    pub(super) fn last() -> Option<String> {
        LAST.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        KEPT.store(false, Ordering::Relaxed);
        if std::thread::panicking() {
            restore();
            let text = Self::last().unwrap_or_default();
            // The exit code says it too.
            let _ = writeln!(crate::streams::stderr(), "tiller: {text}\nThis is a defect, please report it.");
            // Before the watcher prints its line.
            crate::streams::finish_stderr(crate::limits::LAST_WRITES);
        }
    }
}

/// Has the interface show lines of the log; returns whether it has the terminal.
pub(crate) fn show_log(lines: &[u8]) -> bool {
    if !KEPT.load(Ordering::Relaxed) {
        return false;
    }
    for line in String::from_utf8_lossy(lines).lines() {
        show(line.strip_prefix("tiller: ").unwrap_or(line).to_owned());
    }
    true
}

fn show(text: String) {
    if let Some(interface) = &*INTERFACE.lock().unwrap_or_else(PoisonError::into_inner) {
        // An interface that has ended shows nothing.
        let _ = interface.send(text);
    }
}

fn take(text: String) {
    let text = agent::one_line(&text);
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
    show(format!("internal error, please report it: {text}"));
}
