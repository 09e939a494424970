//! Known vulnerabilities of dependencies: `cargo deny check advisories`, if its database is
//! reachable.
//!
//! The database is a git repository. If it cannot be reached, the step is skipped with a message;
//! otherwise any finding fails the run.

use super::step::Steps;
use crate::process::{ProgramEnd, command, command_line, run_with_limit};
use anyhow::{Context, Result};
use std::process::Command;
use std::time::Duration;

/// The advisory database of cargo-deny, unless `deny.toml` names another.
const DATABASE: &str = "https://github.com/rustsec/advisory-db";

/// How long the database may take to respond.
const ANSWER: Duration = Duration::from_secs(15);

/// How long downloading the database and checking the dependencies may take.
const FETCH: Duration = Duration::from_secs(180);

/// The reason for skipping the step.
const UNREACHED: &str =
    "the advisory database cannot be reached; run `cargo deny check advisories` where it can";

/// Checks the dependencies against the advisory database; skips the step if it cannot be reached.
pub(super) fn check(steps: &mut Steps, mut deny: Command) -> Result<()> {
    if !is_reached(DATABASE, ANSWER) {
        steps.skip("advisories", UNREACHED.to_owned());
        return Ok(());
    }
    deny.args(["check", "advisories"]);
    let command_to_repeat = command_line(&deny);
    let ended =
        run_with_limit(&mut deny, FETCH).with_context(|| format!("`{command_to_repeat}` did not start"))?;
    match verdict(&ended) {
        Verdict::Passed => steps.function("advisories", &command_to_repeat, || Ok(())),
        Verdict::Unreached => {
            steps.skip("advisories", UNREACHED.to_owned());
            Ok(())
        }
        Verdict::Found(stderr) => {
            eprint!("{stderr}");
            steps.failed("advisories", &command_to_repeat, "a dependency has an advisory")
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// The database could not be downloaded after all.
    Unreached,
    /// The findings, or another error.
    Found(String),
}

fn verdict(ended: &ProgramEnd) -> Verdict {
    /// Messages of cargo-deny if it has no database.
    const NO_DATABASE: [&str; 3] = [
        "failed to fetch advisory database",
        "failed to load advisory database",
        "failed to clone advisory database",
    ];
    match ended {
        ProgramEnd::TimedOut => Verdict::Unreached,
        ProgramEnd::Exited(true, _) => Verdict::Passed,
        ProgramEnd::Exited(false, stderr) if NO_DATABASE.iter().any(|sign| stderr.contains(sign)) => {
            Verdict::Unreached
        }
        ProgramEnd::Exited(false, stderr) => Verdict::Found(stderr.clone()),
    }
}

/// Returns whether a git repository responds in time.
fn is_reached(url: &str, wait: Duration) -> bool {
    let mut git = command("git");
    git.args(["ls-remote", "--exit-code", url, "HEAD"]);
    // Never prompt for a password.
    git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true").env("GCM_INTERACTIVE", "never");
    matches!(run_with_limit(&mut git, wait), Ok(ProgramEnd::Exited(true, _)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn p15_an_unresponsive_database_times_out() {
        assert!(!is_reached("/nonexistent/advisory-db", ANSWER));
        let begun = Instant::now();
        let late = run_with_limit(command("sleep").arg("60"), Duration::from_millis(200)).unwrap();
        assert_eq!(late, ProgramEnd::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!(verdict(&late), Verdict::Unreached);
    }

    #[test]
    fn p15_an_advisory_fails_and_a_missing_database_does_not() {
        let ended = |script: &str| run_with_limit(command("sh").args(["-c", script]), ANSWER).unwrap();
        assert_eq!(verdict(&ended("true")), Verdict::Passed);
        assert_eq!(
            verdict(&ended("echo 'error[vulnerability]: bad' >&2; exit 1")),
            Verdict::Found("error[vulnerability]: bad\n".to_owned())
        );
        let unreached = ended("echo '[ERROR] failed to fetch advisory database x' >&2; exit 1");
        assert_eq!(verdict(&unreached), Verdict::Unreached);
    }
}
