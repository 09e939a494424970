//! Wraps styled text at words.

use super::measure::{Measure, clusters};
use ratatui_core::{style::Style, text::Span};

/// Characters that must not begin a line, although the text before them could end one.
const NOT_FIRST: &str = "、。，．：；？！）」』】〕〉》・ー々…‥〜～％";

/// Wraps a text at words into lines of at most `width` cells; the first may be narrower (`first`).
///
/// Words that are wider are broken at any cell; between wide characters (Chinese, Japanese, Korean)
/// a line may end anywhere. Spaces at a break are dropped, spaces at the beginning are kept. Takes
/// time and memory linear in the text. Returns at least one line.
pub fn wrap(spans: &[Span<'_>], first: usize, width: usize, measure: Measure) -> Vec<Vec<Span<'static>>> {
    let mut lines =
        Lines { room: first.clamp(1, width.max(1)), width: width.max(1), measure, ..Lines::default() };
    for span in spans {
        for cluster in clusters(&span.content) {
            lines.push(cluster, span.style);
        }
    }
    lines.finish()
}

#[derive(Default)]
struct Lines<'a> {
    done: Vec<Vec<Span<'static>>>,
    /// The unfinished line.
    line: Vec<Piece<'a>>,
    cells: usize,
    /// Where in the line it may end; 0 for nowhere.
    end: usize,
    /// The width of the unfinished line.
    room: usize,
    width: usize,
    measure: Measure,
    /// Whether a line was just ended at a space, so that further spaces are dropped.
    at_break: bool,
}

#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    style: Style,
    cells: usize,
}

impl Piece<'_> {
    fn is_space(self) -> bool {
        self.text == " "
    }
}

impl<'a> Lines<'a> {
    fn push(&mut self, text: &'a str, style: Style) {
        let mut piece = Piece { text, style, cells: self.measure.cluster(text) };
        if piece.is_space() && self.at_break {
            return;
        }
        self.at_break = false;
        while self.cells + piece.cells > self.room && !self.line.is_empty() {
            if piece.is_space() {
                self.end_line(self.line.len());
                self.at_break = true;
                return;
            }
            match (self.may_end_before(piece), self.end) {
                (true, _) | (_, 0) => self.end_line(self.line.len()),
                (false, at) => self.end_line(at),
            }
        }
        if piece.cells > self.room {
            piece = Piece { text: "·", cells: 1, ..piece };
        }
        if self.may_end_before(piece) {
            self.end = self.line.len();
        }
        self.line.push(piece);
        self.cells += piece.cells;
    }

    /// Returns whether a line may end between the unfinished line and this piece.
    fn may_end_before(&self, next: Piece<'_>) -> bool {
        let Some(last) = self.line.last() else { return false };
        if next.is_space() || last.is_space() {
            // Leading spaces are an indentation: a line must not consist of them only.
            return last.is_space() && self.line.iter().any(|piece| !piece.is_space());
        }
        let is_wide = (last.cells == 2 && next.cells > 0) || next.cells == 2;
        is_wide && !NOT_FIRST.contains(next.text)
    }

    fn end_line(&mut self, at: usize) {
        let rest = self.line.split_off(at);
        let line = std::mem::replace(&mut self.line, rest);
        self.done.push(joined(&line));
        (self.room, self.end) = (self.width, 0);
        self.cells = self.line.iter().map(|piece| piece.cells).sum();
    }

    fn finish(mut self) -> Vec<Vec<Span<'static>>> {
        if !self.line.is_empty() || self.done.is_empty() {
            let all = self.line.len();
            self.end_line(all);
        }
        self.done
    }
}

/// Joins the pieces of a line to spans of one style each, without spaces at its end.
fn joined(line: &[Piece<'_>]) -> Vec<Span<'static>> {
    let kept = line.iter().rposition(|piece| !piece.is_space()).map_or(0, |at| at + 1);
    let mut spans: Vec<Span<'static>> = Vec::new();
    for piece in &line[..kept] {
        match spans.last_mut() {
            Some(span) if span.style == piece.style => span.content.to_mut().push_str(piece.text),
            _ => spans.push(Span::styled(piece.text.to_owned(), piece.style)),
        }
    }
    spans
}
