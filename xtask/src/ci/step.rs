//! The sequence of steps, each with its time. A failure names the step and the command that repeats
//! it alone.

use super::summary;
use crate::process::command_line;
use anyhow::{Context, Result, anyhow, bail};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// The passed steps with their times, and the skipped ones.
#[derive(Default)]
pub(super) struct Steps {
    passed: Vec<(&'static str, Duration)>,
    /// Steps that cannot run here, with the reason.
    skipped: Vec<(&'static str, String)>,
}

impl Steps {
    /// Runs a command whose output goes directly to the terminal.
    pub(super) fn command(&mut self, name: &'static str, command: &mut Command) -> Result<()> {
        let command_to_repeat = command_line(command);
        self.timed(name, &command_to_repeat.clone(), || {
            let status = command.status().with_context(|| format!("`{command_to_repeat}` did not start"))?;
            check(status)
        })
    }

    /// Runs a function of this program as a step; `command_to_repeat` is the command that repeats
    /// it.
    pub(super) fn function(
        &mut self,
        name: &'static str,
        command_to_repeat: &str,
        step: fn() -> Result<()>,
    ) -> Result<()> {
        self.timed(name, command_to_repeat, step)
    }

    /// Runs the tests with their output streamed, and returns the runner's summary line.
    pub(super) fn tests(&mut self, command: &mut Command) -> Result<String> {
        let command_to_repeat = command_line(command);
        self.timed("tests", &command_to_repeat, || {
            let (status, closing) = summary::stream(command)?;
            check(status)?;
            closing.ok_or_else(|| anyhow!("the test runner ended without its summary line"))
        })
    }

    /// Fails the run because of a step that was executed elsewhere.
    pub(super) fn failed(
        &mut self,
        name: &'static str,
        command_to_repeat: &str,
        why: &'static str,
    ) -> Result<()> {
        self.timed(name, command_to_repeat, || bail!(why))
    }

    /// Skips a step; the reason is printed now and at the end.
    pub(super) fn skip(&mut self, name: &'static str, reason: String) {
        println!("\nci: {name} skipped: {reason}");
        self.skipped.push((name, reason));
    }

    /// Prints the time of each step and the total.
    pub(super) fn print(&self) {
        println!();
        for (name, time) in &self.passed {
            println!("ci: {name:<17} {:>7.1} s", time.as_secs_f64());
        }
        for (name, reason) in &self.skipped {
            println!("ci: {name:<17} skipped: {reason}");
        }
        let total: Duration = self.passed.iter().map(|(_, time)| *time).sum();
        println!("ci: {:<17} {:>7.1} s", "all passed", total.as_secs_f64());
    }

    fn timed<T>(
        &mut self,
        name: &'static str,
        command_to_repeat: &str,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        println!("\nci: {name}: {command_to_repeat}");
        let start = Instant::now();
        let value = step().with_context(|| {
            format!("ci stopped at step `{name}`; to repeat it alone: {command_to_repeat}")
        })?;
        let time = start.elapsed();
        println!("ci: {name} passed in {:.1} s", time.as_secs_f64());
        self.passed.push((name, time));
        Ok(value)
    }
}

fn check(status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("it ended with {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::command;

    #[test]
    fn a_failure_names_the_step_and_the_command() {
        let mut steps = Steps::default();
        let error = steps.command("fmt", command("false").arg("--check")).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "ci stopped at step `fmt`; to repeat it alone: false --check: it ended with exit status: 1"
        );
        assert!(steps.passed.is_empty());
    }

    #[test]
    fn a_pass_is_kept_with_its_time() {
        let mut steps = Steps::default();
        steps.command("fmt", &mut command("true")).unwrap();
        steps.function("tidy", "cargo xtask tidy", || Ok(())).unwrap();
        let names: Vec<_> = steps.passed.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["fmt", "tidy"]);
    }

    #[test]
    fn a_skipped_step_has_not_passed() {
        let mut steps = Steps::default();
        steps.skip("python client", "there is no python3 that runs".to_owned());
        assert!(steps.passed.is_empty());
        assert_eq!(steps.skipped.len(), 1);
    }

    #[test]
    fn tests_without_a_summary_are_a_failure() {
        let error = Steps::default().tests(&mut command("true")).unwrap_err();
        assert!(format!("{error:#}").contains("without its summary line"), "{error:#}");
    }
}
