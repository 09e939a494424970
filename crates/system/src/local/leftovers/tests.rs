//! Tests what is swept, and that the owner of a noted directory cannot cause other files to be
//! removed.

use super::sweep::sweep_in;
use super::*;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::time::SystemTime;
use tempfile::TempDir;

/// A run directory, a project, and the notes of a live process.
struct Stage {
    _dir: TempDir,
    run: AbsPath,
    project: AbsPath,
    elsewhere: AbsPath,
    leftovers: Leftovers,
}

impl Stage {
    fn new() -> Self {
        // In a directory that other users cannot replace.
        let dir = tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let [run, project, elsewhere] = ["run", "project", "elsewhere"].map(|name| top.join(name));
        fs::create_dir(project.as_std()).unwrap();
        fs::create_dir(elsewhere.as_std()).unwrap();
        let notes = Some(Notes::begin(&run).unwrap());
        Self { _dir: dir, run, project, elsewhere, leftovers: Leftovers { notes: notes.into() } }
    }

    fn mark(&self) -> String {
        self.leftovers.notes().unwrap().mark.clone()
    }

    /// Returns a noted path in the project for a temporary file.
    fn temporary(&self) -> AbsPath {
        let entry = EntryHandle::open(&self.project.join("file"), false).unwrap();
        self.project.join(self.leftovers.file_name(&entry).unwrap())
    }

    /// Simulates a killed process: its notes stay, but are no longer locked. Then another process
    /// sweeps.
    fn die(&mut self) {
        let path = self.run.join(self.mark());
        let notes = fs::read(path.as_std()).unwrap();
        self.leftovers = Leftovers::default();
        fs::write(path.as_std(), notes).unwrap();
        sweep_in(&self.run);
    }

    /// Sweeps again after the notes have become old.
    fn sweep_late(&self, mark: &str) {
        let notes = File::options().write(true).open(self.run.join(mark).as_std()).unwrap();
        notes.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        drop(notes);
        sweep_in(&self.run);
    }
}

fn there(path: &AbsPath) -> bool {
    fs::symlink_metadata(path.as_std()).is_ok()
}

#[test]
fn only_what_a_killed_process_left_behind_is_removed() {
    let mut stage = Stage::new();
    let temporary = stage.temporary();
    let socket = stage.leftovers.socket_path().unwrap();
    let _listener = UnixListener::bind(socket.as_std()).unwrap();
    let mark = stage.mark();
    let project = stage.project.clone();
    let kept = [
        project.join("file"),
        // A name of another process, two names that only look similar, and one with a suffix.
        project.join(format!(".tiller-{}{}.tmp", token().unwrap(), token().unwrap())),
        project.join(".tiller-1f.tmp"),
        project.join(format!(".tiller-{mark}.tmp")),
        project.join(format!("{}.mine", temporary.file_name().unwrap())),
        // In a directory that was not noted.
        stage.elsewhere.join(temporary.file_name().unwrap()),
        stage.run.join("other"),
    ];
    for path in kept.iter().chain([&temporary]) {
        fs::write(path.as_std(), "text").unwrap();
    }
    sweep_in(&stage.run);
    assert!(there(&temporary) && there(&socket), "its owner lives");
    stage.die();
    assert!(!there(&temporary) && !there(&socket) && !there(&stage.run.join(&mark)));
    for path in &kept {
        assert_eq!(fs::read_to_string(path.as_std()).unwrap(), "text", "{path}");
    }
}

#[test]
fn a_directory_is_recorded_on_disk_before_it_gets_a_temporary_file() {
    let stage = Stage::new();
    let notes = stage.run.join(stage.mark());
    assert_eq!(fs::read(notes.as_std()).unwrap(), b"");
    let first = stage.temporary();
    let found = fs::metadata(stage.project.as_std()).unwrap();
    let expected = format!("{} {} {}\0", found.dev(), found.ino(), stage.project);
    assert_eq!(fs::read_to_string(notes.as_std()).unwrap(), expected);
    assert_ne!(stage.temporary(), first);
    assert_eq!(fs::read_to_string(notes.as_std()).unwrap(), expected, "once is enough");
}

#[test]
fn a_replaced_directory_is_not_swept() {
    // Replaces the project, which has been moved away.
    let exchanges: [fn(&Stage); 3] = [
        |stage| symlink(stage.elsewhere.as_std(), stage.project.as_std()).unwrap(),
        |stage| fs::rename(stage.elsewhere.as_std(), stage.project.as_std()).unwrap(),
        |_| {},
    ];
    for exchange in exchanges {
        let mut stage = Stage::new();
        let temporary = stage.temporary();
        let name = temporary.file_name().unwrap().to_owned();
        let precious = stage.elsewhere.join(&name);
        fs::write(precious.as_std(), "precious").unwrap();
        fs::rename(stage.project.as_std(), stage.run.join("moved").as_std()).unwrap();
        exchange(&stage);
        let mark = stage.mark();
        stage.die();
        assert!(there(&precious) || there(&temporary), "it was removed");
        if there(&stage.run.join(&mark)) {
            stage.sweep_late(&mark);
        }
        assert!(there(&precious) || there(&temporary), "it was removed");
        assert!(!there(&stage.run.join(&mark)), "what cannot be proven is forgotten in the end");
    }
}

