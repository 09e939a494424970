//! What Tiller asks of a terminal beyond its cells: titles, notifications, the clipboard, answers.
//!
//! Only fixed words and sanitised, limited text get into these sequences.

use super::capabilities::{Capabilities, Multiplexer};
use crate::limits;
use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Questions about the terminal: its name, whether it shows updates at once and marks pastes, its
/// keyboard protocol. Every terminal answers the last one.
pub const QUESTIONS: &str = "\u{1b}[>0q\u{1b}[?2026$p\u{1b}[?2004$p\u{1b}[?u\u{1b}[c";

/// The question about the colour of the background, and one that every terminal answers.
pub const BACKGROUND: &str = "\u{1b}]11;?\u{1b}\\\u{1b}[c";

/// Returns the sequence that sets the title.
pub fn title(title: &str) -> Vec<u8> {
    format!("\u{1b}]0;{}\u{7}", words(title)).into_bytes()
}

/// Returns the sequence that notifies the user, with a bell where a multiplexer may keep the
/// sequence to itself.
pub fn notification(text: &str, capabilities: &Capabilities) -> Vec<u8> {
    let words = words(text);
    let name = capabilities.name();
    let knows = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    let sequence = match capabilities.multiplexer {
        Some(Multiplexer::Screen) => String::new(),
        _ if knows(&["kitty"]) => format!("\u{1b}]99;;{words}\u{1b}\\"),
        _ if knows(&["vte", "foot", "rxvt", "contour"]) => {
            format!("\u{1b}]777;notify;Tiller;{words}\u{1b}\\")
        }
        _ if knows(&["xterm(", "alacritty", "linux", "apple_terminal"]) => String::new(),
        _ => format!("\u{1b}]9;{words}\u{7}"),
    };
    let mut bytes = passed(&sequence, capabilities);
    if capabilities.multiplexer.is_some() || sequence.is_empty() {
        bytes.push(0x07);
    }
    bytes
}

/// Returns the sequence that copies a text; `None` if it is longer than
/// [`limits::MAX_TERMINAL_COPY`].
pub fn copy(text: &str, capabilities: &Capabilities) -> Option<Vec<u8>> {
    if text.len() > limits::MAX_TERMINAL_COPY {
        return None;
    }
    Some(passed(&format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(text)), capabilities))
}

/// Returns the sequences around a text that is a link to `address`; `None` if the address is longer
/// than [`limits::MAX_HYPERLINK`], contains anything but visible ASCII, or is not one of the web or
/// of a file. Which addresses a text may link to is decided by [`crate::text::link::target`].
pub fn hyperlink(address: &str) -> Option<(String, &'static str)> {
    let is_known = ["http://", "https://", "file:///"].iter().any(|begin| address.starts_with(begin));
    let is_plain =
        address.len() <= limits::MAX_HYPERLINK && address.bytes().all(|byte| byte.is_ascii_graphic());
    (is_known && is_plain).then(|| (format!("\u{1b}]8;;{address}\u{1b}\\"), "\u{1b}]8;;\u{1b}\\"))
}

/// Wraps a sequence so that tmux passes it on, where it is allowed to.
fn passed(sequence: &str, capabilities: &Capabilities) -> Vec<u8> {
    match capabilities.multiplexer {
        Some(Multiplexer::Tmux) if !sequence.is_empty() => {
            format!("\u{1b}Ptmux;{}\u{1b}\\", sequence.replace('\u{1b}', "\u{1b}\u{1b}")).into_bytes()
        }
        _ => sequence.as_bytes().to_vec(),
    }
}

/// Returns one line without control characters and without the separator of these sequences.
fn words(text: &str) -> String {
    let line = agent::one_line(text);
    let shown = line.chars().filter(|character| !character.is_control());
    shown.map(|character| if character == ';' { ',' } else { character }).take(limits::MAX_TITLE).collect()
}
