//! Links the program with packed relative relocations where that can be run: they take a tenth of the space, in the file and in memory.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if runs_packed_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the dynamic loader that will start the program knows them: glibc does since 2.36. Only asked of this machine, for itself.
#[expect(
    clippy::disallowed_methods,
    reason = "a build script has no System, and only the environment and a program tell this"
)]
fn runs_packed_relocations() -> bool {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let glibc = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if !glibc || variable("HOST") != variable("TARGET") {
        return false;
    }
    let Ok(answer) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    version(&String::from_utf8_lossy(&answer.stdout)).is_some_and(|version| version >= (2, 36))
}

/// The version in `glibc 2.36`.
fn version(answer: &str) -> Option<(u32, u32)> {
    let (major, minor) = answer.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
