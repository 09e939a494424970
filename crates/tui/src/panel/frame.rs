//! The frame of a question: its first row, the rule at its left, and the keys below it.

use crate::keys::{Action, Bindings};
use crate::look::Look;
use crate::text::{cut::broken, cut::cut, row::Row, wrap::wrap};
use crate::theme::Role;
use ratatui_core::text::{Line, Span};

/// What surrounds a question.
pub(super) struct Head<'a> {
    /// How many questions wait.
    pub(super) many: usize,
    /// Whether it has the focus.
    pub(super) focused: bool,
    /// Whether a key that is pressed now reaches it.
    pub(super) takes_keys: bool,
    pub(super) bindings: &'a Bindings,
    pub(super) look: &'a Look,
}

/// Where a line that is too long is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    /// Between words.
    Words,
    /// At any cell, so that nothing is left out: commands, code and paths.
    Cells,
}

/// Narrower than this, labels take no column of their own, in cells.
const LABELS_FROM: usize = 40;
/// The column of labels, in cells.
const LABEL: usize = 7;

impl Head<'_> {
    /// Returns the first row. No line of a transcript begins with its corner.
    pub(super) fn title(&self, name: &str) -> Row {
        let state = match (self.focused, self.takes_keys) {
            (false, _) => {
                let key = self.key(Action::Answer);
                format!("waits, your keys go to the message ── {key}: answer")
            }
            (true, false) => "takes keys in a moment".to_owned(),
            (true, true) => "waits for your answer".to_owned(),
        };
        let place = if self.many > 1 { format!(" 1 of {}", self.many) } else { String::new() };
        let spans = vec![
            Span::styled(format!("┌ {name}{place} "), self.look.style(Role::Panel)),
            Span::styled(
                format!("── {state}"),
                self.look.style(if self.focused { Role::Strong } else { Role::Dim }),
            ),
        ];
        Row::new(Line::from(cut(spans, self.look.width, self.look.measure)))
    }

    /// Returns a text behind a label and the rule at the left, broken into rows at words or, as for
    /// commands, at any cell.
    pub(super) fn labelled(&self, label: &str, text: &str, role: Role, lines: Lines) -> Vec<Row> {
        let (look, inner) = (self.look, self.inner());
        let dim = look.style(Role::Dim);
        // A blank is behind every label.
        let width = LABEL.max(look.measure.text(label) + 1);
        let column = format!("{label:width$}");
        let mut cells = look.measure.text(&column);
        if look.width < LABELS_FROM || cells > inner / 3 {
            cells = 0;
        }
        let mut rows = Vec::new();
        for (at, line) in text.split('\n').enumerate() {
            let mut spans = vec![look.span(role, line)];
            if at == 0 && cells == 0 && !label.is_empty() {
                spans.insert(0, Span::styled(format!("{label} "), dim));
            }
            rows.extend(self.divided(spans, inner - cells, lines));
        }
        let labels = |at: usize| if at == 0 { column.clone() } else { " ".repeat(cells) };
        let labelled = |(at, row): (usize, Row)| match cells {
            0 => self.framed("│", row),
            _ => self.framed("│", row.after(Span::styled(labels(at), dim))),
        };
        rows.into_iter().enumerate().map(labelled).collect()
    }

    /// Returns a text behind the rule at the left, broken into rows.
    pub(super) fn text(&self, text: &str, role: Role, lines: Lines) -> Vec<Row> {
        let rows = text
            .split('\n')
            .flat_map(|line| self.divided(vec![self.look.span(role, line)], self.inner(), lines));
        rows.map(|row| self.framed("│", row)).collect()
    }

    fn divided(&self, spans: Vec<Span<'static>>, width: usize, lines: Lines) -> Vec<Row> {
        match lines {
            Lines::Cells => broken(&Row::new(Line::from(spans)), width, self.look.measure),
            Lines::Words => {
                let lines = wrap(&spans, width, width, self.look.measure).into_iter();
                lines.map(|line| Row::new(Line::from(line))).collect()
            }
        }
    }

    /// Returns a row with a sign of the frame before it.
    pub(super) fn framed(&self, sign: &str, row: Row) -> Row {
        let gap = if self.look.width < LABELS_FROM { "" } else { " " };
        let sign = if self.look.width < 2 { "" } else { sign };
        row.after(Span::styled(format!("{sign}{gap}"), self.look.style(Role::Panel)))
    }

    /// Returns the width beside the rule at the left, in cells.
    pub(super) fn inner(&self) -> usize {
        self.look.width.saturating_sub(if self.look.width < LABELS_FROM { 1 } else { 2 }).max(1)
    }

    /// Returns keys with what they do, as many in a row as fit; `sign` is before the last row.
    pub(super) fn keys(&self, keys: &[(String, String)], sign: &str) -> Vec<Row> {
        let (look, inner) = (self.look, self.inner());
        let (strong, text) = match self.takes_keys {
            true => (look.style(Role::Strong), look.style(Role::Text)),
            false => (look.style(Role::Dim), look.style(Role::Dim)),
        };
        let mut rows: Vec<Vec<Span<'static>>> = vec![Vec::new()];
        let mut used = 0;
        for (key, does) in keys {
            let does = agent::one_line(does);
            let width = look.measure.text(key) + 1 + look.measure.text(&does);
            if used > 0 && used + 3 + width > inner {
                rows.push(Vec::new());
                used = 0;
            }
            let Some(row) = rows.last_mut() else { break };
            if used > 0 {
                row.push(Span::styled("   ", text));
                used += 3;
            }
            row.push(Span::styled(key.clone(), strong));
            row.push(Span::styled(format!(" {does}"), text));
            used += width;
        }
        let rows: Vec<Row> =
            rows.into_iter().flat_map(|spans| self.divided(spans, inner, Lines::Words)).collect();
        let last = rows.len().saturating_sub(1);
        let sign_at = |at: usize| if at == last { sign } else { "│" };
        rows.into_iter().enumerate().map(|(at, row)| self.framed(sign_at(at), row)).collect()
    }

    /// Returns the key of an action as it is written; `–` if it has none.
    pub(super) fn key(&self, action: Action) -> String {
        self.bindings.key_of(action).unwrap_or_else(|| "–".to_owned())
    }
}
