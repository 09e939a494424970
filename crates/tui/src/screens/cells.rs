//! The cells of a row, and the least that turns one row on the screen into another.

use crate::{
    terminal::writer::Writer,
    text::{
        measure::{Measure, clusters},
        row::Row,
    },
};
use ratatui_core::style::Style;
use std::sync::Arc;
use unicode_width::UnicodeWidthChar;

/// Unchanged cells that are written again rather than skipped: a move is as long.
const SHORT_GAP: usize = 6;

/// The cells of one row on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cells {
    /// By column; a wide cluster is followed by empty cells.
    cells: Vec<Cell>,
    /// Whether terminals may disagree about the width of a cluster. Such a row is written whole.
    uncertain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cell {
    text: String,
    style: Style,
    /// The address that it is a link to.
    link: Option<Arc<str>>,
}

impl Cells {
    /// Returns the cells of a row, cut to a width. Where terminals disagree about the width of a
    /// cluster, the widest counts, so that the row never reaches the next one.
    pub(super) fn new(row: &Row, width: u16, measure: Measure) -> Self {
        let mut cells = Self::default();
        let mut left = usize::from(width);
        for span in &row.line.spans {
            let style = row.line.style.patch(span.style);
            let link = row.link(style);
            for cluster in clusters(&span.content) {
                let (columns, most) = widths(cluster, measure);
                if most > left {
                    return cells.trimmed();
                }
                left -= most;
                cells.push(cluster, columns, style, link);
                cells.uncertain |= columns != most;
            }
        }
        cells.trimmed()
    }

    /// Leaves out plain spaces at the end. Terminals disagree whether they count when a row is
    /// wrapped again.
    fn trimmed(mut self) -> Self {
        while self.cells.last().is_some_and(|cell| cell.text == " " && cell.style == Style::new()) {
            self.cells.pop();
        }
        self
    }

    /// Returns the number of columns.
    pub(super) fn width(&self) -> usize {
        self.cells.len()
    }

    /// Writes the whole row, from its first column.
    pub(super) fn write(&self, writer: &mut Writer) {
        self.write_columns(writer, 0, self.cells.len());
    }

    /// Writes what differs from `old`, which is on the row of the cursor. The cursor ends anywhere
    /// in the row.
    ///
    /// A row that becomes shorter is erased from its first column and written whole: for tmux,
    /// cells that were erased behind a text still belong to the row when it is wrapped again.
    pub(super) fn write_changes(&self, old: &Self, writer: &mut Writer) {
        if self.uncertain || old.uncertain || self.width() < old.width() {
            writer.first_column();
            writer.erase_right();
            self.write(writer);
            return;
        }
        let common = self.width().min(old.width());
        let mut column = 0;
        while column < self.width() {
            if column < common && self.cells[column] == old.cells[column] {
                column += 1;
                continue;
            }
            let start = self.cluster_start(column);
            let is_same = |at: usize| at < common && self.cells[at] == old.cells[at];
            // The end of the last change that no longer gap follows.
            let (mut end, mut next) = (column + 1, column + 1);
            while next < self.width() && next - end <= SHORT_GAP {
                next += 1;
                if !is_same(next - 1) {
                    end = next;
                }
            }
            while self.cells.get(end).is_some_and(|cell| cell.text.is_empty()) {
                end += 1;
            }
            writer.column(u16::try_from(start).unwrap_or(u16::MAX));
            self.write_columns(writer, start, end);
            column = end;
        }
    }

    fn write_columns(&self, writer: &mut Writer, start: usize, end: usize) {
        let mut text = String::new();
        let (mut style, mut link) = (Style::new(), None);
        for cell in &self.cells[start..end] {
            if (cell.style, cell.link.as_deref()) != (style, link) && !text.is_empty() {
                writer.linked(&text, style, link);
                text.clear();
            }
            (style, link) = (cell.style, cell.link.as_deref());
            text.push_str(&cell.text);
        }
        if !text.is_empty() {
            writer.linked(&text, style, link);
        }
    }

    fn push(&mut self, cluster: &str, columns: usize, style: Style, link: Option<&Arc<str>>) {
        if columns == 0 {
            // A mark without a base joins the cell before it; at the start it is left out.
            if let Some(cell) = self.cells.iter_mut().rev().find(|cell| !cell.text.is_empty()) {
                cell.text.push_str(cluster);
                self.uncertain = true;
            }
            return;
        }
        self.cells.push(Cell { text: cluster.to_owned(), style, link: link.cloned() });
        for _ in 1..columns {
            self.cells.push(Cell { text: String::new(), style, link: link.cloned() });
        }
    }

    /// Returns the column in which the cluster of a column begins.
    fn cluster_start(&self, column: usize) -> usize {
        (0..=column).rev().find(|&start| !self.cells[start].text.is_empty()).unwrap_or(column)
    }
}

/// Returns the width of a cluster, and the most that a terminal may make of it.
fn widths(cluster: &str, measure: Measure) -> (usize, usize) {
    let columns = measure.cluster(cluster);
    let most = match cluster.chars().nth(1) {
        None => columns,
        Some(_) => {
            cluster.chars().map(|character| character.width().unwrap_or(1)).sum::<usize>().max(columns)
        }
    };
    // A variation selector makes some characters wide in some terminals only.
    let most = if cluster.contains('\u{fe0f}') { most.max(2) } else { most };
    (columns, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::capabilities::Colours;
    use ratatui_core::{style::Color, text::Line};

    fn row(text: &str) -> Row {
        Row::new(text.to_owned())
    }

    fn changes(old: &Row, new: &Row) -> String {
        let mut writer = Writer::new(Colours::True);
        Cells::new(new, 40, Measure::default())
            .write_changes(&Cells::new(old, 40, Measure::default()), &mut writer);
        String::from_utf8(writer.into_bytes()).unwrap()
    }

    #[test]
    fn only_the_changed_columns_are_written() {
        for (old, new, expected) in [
            ("abc", "abc", ""),
            ("abc", "abd", "\u{1b}[3Gd"),
            ("abc", "ab", "\r\u{1b}[Kab"),
            ("abc", "", "\r\u{1b}[K"),
            ("abc", "abcd", "\u{1b}[4Gd"),
            ("", "x", "\rx"),
            ("◐ run a long command  12 s", "◓ run a long command  13 s", "\r◓\u{1b}[24G3"),
            ("a1b2c", "a3b4c", "\u{1b}[2G3b4"),
            ("漢字", "漢子", "\u{1b}[3G子"),
            ("漢字", "ab字", "\rab"),
            ("ab字", "漢字", "\r漢"),
        ] {
            assert_eq!(changes(&row(old), &row(new)), expected, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn a_new_style_is_a_change() {
        let red = Row::new(Line::from("a").style(Style::new().fg(Color::Red)));
        assert_eq!(changes(&row("a"), &red), "\r\u{1b}[31ma");
    }

    #[test]
    fn a_row_of_doubtful_width_is_written_whole_and_cut_early() {
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(changes(&row("ab"), &row(&format!("{family}b"))), format!("\r\u{1b}[K{family}b"));
        let cells = Cells::new(&row(&format!("{family}{family}")), 8, Measure::default());
        assert_eq!(cells.width(), 2, "in a terminal that draws three people each takes six columns");
    }

    #[test]
    fn a_wide_cluster_is_never_cut_in_half() {
        assert_eq!(Cells::new(&row("a漢字"), 4, Measure::default()).width(), 3);
        assert_eq!(Cells::new(&row("漢"), 1, Measure::default()).width(), 0);
    }
}
