//! Where programs are.

use crate::AbsPath;
use std::path::Path;

/// Whether a program is found in a directory of `PATH`, or, when its name holds a slash, from `cwd`.
pub(super) fn is_there(program: &str, cwd: &AbsPath) -> bool {
    if program.contains('/') {
        return cwd.as_std().join(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_file(&folder.join(program)))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file())
}
