//! A line of a fence.

use crate::{look::Look, text::clean::clean, text::row::Row, theme::Role};
use ratatui_core::text::{Line, Span};

/// A line of code, cleaned, without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeLine {
    /// The text.
    pub text: String,
    /// The columns before it, in a list item.
    pub indent: usize,
}

impl CodeLine {
    pub(super) fn new(line: &str, indent: usize, look: &Look) -> Self {
        Self { text: clean(line, 0, look.measure).into_owned(), indent }
    }

    /// Returns it as a row. `styles` are the roles of its parts with their bytes, in order; what is
    /// left is ordinary text.
    pub fn row(&self, styles: &[(Role, usize)], look: &Look) -> Row {
        let mut spans = Vec::with_capacity(styles.len() + 2);
        if self.indent > 0 {
            spans.push(Span::raw(" ".repeat(self.indent)));
        }
        let mut rest = self.text.as_str();
        for (role, bytes) in styles {
            let Some((part, after)) = rest.split_at_checked(*bytes) else { break };
            spans.push(Span::styled(part.to_owned(), look.style(*role)));
            rest = after;
        }
        if !rest.is_empty() {
            spans.push(Span::styled(rest.to_owned(), look.style(Role::Text)));
        }
        Row::logical(Line::from(spans))
    }
}
