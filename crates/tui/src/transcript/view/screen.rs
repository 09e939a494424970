//! The rows on the screen.

use super::{Place, View};
use crate::{look::Look, text::row::Row, theme::Role, transcript::rows::Paint};
use ratatui_core::text::{Line, Span};
use regex::Regex;

impl View {
    /// Returns the rows of a screen of this height, from its top; fewer if the transcript is
    /// shorter. Each is at most as wide as the look.
    pub fn rows(&mut self, height: usize, paint: &Paint<'_>) -> Vec<Row> {
        self.height = height.max(1);
        if self.is_following {
            self.to_end(paint);
            self.top = self.last_top(paint);
        } else {
            self.cursor = self.valid(self.cursor, paint);
            self.top = self.top.min(self.last_top(paint));
            self.show_cursor(paint);
        }
        let mut out = Vec::with_capacity(height);
        let mut place = self.top;
        while out.len() < height && place.cell < paint.transcript.cells().len() {
            let rows = self.rows_of(place.cell, paint);
            for (at, row) in rows.iter().enumerate().skip(place.row).take(height - out.len()) {
                out.push(self.shown(Place { cell: place.cell, row: at }, row, paint.look));
            }
            place = Place { cell: place.cell + 1, row: 0 };
        }
        out
    }

    /// Returns a row with the hits of the search, the mark and the cursor.
    fn shown(&self, place: Place, row: &Row, look: &Look) -> Row {
        let mut row = row.clone();
        if let Some(search) = &self.search {
            row.line = highlighted(&row, search.pattern(), look);
        }
        let is_marked =
            self.mark.is_some_and(|mark| (mark.min(self.cursor)..=mark.max(self.cursor)).contains(&place));
        if is_marked {
            row.line
                .spans
                .iter_mut()
                .for_each(|span| span.style = span.style.patch(look.style(Role::Selected)));
            if row.line.spans.is_empty() {
                row.line.spans.push(Span::styled(" ", look.style(Role::Selected)));
            }
        }
        if place == self.cursor && !self.is_following {
            point_at(&mut row, look);
        }
        row
    }
}

/// Marks a row as the current one: `▸` in its first column, or its label reversed.
fn point_at(row: &mut Row, look: &Look) {
    let style = look.style(Role::Selected);
    match row.line.spans.first_mut() {
        None => row.line.spans.push(Span::styled("▸", look.style(Role::User))),
        Some(first) if first.content.starts_with(' ') => {
            first.content.to_mut().remove(0);
            row.line.spans.insert(0, Span::styled("▸", look.style(Role::User)));
        }
        Some(first) => first.style = first.style.patch(style),
    }
}

/// Returns a line with what a pattern finds in it highlighted.
fn highlighted(row: &Row, pattern: &Regex, look: &Look) -> Line<'static> {
    let text = row.plain();
    let mut hits = pattern.find_iter(&text).map(|hit| hit.range()).filter(|hit| !hit.is_empty()).peekable();
    if hits.peek().is_none() {
        return row.line.clone();
    }
    let style = look.style(Role::Match);
    let mut spans = Vec::new();
    let mut at = 0;
    for span in &row.line.spans {
        let (mut rest, end) = (span.content.as_ref(), at + span.content.len());
        while !rest.is_empty() {
            while hits.peek().is_some_and(|hit| hit.end <= at) {
                hits.next();
            }
            let (until, is_hit) = match hits.peek() {
                Some(hit) if hit.start <= at => (hit.end.min(end), true),
                Some(hit) => (hit.start.min(end), false),
                None => (end, false),
            };
            let (part, after) = rest.split_at(until - at);
            let part =
                Span::styled(part.to_owned(), if is_hit { span.style.patch(style) } else { span.style });
            spans.push(part);
            (rest, at) = (after, until);
        }
    }
    Line::from(spans)
}
