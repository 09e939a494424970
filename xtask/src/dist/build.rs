//! Builds the binary of a release.

use super::{release::Release, target::Target};
use crate::process::{capture, command, command_line, root, target_dir};
use anyhow::{Result, bail};
use std::path::PathBuf;

/// Builds the program with the profile `dist`; returns its path. The result has no path of this
/// machine and no time but that of the release.
pub(super) fn build(target: &Target, release: &Release) -> Result<PathBuf> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
    };
    let sysroot = capture(command("rustc").args(["--print", "sysroot"]))?;
    let renamed = [
        (root().display().to_string(), "/tiller"),
        (home.display().to_string(), "/cargo"),
        (sysroot.trim().to_owned(), "/rust"),
    ];
    let flags: Vec<_> = renamed.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    let c_flags: Vec<_> = renamed.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}")).collect();
    let mut cargo = command("cargo");
    cargo.args(["build", "--locked", "--package", "tiller", "--profile", "dist", "--target", target.triple]);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")).env("CFLAGS", c_flags.join(" "));
    cargo.env("SOURCE_DATE_EPOCH", release.time.to_string()).env("CARGO_INCREMENTAL", "0");
    println!("dist: {}", command_line(&cargo));
    if !cargo.status()?.success() {
        bail!("`{}` failed; docs/release.md says what each target needs", command_line(&cargo));
    }
    Ok(target_dir().join(target.triple).join("dist/tiller"))
}
