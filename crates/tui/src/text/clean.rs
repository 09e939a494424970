//! Makes text from outside fit for a row: one line, nothing that would repaint, hide or spill over.

use super::measure::{Measure, clusters};
use crate::limits::{CLUSTER_CHARS, TAB_CELLS};
use ratatui_core::{style::Style, text::Span};
use std::borrow::Cow;

/// Returns one line of text as a row may show it: without escape sequences, control, zero-width and
/// direction characters, with tabs as spaces up to the next multiple of four cells, line breaks as
/// spaces, and piles of combining marks cut.
///
/// `column` is where the text begins, in cells, which tabs depend on.
pub fn clean(text: &str, column: usize, measure: Measure) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let shown = agent::sanitise(text);
    let mut out = String::with_capacity(shown.len());
    let mut at = column;
    for cluster in clusters(&shown) {
        match cluster {
            "\t" => {
                let cells = TAB_CELLS - at % TAB_CELLS;
                out.extend(std::iter::repeat_n(' ', cells));
                at += cells;
            }
            "\n" => {
                out.push(' ');
                at += 1;
            }
            _ => {
                out.extend(cluster.chars().take(CLUSTER_CHARS));
                at += measure.cluster(cluster);
            }
        }
    }
    Cow::Owned(out)
}

/// Returns a span of text from outside; see [`clean`].
pub fn span(text: &str, style: Style, measure: Measure) -> Span<'static> {
    Span::styled(clean(text, 0, measure).into_owned(), style)
}
