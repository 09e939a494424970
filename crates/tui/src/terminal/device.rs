//! The terminal's device: what is written to it, and the one function that gives it back.
//!
//! Writing never blocks. What the terminal does not take waits, and nothing more is drawn until it
//! has been taken. [`restore`] can be called from any thread at any time: by a normal end, a panic,
//! a signal, and before the process is suspended.

use super::{
    modes::{Mode, Modes},
    watcher::Watcher,
};
use crate::limits;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd, BorrowedFd, OwnedFd},
    io::Errno,
    termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr},
};
use std::{
    io::{self, PipeWriter},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The device that [`restore`] gives back.
static CURRENT: Mutex<Option<Arc<Device>>> = Mutex::new(None);

/// How much is written at once, in bytes: what a pipe with any room takes whole.
const PIECE: usize = 4096;

/// An open terminal, or two streams in its place.
#[derive(Debug)]
pub struct Device {
    input: OwnedFd,
    output: OwnedFd,
    /// The line settings from before; `None` if it is no terminal.
    settings: Option<Termios>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    raw: bool,
    modes: Modes,
    /// What removes the live region, so that what is printed next has its place.
    farewell: Vec<u8>,
    /// What the terminal has not taken yet, from `written` on.
    waiting: Vec<u8>,
    written: usize,
    /// Since when the terminal takes nothing.
    full_since: Option<Instant>,
    /// What restores the terminal if this process is killed.
    watcher: Option<Watcher>,
    /// The session that the terminal shows.
    session: String,
    /// Whether the terminal was given back and not taken again. Nothing is written to it then.
    given_back: bool,
}

impl Device {
    /// Takes the terminal that [`restore`] gives back. `descriptor` must not block.
    ///
    /// # Errors
    /// If it is not a terminal.
    pub fn new(descriptor: OwnedFd) -> io::Result<Arc<Self>> {
        let settings = Some(tcgetattr(&descriptor)?);
        let input = descriptor.try_clone()?;
        let device = Arc::new(Self { input, output: descriptor, settings, state: Mutex::default() });
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&device));
        Ok(device)
    }

    /// Takes standard input and output as they are, for plain lines.
    ///
    /// # Errors
    /// If one of them is closed.
    pub fn streams() -> io::Result<Arc<Self>> {
        let input = rustix::stdio::stdin().try_clone_to_owned()?;
        let output = rustix::stdio::stdout().try_clone_to_owned()?;
        Ok(Arc::new(Self { input, output, settings: None, state: Mutex::default() }))
    }

    /// Whether this is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.settings.is_some()
    }

    /// Returns what is read from.
    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Returns what is written to.
    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Returns the size in columns and rows; 80 × 24 if the terminal does not know it.
    pub fn size(&self) -> (u16, u16) {
        match tcgetwinsize(&self.output) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => (80, 24),
        }
    }

    /// Switches to single keys without echo.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn enter_raw(&self) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(mut settings) = self.settings.clone() {
            settings.make_raw();
            set(&self.output, &settings)?;
            state.raw = true;
        }
        Ok(())
    }

    /// Switches back to lines.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn leave_raw(&self) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(settings) = &self.settings {
            set(&self.output, settings)?;
        }
        state.raw = false;
        Ok(())
    }

    /// Enters a mode.
    pub fn enter(&self, mode: Mode) {
        let mut state = self.lock();
        let sequence = state.modes.enter(mode);
        state.waiting.extend_from_slice(sequence.as_bytes());
    }

    /// Undoes a mode, if it was entered.
    pub fn leave(&self, mode: Mode) {
        let mut state = self.lock();
        let sequence = state.modes.leave(mode);
        state.waiting.extend_from_slice(sequence.as_bytes());
    }

    /// Undoes all modes in reverse.
    pub fn leave_modes(&self) {
        let mut state = self.lock();
        let sequences = std::mem::take(&mut state.modes).undone();
        state.waiting.extend_from_slice(sequences.as_bytes());
    }

    /// Takes the terminal, after the modes were entered: what is written reaches it from now on,
    /// and if this process is killed, the watcher gives it back.
    pub fn take(&self) {
        self.lock().given_back = false;
        self.modes_changed();
    }

    /// Tells the watcher what undoes the modes, after some were entered or left.
    pub fn modes_changed(&self) {
        let state = &mut *self.lock();
        if let Some(watcher) = state.watcher.as_mut().filter(|_| !state.given_back) {
            watcher.taken(&state.modes.undone());
        }
    }

    /// Connects the watcher that was started.
    pub fn watch(&self, pipe: PipeWriter) {
        let mut state = self.lock();
        let mut watcher = Watcher::new(pipe, self.settings.as_ref());
        watcher.taken(&state.modes.undone());
        state.watcher = Some(watcher);
    }

    /// Sets the session that the terminal shows, for the line that is printed if this process is
    /// killed or panics.
    pub fn show_session(&self, id: &str) {
        let state = &mut *self.lock();
        id.clone_into(&mut state.session);
        if let Some(watcher) = &mut state.watcher {
            watcher.session(id);
        }
    }

    /// Queues bytes and writes what the terminal takes at once. They are dropped while the terminal
    /// is given back: another program, or the shell, writes to it.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        if state.given_back {
            return Ok(());
        }
        state.waiting.extend_from_slice(bytes);
        state.flush(self.output.as_fd())
    }

    /// Writes more of what waits. Returns whether all is written.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn flush(&self) -> io::Result<bool> {
        let mut state = self.lock();
        state.flush(self.output.as_fd())?;
        Ok(state.waiting.is_empty())
    }

    /// Whether the terminal has taken everything.
    pub fn is_drained(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// Whether the terminal has taken nothing for [`limits::STALLED`].
    pub fn is_stalled(&self) -> bool {
        self.lock().full_since.is_some_and(|since| since.elapsed() >= limits::STALLED)
    }

    /// Sets what removes the live region, written when the terminal is given back.
    pub fn set_farewell(&self, bytes: Vec<u8>) {
        self.lock().farewell = bytes;
    }

    /// Gives the terminal back: writes what waits, removes the live region, undoes the modes in
    /// reverse, restores the line settings, and tells the watcher that there is nothing left to do.
    /// Blocks for [`limits::LAST_WRITE`] at the longest. Does nothing if that has been done.
    pub fn give_back(&self) {
        let state = &mut *self.lock();
        if state.raw || state.modes != Modes::default() {
            self.undo(state);
        }
        state.given_back = self.is_terminal();
        if let Some(watcher) = &mut state.watcher {
            watcher.given_back();
        }
    }

    fn undo(&self, state: &mut State) {
        let farewell = std::mem::take(&mut state.farewell);
        let undone = state.modes.undone();
        state.waiting.extend_from_slice(&farewell);
        state.waiting.extend_from_slice(undone.as_bytes());
        state.flush_until(self.output.as_fd(), Instant::now() + limits::LAST_WRITE);
        // What is left belongs to a terminal that takes nothing.
        state.waiting.clear();
        state.written = 0;
        // A terminal that is gone has no settings.
        if let Some(settings) = &self.settings {
            let _ = set(&self.output, settings);
        }
        state.raw = false;
        state.modes = Modes::default();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the terminal back, if one was taken and not given back yet. For a panic and for the end of
/// the process by a signal. Returns the session that it showed.
pub fn restore() -> Option<String> {
    let device = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
    device.give_back();
    let session = device.lock().session.clone();
    Some(session).filter(|id| !id.is_empty())
}

impl State {
    fn flush(&mut self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        while self.written < self.waiting.len() {
            // Standard output may block. What a pipe announces room for it takes.
            if !is_writable(descriptor, Duration::ZERO) {
                self.full_since.get_or_insert_with(Instant::now);
                return Ok(());
            }
            let end = self.waiting.len().min(self.written + PIECE);
            match rustix::io::write(descriptor, &self.waiting[self.written..end]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.written += count;
                    self.full_since = None;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.full_since.get_or_insert_with(Instant::now);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.waiting.clear();
        self.written = 0;
        self.full_since = None;
        Ok(())
    }

    fn flush_until(&mut self, descriptor: BorrowedFd<'_>, deadline: Instant) {
        while self.flush(descriptor).is_ok() && !self.waiting.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !is_writable(descriptor, left) {
                return;
            }
        }
    }
}

/// Waits until the terminal takes bytes.
fn is_writable(descriptor: BorrowedFd<'_>, most: Duration) -> bool {
    let Ok(most) = Timespec::try_from(most) else { return false };
    match poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)], Some(&most)) {
        Ok(ready) => ready > 0,
        Err(error) => error == Errno::INTR,
    }
}

/// Sets the line settings. A process in the background is stopped by the kernel when it does that,
/// unless SIGTTOU is blocked; Tiller is in the foreground whenever it holds the terminal.
fn set(descriptor: &OwnedFd, settings: &Termios) -> io::Result<()> {
    loop {
        match tcsetattr(descriptor, OptionalActions::Now, settings) {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}
