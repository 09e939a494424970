//! Makes rows of pieces.

use super::{
    blocks,
    code::CodeLine,
    lines,
    piece::{Piece, PieceKind},
    table,
};
use crate::{limits::NESTING, look::Look, text::row::Row};

/// Renders the pieces of one text, in order.
#[derive(Debug, Clone, Default)]
pub struct Renderer {
    /// Whether there are rows before.
    is_begun: bool,
    /// Whether an empty row is due before the next one.
    is_gap_due: bool,
    /// The indentation to remove from lines of the open fence, and the one to show.
    code: (usize, usize),
    /// The head of the last table.
    head: Vec<String>,
}

/// What a piece is rendered to, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// A row.
    Row(Row),
    /// A fence begins; the value is its language, which may be empty.
    CodeStart(String),
    /// A line of the fence, to be highlighted.
    Code(CodeLine),
    /// The fence ends.
    CodeEnd,
}

impl Renderer {
    /// Renders the next piece of a text to rows of at most `width` cells. Code is not wrapped.
    pub fn render(&mut self, text: &str, piece: &Piece, width: usize, look: &Look) -> Vec<Rendered> {
        if !piece.joins {
            self.is_gap_due = self.is_begun;
        }
        let mut source = text[piece.range.clone()].trim_end_matches(['\n', '\r']);
        let mut out = Vec::new();
        match &piece.kind {
            PieceKind::CodeStart { language, indent } => {
                // Only in a list item the code is indented as it is written.
                let is_indented = piece.joins && !look.plain;
                self.code = (*indent, if is_indented { (*indent).min(2 * NESTING) } else { 0 });
                if look.plain {
                    self.gap(&mut out);
                }
                out.push(Rendered::CodeStart(agent::one_line(text[language.clone()].trim())));
            }
            PieceKind::Code => {
                source = lines::dedent(source, self.code.0);
                self.gap(&mut out);
                out.push(Rendered::Code(CodeLine::new(source, self.code.1, look)));
            }
            PieceKind::CodeEnd => out.push(Rendered::CodeEnd),
            PieceKind::TableRow => {
                let row = table::text_row(&self.head, &table::split_cells(source), width, look);
                self.rows(row, &mut out);
            }
            PieceKind::Text => {
                let (rows, head) = blocks::rows(source, None, 0, width, look);
                self.head = head;
                self.rows(rows, &mut out);
            }
            PieceKind::Item { number } => {
                let (rows, _) = blocks::rows(source, *number, 0, width, look);
                self.rows(rows, &mut out);
            }
            PieceKind::ItemRest { indent } => {
                let inner: Vec<_> = source.split('\n').map(|line| lines::dedent(line, *indent)).collect();
                let (rows, _) = blocks::rows(&inner.join("\n"), None, *indent, width, look);
                self.rows(rows, &mut out);
            }
        }
        out
    }

    fn rows(&mut self, rows: Vec<Row>, out: &mut Vec<Rendered>) {
        if !rows.is_empty() {
            self.gap(out);
            out.extend(rows.into_iter().map(Rendered::Row));
        }
    }

    fn gap(&mut self, out: &mut Vec<Rendered>) {
        if std::mem::take(&mut self.is_gap_due) {
            out.push(Rendered::Row(Row::empty()));
        }
        self.is_begun = true;
    }
}
