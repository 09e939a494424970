//! The test suites that make every operation fail: run by cargo, with results parsed from their
//! output.

use super::results::{Failure, ResultRow};
use crate::process::command;
use anyhow::{Context, Result};

/// The crates with such suites, and the test filters.
pub(super) const SUITES: [(&str, &str); 2] = [("agent", "every_operation::"), ("acp", "hostile::")];

/// The prefix of a line printed per kind of fault: `faults: KIND: N operations`.
const LINE: &str = "faults: ";

/// Runs the tests of one crate.
pub(super) fn run(package: &str, filter: &str) -> Result<Vec<ResultRow>> {
    let mut tests = command("cargo");
    tests.args(["test", "--locked", "--quiet", "--package", package, "--test", "it"]);
    tests.args(["--", "--nocapture", filter]);
    let output = tests.output().context("cargo does not start")?;
    let mut rows = rows(package, &String::from_utf8_lossy(&output.stdout));
    if rows.is_empty() || !output.status.success() {
        let mut row = ResultRow::new(format!("{package}: tests"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        let why =
            stderr.lines().filter(|line| !line.trim().is_empty()).take(6).collect::<Vec<_>>().join("; ");
        row.failures.push((Failure::Broken, format!("the tests ended with {}: {why}", output.status)));
        rows.push(row);
    }
    Ok(rows)
}

fn rows(package: &str, printed: &str) -> Vec<ResultRow> {
    let found = printed.lines().filter_map(|line| {
        // The test runner's progress dots may precede it.
        let (_, line) = line.split_once(LINE)?;
        let (kind, count) = line.strip_suffix(" operations")?.rsplit_once(": ")?;
        let short: String = kind.chars().take(40).collect();
        let mut row = ResultRow::new(format!("{package}: {short}"));
        row.points = count.parse().ok()?;
        Some(row)
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_read_from_what_tests_print() {
        let printed =
            "running 2 tests\nfaults: Error: 237 operations\n.faults: Hang and cancel: 9 operations\nok\n";
        let rows = rows("agent", printed);
        let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.points)).collect();
        assert_eq!(found, [("agent: Error", 237), ("agent: Hang and cancel", 9)]);
    }
}
