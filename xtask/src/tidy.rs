//! `cargo xtask tidy`: checks of the source tree that no compiler makes, each in a file of its own.
//!
//! A check is a pure function from the tree to its problems. Each message states how to fix the
//! problem.

mod architecture;
mod book;
mod changelog;
mod circles;
mod clients;
mod clocks;
mod decisions;
mod documented_names;
mod fields;
mod foreign_names;
mod layers;
mod links;
mod lints;
mod machine_paths;
mod manifest;
mod module_docs;
mod modules;
mod os_bans;
mod prose;
mod record;
mod security;
mod size;
mod sleeps;
mod spawns;
mod stubs;
mod tree;

use anyhow::{Result, bail};
use std::fmt;
use tree::Tree;

/// A problem in the tree.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    path: String,
    /// Counted from 1; `None` if the whole file is meant.
    line: Option<usize>,
    message: String,
}

impl Problem {
    fn file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }

    fn line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

type Check = fn(&Tree) -> Vec<Problem>;

const CHECKS: &[(&str, Check)] = &[
    ("layers", layers::check),
    ("architecture", architecture::check),
    ("book", book::check),
    ("changelog", changelog::check),
    ("circles", circles::check),
    ("clients", clients::check),
    ("clocks", clocks::check),
    ("decisions", decisions::check),
    ("fields", fields::check),
    ("foreign names", foreign_names::check),
    ("stubs", stubs::check),
    ("links", links::check),
    ("lints", lints::check),
    ("machine paths", machine_paths::check),
    ("module docs", module_docs::check),
    ("os bans", os_bans::check),
    ("documented names", documented_names::check),
    ("prose", prose::check),
    ("security", security::check),
    ("size", size::check),
    ("sleeps", sleeps::check),
    ("spawns", spawns::check),
];

/// Runs every check over the working tree and prints the problems.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::from_workspace()?;
    let mut count = 0;
    for (name, check) in CHECKS {
        for problem in check(&tree) {
            println!("tidy: {name}: {problem}");
            count += 1;
        }
    }
    for note in size::notes(&tree) {
        println!("tidy: note: {note}");
    }
    if count > 0 {
        bail!("tidy found {count} problem(s), listed above");
    }
    println!("tidy: {} checks over {} files, no problem", CHECKS.len(), tree.files().len());
    Ok(())
}