#[test]
fn notes_about_an_unavailable_file_system_are_kept_until_they_expire() {
    let stage = Stage::new();
    let (mark, notes) = (stage.mark(), stage.run.join(stage.mark()));
    let found = fs::metadata(stage.project.as_std()).unwrap();
    let missing = stage.project.join("not/there");
    for (device, path, kept) in [
        (found.dev() + 1, &missing, true),
        (found.dev() + 1, &stage.project, true),
        (found.dev(), &missing, false),
    ] {
        fs::remove_file(notes.as_std()).ok();
        fs::write(notes.as_std(), format!("{device} {} {path}\0", found.ino())).unwrap();
        sweep_in(&stage.run);
        assert_eq!(there(&notes), kept, "{device} {path}");
        if kept {
            stage.sweep_late(&mark);
            assert!(!there(&notes));
        }
    }
}

#[test]
fn a_parent_directory_that_became_a_link_is_not_followed() {
    let mut stage = Stage::new();
    let below = stage.project.join("below");
    fs::create_dir(below.as_std()).unwrap();
    let entry = EntryHandle::open(&below.join("file"), false).unwrap();
    let name = stage.leftovers.file_name(&entry).unwrap();
    fs::write(below.join(&name).as_std(), "x").unwrap();
    // The noted directory itself, but behind a link.
    fs::rename(stage.project.as_std(), stage.elsewhere.join("moved").as_std()).unwrap();
    symlink(stage.elsewhere.join("moved").as_std(), stage.project.as_std()).unwrap();
    stage.die();
    assert!(there(&stage.elsewhere.join("moved/below").join(&name)));
}

#[test]
fn only_a_regular_file_without_other_hard_links_is_removed() {
    let mut stage = Stage::new();
    let precious = stage.elsewhere.join("precious");
    fs::write(precious.as_std(), "precious").unwrap();
    let [soft, hard, directory] = [(); 3].map(|()| stage.temporary());
    symlink(precious.as_std(), soft.as_std()).unwrap();
    fs::hard_link(precious.as_std(), hard.as_std()).unwrap();
    fs::create_dir(directory.as_std()).unwrap();
    fs::write(directory.join("file").as_std(), "x").unwrap();
    stage.die();
    for path in [soft, hard, directory.join("file"), precious.clone()] {
        assert!(there(&path), "{path}");
    }
    assert_eq!(fs::read_to_string(precious.as_std()).unwrap(), "precious");
}

#[test]
fn a_temporary_directory_is_removed_without_following_links() {
    let mut stage = Stage::new();
    let precious = stage.elsewhere.join("precious");
    fs::write(precious.as_std(), "precious").unwrap();
    // As if temporary directories were created in the project.
    stage.temporary();
    let directory = stage.project.join(format!("{DIRECTORY_PREFIX}{}{}", stage.mark(), token().unwrap()));
    fs::create_dir_all(directory.join("deep").as_std()).unwrap();
    fs::write(directory.join("deep/sessions.db").as_std(), "x").unwrap();
    symlink(stage.elsewhere.as_std(), directory.join("link").as_std()).unwrap();
    let link = stage.project.join(format!("{DIRECTORY_PREFIX}{}{}", stage.mark(), token().unwrap()));
    symlink(stage.elsewhere.as_std(), link.as_std()).unwrap();
    stage.die();
    assert!(!there(&directory) && there(&link));
    assert_eq!(fs::read_to_string(precious.as_std()).unwrap(), "precious");
}

#[test]
fn invalid_notes_remove_nothing() {
    let stage = Stage::new();
    let temporary = stage.temporary();
    fs::write(temporary.as_std(), "x").unwrap();
    let found = fs::metadata(stage.project.as_std()).unwrap();
    let (device, number, project) = (found.dev(), found.ino(), &stage.project);
    let mark = stage.mark();
    let notes = stage.run.join(&mark);
    for text in [
        // Truncated, because its process was killed.
        format!("{device} {number} {project}"),
        format!("{device} {number}\0"),
        format!("{device} {number} relative\0"),
        format!("{number} {device} {project}\0"),
        String::new(),
        "\0\0\0".to_owned(),
    ] {
        fs::remove_file(notes.as_std()).ok();
        fs::write(notes.as_std(), &text).unwrap();
        sweep_in(&stage.run);
        assert!(there(&temporary), "{text:?}");
        assert!(text.starts_with(&format!("{number} ")) || !there(&notes), "{text:?}");
    }
    // A link is never accepted as notes, regardless of its target.
    let other = stage.elsewhere.join("notes");
    fs::write(other.as_std(), format!("{device} {number} {project}\0")).unwrap();
    symlink(other.as_std(), notes.as_std()).unwrap();
    sweep_in(&stage.run);
    assert!(there(&temporary) && there(&other));
}

#[test]
fn notes_and_temporary_directories_are_removed_when_dropped() {
    let stage = Stage::new();
    let notes = stage.run.join(stage.mark());
    assert!(there(&notes));
    drop(stage.leftovers);
    assert!(!there(&notes));
    let directory = TemporaryDirectory::new().unwrap();
    let path = directory.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    fs::write(path.join("file"), "x").unwrap();
    drop(directory);
    assert!(!path.exists());
    let kept = TemporaryDirectory::new().unwrap().keep();
    assert!(kept.is_dir());
    fs::remove_dir(kept).unwrap();
}

#[test]
fn a_recreated_temporary_directory_is_removed_by_a_later_process() {
    let Stage { run, project, leftovers, _dir, .. } = Stage::new();
    let directory = TemporaryDirectory::below(project.as_std(), leftovers).unwrap();
    let (path, mark) = (directory.path().to_owned(), directory.leftovers.notes().unwrap().mark.clone());
    fs::write(path.join("file"), "").unwrap();
    drop(directory);
    assert!(!path.exists());
    // Simulates a thread that creates a file and its missing parent directories.
    fs::create_dir_all(path.join("deep")).unwrap();
    sweep_in(&run);
    assert!(!path.exists() && !there(&run.join(&mark)));
}
