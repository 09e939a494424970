//! What is copied from the transcript.

use super::View;
use crate::{limits::COPIED_BYTES, transcript::rows::Paint};

impl View {
    /// Begins to mark rows at the current one, or stops.
    pub fn toggle_mark(&mut self, paint: &Paint<'_>) {
        if self.is_following {
            let cursor = self.cursor;
            self.go_to(cursor, paint);
        }
        self.mark = match self.mark {
            Some(_) => None,
            None => Some(self.cursor),
        };
    }

    /// Returns whether rows are marked.
    pub fn is_marking(&self) -> bool {
        self.mark.is_some()
    }

    /// Returns the text to copy and ends the marking: the marked rows, or all of the current cell
    /// as it came.
    pub fn copy(&mut self, paint: &Paint<'_>) -> Option<String> {
        let Some(mark) = self.mark.take() else {
            let text = paint.transcript.cells().get(self.cursor.cell)?.copied();
            return Some(limited(text)).filter(|text| !text.is_empty());
        };
        let (first, last) = (mark.min(self.cursor), mark.max(self.cursor));
        let mut lines = Vec::new();
        for cell in first.cell..=last.cell {
            let rows = self.rows_of(cell, paint);
            let from = if cell == first.cell { first.row } else { 0 };
            let until = if cell == last.cell { last.row + 1 } else { rows.len() };
            let rows = rows.iter().take(until).skip(from);
            lines.extend(rows.map(|row| row.plain().trim_end().to_owned()));
        }
        Some(limited(lines.join("\n")))
    }

    /// Returns the last block of code in the answers up to the current cell.
    pub fn copy_code(&self, paint: &Paint<'_>) -> Option<String> {
        paint.transcript.last_code(self.cursor.cell).map(limited)
    }
}

fn limited(mut text: String) -> String {
    text.truncate(agent::floor_char_boundary(&text, COPIED_BYTES));
    text
}
