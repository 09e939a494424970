//! Links the program so that it uses less memory.
//!
//! Packed relative relocations, where the loader supports them, take a tenth of the space. The
//! functions of the start and of a first turn are placed side by side: the kernel maps a program in
//! pieces of 64 KB, so scattered functions load everything around them.

use std::{env, process::Command};

const LAYOUT: &str = "layout/hot.ld";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LAYOUT}");
    println!("cargo::rerun-if-env-changed=TILLER_LAYOUT");
    if runs_packed_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if orders_functions() {
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}/{LAYOUT}", variable("CARGO_MANIFEST_DIR"));
    }
}

/// Whether to order the functions: only in a release build, with the compiler's own linker, for the
/// target that the list was made for. Other linkers may not support the list, and on other targets
/// the
/// functions have other names. `TILLER_LAYOUT=off` disables it.
fn orders_functions() -> bool {
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let own_linker =
        variable("RUSTC_LINKER").is_empty() && !["fuse-ld", "linker"].iter().any(|name| flags.contains(name));
    variable("TARGET") == "x86_64-unknown-linux-gnu"
        && variable("PROFILE") == "release"
        && own_linker
        && variable("TILLER_LAYOUT") != "off"
}

#[expect(clippy::disallowed_methods, reason = "a build script is told everything by the environment")]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Whether the dynamic loader supports packed relocations: glibc does since 2.36. Checked only when
/// building for this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "a build script has no System, and only the environment and a program tell this"
)]
fn runs_packed_relocations() -> bool {
    let glibc = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if !glibc || variable("HOST") != variable("TARGET") {
        return false;
    }
    let Ok(answer) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    version(&String::from_utf8_lossy(&answer.stdout)).is_some_and(|version| version >= (2, 36))
}

/// Parses the version in `glibc 2.36`.
fn version(answer: &str) -> Option<(u32, u32)> {
    let (major, minor) = answer.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
