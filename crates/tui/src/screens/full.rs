//! The full screen: all rows of the alternate screen, of which only changes are written.

use super::{
    cells::Cells,
    frame::{Frame, Rendering},
};
use crate::text::{measure::Measure, row::Row};

/// The state of the full screen.
#[derive(Debug, Clone)]
pub struct Full {
    columns: u16,
    rows: u16,
    rendering: Rendering,
    /// The rows that the terminal shows; empty if they are not known.
    shown: Vec<(Row, Cells)>,
    cursor: Option<(u16, u16)>,
    cursor_shown: bool,
}

impl Full {
    /// Creates the state for an alternate screen of which nothing is known.
    pub fn new(columns: u16, rows: u16, rendering: Rendering) -> Self {
        let (columns, rows) = (columns.max(1), rows.max(1));
        Self { columns, rows, rendering, shown: Vec::new(), cursor: None, cursor_shown: true }
    }

    /// Takes a new size of the terminal.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        *self = Self { cursor_shown: self.cursor_shown, ..Self::new(columns, rows, self.rendering) };
    }

    /// Sets how wide text is in the terminal; the next frame draws everything.
    pub fn set_measure(&mut self, measure: Measure) {
        self.rendering.measure = measure;
        self.redraw();
    }

    /// Sets whether links are hyperlinks from now on.
    pub fn set_hyperlinks(&mut self, hyperlinks: bool) {
        self.rendering.hyperlinks = hyperlinks;
    }

    /// Has the next frame draw everything.
    pub fn redraw(&mut self) {
        self.shown.clear();
        self.cursor = None;
    }

    /// Returns the bytes that turn the screen into the frame's live rows. Rows beyond the screen's
    /// are not shown, missing ones are empty.
    pub fn draw(&mut self, frame: &Frame) -> Vec<u8> {
        let mut writer = self.rendering.writer();
        let everything = self.shown.is_empty();
        if everything {
            writer.cell(0, 0);
            writer.erase_below();
            self.shown = vec![(Row::empty(), Cells::default()); self.rows.into()];
        }
        let empty = Row::empty();
        let mut moved = everything;
        for (number, shown) in self.shown.iter_mut().enumerate() {
            let row = frame.live.get(number).unwrap_or(&empty);
            if shown.0 == *row {
                continue;
            }
            let cells = Cells::new(row, self.columns, self.rendering.measure);
            if cells != shown.1 {
                writer.cell(0, u16::try_from(number).unwrap_or(u16::MAX));
                cells.write_changes(&shown.1, &mut writer);
                moved = true;
            }
            *shown = (row.clone(), cells);
        }
        writer.plain();
        let anything = !writer.is_empty();
        let cursor = frame.cursor.map(|(column, row)| (column.min(self.columns - 1), row.min(self.rows - 1)));
        if let Some((column, row)) = cursor
            && (moved || self.cursor != cursor)
        {
            writer.cell(column, row);
        }
        self.cursor = cursor;
        if cursor.is_some() != self.cursor_shown {
            self.cursor_shown = cursor.is_some();
            writer.show_cursor(self.cursor_shown);
        }
        if !anything {
            return writer.into_bytes();
        }
        let mut update = self.rendering.writer();
        update.begin_update();
        update.append(writer);
        update.end_update();
        update.into_bytes()
    }
}
