//! The targets of releases, and what each package format calls them.

use crate::process::{capture, command};
use anyhow::{Result, bail};

/// A target of releases.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The name for rustc and in the archives.
    pub(super) triple: &'static str,
    /// `os` and `cpu` of npm.
    pub(super) npm: [&'static str; 2],
    /// The C library for npm, where one system has two.
    pub(super) libc: Option<&'static str>,
    /// The platform of the agent registry.
    pub(super) registry: &'static str,
    /// The platform of a wheel; `None` where it follows from the symbols that the binary needs.
    pub(super) wheel: Option<&'static str>,
    /// The place in a Homebrew formula: the block of the system, and that of the processor.
    pub(super) homebrew: [&'static str; 2],
    /// Whether releases have it. The others are for trials on this machine.
    pub(super) is_released: bool,
}

/// All targets. Where a platform has several, the released one is offered.
pub(super) const TARGETS: [Target; 6] = [
    Target {
        triple: "x86_64-unknown-linux-musl",
        npm: ["linux", "x64"],
        libc: None,
        registry: "linux-x86_64",
        wheel: Some("manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"),
        homebrew: ["on_linux", "on_intel"],
        is_released: true,
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        npm: ["linux", "arm64"],
        libc: None,
        registry: "linux-aarch64",
        wheel: Some("manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"),
        homebrew: ["on_linux", "on_arm"],
        is_released: true,
    },
    Target {
        triple: "aarch64-apple-darwin",
        npm: ["darwin", "arm64"],
        libc: None,
        registry: "darwin-aarch64",
        wheel: Some("macosx_11_0_arm64"),
        homebrew: ["on_macos", "on_arm"],
        is_released: true,
    },
    Target {
        triple: "x86_64-apple-darwin",
        npm: ["darwin", "x64"],
        libc: None,
        registry: "darwin-x86_64",
        wheel: Some("macosx_10_12_x86_64"),
        homebrew: ["on_macos", "on_intel"],
        is_released: true,
    },
    Target {
        triple: "x86_64-unknown-linux-gnu",
        npm: ["linux", "x64"],
        libc: Some("glibc"),
        registry: "linux-x86_64",
        wheel: None,
        homebrew: ["on_linux", "on_intel"],
        is_released: false,
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        npm: ["linux", "arm64"],
        libc: Some("glibc"),
        registry: "linux-aarch64",
        wheel: None,
        homebrew: ["on_linux", "on_arm"],
        is_released: false,
    },
];

/// An archive of a release.
pub(super) struct Archive {
    pub(super) target: &'static Target,
    pub(super) file: String,
    pub(super) sha256: String,
}

impl Target {
    /// Returns the target of this name.
    pub(super) fn named(triple: &str) -> Result<&'static Self> {
        match TARGETS.iter().find(|target| target.triple == triple) {
            Some(target) => Ok(target),
            None => {
                let known: Vec<_> = TARGETS.iter().map(|target| target.triple).collect();
                bail!("{triple} is none of the targets of releases: {}", known.join(", "))
            }
        }
    }

    /// Returns the target that the compiler of this machine builds for.
    pub(super) fn of_this_machine() -> Result<&'static Self> {
        let described = capture(command("rustc").arg("-vV"))?;
        Self::named(described.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default())
    }

    /// The platform and processor as npm's package names have them: `linux-x64`.
    pub(super) fn npm_suffix(&self) -> String {
        self.npm.join("-")
    }

    /// Returns the target whose archive has this name, for a version.
    pub(super) fn of_archive(file: &str, version: &str) -> Option<&'static Self> {
        let triple = file.strip_prefix(&format!("tiller-{version}-"))?.strip_suffix(".tar.gz")?;
        TARGETS.iter().find(|target| target.triple == triple)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_platform_has_one_released_target() {
        for target in &TARGETS {
            let same = TARGETS.iter().filter(|other| other.registry == target.registry && other.is_released);
            assert_eq!(same.count(), 1, "{}", target.triple);
        }
    }

    #[test]
    fn an_archive_names_its_target() {
        let of = |file| Target::of_archive(file, "1.2.3").map(|target| target.triple);
        assert_eq!(of("tiller-1.2.3-aarch64-apple-darwin.tar.gz"), Some("aarch64-apple-darwin"));
        assert_eq!(of("tiller-1.2.4-aarch64-apple-darwin.tar.gz"), None);
        assert_eq!(of("tiller-1.2.3-aarch64-apple-darwin.cdx.json"), None);
    }
}
