//! Neutralises what confined commands left behind that git would execute. What was in a git
//! directory is protected by mounts; this module handles what is new, for which there was nothing
//! to mount. It runs while a command runs and after it.

use super::aside::{Aside, set_aside};
use super::controls;
use super::entry::EntryHandle;
use super::index::GitDirectories;
use super::modes::Opened;
use crate::AbsPath;
use rustix::io::Errno;

/// Renames what is new since `before` and would make git execute something, and removes new links
/// through which git would write. Returns a line for each.
pub(super) fn disable_new(now: &GitDirectories, before: &GitDirectories) -> Vec<String> {
    let mut lines = Vec::new();
    for commondir in now.redirections.difference(&before.redirections) {
        let _opened = Opened::along(commondir);
        if !is_worktree_commondir(commondir) {
            lines.extend(disable(commondir, "it makes git use another directory"));
        }
    }
    for link in now.links.difference(&before.links) {
        let _opened = Opened::along(link);
        lines.extend(remove_link(link));
    }
    for config in now.configs.difference(&before.configs) {
        let _opened = Opened::along(config);
        if controls::read(config).is_none_or(|text| !controls::all_harmless(&text)) {
            lines.extend(disable(config, "it may name programs that git would run"));
        }
    }
    for directory in now.directories.difference(&before.directories) {
        let hooks = directory.join("hooks");
        let _opened = Opened::along(&hooks);
        for entry in std::fs::read_dir(hooks.as_std()).into_iter().flatten().flatten() {
            // Git executes only hooks without an extension.
            let hook = hooks.join_os(&entry.file_name());
            if hook.as_std().extension().is_none() {
                lines.extend(disable(&hook, "git would run it"));
            }
        }
    }
    lines
}

/// Returns whether a `commondir` file links a worktree's git directory to the one that contains it.
fn is_worktree_commondir(commondir: &AbsPath) -> bool {
    let above = commondir.parent().and_then(|directory| directory.parent());
    let is_place = above.is_some_and(|above| above.file_name() == Some("worktrees"));
    is_place && controls::read(commondir).is_some_and(|text| text.trim_end() == "../..")
}

/// Disables a file that git would find. Returns a line that says so; `None` if it is gone.
fn disable(path: &AbsPath, why: &str) -> Option<String> {
    match set_aside(path) {
        Ok(Aside::Renamed(name)) => Some(format!("{path} was renamed to {name}: {why}")),
        Ok(Aside::Removed) => Some(format!("{path} was removed: {why}")),
        Ok(Aside::Gone) => None,
        Err(error) => Some(format!("{path} could not be renamed, but should be: {why} ({error})")),
    }
}

/// Removes a link. With another name it would be the link of a branch with that name. Returns a
/// line that says where it led; `None` if it is gone.
fn remove_link(path: &AbsPath) -> Option<String> {
    let removed = EntryHandle::open(path, false).map_err(|error| error.to_string()).and_then(|entry| {
        match rustix::fs::readlinkat(&entry.directory, &entry.name, Vec::new()) {
            Ok(target) => entry.remove().map(|()| Some(target)).map_err(|error| error.to_string()),
            // Another file has replaced it.
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    });
    match removed {
        Ok(Some(target)) => {
            let target = String::from_utf8_lossy(target.as_bytes()).into_owned();
            Some(format!("{path} was removed: it led to {target}, and git would write there"))
        }
        Ok(None) => None,
        Err(error) => Some(format!(
            "{path} could not be removed, but should be: git would write to where it leads ({error})"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::index::testing::Project;
    use std::fs;

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
        assert_eq!(disable_new(&project.git(), &before).len(), 5);
        for there in [".git/config", "fine/.git/config", "new/.git/hooks/pre-push.sample"] {
            assert!(project.has(there), "{there}");
        }
        for gone in [".git/commondir", "new/.git/config", "bare/config", "new/.git/hooks/pre-commit"] {
            assert!(!project.has(gone) && project.has(&format!("{gone}.not-trusted")), "{gone}");
        }
        let before = project.git();
        assert_eq!(disable_new(&before, &before), Vec::<String>::new());
        // That of a directory that was disabled is disabled again.
        project.write("bare/config", evil);
        project.write("new/.git/config.worktree", evil);
        assert_eq!(disable_new(&project.git(), &before).len(), 2);
    }

    #[test]
    fn new_links_in_git_directories_are_removed() {
        let project = Project::new();
        for directory in [".git/logs/refs/heads", ".git/refs/heads", ".git/objects"] {
            fs::create_dir_all(project.top.join(directory).as_std()).unwrap();
        }
        project.link(".git/refs/old");
        let before = project.git();
        let new = [".git/logs/HEAD", ".git/logs/refs/heads/main", ".git/FETCH_HEAD", ".git/refs/heads/x"];
        new.into_iter().chain([".git/config", ".git/objects/link"]).for_each(|name| project.link(name));
        assert_eq!(disable_new(&project.git(), &before).len(), new.len() + 1);
        assert!(new.into_iter().all(|name| !project.has(name)));
        assert!(!project.git().links.iter().any(|link| link.as_str().contains("not-trusted")));
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
        disable_new(&now, &before);
        assert!(project.has("aside/.git/config") && !project.has("other/.git/config"));
        assert!(project.has("other/.git/config.not-trusted"), "it is new itself");
    }
}
