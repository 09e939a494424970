//! What one drawing of the screen shows.

use crate::{
    terminal::{capabilities::Colours, writer::Writer},
    text::{measure::Measure, row::Row},
};

/// How the interface uses the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Screen {
    /// Finished lines go into the terminal's own scrollback; below them hangs a live region.
    #[default]
    Inline,
    /// The alternate screen, all of which Tiller draws.
    Full,
    /// Lines without control sequences, and the terminal's own line editing.
    Plain,
}

impl Screen {
    /// Returns its name, as in the setting `ui.screen`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Full => "full",
            Self::Plain => "plain",
        }
    }
}

/// One drawing of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Rows that are finished. Each is given once; it is never drawn again. Ignored in full screen.
    pub commit: Vec<Row>,
    /// The rows below the finished ones, from top to bottom; in full screen all rows. In plain mode
    /// they are not shown, and any say that a line of the user is awaited.
    pub live: Vec<Row>,
    /// The column and row of the cursor in `live`, from 0; `None` hides it.
    pub cursor: Option<(u16, u16)>,
}

/// How rows become cells of this terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rendering {
    /// The colours that it shows.
    pub colours: Colours,
    /// How wide text is in it.
    pub measure: Measure,
    /// Whether links are hyperlinks of the terminal.
    pub hyperlinks: bool,
}

impl Rendering {
    /// Returns a writer of this rendering.
    pub(super) fn writer(self) -> Writer {
        Writer::new(self.colours).with_hyperlinks(self.hyperlinks)
    }
}
