//! Known vulnerabilities of dependencies: `cargo deny check advisories`, where its database can be had.
//!
//! The database is a git repository. Where it cannot be reached, that is said and the rest goes on; where it can, whatever it says of a
//! dependency fails the run.

use super::step::Steps;
use crate::process::{Ended, bounded, command, shown};
use anyhow::{Context, Result};
use std::process::Command;
use std::time::Duration;

/// Where cargo-deny has its database from, unless `deny.toml` says otherwise.
const DATABASE: &str = "https://github.com/rustsec/advisory-db";

/// How long the database has to answer.
const ANSWER: Duration = Duration::from_secs(15);

/// How long the database may take to arrive and be compared with the dependencies.
const FETCH: Duration = Duration::from_secs(180);

/// Why the step was left out.
const UNREACHED: &str =
    "the advisory database cannot be reached; run `cargo deny check advisories` where it can";

/// Compares the dependencies with the advisory database; leaves that out, and says so, where there is none.
pub(super) fn check(steps: &mut Steps, mut deny: Command) -> Result<()> {
    if !is_reached(DATABASE, ANSWER) {
        steps.skip("advisories", UNREACHED.to_owned());
        return Ok(());
    }
    deny.args(["check", "advisories"]);
    let again = shown(&deny);
    let ended = bounded(&mut deny, FETCH).with_context(|| format!("`{again}` did not start"))?;
    match verdict(&ended) {
        Verdict::Passed => steps.function("advisories", &again, || Ok(())),
        Verdict::Unreached => {
            steps.skip("advisories", UNREACHED.to_owned());
            Ok(())
        }
        Verdict::Found(said) => {
            eprint!("{said}");
            steps.failed("advisories", &again, "a dependency has an advisory")
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// The database did not arrive after all.
    Unreached,
    /// What was found, or what else is wrong.
    Found(String),
}

fn verdict(ended: &Ended) -> Verdict {
    /// What cargo-deny says when it has no database.
    const NO_DATABASE: [&str; 3] = [
        "failed to fetch advisory database",
        "failed to load advisory database",
        "failed to clone advisory database",
    ];
    match ended {
        Ended::Late => Verdict::Unreached,
        Ended::Itself(true, _) => Verdict::Passed,
        Ended::Itself(false, said) if NO_DATABASE.iter().any(|sign| said.contains(sign)) => {
            Verdict::Unreached
        }
        Ended::Itself(false, said) => Verdict::Found(said.clone()),
    }
}

/// Whether a git repository answers in time.
fn is_reached(url: &str, wait: Duration) -> bool {
    let mut git = command("git");
    git.args(["ls-remote", "--exit-code", url, "HEAD"]);
    // Nobody is asked for a password.
    git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true").env("GCM_INTERACTIVE", "never");
    matches!(bounded(&mut git, wait), Ok(Ended::Itself(true, _)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn p15_a_database_that_does_not_answer_is_given_up_in_time() {
        assert!(!is_reached("/nonexistent/advisory-db", ANSWER));
        let begun = Instant::now();
        let late = bounded(command("sleep").arg("60"), Duration::from_millis(200)).unwrap();
        assert_eq!(late, Ended::Late);
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!(verdict(&late), Verdict::Unreached);
    }

    #[test]
    fn p15_an_advisory_fails_and_a_missing_database_does_not() {
        let ended = |script: &str| bounded(command("sh").args(["-c", script]), ANSWER).unwrap();
        assert_eq!(verdict(&ended("true")), Verdict::Passed);
        assert_eq!(
            verdict(&ended("echo 'error[vulnerability]: bad' >&2; exit 1")),
            Verdict::Found("error[vulnerability]: bad\n".to_owned())
        );
        let unreached = ended("echo '[ERROR] failed to fetch advisory database x' >&2; exit 1");
        assert_eq!(verdict(&unreached), Verdict::Unreached);
    }
}
