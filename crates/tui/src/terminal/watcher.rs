//! Restoring the terminal after this process was killed, which no code of its own can do.
//!
//! The watcher is this program, started again. It holds the terminal and a pipe on which it
//! receives what is to be undone. [`Device::give_back`](super::device::Device::give_back), the one
//! function that gives the terminal back, also tells that; while it is taken again, it is to be
//! undone again. When the pipe ends with something to be undone, the watcher restores the line
//! settings, undoes the modes, and prints one line with the session's id. Settings that have
//! changed since, such as by the shell that noticed first, are left alone.
//!
//! Tried on Linux; not tried on macOS.

use rustix::{
    fd::AsFd,
    termios::{
        ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios,
        tcgetattr, tcsetattr,
    },
};
use std::io::{BufRead, PipeWriter, Write};

/// The line that says that the terminal was given back.
const GIVEN_BACK: &str = "given back";

/// The longest line that the watcher takes, in bytes.
const MAX_LINE: usize = 1024;

/// The connection to the watcher.
#[derive(Debug)]
pub(super) struct Watcher {
    pipe: PipeWriter,
}

impl Watcher {
    /// Tells a watcher that was just started how to restore the terminal's settings. A watcher that
    /// does not listen is no reason not to work.
    pub(super) fn new(pipe: PipeWriter, settings: Option<&Termios>) -> Self {
        let mut watcher = Self { pipe };
        if let Some(settings) = settings {
            watcher.tell(&format!("settings {}", written(settings)));
        }
        watcher
    }

    /// Tells that the terminal is taken, and what undoes its modes.
    pub(super) fn taken(&mut self, undo: &str) {
        let undo: String = undo.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.tell(&format!("undo {undo}"));
    }

    /// Tells which session the terminal shows.
    pub(super) fn session(&mut self, id: &str) {
        self.tell(&format!("session {}", agent::one_line(id)));
    }

    /// Tells that the terminal was given back: if this process ends now, there is nothing to do.
    pub(super) fn given_back(&mut self) {
        self.tell(GIVEN_BACK);
    }

    fn tell(&mut self, line: &str) {
        // The pipe does not block; only the watcher would miss the line.
        let _ = self.pipe.write_all(format!("{line}\n").as_bytes());
    }
}

/// What the watcher has received.
#[derive(Debug, Default, PartialEq)]
struct Orders {
    settings: Option<[u64; 6]>,
    undo: Vec<u8>,
    session: String,
    /// Whether the terminal is not taken.
    given_back: bool,
}

/// Runs the watcher: reads `orders` to their end and restores `terminal` if it was not given back.
pub fn run(orders: impl BufRead, mut terminal: impl AsFd + Write) {
    // Signals that the terminal sends to its session must not reach the watcher. A leader of a
    // group, such as in a test, cannot leave it.
    let _ = rustix::process::setsid();
    let found = read_orders(orders);
    if found.given_back {
        return;
    }
    if let (Some(settings), Ok(now)) = (found.settings, tcgetattr(&terminal))
        && let Some(restored) = restored(settings, now)
    {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &restored);
    }
    let mut bytes = found.undo;
    bytes.extend_from_slice(b"\r\n\x1b[J");
    bytes.extend_from_slice(b"tiller was killed.");
    if !found.session.is_empty() {
        let line = format!(" The session is stored: tiller --session {}", agent::one_line(&found.session));
        bytes.extend_from_slice(line.as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    let _ = terminal.write_all(&bytes).and_then(|()| terminal.flush());
}

/// Reads what there is to restore.
fn read_orders(orders: impl BufRead) -> Orders {
    let mut found = Orders::default();
    for line in orders.lines().map_while(Result::ok).filter(|line| line.len() <= MAX_LINE) {
        match line.split_once(' ') {
            _ if line == GIVEN_BACK => found.given_back = true,
            Some(("settings", numbers)) => {
                let numbers: Vec<u64> = numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
                found.settings = numbers.try_into().ok();
            }
            Some(("undo", digits)) => {
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                found.undo = digits.as_bytes().chunks(2).filter_map(byte).collect();
                found.given_back = false;
            }
            Some(("session", id)) => found.session = id.to_owned(),
            _ => {}
        }
    }
    found
}

/// The parts of the settings that single keys need, as numbers.
#[cfg_attr(
    target_os = "macos",
    expect(clippy::useless_conversion, reason = "the flags have 64 bits there and 32 on Linux")
)]
fn written(settings: &Termios) -> String {
    let codes = &settings.special_codes;
    [
        u64::from(settings.input_modes.bits()),
        u64::from(settings.output_modes.bits()),
        u64::from(settings.control_modes.bits()),
        u64::from(settings.local_modes.bits()),
        u64::from(codes[SpecialCodeIndex::VMIN]),
        u64::from(codes[SpecialCodeIndex::VTIME]),
    ]
    .map(|number| number.to_string())
    .join(" ")
}

/// Returns the settings from before; `None` if the terminal is no longer as Tiller had set it.
#[cfg_attr(
    target_os = "macos",
    expect(clippy::useless_conversion, reason = "the flags have 64 bits there and 32 on Linux")
)]
fn restored([input, output, control, local, least, time]: [u64; 6], now: Termios) -> Option<Termios> {
    let mut before = now.clone();
    before.input_modes = InputModes::from_bits_retain(input.try_into().ok()?);
    before.output_modes = OutputModes::from_bits_retain(output.try_into().ok()?);
    before.control_modes = ControlModes::from_bits_retain(control.try_into().ok()?);
    before.local_modes = LocalModes::from_bits_retain(local.try_into().ok()?);
    before.special_codes[SpecialCodeIndex::VMIN] = least.try_into().ok()?;
    before.special_codes[SpecialCodeIndex::VTIME] = time.try_into().ok()?;
    let mut raw = before.clone();
    raw.make_raw();
    (raw.input_modes == now.input_modes && raw.local_modes == now.local_modes).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_was_given_back_is_left_alone_until_it_is_taken_again() {
        let orders = "settings 1 2 3 4 5 6\nundo 1b5b6d\nsession abc\n";
        let taken = Orders {
            settings: Some([1, 2, 3, 4, 5, 6]),
            undo: b"\x1b[m".to_vec(),
            session: "abc".to_owned(),
            given_back: false,
        };
        let given_back = Orders { given_back: true, ..read_orders(orders.as_bytes()) };
        assert_eq!(read_orders(orders.as_bytes()), taken);
        assert_eq!(read_orders(format!("{orders}given back\n").as_bytes()), given_back);
        let again = format!("{orders}given back\nundo 1b5b6d\n");
        assert_eq!(read_orders(again.as_bytes()), taken, "after ctrl+z and fg");
    }

    #[test]
    fn lines_that_are_cut_or_unknown_are_ignored() {
        assert_eq!(read_orders(&b"sett"[..]), Orders::default());
        assert_eq!(read_orders(&b"settings 1 2\nwhatever\nundo zz\n"[..]), Orders::default());
    }
}
