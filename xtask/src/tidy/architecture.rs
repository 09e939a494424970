//! ARCHITECTURE.md is true: each file that it names exists, each type and function that it names
//! occurs in the code, and what a step of its walk names occurs in the file of that step.

use super::Problem;
use super::tree::{File, Tree};
use regex::Regex;
use std::collections::HashSet;
use std::sync::LazyLock;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// The name of an item, such as `Gate` or `policy::decide`.
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*$"));
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"\w+"));
/// An item and the file that defines or uses it.
static NAME_IN_FILE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"`([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)` in `([\w./-]+\.rs)`"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(document) = tree.get(DOCUMENT) else { return Vec::new() };
    let code: HashSet<&str> =
        tree.rust().flat_map(|file| WORD.find_iter(&file.text)).map(|word| word.as_str()).collect();
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(document.text.lines()) {
        let messages =
            step(tree, line).into_iter().chain(in_files(tree, line)).chain(names(tree, &code, line));
        problems.extend(messages.map(|message| Problem::line(DOCUMENT, number, message)));
    }
    problems
}

/// Checks a step of the walk: a row with a number, a file and a text.
fn step(tree: &Tree, line: &str) -> Vec<String> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, number, path, text, _] = cells.as_slice() else { return Vec::new() };
    if number.parse::<u32>().is_err() {
        return Vec::new();
    }
    // A missing file is reported with all other names of the line.
    let Some(file) = tree.get(path.trim_matches('`')) else { return Vec::new() };
    let absent = quoted(text).filter(|name| NAME.is_match(name) && !contains(file, name));
    absent.map(|name| format!("`{name}` does not occur in {}; correct the step", file.path)).collect()
}

/// Checks each "`Name` in `file.rs`".
fn in_files(tree: &Tree, line: &str) -> Vec<String> {
    let pairs = NAME_IN_FILE.captures_iter(line).map(|found| found.extract().1);
    let absent = pairs.filter(|[name, path]| !files(tree, path).any(|file| contains(file, name)));
    absent.map(|[name, path]| format!("`{name}` does not occur in {path}; correct the text")).collect()
}

/// Checks that files exist, and that the words of types and of paths to items occur in the code.
fn names(tree: &Tree, code: &HashSet<&str>, line: &str) -> Vec<String> {
    let mut messages = Vec::new();
    for name in quoted(line) {
        let is_item = name.contains("::") || name.starts_with(|first: char| first.is_ascii_uppercase());
        if name.ends_with(".rs") {
            if files(tree, name).next().is_none() {
                messages.push(format!("there is no file `{name}`; correct the name"));
            }
        } else if NAME.is_match(name) && is_item && !name.split("::").all(|part| code.contains(part)) {
            messages.push(format!("`{name}` does not occur in the code; correct the name"));
        }
    }
    messages
}

/// Returns the files with this path, or whose path ends with it.
fn files<'a>(tree: &'a Tree, path: &'a str) -> impl Iterator<Item = &'a File> {
    tree.files().iter().filter(move |file| {
        file.path.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    })
}

/// Returns whether each part of a name occurs in a file as a word.
fn contains(file: &File, name: &str) -> bool {
    name.split("::").all(|part| WORD.find_iter(&file.text).any(|word| word.as_str() == part))
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(document: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (DOCUMENT, document),
            ("crates/a/src/gate/mod.rs", "pub struct Gate; impl Gate { fn rule() {} }"),
            ("crates/a/src/edit.rs", "fn apply() {}"),
        ]);
        check(&tree).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_step_names_what_occurs_in_its_file() {
        assert_eq!(
            found("| 1 | `crates/a/src/gate/mod.rs` | `Gate::rule`, then `edit.rs` and `a/b` |"),
            Vec::<String>::new()
        );
        let absent = found("| 1 | `crates/a/src/gate/mod.rs` | `apply` edits |");
        assert_eq!(absent, ["`apply` does not occur in crates/a/src/gate/mod.rs; correct the step"]);
        let gone = found("| 1 | `crates/a/src/gone.rs` | edits |");
        assert_eq!(gone, ["there is no file `crates/a/src/gone.rs`; correct the name"]);
    }

    #[test]
    fn names_outside_the_walk_exist() {
        assert_eq!(
            found("`Gate::rule` in `gate/mod.rs`, `turn`, `/rewind`, `AbsPath of`"),
            Vec::<String>::new()
        );
        assert_eq!(found("`Gate` in `edit.rs`").len(), 1);
        assert_eq!(found("`Gate::decide`, `Policy` and `te/mod.rs`").len(), 3);
    }
}
