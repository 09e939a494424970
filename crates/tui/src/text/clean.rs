//! Makes text from outside fit for a row: one line, nothing that would repaint, hide or spill over.

use super::{
    measure::{Measure, clusters},
    row::push,
};
use crate::limits::{CLUSTER_CHARS, TAB_CELLS};
use agent::{Colours, Ink, Sanitiser};
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
    clusters(&shown).for_each(|cluster| at += fit(cluster, at, measure, &mut out));
    Cow::Owned(out)
}

/// Returns one line of a command's output as spans of the colours that it was written in. They have
/// the same text as [`clean`] returns of it; a cluster has the colour of its first byte.
pub fn painted(
    text: &str,
    mut colours: Colours,
    style: impl Fn(Ink) -> Style,
    measure: Measure,
) -> Vec<Span<'static>> {
    if colours.is_empty() {
        return vec![span(text, style(Ink::default()), measure)];
    }
    let shown = colours.sanitise(&mut Sanitiser::default(), text);
    let mut spans = Vec::new();
    let (mut at, mut byte, mut runs) = (0, 0, colours.runs().iter().peekable());
    for cluster in clusters(&shown) {
        while runs.next_if(|run| run.bytes.end <= byte).is_some() {}
        let ink = runs.peek().filter(|run| run.bytes.contains(&byte)).map_or(Ink::default(), |run| run.ink);
        let mut out = String::new();
        at += fit(cluster, at, measure, &mut out);
        push(&mut spans, Span::styled(out, style(ink)));
        byte += cluster.len();
    }
    spans
}

/// Appends a cluster that begins in a column, and returns its cells.
fn fit(cluster: &str, column: usize, measure: Measure, out: &mut String) -> usize {
    match cluster {
        "\t" => {
            let cells = TAB_CELLS - column % TAB_CELLS;
            out.extend(std::iter::repeat_n(' ', cells));
            cells
        }
        "\n" => {
            out.push(' ');
            1
        }
        _ => {
            out.extend(cluster.chars().take(CLUSTER_CHARS));
            measure.cluster(cluster)
        }
    }
}

/// Returns a span of text from outside; see [`clean`].
pub fn span(text: &str, style: Style, measure: Measure) -> Span<'static> {
    Span::styled(clean(text, 0, measure).into_owned(), style)
}
