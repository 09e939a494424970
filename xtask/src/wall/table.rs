//! The outcomes as tables, for a terminal and for `docs/wall.md`.

use super::corpus::Attack;
use super::everyday::Ecosystem;
use super::run::Outcome;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

/// The counts of one family.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Counts {
    entries: usize,
    runs: usize,
    stopped: usize,
    asked: usize,
    through: usize,
    documented: usize,
    skipped: usize,
    broken: usize,
}

/// Counts the outcomes of each family, and of all.
pub(super) fn count(attacks: &[Attack], outcomes: &[Outcome]) -> Vec<(String, Counts)> {
    let mut families: BTreeMap<&str, (Counts, HashSet<&str>)> = BTreeMap::new();
    for (attack, outcome) in attacks.iter().zip(outcomes) {
        let (counts, names) = families.entry(&attack.family).or_default();
        names.insert(&attack.name);
        counts.runs += 1;
        *match outcome {
            Outcome::Stopped => &mut counts.stopped,
            Outcome::Asked => &mut counts.asked,
            Outcome::Succeeded => &mut counts.through,
            Outcome::Documented => &mut counts.documented,
            Outcome::Skipped(_) => &mut counts.skipped,
            Outcome::Broken(_) => &mut counts.broken,
        } += 1;
    }
    let mut all = Counts::default();
    let mut rows: Vec<_> = families
        .into_iter()
        .map(|(family, (counts, names))| {
            let counts = Counts { entries: names.len(), ..counts };
            all.entries += counts.entries;
            all.runs += counts.runs;
            all.stopped += counts.stopped;
            all.asked += counts.asked;
            all.through += counts.through;
            all.documented += counts.documented;
            all.skipped += counts.skipped;
            all.broken += counts.broken;
            (family.to_owned(), counts)
        })
        .collect();
    rows.push(("all".to_owned(), all));
    rows
}

const HEAD: [&str; 9] =
    ["family", "attacks", "runs", "stopped", "asked", "through", "documented", "skipped", "broken"];

fn cells(family: &str, counts: &Counts) -> Vec<String> {
    let Counts { entries, runs, stopped, asked, through, documented, skipped, broken } = counts;
    let numbers = [entries, runs, stopped, asked, through, documented, skipped, broken];
    std::iter::once(family.to_owned()).chain(numbers.map(ToString::to_string)).collect()
}

/// Formats the attacks as aligned columns.
pub(super) fn attacks(rows: &[(String, Counts)]) -> String {
    let mut text = String::new();
    let head = HEAD.map(str::to_owned).to_vec();
    for row in std::iter::once(head).chain(rows.iter().map(|(family, counts)| cells(family, counts))) {
        // Writing to a string cannot fail.
        write!(text, "{:<24}", row[0]).ok();
        row[1..].iter().for_each(|cell| _ = write!(text, "{cell:>11}"));
        text.push('\n');
    }
    text
}

/// Formats the everyday commands as aligned columns.
pub(super) fn everyday(ecosystems: &[Ecosystem]) -> String {
    let mut text = format!(
        "{:<24}{:>11}{:>11}{:>18}{:>18}\n",
        "everyday", "commands", "sandbox", "editor+launcher", "no sandbox"
    );
    for row in ecosystems {
        let [sandbox, launcher, without] = row.approval_counts();
        let count = row.commands.len();
        writeln!(text, "{:<24}{count:>11}{sandbox:>11}{launcher:>18}{without:>18}", row.name).ok();
    }
    text
}

/// Formats both as Markdown.
pub(super) fn markdown(
    rows: &[(String, Counts)],
    ecosystems: &[Ecosystem],
    documented: &[(String, String)],
) -> String {
    let mut text = format!("| {} |\n|{}|\n", HEAD.join(" | "), ["---"; 9].join("|"));
    for (family, counts) in rows {
        writeln!(text, "| {} |", cells(family, counts).join(" | ")).ok();
    }
    text.push_str("\n| everyday commands | commands | ask in the sandbox | ask in the editor's terminal with the launcher | ask without a sandbox |\n|---|---|---|---|---|\n");
    for row in ecosystems {
        let [sandbox, launcher, without] = row.approval_counts();
        writeln!(text, "| {} | {} | {sandbox} | {launcher} | {without} |", row.name, row.commands.len()).ok();
    }
    text.push_str("\nWhat gets through, and where a document says so:\n\n| attack | admitted |\n|---|---|\n");
    for (attack, document) in documented {
        writeln!(text, "| {attack} | {document} |").ok();
    }
    text
}
