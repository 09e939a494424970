//! The compiler for the C parts of a target.

use super::Target;
use crate::ci::pip_install;
use crate::process::{capture, command, command_line, run_with_limit, target_dir};
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The PyPI package of zig: a C compiler for many targets, including headers.
const ZIG: &str = "ziglang==0.15.2";

/// How long downloading zig (90 MB) may take.
const ARRIVAL: Duration = Duration::from_secs(300);

/// A script that calls zig as a C compiler. Target options from build scripts are removed, because
/// zig has its own names for targets.
const BY_ZIG: &str = r#"#!/bin/sh
for word do
  shift
  case $word in
    --target=* | -arch | arm64 | x86_64 | -mmacosx-version-min=*) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec "$CROSS_ZIG" cc -target ZIG_TARGET "$@"
"#;

/// A script that creates the requested output files, empty: sufficient where nothing is linked.
const STAND_IN: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -o) : >"$2" ;;
  esac
  shift
done
"#;

/// The C compiler for a target.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Compiler {
    /// Found by cargo's build scripts without help.
    Known,
    /// The zig at this path.
    Zig(PathBuf),
    /// None: C is not compiled.
    StandIn,
}

impl Compiler {
    /// Returns the compiler: one from the environment, the host's own if it supports the target, or
    /// zig, which is installed if necessary.
    pub(super) fn of(target: &Target) -> Result<Self> {
        let described = capture(command("rustc").arg("-vV"))?;
        let host = described.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        // Apple's compiler supports all of Apple's architectures.
        let both_apples = [host, target.triple].iter().all(|triple| triple.contains("-apple-"));
        let named = [variable("CC", target), "TARGET_CC".to_owned()];
        if host == target.triple || both_apples || named.iter().any(|name| std::env::var_os(name).is_some()) {
            return Ok(Self::Known);
        }
        if let Some(zig) = zig() {
            return Ok(Self::Zig(zig));
        }
        println!("cross: {} is checked without its C code: no C compiler was found for it", target.triple);
        Ok(Self::StandIn)
    }

    /// Configures a cargo command to use this compiler.
    pub(super) fn set(&self, target: &Target, cargo: &mut Command) -> Result<()> {
        let script = match self {
            Self::Known => return Ok(()),
            Self::Zig(zig) => {
                cargo.env("CROSS_ZIG", zig);
                BY_ZIG.replace("ZIG_TARGET", target.zig)
            }
            Self::StandIn => STAND_IN.to_owned(),
        };
        let kind = if *self == Self::StandIn { "stand-in" } else { "zig" };
        let path = target_dir().join("tools/cross").join(format!("{}-{kind}", target.triple));
        write(&path, &script).with_context(|| format!("cannot write {}", path.display()))?;
        // Any archiver will do where nothing is linked.
        cargo.env(variable("CC", target), path).env(variable("AR", target), "ar");
        Ok(())
    }
}

/// Returns the name of a variable for one target: `CC_aarch64_apple_darwin`.
fn variable(what: &str, target: &Target) -> String {
    format!("{what}_{}", target.triple.replace('-', "_"))
}

/// Writes an executable script, unless it exists with this content.
fn write(path: &Path, script: &str) -> std::io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|current| current == script) {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, script)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Returns zig from the path, or installs it for this clone.
fn zig() -> Option<PathBuf> {
    let directory = target_dir().join("tools/zig");
    let installed = directory.join("ziglang/zig");
    let runs = |zig: &Path| capture(command(zig).arg("version")).is_ok();
    if let Some(zig) = [PathBuf::from("zig"), installed.clone()].into_iter().find(|zig| runs(zig)) {
        return Some(zig);
    }
    let mut install = pip_install(&directory, ZIG);
    println!("cross: zig is not installed, installing it: {}", command_line(&install));
    run_with_limit(&mut install, ARRIVAL).ok();
    runs(&installed).then_some(installed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cross::TARGETS;

    #[test]
    fn zig_gets_the_target_in_its_own_notation() {
        let dir = tempfile::tempdir().unwrap();
        let (script, zig) = (dir.path().join("cc"), dir.path().join("zig"));
        write(&script, &BY_ZIG.replace("ZIG_TARGET", TARGETS[0].zig)).unwrap();
        write(&zig, "#!/bin/sh\nprintf '%s|' \"$@\"\n").unwrap();
        let mut cc = command(&script);
        cc.env("CROSS_ZIG", &zig);
        cc.args(["--target=arm64-apple-macosx", "-arch", "arm64", "-mmacosx-version-min=11.0"]);
        cc.args(["-c", "a b.c", "-o", "x.o"]);
        assert_eq!(capture(&mut cc).unwrap(), "cc|-target|aarch64-macos|-c|a b.c|-o|x.o|");
    }

    #[test]
    fn the_stand_in_creates_the_requested_output() {
        let dir = tempfile::tempdir().unwrap();
        let (script, object) = (dir.path().join("cc"), dir.path().join("x.o"));
        write(&script, STAND_IN).unwrap();
        capture(command(&script).args(["-O2", "-c", "x.c", "-o"]).arg(&object)).unwrap();
        assert_eq!(fs::read(&object).unwrap(), b"");
    }

    #[test]
    fn variables_are_named_as_build_scripts_read_them() {
        assert_eq!(variable("CC", &TARGETS[0]), "CC_aarch64_apple_darwin");
    }
}
