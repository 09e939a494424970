use super::*;
use crate::{SecretPaths, View};
use std::fs;

struct Project {
    _dir: tempfile::TempDir,
    top: AbsPath,
    indexes: Indexes,
    sandbox: Sandbox,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let sandbox = Sandbox {
            view: View { roots: vec![top.clone()], ..View::default() },
            secret: SecretPaths { patterns: vec!["*plan.txt".to_owned()], ..SecretPaths::default() },
            ..Sandbox::default()
        };
        Self { _dir: dir, top, indexes: Indexes::default(), sandbox }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.top.join(name);
        fs::create_dir_all(path.parent().unwrap().as_std()).unwrap();
        fs::write(path.as_std(), text).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.top.join(from).as_std(), self.top.join(to).as_std()).unwrap();
    }

    fn link(&self, name: &str) {
        std::os::unix::fs::symlink("/nowhere", self.top.join(name).as_std()).unwrap();
    }

    fn has(&self, name: &str) -> bool {
        self.top.join(name).as_std().symlink_metadata().is_ok()
    }

    fn found(&self) -> Found {
        self.indexes.of(&self.sandbox).scan().unwrap()
    }

    /// Returns the secret files, relative to the project.
    fn secrets(&self) -> Vec<String> {
        let found = self.found().secrets;
        let mut names: Vec<_> =
            found.iter().filter_map(|path| path.relative_to(&self.top)).map(str::to_owned).collect();
        names.sort();
        names
    }

    fn git(&self) -> GitDirectories {
        self.indexes.of(&self.sandbox).git_directories().unwrap()
    }
}

#[test]
fn names_are_guarded_in_every_spelling_that_a_file_system_accepts() {
    let project = Project::new();
    project.write("sub/.GIT/config", "x");
    project.write("other/.Git", "x");
    let guarded = project.found().guarded;
    for file in ["sub/.GIT/config", "other/.Git"] {
        assert!(guarded.contains(&project.top.join(file)), "{file} is not among {guarded:?}");
    }
}

#[test]
fn secret_files_are_unknown_where_there_are_too_many_entries() {
    let project = Project::new();
    project.write("plan.txt", "x");
    project.write("other.txt", "x");
    let index = project.indexes.of(&project.sandbox);
    assert_eq!(index.scan_at_most(1), Err(TooMany));
    assert_eq!(index.scan_at_most(2).unwrap().secrets, [project.top.join("plan.txt")]);
}

#[test]
fn what_changes_is_found_without_reading_the_rest() {
    let project = Project::new();
    project.write("a/b/plan.txt", "x");
    project.write("c/other.txt", "x");
    assert_eq!(project.secrets(), ["a/b/plan.txt"]);
    project.write("c/d/e/plan.txt", "x");
    assert_eq!(project.secrets(), ["a/b/plan.txt", "c/d/e/plan.txt"]);
    // A directory that is moved takes what is below it along.
    project.rename("a", "c/moved");
    assert_eq!(project.secrets(), ["c/d/e/plan.txt", "c/moved/b/plan.txt"]);
    project.write("c/moved/b/new/plan.txt", "x");
    project.rename("c/d", "c/moved/b/d");
    let expected = ["c/moved/b/d/e/plan.txt", "c/moved/b/new/plan.txt", "c/moved/b/plan.txt"];
    assert_eq!(project.secrets(), expected);
    // A directory with the same name is another one.
    fs::remove_dir_all(project.top.join("c/moved").as_std()).unwrap();
    project.write("c/moved/b/later-plan.txt", "x");
    assert_eq!(project.secrets(), ["c/moved/b/later-plan.txt"]);
    fs::remove_dir_all(project.top.join("c").as_std()).unwrap();
    assert_eq!(project.secrets(), Vec::<String>::new());
}

