//! The modes that Tiller puts the terminal into.
//!
//! Each mode has a sequence that enters it and one that undoes it. They are entered in the order of
//! the list and undone in reverse, and only those that were entered.

/// A mode of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    enter: &'static str,
    undo: &'static str,
}

/// The title is put on the terminal's stack.
pub const TITLE: Mode = Mode { enter: "\u{1b}[22;0t", undo: "\u{1b}[23;0t" };
/// The alternate screen, with an empty screen at the start.
pub const ALTERNATE_SCREEN: Mode = Mode { enter: "\u{1b}[?1049h", undo: "\u{1b}[?1049l" };
/// Pasted text comes in brackets.
pub const BRACKETED_PASTE: Mode = Mode { enter: "\u{1b}[?2004h", undo: "\u{1b}[?2004l" };
/// The terminal reports when it gains or loses the focus.
pub const FOCUS: Mode = Mode { enter: "\u{1b}[?1004h", undo: "\u{1b}[?1004l" };
/// Keys that look alike are distinguished, by the protocol with a stack (kitty's).
pub const KEYBOARD: Mode = Mode { enter: "\u{1b}[>1u", undo: "\u{1b}[<1u" };
/// The same by the older way (modifyOtherKeys), which has no stack.
pub const OTHER_KEYS: Mode = Mode { enter: "\u{1b}[>4;1m", undo: "\u{1b}[>4m" };
/// Buttons and the wheel are reported, with cells as decimal numbers.
pub const MOUSE: Mode = Mode { enter: "\u{1b}[?1000h\u{1b}[?1006h", undo: "\u{1b}[?1006l\u{1b}[?1000l" };

/// What ends anything that may be unfinished: the style, an update, a hidden cursor.
const FIRST_UNDO: &str = "\u{1b}[m\u{1b}[?2026l\u{1b}[?25h";

/// The modes that were entered, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modes {
    entered: Vec<Mode>,
}

impl Modes {
    /// Enters a mode; returns the sequence to write, which is empty if it was entered already.
    pub fn enter(&mut self, mode: Mode) -> &'static str {
        if self.entered.contains(&mode) {
            return "";
        }
        self.entered.push(mode);
        mode.enter
    }

    /// Undoes a mode; returns the sequence to write, which is empty if it was not entered.
    pub fn leave(&mut self, mode: Mode) -> &'static str {
        let Some(at) = self.entered.iter().position(|entered| *entered == mode) else { return "" };
        self.entered.remove(at).undo
    }

    /// Returns the sequences that undo all modes.
    pub fn undone(&self) -> String {
        let sequences = self.entered.iter().rev().map(|mode| mode.undo);
        [FIRST_UNDO].into_iter().chain(sequences).collect()
    }
}

/// Returns what undoes every mode that Tiller ever enters, for a terminal in an unknown state.
pub fn undo_all() -> String {
    let mut modes = Modes::default();
    // The title's stack and the keyboard's would lose entries that are not ours.
    for mode in [ALTERNATE_SCREEN, BRACKETED_PASTE, FOCUS, OTHER_KEYS, MOUSE] {
        modes.enter(mode);
    }
    modes.undone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_undone_in_reverse_and_only_if_entered() {
        let mut modes = Modes::default();
        assert_eq!(modes.undone(), FIRST_UNDO);
        assert_eq!(modes.enter(BRACKETED_PASTE), "\u{1b}[?2004h");
        assert_eq!(modes.enter(KEYBOARD), "\u{1b}[>1u");
        assert_eq!(modes.enter(KEYBOARD), "", "entered once");
        assert_eq!(modes.undone(), format!("{FIRST_UNDO}\u{1b}[<1u\u{1b}[?2004l"));
    }
}
