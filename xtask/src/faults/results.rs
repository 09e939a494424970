//! The results: a line for each suite and kind, and a line for each failure.

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Acknowledged data is gone, or a call does not have exactly one result.
    Loss,
    /// A process survived.
    Orphan,
    /// An effect happened twice.
    DoubleRun,
    /// A file of the program remained in the project.
    StrayFile,
    /// The program did not work afterwards, or a test failed.
    Broken,
}

/// The failures in the order of the table's columns, with their headings.
const COLUMNS: [(Failure, &str); 5] = [
    (Failure::Loss, "losses"),
    (Failure::Orphan, "orphans"),
    (Failure::DoubleRun, "double runs"),
    (Failure::StrayFile, "litter"),
    (Failure::Broken, "broken"),
];

/// A line of the table.
#[derive(Debug, Default)]
pub(super) struct ResultRow {
    pub(super) name: String,
    /// The number of kills or faults.
    pub(super) points: usize,
    /// The number of kills that interrupted a turn.
    pub(super) cut: usize,
    /// The failures, with their moment.
    pub(super) failures: Vec<(Failure, String)>,
}

impl ResultRow {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds the counts of another line.
    pub(super) fn add(&mut self, other: Self) {
        self.points += other.points;
        self.cut += other.cut;
        self.failures.extend(other.failures);
    }

    /// Returns the number of failures of a kind; a single kill may cause several.
    fn count(&self, failure: Failure) -> usize {
        self.failures.iter().filter(|(found, _)| *found == failure).count()
    }
}

/// Formats the table for a terminal.
pub(super) fn table(rows: &[ResultRow]) -> String {
    let wide = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let mut lines = vec![format!("{:wide$}  {:>6}  {:>8}", "", "points", "cut off")];
    let line = |row: &ResultRow| format!("{:wide$}  {:>6}  {:>8}", row.name, row.points, row.cut);
    lines.extend(rows.iter().map(line));
    for (failure, heading) in COLUMNS {
        let cells = std::iter::once(heading.to_owned());
        let cells = cells.chain(rows.iter().map(|row| row.count(failure).to_string()));
        for (line, cell) in lines.iter_mut().zip(cells) {
            line.push_str(&format!("  {cell:>width$}", width = heading.len()));
        }
    }
    lines.join("\n")
}

/// Returns all failures, one per line.
pub(super) fn failures(rows: &[ResultRow]) -> Vec<String> {
    let all = rows.iter().flat_map(|row| row.failures.iter().map(move |failure| (row, failure)));
    all.map(|(row, (failure, what))| format!("{failure:?}: {}: {what}", row.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_is_counted_in_its_column() {
        let mut row = ResultRow::new("kill: local");
        row.points = 30;
        let failures = vec![(Failure::Orphan, "a".to_owned()), (Failure::Orphan, "b".to_owned())];
        row.add(ResultRow { points: 10, failures, ..ResultRow::default() });
        let table = table(&[row, ResultRow::new("kill: x")]);
        let cells: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            cells[0],
            ["points", "cut", "off", "losses", "orphans", "double", "runs", "litter", "broken"]
        );
        assert_eq!(cells[1], ["kill:", "local", "40", "0", "0", "2", "0", "0", "0"]);
        assert_eq!(cells[2], ["kill:", "x", "0", "0", "0", "0", "0", "0", "0"]);
    }
}
