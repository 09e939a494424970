//! Restoring the terminal after this process was killed, which no code of its own can do.
//!
//! The watcher is this program, started again. It holds the terminal and a pipe on which it
//! receives what is to be undone. When the pipe ends without a farewell, it restores the line
//! settings, undoes the modes, and prints one line with the session's id. Settings that have
//! changed since, such as by the shell that noticed first, are left alone.
//!
//! Tried on Linux; not tried on macOS.

use super::device::Device;
use rustix::{
    fd::AsFd,
    termios::{
        ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios,
        tcgetattr, tcsetattr,
    },
};
use std::io::{BufRead, Write};

/// The line that says that all was undone.
const FAREWELL: &str = "farewell";

/// The longest line that the watcher takes, in bytes.
const MAX_LINE: usize = 1024;

/// The connection to the watcher.
#[derive(Debug)]
pub struct Watcher<W: Write> {
    pipe: W,
}

impl<W: Write> Watcher<W> {
    /// Tells a watcher that was just started how to restore the terminal's settings. A watcher that
    /// does not listen is no reason not to work.
    pub fn new(pipe: W, device: &Device) -> Self {
        let mut watcher = Self { pipe };
        if let Some(settings) = device.settings() {
            watcher.tell(&format!("settings {}", written(settings)));
        }
        watcher
    }

    /// Tells which modes are to be undone, as of now.
    pub fn modes(&mut self, device: &Device) {
        let undo: String = device.undo().bytes().map(|byte| format!("{byte:02x}")).collect();
        self.tell(&format!("undo {undo}"));
    }

    /// Tells which session the terminal shows.
    pub fn session(&mut self, id: &str) {
        self.tell(&format!("session {}", agent::one_line(id)));
    }

    /// Says that the terminal was given back; the watcher ends without a word.
    pub fn farewell(mut self) {
        self.tell(FAREWELL);
    }

    fn tell(&mut self, line: &str) {
        // The pipe does not block; only the watcher would miss the line.
        let _ = self.pipe.write_all(format!("{line}\n").as_bytes());
    }
}

impl<W: Write> Drop for Watcher<W> {
    fn drop(&mut self) {
        // The terminal is given back after the panic was caught.
        if std::thread::panicking() {
            self.tell(FAREWELL);
        }
    }
}

/// What the watcher has received.
#[derive(Debug, Default, PartialEq)]
struct Orders {
    settings: Option<[u64; 6]>,
    undo: Vec<u8>,
    session: String,
}

/// Runs the watcher: reads `orders` to their end and restores `terminal` if they ended without a
/// farewell.
pub fn run(orders: impl BufRead, mut terminal: impl AsFd + Write) {
    // Signals that the terminal sends to its session must not reach the watcher. A leader of a
    // group, such as in a test, cannot leave it.
    let _ = rustix::process::setsid();
    let Some(found) = read_orders(orders) else { return };
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

/// Reads what there is to restore; `None` after a farewell.
fn read_orders(orders: impl BufRead) -> Option<Orders> {
    let mut found = Orders::default();
    for line in orders.lines().map_while(Result::ok).filter(|line| line.len() <= MAX_LINE) {
        match line.split_once(' ') {
            _ if line == FAREWELL => return None,
            Some(("settings", numbers)) => {
                let numbers: Vec<u64> = numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
                found.settings = numbers.try_into().ok();
            }
            Some(("undo", digits)) => {
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                found.undo = digits.as_bytes().chunks(2).filter_map(byte).collect();
            }
            Some(("session", id)) => found.session = id.to_owned(),
            _ => {}
        }
    }
    Some(found)
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
    fn a_farewell_leaves_nothing_to_restore() {
        let orders = "settings 1 2 3 4 5 6\nundo 1b5b6d\nsession abc\n";
        let read_before = read_orders(orders.as_bytes()).unwrap();
        assert_eq!(
            read_before,
            Orders {
                settings: Some([1, 2, 3, 4, 5, 6]),
                undo: b"\x1b[m".to_vec(),
                session: "abc".to_owned()
            }
        );
        assert_eq!(read_orders(format!("{orders}farewell\n").as_bytes()), None);
    }

    #[test]
    fn lines_that_are_cut_or_unknown_are_ignored() {
        assert_eq!(read_orders(&b"sett"[..]), Some(Orders::default()));
        assert_eq!(read_orders(&b"settings 1 2\nwhatever\nundo zz\n"[..]), Some(Orders::default()));
    }
}
