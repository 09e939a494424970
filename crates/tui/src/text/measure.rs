//! The width of text in the cells of a terminal.

use ratatui_core::text::Line;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// How wide text is. Widths are counted by grapheme cluster, since a terminal draws, and a cursor
/// passes, a cluster as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measure {
    /// Whether characters of ambiguous width take two cells, as in terminals set up for Chinese,
    /// Japanese or Korean (`ui.ambiguous_width`).
    pub wide_ambiguous: bool,
}

impl Measure {
    /// Returns the width of a grapheme cluster: 0, 1 or 2 cells.
    pub fn cluster(self, cluster: &str) -> usize {
        match self.wide_ambiguous {
            _ if cluster.len() == 1 => 1,
            true => cluster.width_cjk().min(2),
            false => cluster.width().min(2),
        }
    }

    /// Returns the width of a text without line breaks.
    pub fn text(self, text: &str) -> usize {
        match text.is_ascii() {
            true => text.len(),
            false => clusters(text).map(|cluster| self.cluster(cluster)).sum(),
        }
    }

    /// Returns the width of a line.
    pub fn line(self, line: &Line<'_>) -> usize {
        line.spans.iter().map(|span| self.text(&span.content)).sum()
    }
}

/// Returns the grapheme clusters of a text, in order.
pub fn clusters(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.graphemes(true)
}
