//! `cargo xtask cross`: checks that everything compiles without warnings for other systems than
//! this machine.
//!
//! Nothing is linked or run. A target's standard library comes from rustup or is built from source;
//! C parts are compiled by zig, which is installed below the target directory. What is missing is
//! reported: a target without a standard library is skipped, and without a C compiler only the Rust
//! code is checked.

mod compiler;

use crate::process::{ProgramEnd, capture, command, command_line, run_with_limit, target_dir};
use anyhow::{Context, Result, bail};
use compiler::Compiler;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How long downloading a standard library may take.
const ARRIVAL: Duration = Duration::from_secs(120);

/// A target to check.
pub(crate) struct Target {
    /// The name for rustc.
    pub(crate) triple: &'static str,
    /// The name for zig.
    zig: &'static str,
    /// The name of its step in CI.
    pub(crate) step: &'static str,
    /// Whether CI checks it; CI has one of each kind.
    pub(crate) in_ci: bool,
}

/// All targets.
pub(crate) const TARGETS: [Target; 4] = [
    Target { triple: "aarch64-apple-darwin", zig: "aarch64-macos", step: "cross macOS", in_ci: true },
    Target { triple: "x86_64-apple-darwin", zig: "x86_64-macos", step: "cross macOS Intel", in_ci: false },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        zig: "aarch64-linux-gnu",
        step: "cross Linux ARM",
        in_ci: true,
    },
    Target {
        triple: "x86_64-unknown-linux-musl",
        zig: "x86_64-linux-musl",
        step: "cross Linux musl",
        in_ci: false,
    },
];

/// Checks the named targets, or all.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    let wanted = chosen(names)?;
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    for target in wanted {
        let mut check = match target.check() {
            Ok(check) => check,
            Err(reason) => {
                skipped.push(format!("{} skipped: {reason:#}", target.triple));
                continue;
            }
        };
        println!("cross: {}: {}", target.triple, command_line(&check));
        let status = check.status().context("cargo did not start")?;
        match status.success() {
            true => println!("cross: {} passed", target.triple),
            false => failed.push(target.triple),
        }
    }
    skipped.iter().for_each(|line| println!("cross: {line}"));
    if !failed.is_empty() {
        bail!("it does not compile without a warning for {}, see above", failed.join(", "));
    }
    Ok(())
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Target>> {
    if let Some(unknown) = names.iter().find(|name| TARGETS.iter().all(|target| target.triple != **name)) {
        let known = TARGETS.map(|target| target.triple).join(", ");
        bail!("{unknown} is none of the targets: {known}");
    }
    Ok(TARGETS.iter().filter(|target| names.is_empty() || names.contains(&target.triple)).collect())
}

impl Target {
    /// Returns the command that checks the workspace for the target.
    ///
    /// # Errors
    ///
    /// Returns the reason why it cannot be checked here.
    pub(crate) fn check(&self) -> Result<Command> {
        let mut cargo = command("cargo");
        cargo.args(["clippy", "--workspace", "--locked", "--target", self.triple]);
        if standard_library(self.triple)? == StandardLibrary::FromSource {
            // Enables the unstable flag on a stable cargo.
            cargo.env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std");
        }
        Compiler::of(self)?.set(self, &mut cargo)?;
        cargo.args(["--", "-D", "warnings"]);
        Ok(cargo)
    }

    /// Removes the output of the check, which no other step uses.
    pub(crate) fn remove_output(&self) -> Result<()> {
        let output = target_dir().join(self.triple).join("debug");
        std::fs::remove_dir_all(&output).with_context(|| format!("cannot remove {}", output.display()))
    }
}

/// The source of a target's standard library.
#[derive(Debug, PartialEq, Eq)]
enum StandardLibrary {
    Installed,
    FromSource,
}

fn standard_library(triple: &str) -> Result<StandardLibrary> {
    if is_installed(triple) {
        return Ok(StandardLibrary::Installed);
    }
    let mut add = command("rustup");
    add.args(["target", "add", triple]);
    println!("cross: {triple} has no standard library here, adding it: {}", command_line(&add));
    let added = run_with_limit(&mut add, ARRIVAL);
    if is_installed(triple) {
        return Ok(StandardLibrary::Installed);
    }
    let sysroot = capture(command("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock").exists() {
        return Ok(StandardLibrary::FromSource);
    }
    let why = match added {
        Ok(ProgramEnd::Exited(_, stderr)) => stderr.lines().last().unwrap_or("it printed nothing").to_owned(),
        Ok(ProgramEnd::TimedOut) => format!("it took longer than {} s", ARRIVAL.as_secs()),
        Err(_) => "rustup is not installed".to_owned(),
    };
    bail!(
        "its standard library cannot be added (`{}`: {why}), and its source is not installed either \
         (`rustup component add rust-src`)",
        command_line(&add)
    )
}

/// Returns whether rustc finds the standard library of a target.
fn is_installed(triple: &str) -> bool {
    let directory = capture(command("rustc").args(["--print", "target-libdir", "--target", triple]));
    let Ok(directory) = directory else { return false };
    let entries = std::fs::read_dir(directory.trim()).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_selected_by_name_and_an_unknown_one_is_reported() {
        assert_eq!(chosen(&[]).unwrap().len(), TARGETS.len());
        let one = chosen(&["aarch64-apple-darwin"]).unwrap();
        assert_eq!(one.iter().map(|target| target.zig).collect::<Vec<_>>(), ["aarch64-macos"]);
        let error = chosen(&["sparc-sun-solaris"]).err().expect("it is none").to_string();
        assert!(error.contains("sparc-sun-solaris") && error.contains("x86_64-apple-darwin"), "{error}");
    }

    #[test]
    fn ci_checks_one_apple_system_and_one_arm_linux() {
        let of_ci: Vec<_> =
            TARGETS.iter().filter(|target| target.in_ci).map(|target| target.triple).collect();
        assert_eq!(of_ci, ["aarch64-apple-darwin", "aarch64-unknown-linux-gnu"]);
    }

    #[test]
    fn the_standard_library_of_the_host_is_found_and_that_of_an_unknown_target_is_not() {
        let described = capture(command("rustc").arg("-vV")).unwrap();
        let host = described.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        assert!(is_installed(host));
        assert!(!is_installed("no-such-machine"));
    }
}
