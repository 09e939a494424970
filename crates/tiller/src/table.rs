//! Tables for people: columns without borders, cut to the terminal's width.

use crate::streams;

/// The gap between two columns.
const GAP: &str = "  ";
/// The narrowest column that a cut leaves.
const LEAST: usize = 8;

/// Rows of cells. All columns but the last are as wide as their widest cell.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with a row of headings.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { rows: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// Creates a table without headings.
    pub(crate) fn plain() -> Self {
        Self::default()
    }

    /// Adds a row. Cells are one line each.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.iter().map(|cell| agent::one_line(cell)).collect());
    }

    /// Returns the text, cut to the width of the terminal. Without one nothing is cut.
    pub(crate) fn text(&self) -> String {
        self.text_in(streams::stdout_width())
    }

    fn text_in(&self, width: Option<usize>) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let mut widths: Vec<_> = (0..columns).map(widest).collect();
        if let Some(most) = width {
            fit(&mut widths, most.saturating_sub(GAP.len() * columns.saturating_sub(1)));
        }
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{:<width$}", cut(cell, width)));
            format!("{}\n", cells.collect::<Vec<_>>().join(GAP).trim_end())
        };
        self.rows.iter().map(line).collect()
    }
}

/// Narrows the widest columns until their sum is at most `most`.
fn fit(widths: &mut [usize], most: usize) {
    while widths.iter().sum::<usize>() > most {
        match widths.iter_mut().max() {
            Some(widest) if *widest > LEAST => *widest -= 1,
            _ => break,
        }
    }
}

fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["NAME", "WHAT"]);
        table.row(["a".to_owned(), "something that is long".to_owned()]);
        table.row(["longer".to_owned(), "x\ny".to_owned()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_lines_have_no_trailing_blanks() {
        let expected = "NAME    WHAT\na       something that is long\nlonger  x⏎y\n";
        assert_eq!(table().text_in(None), expected);
    }

    #[test]
    fn the_widest_column_is_cut_to_the_width_of_the_terminal() {
        assert_eq!(table().text_in(Some(20)), "NAME    WHAT\na       something t…\nlonger  x⏎y\n");
        let narrow = table().text_in(Some(1));
        assert!(narrow.lines().all(|line| line.chars().count() <= 6 + 2 + LEAST), "{narrow}");
    }
}
