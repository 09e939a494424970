//! What tells this machine from others, whatever it is called at the moment.

use agent::ContentHash;
use rustix::fs::OFlags;
use std::{
    fs::OpenOptions,
    io::{Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    sync::LazyLock,
};
use system::ProcessTable;

/// The machine a process runs on, as far as the leases of that process need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its host name when the process first asked, for people. It may change while the process
    /// runs.
    pub host: String,
    /// Texts without spaces that no other machine has: of its running kernel, and of its
    /// installation. Two processes are on one machine when they have one of these in common.
    pub marks: Vec<String>,
    /// How it tells of its processes.
    pub processes: ProcessTable,
    /// Whether files are locked there; `false` plays a file system that has no locks.
    pub locks: bool,
}

/// Where a system keeps what its installation is told by: the first that can be read counts.
const INSTALLATIONS: [&str; 3] = ["/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostid"];
/// What tells the running kernel, also inside of a container.
const KERNEL: &str = "/proc/sys/kernel/random/boot_id";
/// A folder on every Unix that stays through a restart, and is on this machine alone.
const LASTING: &str = "/var/tmp";

impl Machine {
    /// The one this process runs on. What it is called is asked once: the process stays the same
    /// when the name changes.
    pub fn here() -> &'static Self {
        static HERE: LazyLock<Machine> = LazyLock::new(|| Machine {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            marks: marks(Path::new(KERNEL), &INSTALLATIONS.map(Path::new), Path::new(LASTING)),
            processes: ProcessTable::here(),
            locks: true,
        });
        &HERE
    }

    /// Whether a process with these marks runs on this machine.
    pub(super) fn has_one_of(&self, marks: &str) -> bool {
        marks.split_whitespace().any(|mark| self.marks.iter().any(|own| own == mark))
    }
}

/// The marks of a machine. Where the system has none for its installation, as macOS, one is made
/// and kept in `lasting`.
fn marks(kernel: &Path, installations: &[&Path], lasting: &Path) -> Vec<String> {
    let installation = installations.iter().find_map(|path| read(path)).or_else(|| own(lasting));
    // Their own values are not for files that get copied.
    let mark = |value: String| ContentHash::of(value.as_bytes()).0[..16].to_owned();
    read(kernel).into_iter().chain(installation).map(mark).collect()
}

#[expect(clippy::disallowed_methods, reason = "the system's own file, not one of the workspace")]
fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let value = text.trim();
    (value.len() >= 16).then(|| value.to_owned())
}

/// A random text in a file of this user's, made by whoever comes first. `None` where it cannot be
/// made, or is somebody else's.
fn own(folder: &Path) -> Option<String> {
    let path = folder.join(format!("tiller-machine-{}", rustix::process::geteuid().as_raw()));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    if let Ok(mut file) = made {
        file.write_all(uuid::Uuid::now_v7().to_string().as_bytes()).ok()?;
    }
    // Everybody may make files in such a folder: a link is not followed, and a pipe is not waited
    // for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(&path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).ok()?;
    (text.len() == 36).then_some(text)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make files of the system's own kind")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_machine_is_known_by_its_kernel_and_its_installation() {
        let folder = tempfile::tempdir().unwrap();
        let [kernel, installation] = ["kernel", "installation"].map(|name| folder.path().join(name));
        fs::write(&kernel, "35907911-ebdb-445c-b98f-8d024f3330f0\n").unwrap();
        fs::write(&installation, "3d1219c7c4c5404aaa1f6d2a48adfda4\n").unwrap();
        let nowhere = folder.path().join("nowhere");
        let both = marks(&kernel, &[&nowhere, &installation], &nowhere);
        let restarted = marks(&nowhere, &[&installation], &nowhere);
        let container = marks(&kernel, &[&nowhere], &nowhere);
        assert_eq!((both.len(), restarted.len(), container.len()), (2, 1, 1));
        assert!(both.contains(&restarted[0]) && both.contains(&container[0]));
        assert!(!both.concat().contains("35907911"), "the values themselves stay here");
    }

    #[test]
    fn a_system_that_has_no_mark_gets_one_that_lasts() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = folder.path().join("nowhere");
        let mark = || marks(&nowhere, &[], folder.path());
        let first = mark();
        assert_eq!((first.len(), &first), (1, &mark()));
        // Another machine has another.
        let elsewhere = tempfile::tempdir().unwrap();
        assert_ne!(first, marks(&nowhere, &[], elsewhere.path()));
        // One that somebody put a link in place of is not believed, nor is one that cannot be made.
        let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        fs::rename(&file, folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("moved"), &file).unwrap();
        assert_eq!(mark(), [""; 0]);
        assert_eq!(marks(&nowhere, &[], &nowhere), [""; 0]);
    }
}
