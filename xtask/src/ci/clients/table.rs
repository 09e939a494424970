//! The table of clients and features: the observations are stored in a file of the tree, and
//! docs/editors.md shows them.

use super::features::FEATURES;
use crate::document;
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SEEN: &str = "tests/clients/seen.json";
const PAGE: &str = "docs/editors.md";
const MARKERS: [&str; 2] = [
    "<!-- what the clients did: begin; written by `cargo xtask clients --write` -->",
    "<!-- what the clients did: end -->",
];

/// The observations of a client's last run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) version: String,
    /// The day of the run that wrote the row, as `2026-11-22`.
    pub(super) date: String,
    pub(super) features: BTreeSet<String>,
}

/// All rows, by the client's name.
pub(super) type Rows = BTreeMap<String, Row>;

/// Reads the stored rows; empty if the file does not exist.
///
/// # Errors
///
/// Fails if the file is not in the format of this program.
pub(super) fn read(root: &Path) -> Result<Rows> {
    let path = root.join(SEEN);
    if !path.exists() {
        return Ok(Rows::new());
    }
    let text = fs::read_to_string(&path)?;
    let all: Map<String, Value> =
        serde_json::from_str(&text).with_context(|| format!("{SEEN} is not a JSON object"))?;
    all.into_iter().map(|(name, row)| Ok((name, parsed(&row)?))).collect()
}

fn parsed(row: &Value) -> Result<Row> {
    let word = |name: &str| {
        row[name].as_str().map(str::to_owned).with_context(|| format!("a row of {SEEN} lacks its {name}"))
    };
    let features = row["features"].as_array().context("a row lacks its features")?;
    let features = features.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Row { version: word("version")?, date: word("date")?, features })
}

/// Writes the rows, and the table in the document.
///
/// # Errors
///
/// Fails if a file cannot be written, or if the document lacks the table's markers.
pub(super) fn write(root: &Path, rows: &Rows) -> Result<()> {
    let all: Map<String, Value> = rows
        .iter()
        .map(|(name, row)| {
            (name.clone(), json!({ "version": row.version, "date": row.date, "features": row.features }))
        })
        .collect();
    fs::write(root.join(SEEN), serde_json::to_string_pretty(&all)? + "\n")?;
    document::rewrite(&page(root), MARKERS, &section(rows))
}

fn page(root: &Path) -> PathBuf {
    root.join(PAGE)
}

/// Returns the differences between stored and observed rows, a sentence each.
pub(super) fn differences(kept: &Rows, now: &Rows) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, row) in now {
        let Some(old) = kept.get(name) else {
            differences.push(format!("{name} {} is not in the table", row.version));
            continue;
        };
        if old.version != row.version {
            differences.push(format!("{name} is {} now, and {} in the table", row.version, old.version));
        }
        for lost in old.features.difference(&row.features) {
            differences.push(format!("{name}: `{lost}` was not seen"));
        }
        for new in row.features.difference(&old.features) {
            differences.push(format!("{name}: `{new}` was seen, but is missing from the table"));
        }
    }
    differences
}

/// Returns what stands between the markers.
fn section(rows: &Rows) -> String {
    format!("\n\n{}\n", table(rows))
}

fn table(rows: &Rows) -> String {
    let heads: Vec<&str> = FEATURES.iter().map(|(_, head, _)| *head).collect();
    let mut lines = vec![
        format!("| client | version | played | {} |", heads.join(" | ")),
        format!("|---|---|---|{}", ":-:|".repeat(heads.len())),
    ];
    for (name, row) in rows {
        let cells: Vec<&str> = FEATURES
            .iter()
            .map(|(feature, ..)| if row.features.contains(*feature) { "●" } else { "" })
            .collect();
        lines.push(format!("| {name} | {} | {} | {} |", row.version, row.date, cells.join(" | ")));
    }
    lines.push(String::new());
    lines.extend(FEATURES.iter().map(|(_, head, meaning)| format!("- *{head}*: {meaning}")));
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    fn row(version: &str, features: &[&str]) -> Row {
        let features = features.iter().map(|name| (*name).to_owned()).collect();
        Row { version: version.to_owned(), date: "2026-11-22".to_owned(), features }
    }

    #[test]
    fn differences_in_features_and_versions_are_reported() {
        let kept =
            Rows::from([("a".to_owned(), row("1", &["read", "write"])), ("b".to_owned(), row("1", &[]))]);
        let now =
            Rows::from([("a".to_owned(), row("2", &["read", "plan"])), ("c".to_owned(), row("1", &[]))]);
        let expected = [
            "a is 2 now, and 1 in the table",
            "a: `write` was not seen",
            "a: `plan` was seen, but is missing from the table",
            "c 1 is not in the table",
        ];
        assert_eq!(differences(&kept, &now), expected);
        assert_eq!(differences(&kept, &kept), Vec::<String>::new());
    }

    #[test]
    fn docs_show_what_the_clients_did() {
        let rows = read(&root()).unwrap();
        assert!(!rows.is_empty(), "no client was ever played");
        let text = fs::read_to_string(page(&root())).unwrap();
        let again = document::replaced(&text, MARKERS, &section(&rows)).unwrap();
        assert!(again == text, "{PAGE} does not show {SEEN}: run `cargo xtask clients --write`");
    }

    #[test]
    fn every_feature_that_was_seen_has_a_column() {
        for (name, row) in read(&root()).unwrap() {
            for feature in row.features {
                assert!(FEATURES.iter().any(|(known, ..)| *known == feature), "{name}: {feature}");
            }
        }
    }
}