#[test]
fn any_order_of_changes_leaves_what_a_fresh_index_finds() {
    let project = Project::new();
    let names = ["a", "b", "a/c", "b/c", "a/c/d", ".git", "a/.git"];
    // A fixed sequence of numbers, as random as needed.
    let mut state = 0x2545_f491_u64;
    let mut pick = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % most
    };
    for _ in 0..400 {
        let (from, to) = (project.top.join(names[pick(7)]), project.top.join(names[pick(7)]));
        // Each of these may fail, which changes nothing.
        match pick(5) {
            0 => fs::create_dir_all(from.join("logs").as_std()).ok(),
            1 => fs::rename(from.as_std(), to.as_std()).ok(),
            2 => fs::remove_dir_all(from.as_std()).ok(),
            3 => fs::write(from.join("plan.txt").as_std(), "x").ok(),
            _ => fs::write(from.join(["HEAD", "config", "commondir"][pick(3)]).as_std(), "x").ok(),
        };
        if pick(3) == 0 {
            let sorted = |found: Found| {
                let mut all = [found.secrets, found.guarded, found.missing];
                all.iter_mut().for_each(|paths| paths.sort());
                all
            };
            let fresh = Indexes::default().of(&project.sandbox).scan().unwrap();
            assert_eq!(sorted(project.found()), sorted(fresh));
        }
    }
}

#[test]
fn new_git_configurations_and_hooks_that_run_programs_are_disabled() {
    let project = Project::new();
    let evil = "[core]\n\tfsmonitor = x\n";
    project.write(".git/config", evil);
    project.write(".git/HEAD", "x");
    let before = project.git();
    project.write(".git/commondir", "../evil");
    project.write("new/.git/config", evil);
    project.write("new/.git/hooks/pre-commit", "x");
    project.write("new/.git/hooks/pre-push.sample", "x");
    project.write("fine/.git/config", "[core]\n\tbare = false\n");
    project.write("bare/HEAD", "x");
    project.write("bare/objects/x", "x");
    project.write("bare/config", evil);
    // A file system may be case-insensitive.
    project.write("other/.GIT/config", evil);
    assert_eq!(project.git().disable_new(&before).len(), 5);
    for there in [".git/config", "fine/.git/config", "new/.git/hooks/pre-push.sample"] {
        assert!(project.has(there), "{there}");
    }
    for gone in [".git/commondir", "new/.git/config", "bare/config", "new/.git/hooks/pre-commit"] {
        assert!(!project.has(gone) && project.has(&format!("{gone}.not-trusted")), "{gone}");
    }
    assert_eq!(project.git().disable_new(&before), Vec::<String>::new());
}

#[test]
fn new_links_in_git_directories_are_renamed() {
    let project = Project::new();
    for directory in [".git/logs/refs/heads", ".git/refs/heads", ".git/objects"] {
        fs::create_dir_all(project.top.join(directory).as_std()).unwrap();
    }
    project.link(".git/refs/old");
    let before = project.git();
    let new = [".git/logs/HEAD", ".git/logs/refs/heads/main", ".git/FETCH_HEAD", ".git/refs/heads/x"];
    new.into_iter().chain([".git/config", ".git/objects/link"]).for_each(|name| project.link(name));
    assert_eq!(project.git().disable_new(&before).len(), new.len() + 1);
    assert!(new.into_iter().all(|name| !project.has(name)));
    assert!(project.has(".git/refs/old") && project.has(".git/objects/link"));
}

#[test]
fn what_is_behind_a_link_in_the_path_is_not_renamed() {
    let project = Project::new();
    let before = project.git();
    project.write("new/.git/config", "[core]\n\tfsmonitor = x\n");
    project.write("other/.git/config", "[core]\n\tfsmonitor = x\n");
    let now = project.git();
    // A command in the background exchanges the directory before the file is renamed.
    project.rename("new", "aside");
    std::os::unix::fs::symlink("other", project.top.join("new").as_std()).unwrap();
    now.disable_new(&before);
    assert!(project.has("aside/.git/config") && !project.has("other/.git/config"));
    assert!(project.has("other/.git/config.not-trusted"), "it is new itself");
}
