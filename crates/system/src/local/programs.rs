//! Looks up programs.

use crate::{AbsPath, PipedCommand};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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

/// Takes the directories of `PATH` that a command is kept apart from, and relative ones, out of it.
pub(super) fn search_apart(command: &mut PipedCommand) {
    let Some(path) = super::start::own_path(&command.env).or_else(|| std::env::var_os("PATH")) else {
        return;
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let apart: Vec<_> = command.apart_from.iter().map(|directory| real(directory.as_std())).collect();
    let is_apart = |directory: &PathBuf| {
        let real = real(directory);
        directory.is_absolute() && !apart.iter().any(|apart| real.starts_with(apart))
    };
    let kept = std::env::split_paths(&path).filter(is_apart);
    if let Some(path) = std::env::join_paths(kept).ok().and_then(|path| path.into_string().ok()) {
        command.env.push(("PATH".to_owned(), path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_project_are_not_found_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let project = AbsPath::from_os(dir.path()).unwrap();
        let (bin, path) = (project.join("bin"), format!("bin:.:{project}/bin:/usr/bin:{project}"));
        std::fs::create_dir(bin.as_std()).unwrap();
        let mut command = PipedCommand {
            program: "git".to_owned(),
            args: Vec::new(),
            cwd: project.clone(),
            inherit: Vec::new(),
            env: vec![("PATH".to_owned(), path)],
            error_limit: 0,
            confinement: crate::Confinement::Lifted,
            apart_from: vec![project],
        };
        search_apart(&mut command);
        assert_eq!(command.env.last().unwrap().1, "/usr/bin");
    }
}
