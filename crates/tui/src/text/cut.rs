//! Cuts lines that are too wide, and breaks them at any cell.

use super::{
    measure::{Measure, clusters},
    row::Row,
};
use ratatui_core::text::{Line, Span};

/// Stands for what was cut off.
const MORE: &str = "…";

/// Cuts a text to a width, with `…` as its last cell if something is missing.
pub fn cut_text(text: &str, width: usize, measure: Measure) -> String {
    let spans = cut(vec![Span::raw(text.to_owned())], width, measure);
    spans.iter().map(|span| span.content.as_ref()).collect()
}

/// Cuts a line to a width, with `…` as its last cell if something is missing.
pub fn cut(spans: Vec<Span<'static>>, width: usize, measure: Measure) -> Vec<Span<'static>> {
    let whole: usize = spans.iter().map(|span| measure.text(&span.content)).sum();
    if whole <= width {
        return spans;
    }
    let room = width.saturating_sub(measure.text(MORE));
    let mut left = room;
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        let (kept, used) = prefix(&span.content, left, measure);
        left -= used;
        let is_whole = kept == span.content.len();
        let style = span.style;
        match is_whole {
            true => out.push(span),
            false => {
                let mut content = span.content[..kept].to_owned();
                if width >= measure.text(MORE) {
                    content.push_str(MORE);
                }
                out.push(Span::styled(content, style));
                break;
            }
        }
    }
    out
}

/// Returns the bytes of the longest beginning that fits into a width, and its width.
pub fn prefix(text: &str, width: usize, measure: Measure) -> (usize, usize) {
    if text.is_ascii() {
        let bytes = text.len().min(width);
        return (bytes, bytes);
    }
    let (mut bytes, mut cells) = (0, 0);
    for cluster in clusters(text) {
        let more = measure.cluster(cluster);
        if cells + more > width {
            break;
        }
        bytes += cluster.len();
        cells += more;
    }
    (bytes, cells)
}

/// Breaks a row into rows of at most this width, at any cell. Nothing is lost, except that a
/// character of two cells is shown as `·` in a single column.
pub fn broken(row: &Row, width: usize, measure: Measure) -> Vec<Row> {
    let width = width.max(1);
    if measure.line(&row.line) <= width {
        return vec![row.clone()];
    }
    let (mut rows, mut spans, mut left) = (Vec::new(), Vec::new(), width);
    for span in &row.line.spans {
        let mut rest = span.content.as_ref();
        while !rest.is_empty() {
            let (bytes, cells) = prefix(rest, left, measure);
            if bytes > 0 {
                spans.push(Span::styled(rest[..bytes].to_owned(), span.style));
                (rest, left) = (&rest[bytes..], left - cells);
            } else if left == width {
                let first = clusters(rest).next().map_or(rest.len(), str::len);
                spans.push(Span::styled("·", span.style));
                (rest, left) = (&rest[first..], 0);
            }
            if !rest.is_empty() {
                rows.push(Row::new(Line::from(std::mem::take(&mut spans))));
                left = width;
            }
        }
    }
    if !spans.is_empty() {
        rows.push(Row::new(Line::from(spans)));
    }
    rows.iter_mut().for_each(|part: &mut Row| part.links.clone_from(&row.links));
    rows
}
