//! The edit benchmark: mutates this repository's sources, and a scripted model reverts each
//! mutation in every form with every mistake. `cargo xtask edits` runs the long version.

mod cases;
mod speech;

use super::*;
use crate::tools::testing::call;
use cases::{Case, Edit, Numbers};
use speech::{FORMS, Form, NOISES};
use std::{collections::BTreeMap, fmt::Write as _};
use system::{AbsPath, LocalSystem, System as _, WalkOptions};

/// The default number of cases in a run.
const CASES: usize = 12;
/// Larger files are skipped, to keep a run short.
const FILE_BYTES: usize = 40_000;
/// The minimum share of edits that must be applied exactly, in percent.
const APPLIED_PERCENT: usize = 90;

/// The outcome of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The file is as it was before the mutation.
    Applied,
    /// The same, except for blanks or look-alikes in the edited lines.
    Otherwise,
    /// The text was written literally, mistake included, and the result reports that.
    AsWritten,
    /// Nothing was changed.
    Refused,
    /// Something else was changed.
    WrongPlace,
}

/// Returns a numeric setting of the benchmark from the environment.
#[expect(clippy::disallowed_methods, reason = "a test has no other way to be told how long it may be")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

#[tokio::test]
async fn no_edit_lands_at_a_wrong_place_whatever_its_form() {
    let seed = number("TILLER_EDITS_SEED").unwrap_or(1);
    let count = number("TILLER_EDITS").map_or(CASES, |count| count as usize);
    let shows_all = number("TILLER_EDITS_SHOW").is_some();
    let sources = sources().await;
    let mut tally: BTreeMap<(String, String), BTreeMap<Outcome, usize>> = BTreeMap::new();
    let mut wrong = String::new();
    for index in 0..count {
        // Each case has numbers of its own: a file that changes, changes its own cases only.
        let mut numbers = Numbers::of(&(seed, index));
        let (case, second) = two_cases(&sources, &mut numbers);
        for form in FORMS {
            for noise in NOISES {
                let both = form == Form::EditsList;
                let (case, edits) = if both { &second } else { &case };
                let (tool, arguments) = speech::call(&case.name, edits, form, noise, &mut numbers);
                let (outcome, said) = outcome(case, edits, tool, &arguments).await;
                *tally
                    .entry((format!("{form:?}"), format!("{noise:?}")))
                    .or_default()
                    .entry(outcome)
                    .or_default() += 1;
                if outcome == Outcome::WrongPlace || shows_all && outcome != Outcome::Applied {
                    let _ = writeln!(
                        wrong,
                        "{outcome:?} {form:?} {noise:?} {}: {said}\n{arguments:#}",
                        case.name
                    );
                }
            }
        }
    }
    println!("{}", table(&tally));
    println!("{wrong}");
    let all = |outcome| tally.values().filter_map(|cell| cell.get(&outcome)).sum::<usize>();
    let total: usize = tally.values().flat_map(BTreeMap::values).sum();
    assert_eq!(all(Outcome::WrongPlace), 0, "seed {seed}:\n{wrong}");
    let applied = all(Outcome::Applied);
    let as_written = all(Outcome::AsWritten);
    assert!(as_written * 100 <= total, "{as_written} of {total}");
    assert!(applied * 100 >= total * APPLIED_PERCENT, "only {applied} of {total} edits were made just so");
}

/// Returns the sources of this repository with their relative paths.
async fn sources() -> Vec<(String, String)> {
    let system = LocalSystem::new();
    let root = AbsPath::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    let mut sources = Vec::new();
    for folder in ["crates", "clients", "docs"] {
        let options = WalkOptions { limit: 10_000, include_ignored: false };
        for path in system.walk(&root.join(folder), options).await.unwrap() {
            let is_source =
                [".rs", ".py", ".ts", ".md", ".toml"].iter().any(|end| path.as_str().ends_with(end));
            if let Some(name) = path.relative_to(&root).filter(|_| is_source)
                && let Ok(text) = system.read_text(&path, None).await
                && (200..FILE_BYTES).contains(&text.len())
            {
                sources.push((name.to_owned(), text));
            }
        }
    }
    sources
}

