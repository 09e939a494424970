//! This machine: the sandbox, the disk, and which program runs.

use super::super::{Subject, kernel, report::Check, shortcoming};
use crate::{environment, limits::LEAST_DISK_BYTES, options::NO_ALLOW_LIST, options::Network};
use system::{AbsPath, FileStamp, SandboxSupport};

/// Linux is the only system with a sandbox.
const IS_LINUX: bool = cfg!(target_os = "linux");

/// Checks the sandbox of commands.
pub(crate) fn sandbox(subject: &Subject<'_>, support: SandboxSupport) -> Vec<Check> {
    const TITLE: &str = "sandbox";
    let commands = &subject.options.commands;
    let mut checks = vec![match shortcoming(commands.sandbox, support, IS_LINUX) {
        Some(problem) => Check::warning("sandbox", TITLE, problem),
        None => {
            let detail = format!(
                "{}, network {} ({})",
                commands.sandbox.id(),
                commands.network.id(),
                kernel(support, IS_LINUX)
            );
            Check::ok("sandbox", TITLE, detail)
        }
    }];
    if commands.network == Network::AllowList {
        checks.push(
            Check::error("sandbox-network", TITLE, NO_ALLOW_LIST)
                .next("tiller settings set sandbox.network off"),
        );
    }
    checks
}

/// Checks the space for sessions.
pub(crate) fn disk(subject: &Subject<'_>) -> Check {
    const TITLE: &str = "disk";
    let mut directory = subject.options.directories.data.clone();
    while !FileStamp::of(&directory).exists() {
        match directory.parent() {
            Some(parent) => directory = parent,
            None => break,
        }
    }
    match system::free_bytes(&directory) {
        Ok(free) if free < LEAST_DISK_BYTES => {
            Check::error("disk", TITLE, format!("only {} MB are free at {directory}", free >> 20))
        }
        Ok(free) => Check::ok("disk", TITLE, format!("{} MB are free at {directory}", free >> 20)),
        Err(error) => Check::skipped("disk", TITLE, format!("{directory}: {error}")),
    }
}

/// Checks whether another program of this name is found first.
pub(crate) fn install(subject: &Subject<'_>) -> Check {
    const TITLE: &str = "program";
    let Some(own) = environment::program() else {
        return Check::skipped("program", TITLE, "the path of this program is unknown");
    };
    let all = subject.environment.programs("tiller");
    let others = others_in_path(subject);
    let same = |path: &AbsPath| FileStamp::of(path) == FileStamp::of(&own);
    match (all.first(), others.as_slice()) {
        (None, _) => {
            Check::warning("program", TITLE, format!("{own} is not in PATH, so editors need its full path"))
                .next("tiller install --list")
        }
        (Some(first), _) if !same(first) => {
            Check::warning("program", TITLE, format!("`tiller` starts {first}, and this is {own}"))
        }
        (_, []) => Check::ok("program", TITLE, own.to_string()),
        (_, others) => {
            Check::warning("program", TITLE, format!("{own}; PATH has others too: {}", others.join(", ")))
        }
    }
}

/// Returns the other programs of this name in PATH.
pub(crate) fn others_in_path(subject: &Subject<'_>) -> Vec<String> {
    let own = environment::program().map(|own| FileStamp::of(&own));
    let all = subject.environment.programs("tiller").into_iter();
    all.filter(|path| Some(FileStamp::of(path)) != own).map(|path| path.to_string()).collect()
}

/// Returns how this program was installed, as far as its path shows it.
pub(crate) fn own_method() -> &'static str {
    let path = environment::program().map(|path| path.to_string()).unwrap_or_default();
    let has = |part: &str| path.contains(part);
    match () {
        () if has("/.cargo/bin/") => "cargo",
        () if has("/node_modules/") => "npm",
        () if has("/site-packages/") || has("/pipx/") || has("/uv/") => "pip",
        () if has("/Cellar/") || has("/homebrew/") => "brew",
        () if has("/target/") => "build",
        () if path.starts_with("/usr/") => "system",
        () => "unknown",
    }
}
