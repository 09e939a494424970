//! Ends what a run of the program left running and removes what it left lying, and touches nothing
//! else.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Kills a process group that this program started.
pub(crate) fn kill_group(id: u32) {
    signal(&[format!("-{id}")]);
}

/// Kills every process that carries the mark (`NAME=value`) in its environment, or whose folder is
/// this one or below it. Again and again, for what forks meanwhile.
pub(crate) fn kill(mark: &str, folder: &Path) {
    for _ in 0..5 {
        let found = found(mark, folder);
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
    // What has ended meanwhile needs no signal.
    kill.status().ok();
}

/// The ids of those processes.
pub(crate) fn found(mark: &str, folder: &Path) -> Vec<String> {
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
            marked || std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
        })
        .collect()
}

/// Removes a path with all that is below it. What is mounted there is unmounted first; where that fails, nothing is removed.
pub(crate) fn remove(path: &Path) {
    for mount in mounts(path).iter().rev() {
        Command::new("umount").arg("-l").arg(mount).stderr(Stdio::null()).status().ok();
    }
    if !mounts(path).is_empty() {
        eprintln!("wall: something is mounted below {}; it is left as it is", path.display());
        return;
    }
    // Most runs leave nothing at their second path.
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

/// The mount points at or below a path, parents first.
fn mounts(path: &Path) -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    points.filter(|point| point.starts_with(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_carries_the_mark_is_found() {
        let mut child = Command::new("sleep").arg("60").env("WALL_RUN", "wall-test-mark").spawn().unwrap();
        let nowhere = Path::new("/nonexistent/folder");
        // The mark is there when the program has started.
        while found("WALL_RUN=wall-test-mark", nowhere).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(found("WALL_RUN=wall-test-mark", nowhere), [child.id().to_string()]);
        assert!(found("WALL_RUN=wall-test", nowhere).is_empty());
        kill("WALL_RUN=wall-test-mark", nowhere);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_folder_goes_with_all_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::create_dir_all(path.join("b/c")).unwrap();
        remove(&path);
        assert!(!path.exists() && folder.path().exists());
    }
}
