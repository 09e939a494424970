//! One line of styled text.

use super::measure::Measure;
use ratatui_core::{
    style::{Color, Style},
    text::{Line, Span},
};
use std::sync::Arc;

/// One line of text for the terminal, sanitised and styled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// The text with its styles. Contains no line break and no control character.
    pub line: Line<'static>,
    /// How a line that is wider than the terminal is shown.
    pub overflow: Overflow,
    /// The addresses of its links; `None` if it has none. See [`Row::link`].
    pub links: Option<Arc<[Arc<str>]>>,
}

/// How a row that is wider than the terminal is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// It is wrapped already; what is too wide after a resize is wrapped by the terminal if it was
    /// committed, and cut in the live region.
    #[default]
    Wrapped,
    /// A logical line of code, output or a diff: the terminal wraps it in the scrollback, so that a
    /// selection copies the original line; elsewhere it is cut or wrapped at any cell.
    Logical,
}

impl Row {
    /// Creates a row that is wrapped already.
    pub fn new(line: impl Into<Line<'static>>) -> Self {
        Self { line: line.into(), ..Self::default() }
    }

    /// Creates a row of a logical line, which may be wider than the terminal.
    pub fn logical(line: impl Into<Line<'static>>) -> Self {
        Self { line: line.into(), overflow: Overflow::Logical, links: None }
    }

    /// Creates an empty row.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns its text without styles.
    pub fn plain(&self) -> String {
        self.line.spans.iter().map(|span| span.content.as_ref()).collect()
    }

    /// Returns its width in cells, with ambiguous characters as narrow.
    pub fn width(&self) -> usize {
        Measure::default().line(&self.line)
    }

    /// Returns the address that text of this style is a link to.
    ///
    /// The number of the address is in the style, as the colour of an underline, which no theme
    /// sets and no screen writes. So it stays with the text while that is wrapped and cut.
    pub fn link(&self, style: Style) -> Option<&Arc<str>> {
        match style.underline_color {
            Some(Color::Indexed(number)) => self.links.as_ref()?.get(usize::from(number)),
            _ => None,
        }
    }

    /// Puts a span before the row, such as a gutter.
    #[must_use]
    pub fn after(mut self, span: Span<'static>) -> Self {
        if !span.content.is_empty() {
            self.line.spans.insert(0, span);
        }
        self
    }
}

impl From<Span<'static>> for Row {
    fn from(span: Span<'static>) -> Self {
        Self::new(span)
    }
}

/// Adds a span to others; one of the same style is joined to the last.
pub(crate) fn push(spans: &mut Vec<Span<'static>>, span: Span<'static>) {
    match spans.last_mut() {
        Some(last) if last.style == span.style => last.content.to_mut().push_str(&span.content),
        _ => spans.push(span),
    }
}
