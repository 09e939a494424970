//! Identifies this machine, independent of its current host name.

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

/// The machine on which a process runs, as far as its leases need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The host name at the first query, for display. It may change while the process runs.
    pub host: String,
    /// Texts without spaces that are unique to this machine: one for its running kernel, one for
    /// its installation. Two processes are on the same machine if they have a mark in common.
    pub marks: Vec<String>,
    /// How the machine reports its processes.
    pub processes: ProcessTable,
    /// Whether files can be locked there; `false` simulates a file system without locks.
    pub locks: bool,
}

/// The files with the id of the installation, in order of preference; the first readable one
/// counts.
const INSTALLATION_IDS: [&str; 3] = ["/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostid"];
/// The id of the running kernel, also within a container.
const KERNEL_ID: &str = "/proc/sys/kernel/random/boot_id";
/// A directory on every Unix that survives a restart and is local to the machine.
const PERSISTENT_DIRECTORY: &str = "/var/tmp";

impl Machine {
    /// Returns the machine on which this process runs. The host name is queried once, so that the
    /// holder's identity does not change with it.
    pub fn here() -> &'static Self {
        static HERE: LazyLock<Machine> = LazyLock::new(|| Machine {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            marks: marks(
                Path::new(KERNEL_ID),
                &INSTALLATION_IDS.map(Path::new),
                Path::new(PERSISTENT_DIRECTORY),
            ),
            processes: ProcessTable::here(),
            locks: true,
        });
        &HERE
    }

    /// Returns whether a process with these marks runs on this machine.
    pub(super) fn shares_mark(&self, marks: &str) -> bool {
        marks.split_whitespace().any(|mark| self.marks.iter().any(|own| own == mark))
    }
}

/// Returns the marks of a machine. If the system has no id for its installation, as on macOS, one
/// is created and stored in `persistent`.
fn marks(kernel: &Path, installations: &[&Path], persistent: &Path) -> Vec<String> {
    let installation = installations.iter().find_map(|path| read(path)).or_else(|| stored_id(persistent));
    // Hashed, so that the ids themselves do not end up in files that get copied.
    let mark = |value: String| ContentHash::of(value.as_bytes()).0[..16].to_owned();
    read(kernel).into_iter().chain(installation).map(mark).collect()
}

#[expect(clippy::disallowed_methods, reason = "the system's own file, not one of the workspace")]
fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let value = text.trim();
    (value.len() >= 16).then(|| value.to_owned())
}

/// Returns a random id from a file of this user, created on first use. Returns `None` if it cannot
/// be created or belongs to another user.
fn stored_id(directory: &Path) -> Option<String> {
    let path = directory.join(format!("tiller-machine-{}", rustix::process::geteuid().as_raw()));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    if let Ok(mut file) = made {
        file.write_all(uuid::Uuid::now_v7().to_string().as_bytes()).ok()?;
    }
    // Any user can create files in this directory: do not follow a link, and do not block on a
    // pipe.
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
    fn a_machine_is_identified_by_its_kernel_and_its_installation() {
        let directory = tempfile::tempdir().unwrap();
        let [kernel, installation] = ["kernel", "installation"].map(|name| directory.path().join(name));
        fs::write(&kernel, "35907911-ebdb-445c-b98f-8d024f3330f0\n").unwrap();
        fs::write(&installation, "3d1219c7c4c5404aaa1f6d2a48adfda4\n").unwrap();
        let nowhere = directory.path().join("nowhere");
        let both = marks(&kernel, &[&nowhere, &installation], &nowhere);
        let restarted = marks(&nowhere, &[&installation], &nowhere);
        let container = marks(&kernel, &[&nowhere], &nowhere);
        assert_eq!((both.len(), restarted.len(), container.len()), (2, 1, 1));
        assert!(both.contains(&restarted[0]) && both.contains(&container[0]));
        assert!(!both.concat().contains("35907911"), "the values themselves stay here");
    }

    #[test]
    fn a_system_without_an_installation_id_gets_a_persistent_one() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = directory.path().join("nowhere");
        let mark = || marks(&nowhere, &[], directory.path());
        let first = mark();
        assert_eq!((first.len(), &first), (1, &mark()));
        // Another machine has another mark.
        let elsewhere = tempfile::tempdir().unwrap();
        assert_ne!(first, marks(&nowhere, &[], elsewhere.path()));
        // A file replaced by a link is rejected; one that cannot be created gives no mark.
        let file = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
        fs::rename(&file, directory.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(directory.path().join("moved"), &file).unwrap();
        assert_eq!(mark(), [""; 0]);
        assert_eq!(marks(&nowhere, &[], &nowhere), [""; 0]);
    }
}
