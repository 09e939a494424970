//! Architecture Invariant: processes are started in one place, so that each has a process group, an
//! output limit and an owner.

use super::Problem;
use super::tree::{Place, Tree, naming_elsewhere};

/// The places that may start processes, each with the reason.
const PLACES: [Place; 8] = [
    ("crates/system/src/local/start.rs", "the one spawn function: what it starts is watched before it runs"),
    ("crates/system/src/local/watchdog.rs", "the watchdog of a process group has no watchdog"),
    (
        "crates/system/src/local/foreground.rs",
        "the user's own editor has the terminal, and this process waits for it",
    ),
    ("crates/system/src/local/sandbox/", "the stages of the launcher"),
    ("crates/acp/src/v1/system/tests/shells.rs", "the tests start what an editor's terminal starts"),
    ("crates/tiller/src/demo", "the demo plays the editor, and an editor starts its agent"),
    ("crates/tiller/tests/", "the end-to-end tests start the real binary"),
    ("xtask/", "the project's own commands start cargo, and the benchmark its child"),
];

/// The types that start processes. `system::Command` is only a description.
const PROCESS_STARTERS: [&str; 5] = [
    "std::process::Command",
    "tokio::process::Command",
    "std::process::{",
    "tokio::process::{",
    "CommandWrap",
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let message = "only the local system starts processes: call `System::spawn`";
    let found = naming_elsewhere(tree.rust(), &PLACES, &PROCESS_STARTERS);
    let found = found.filter(|(_, _, line)| line.contains("Command"));
    found.map(|(file, number, _)| Problem::line(&file.path, number, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, line: &str) -> usize {
        check(&Tree::of(&[(path, line)])).len()
    }

    #[test]
    fn a_second_place_that_spawns_is_found() {
        assert_eq!(found("crates/agent/src/a.rs", "let child = std::process::Command::new(\"sh\");"), 1);
        assert_eq!(found("crates/agent/src/a.rs", "use tokio::process::{Child, Command};"), 1);
        assert_eq!(
            found("crates/system/src/local/group.rs", "let child = std::process::Command::new(x);"),
            1
        );
        assert_eq!(found("crates/system/src/fake.rs", "let wrap = CommandWrap::from(x);"), 1);
    }

    #[test]
    fn known_places_and_comments_are_not_reported() {
        assert_eq!(found("crates/system/src/local/start.rs", "use tokio::process::Command;"), 0);
        assert_eq!(found("crates/tiller/tests/it/main.rs", "use std::process::{Command, Stdio};"), 0);
        assert_eq!(found("crates/agent/src/a.rs", "use system::Command;"), 0);
        assert_eq!(found("crates/agent/src/a.rs", "use std::process::{ExitCode, Stdio};"), 0);
    }
}
