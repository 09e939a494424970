//! How text is laid out: theme, width and measure.

use crate::{limits::PROSE_CELLS, text::clean, text::measure::Measure, theme::Role, theme::Theme};
use ratatui_core::{style::Style, text::Span};
use std::{borrow::Cow, sync::Arc};
use system::AbsPath;

/// The appearance that rows are made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The theme.
    pub theme: Theme,
    /// The width of the terminal in cells.
    pub width: usize,
    /// How wide characters are.
    pub measure: Measure,
    /// Whether the rows are for `plain`: lines of words, which the terminal or a screen reader
    /// wraps.
    pub plain: bool,
    /// The key that shows what is folded, for hints.
    pub unfold_key: Cow<'static, str>,
    /// The directories below which files may be links; empty if they are on another machine than
    /// the terminal.
    pub roots: Arc<[AbsPath]>,
    /// The user's home directory, which paths are shortened by.
    pub home: Option<AbsPath>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            width: 80,
            measure: Measure::default(),
            plain: false,
            unfold_key: Cow::Borrowed("ctrl+o"),
            roots: Arc::default(),
            home: None,
        }
    }
}

impl Look {
    /// Creates a look for a terminal of this width.
    pub fn new(theme: Theme, width: usize) -> Self {
        Self { theme, width, ..Self::default() }
    }

    /// Creates the look of `plain`: no colours, and no wrapping.
    pub fn plain() -> Self {
        let theme = Theme::terminal().without_colour();
        Self { theme, width: usize::from(u16::MAX), plain: true, ..Self::default() }
    }

    /// Returns the width that prose is wrapped to.
    pub fn prose(&self) -> usize {
        if self.plain { self.width } else { self.width.min(PROSE_CELLS) }
    }

    /// Returns a path as people write it: `~/src/shop` below the home directory.
    pub fn path(&self, path: &AbsPath) -> String {
        let Some(home) = &self.home else { return path.to_string() };
        match path.as_str().strip_prefix(home.as_str()) {
            Some("") => "~".to_owned(),
            Some(rest) if rest.starts_with('/') && home.as_str() != "/" => format!("~{rest}"),
            _ => path.to_string(),
        }
    }

    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Returns text from outside as a span of a role, cleaned.
    pub fn span(&self, role: Role, text: &str) -> Span<'static> {
        clean::span(text, self.style(role), self.measure)
    }
}
