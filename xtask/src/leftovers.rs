//! Cleanup after a run of the program: kills its remaining processes and removes its files, and
//! touches nothing else.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Kills a process group that this program started.
pub(crate) fn kill_group(id: u32) {
    signal(&[format!("-{id}")]);
}

/// Kills every process whose environment contains the mark (`NAME=value`), or whose current
/// directory is `directory` or below it. Repeats this for processes forked in the meantime.
pub(crate) fn kill(mark: &str, directory: &Path) {
    for _ in 0..5 {
        let found = found(mark, directory);
        if found.is_empty() {
            return;
        }
        signal(&found);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn signal(ids: &[String]) {
    let mut kill = Command::new("kill");
    kill.args(["-KILL", "--"]).args(ids).stdout(Stdio::null()).stderr(Stdio::null());
    // A process that has exited in the meantime needs no signal.
    kill.status().ok();
}

/// Returns the ids of these processes.
pub(crate) fn found(mark: &str, directory: &Path) -> Vec<String> {
    let mark = mark.as_bytes();
    let own = std::process::id().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
        .filter(|name| {
            let process = Path::new("/proc").join(name);
            let marked = std::fs::read(process.join("environ"))
                .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == mark));
            marked || std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
        })
        .collect()
}

/// Removes a path recursively. File systems mounted below it are unmounted first; if that fails,
/// nothing is removed.
pub(crate) fn remove(path: &Path) {
    for mount in mounts(path).iter().rev() {
        Command::new("umount").arg("-l").arg(mount).stderr(Stdio::null()).status().ok();
    }
    if !mounts(path).is_empty() {
        eprintln!("warning: something is mounted below {}; it is left as it is", path.display());
        return;
    }
    // The path may not exist: only few runs use the shared directories.
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            let readable = ["-R", "u+rwX"];
            if std::fs::remove_dir_all(path).is_err() {
                Command::new("chmod").args(readable).arg(path).stderr(Stdio::null()).status().ok();
                std::fs::remove_dir_all(path).ok();
            }
        }
        Ok(_) => _ = std::fs::remove_file(path),
        Err(_) => {}
    }
}

/// Returns the mount points at or below a path, parents first.
fn mounts(path: &Path) -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    points.filter(|point| point.starts_with(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_processes_are_found() {
        let mut child = Command::new("sleep").arg("60").env("WALL_RUN", "wall-test-mark").spawn().unwrap();
        let nowhere = Path::new("/nonexistent/folder");
        // The environment is visible once the program has been executed.
        while found("WALL_RUN=wall-test-mark", nowhere).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(found("WALL_RUN=wall-test-mark", nowhere), [child.id().to_string()]);
        assert!(found("WALL_RUN=wall-test", nowhere).is_empty());
        kill("WALL_RUN=wall-test-mark", nowhere);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_directory_is_removed_with_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::create_dir_all(path.join("b/c")).unwrap();
        remove(&path);
        assert!(!path.exists() && directory.path().exists());
    }
}