/// Returns a case with one mutation, and a case with two mutations far from each other.
fn two_cases(sources: &[(String, String)], numbers: &mut Numbers) -> ((Case, Vec<Edit>), (Case, Vec<Edit>)) {
    loop {
        let (name, text) = draw(sources, numbers);
        let Some(first) = Case::of(name, text, numbers) else { continue };
        let Some(second) = Case::of(name, &first.mutated, numbers) else { continue };
        // The second mutation was made in the file with the first one, whose block must still
        // exist.
        let is_apart = second.edit.lines.start > first.edit.lines.end + 20;
        if !is_apart || first.original == second.original {
            continue;
        }
        let edits = vec![first.edit.clone(), second.edit.clone()];
        let both = Case { original: first.original.clone(), ..second };
        let one = vec![first.edit.clone()];
        return ((first, one), (both, edits));
    }
}

/// Draws a file: the one whose path has the highest hash (rendezvous hashing). Unlike an index, it
/// is the same one after other files were added or removed.
fn draw<'a>(sources: &'a [(String, String)], numbers: &mut Numbers) -> &'a (String, String) {
    let number = numbers.next();
    sources.iter().max_by_key(|(name, _)| Numbers::of(&(number, name)).next()).unwrap()
}

/// Applies an edit as a session does, and classifies the result.
async fn outcome(
    case: &Case,
    edits: &[Edit],
    tool: &str,
    arguments: &serde_json::Value,
) -> (Outcome, String) {
    let system = Memory::default();
    system.disk(&case.name, &case.mutated);
    let (cx, _) = context(&system);
    let said = match call(&cx, tool, arguments.clone()).await {
        Ok(output) => output.result.text,
        Err(error) => error.to_string(),
    };
    let now = system.seen(&case.name).unwrap();
    let outcome = match () {
        () if now == case.original => Outcome::Applied,
        () if now == case.mutated => Outcome::Refused,
        () if is_otherwise(&now, case, edits) => Outcome::Otherwise,
        () if said.contains("was written literally") && is_only_at(&now, case, edits) => Outcome::AsWritten,
        () => Outcome::WrongPlace,
    };
    (outcome, said)
}

/// Whether the file equals the original except for blanks and look-alikes, and changed only where
/// it should.
fn is_otherwise(now: &str, case: &Case, edits: &[Edit]) -> bool {
    let folded = |line: &str| {
        let plain = line.chars().filter(|char| !char.is_whitespace());
        plain
            .map(|char| match char {
                '“' | '”' => '"',
                '’' => '\'',
                char => char,
            })
            .collect::<String>()
    };
    let (now, wanted): (Vec<&str>, Vec<&str>) = (now.lines().collect(), case.original.lines().collect());
    let changed = |line: &str| edits.iter().any(|edit| edit.new.iter().any(|new| new == line));
    now.len() == wanted.len()
        && now
            .iter()
            .zip(&wanted)
            .all(|(now, wanted)| now == wanted || folded(now) == folded(wanted) && changed(wanted))
}

/// Whether only the lines of the edits changed.
fn is_only_at(now: &str, case: &Case, edits: &[Edit]) -> bool {
    let mutated: Vec<&str> = case.mutated.lines().collect();
    let now: Vec<&str> = now.lines().collect();
    let (first, last) = (edits[0].lines.start, edits[edits.len() - 1].lines.end);
    now.starts_with(&mutated[..first]) && now.ends_with(&mutated[last..])
}

/// Formats the outcomes by form and mistake: applied exactly / otherwise / as written / refused /
/// at a wrong place.
fn table(tally: &BTreeMap<(String, String), BTreeMap<Outcome, usize>>) -> String {
    let mut text = format!("{:<16}", "");
    for form in FORMS {
        let _ = write!(text, "{:>18}", format!("{form:?}"));
    }
    for noise in NOISES {
        let _ = write!(text, "\n{:<16}", format!("{noise:?}"));
        for form in FORMS {
            let cell = tally.get(&(format!("{form:?}"), format!("{noise:?}")));
            let count = |outcome| cell.and_then(|cell| cell.get(&outcome)).copied().unwrap_or(0);
            let all = [
                Outcome::Applied,
                Outcome::Otherwise,
                Outcome::AsWritten,
                Outcome::Refused,
                Outcome::WrongPlace,
            ]
            .map(count);
            let _ = write!(text, "{:>18}", all.map(|count| count.to_string()).join("/"));
        }
    }
    text
}
