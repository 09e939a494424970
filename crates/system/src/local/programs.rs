//! Looks up programs.

use crate::AbsPath;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns whether a program exists in a directory of `path` (a value of `PATH`) or, if its name
/// contains a slash, relative to `cwd`.
pub(super) fn is_there(program: &str, cwd: &AbsPath, path: &OsStr) -> bool {
    if program.contains('/') {
        return cwd.as_std().join(program).exists();
    }
    std::env::split_paths(path).any(|directory| is_file(&directory.join(program)))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file())
}

/// Returns whether a path names the program that this process runs.
pub(super) fn is_this(path: &str) -> bool {
    is_run_by(path, "self")
}

/// Returns whether a path names the program that a process runs.
pub(super) fn is_run_by(path: &str, process: &str) -> bool {
    let file = |path: &str| std::fs::metadata(path).map(|found| (found.dev(), found.ino()));
    match (file(path), file(&format!("/proc/{process}/exe"))) {
        (Ok(named), Ok(run)) => named == run,
        _ => false,
    }
}
