//! The inline screen: finished lines in the terminal's own scrollback, a live region below them.
//!
//! Architecture Invariant: a committed line is written once. It must never be cleared, written
//! again or wrapped again, whatever the terminal's size does. It enters the scrollback by plain
//! line feeds at the bottom of the whole screen: no scroll region, no scrolling or inserting of
//! lines, no clearing of the screen. The live region is found by relative moves only.
//!
//! What is not known is where the live region is after the terminal became narrower: some terminals
//! wrap every line again, others cut them. Only for those that are known to wrap are the additional
//! rows counted. In others a part of the old live region may remain, and no committed line is
//! erased.

use super::{
    cells::Cells,
    frame::{Frame, Rendering},
};
use crate::{
    terminal::writer::Writer,
    text::{measure::Measure, row::Row},
};

/// The state of the inline screen.
#[derive(Debug, Clone)]
pub struct Inline {
    columns: u16,
    rows: u16,
    rendering: Rendering,
    /// The live region as the terminal shows it, with the rows that it was made from.
    live: Vec<(Row, Cells)>,
    /// The cursor's column and row in the live region.
    cursor: (u16, u16),
    cursor_shown: bool,
    /// Rows above the one that the cursor is believed to be in which belong to the live region,
    /// because the terminal wrapped it again.
    wrapped_above: u16,
    /// The live region must be drawn anew.
    stale: bool,
}

impl Inline {
    /// Creates the state for a terminal whose cursor is in the first column of an empty row.
    pub fn new(columns: u16, rows: u16, rendering: Rendering) -> Self {
        Self {
            columns: columns.max(1),
            rows: rows.max(1),
            rendering,
            live: Vec::new(),
            cursor: (0, 0),
            cursor_shown: true,
            wrapped_above: 0,
            stale: true,
        }
    }

