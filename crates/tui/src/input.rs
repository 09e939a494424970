//! What the user does: keys, pastes and changes of the terminal.

/// One input from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed or repeated.
    Key(Key),
    /// Text was pasted. Its line breaks are `\n`, or `\r\n` where the terminal sent them as they
    /// are.
    Paste(String),
    /// The terminal has a new size, in cells.
    Resize {
        /// Columns.
        columns: u16,
        /// Rows.
        rows: u16,
    },
    /// The terminal gained (`true`) or lost the focus.
    Focus(bool),
    /// The wheel turned by this many rows; negative is up. Only in full screen.
    Scroll(i32),
    /// A click at a cell. Only in full screen.
    Click {
        /// The column, from 0.
        column: u16,
        /// The row, from 0.
        row: u16,
    },
    /// A line was typed. Only in plain mode.
    Line(String),
    /// The terminal has taken everything, after a frame was refused because it had not.
    Ready,
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// Whether Control is held.
    pub ctrl: bool,
    /// Whether Alt is held.
    pub alt: bool,
    /// Whether Shift is held; for characters it is part of the character.
    pub shift: bool,
}

/// A key without modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names on the keyboard")]
pub enum KeyCode {
    Char(char),
    Enter,
    Tab,
    Esc,
    Backspace,
    Delete,
    Insert,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
}

impl Key {
    /// Creates a key without modifiers.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    /// Creates a character with Control.
    pub const fn ctrl(char: char) -> Self {
        Self { code: KeyCode::Char(char), ctrl: true, alt: false, shift: false }
    }

    /// Creates a character with Alt.
    pub const fn alt(char: char) -> Self {
        Self { code: KeyCode::Char(char), ctrl: false, alt: true, shift: false }
    }
}