    /// Takes a new size of the terminal. `rewraps`: whether it wraps its lines again.
    pub fn resize(&mut self, columns: u16, rows: u16, rewraps: bool) {
        self.columns = columns.max(1);
        self.rows = rows.max(1);
        self.stale = true;
        if rewraps {
            let columns = usize::from(self.columns);
            let additional = |width: usize| width.saturating_sub(1) / columns;
            let above = self.live.iter().take(self.cursor.1.into());
            let above: usize = above.map(|(_, cells)| additional(cells.width())).sum();
            // Of the cursor's own row only the text counts that is there for sure: counting too few
            // rows leaves some of the live region, counting too many erases a committed line.
            let own = self.live.get(usize::from(self.cursor.1)).map_or(0, |(_, cells)| cells.width());
            let own = own.saturating_sub(1).min(self.cursor.0.into()) / columns;
            self.wrapped_above = u16::try_from(above + own).unwrap_or(u16::MAX);
        }
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

    /// Has the next frame draw the whole live region, as after another program has used the screen.
    pub fn redraw(&mut self) {
        self.stale = true;
    }

    /// Returns the bytes that commit the frame's finished rows and turn the live region into the
    /// frame's. A live region that is higher than the screen loses its first rows.
    pub fn draw(&mut self, frame: &Frame) -> Vec<u8> {
        let hidden = frame.live.len().saturating_sub(self.rows.into());
        let live = &frame.live[hidden..];
        let cursor = frame.cursor.filter(|_| !live.is_empty()).map(|(column, row)| {
            let row = usize::from(row).saturating_sub(hidden).min(live.len().saturating_sub(1));
            (column.min(self.columns - 1), u16::try_from(row).unwrap_or(0))
        });
        let mut writer = self.rendering.writer();
        if self.stale || !frame.commit.is_empty() {
            self.replace(&frame.commit, live, &mut writer);
        } else {
            self.update(live, &mut writer);
        }
        let anything = !writer.is_empty();
        self.place_cursor(cursor, &mut writer);
        match anything {
            // What is only a step of the cursor or of a spinner needs no update around it.
            true if writer.len() > 64 => {
                let mut update = self.rendering.writer();
                update.begin_update();
                update.append(writer);
                update.end_update();
                update.into_bytes()
            }
            _ => writer.into_bytes(),
        }
    }

    /// Returns the bytes that remove the live region and leave the cursor in its first row.
    pub fn farewell(&self) -> Vec<u8> {
        let mut writer = self.rendering.writer();
        writer.up(self.cursor.1.saturating_add(self.wrapped_above));
        erase_from_row(&mut writer);
        if !self.cursor_shown {
            writer.show_cursor(true);
        }
        writer.into_bytes()
    }

    /// Takes that the live region was removed, by the bytes of [`Self::farewell`].
    pub fn removed(&mut self) {
        self.live.clear();
        self.cursor = (0, 0);
        self.cursor_shown = true;
        self.wrapped_above = 0;
        self.stale = true;
    }

    /// Erases the live region, writes finished rows in its place, and draws the new one below them.
    fn replace(&mut self, commit: &[Row], live: &[Row], writer: &mut Writer) {
        writer.up(self.cursor.1.saturating_add(self.wrapped_above));
        erase_from_row(writer);
        for row in commit {
            for span in &row.line.spans {
                let style = row.line.style.patch(span.style);
                writer.linked(&span.content, style, row.link(style).map(|address| &**address));
            }
            writer.next_row();
        }
        self.live = live
            .iter()
            .map(|row| (row.clone(), Cells::new(row, self.columns, self.rendering.measure)))
            .collect();
        for (number, (_, cells)) in self.live.iter().enumerate() {
            if number > 0 {
                writer.next_row();
            }
            cells.write(writer);
        }
        writer.plain();
        self.cursor = (self.columns, u16::try_from(self.live.len().saturating_sub(1)).unwrap_or(u16::MAX));
        if self.live.is_empty() {
            self.cursor = (0, 0);
        }
        self.wrapped_above = 0;
        self.stale = false;
    }

    /// Writes what differs.
    fn update(&mut self, live: &[Row], writer: &mut Writer) {
        let common = live.len().min(self.live.len());
        for (number, row) in live.iter().enumerate().take(common) {
            if self.live[number].0 == *row {
                continue;
            }
            let cells = Cells::new(row, self.columns, self.rendering.measure);
            let old = std::mem::replace(&mut self.live[number], (row.clone(), cells));
            if self.live[number].1 != old.1 {
                self.go_to_row(number, writer);
                self.live[number].1.write_changes(&old.1, writer);
                self.cursor.0 = self.columns;
            }
        }
        if live.len() < self.live.len() {
            self.go_to_row(live.len(), writer);
            erase_from_row(writer);
            self.cursor.0 = 0;
            self.live.truncate(live.len());
            self.go_to_row(live.len().saturating_sub(1), writer);
        }
        for row in &live[common..] {
            if !self.live.is_empty() {
                self.go_to_row(self.live.len() - 1, writer);
                writer.next_row();
                self.cursor.1 += 1;
            }
            let cells = Cells::new(row, self.columns, self.rendering.measure);
            cells.write(writer);
            self.cursor.0 = self.columns;
            self.live.push((row.clone(), cells));
        }
        writer.plain();
    }

    fn go_to_row(&mut self, row: usize, writer: &mut Writer) {
        let row = u16::try_from(row).unwrap_or(u16::MAX);
        writer.up(self.cursor.1.saturating_sub(row));
        writer.down(row.saturating_sub(self.cursor.1));
        self.cursor.1 = row;
    }

    fn place_cursor(&mut self, cursor: Option<(u16, u16)>, writer: &mut Writer) {
        // Even a hidden cursor has a known place.
        let place = cursor.unwrap_or((0, self.cursor.1));
        if place != self.cursor {
            self.go_to_row(place.1.into(), writer);
            writer.column(place.0);
            self.cursor = place;
        }
        if cursor.is_some() != self.cursor_shown {
            self.cursor_shown = cursor.is_some();
            writer.show_cursor(self.cursor_shown);
        }
    }
}

/// Erases the cursor's row and those below, with the cursor in the first column.
///
/// tmux keeps what is erased from the first cell of the screen on in its scrollback; so the row is
/// erased alone, and the rest from its second column on.
fn erase_from_row(writer: &mut Writer) {
    writer.first_column();
    writer.erase_right();
    writer.column(1);
    writer.erase_below();
    writer.first_column();
}
