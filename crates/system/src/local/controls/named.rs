//! Finds what git's configuration names inside of a project. It may change with each command of git
//! that the user agrees to, so it is read before each command.

use super::config::Config;
use super::small_file::read;
use crate::local::entry::resolve;
use crate::local::sandbox::git_directory;
use crate::{AbsPath, GitNames};
use std::collections::BTreeSet;
use std::fs;

/// Sections whose values are addresses and references.
const ADDRESSES: [&str; 4] = ["branch", "remote", "submodule", "url"];
/// Maximum depth of included configurations.
const DEPTH: u8 = 5;
/// Maximum number of files and directories that are found in a project.
const NAMES: usize = 64;

/// Returns what the configurations of the repositories at `roots`, and those of the user in `home`,
/// name below the roots.
pub(in crate::local) fn named(roots: &[AbsPath], home: Option<&AbsPath>) -> GitNames {
    let mut found = Found { roots, home, folders: BTreeSet::new(), files: BTreeSet::new() };
    for root in roots {
        let Some((top, git)) = repository(root) else { continue };
        let own = ["config", "config.worktree"].map(|name| git.join(name));
        let users = [".gitconfig", ".config/git/config"].map(|name| {
            // Many users have a link to a file of their own.
            let real = fs::canonicalize(home?.join(name).as_std()).ok()?;
            AbsPath::from_os(&real).ok()
        });
        for config in own.into_iter().chain(users.into_iter().flatten()) {
            found.read(&top, &config, DEPTH);
        }
        found.targets(&git.join("hooks"));
        for folder in found.folders.clone() {
            found.targets(&folder);
        }
    }
    let Found { folders, files, .. } = found;
    // A folder has its files with it.
    let files = files.into_iter().filter(|file| !folders.iter().any(|folder| file.starts_with(folder)));
    GitNames { files: files.take(NAMES).collect(), folders: folders.into_iter().take(NAMES).collect() }
}

/// Returns the top directory of the repository of a root, and its git directory.
pub(super) fn repository(root: &AbsPath) -> Option<(AbsPath, AbsPath)> {
    let mut above = std::iter::successors(Some(root.clone()), AbsPath::parent);
    let top = above.find(|path| fs::symlink_metadata(path.join(".git").as_std()).is_ok())?;
    let git = match top.join(".git") {
        git if git.as_std().is_dir() => git,
        _ => git_directory(&top)?,
    };
    Some((top, git))
}

struct Found<'a> {
    roots: &'a [AbsPath],
    home: Option<&'a AbsPath>,
    folders: BTreeSet<AbsPath>,
    files: BTreeSet<AbsPath>,
}

impl Found<'_> {
    /// Adds what a configuration names. A value may be a path or a command. Its words with a slash
    /// are taken for paths: shells look up the others elsewhere.
    fn read(&mut self, top: &AbsPath, config: &AbsPath, depth: u8) {
        let (Some(depth), Some(parsed)) =
            (depth.checked_sub(1), read(config).and_then(|text| Config::parse(&text)))
        else {
            return;
        };
        for (section, name, value) in parsed.values() {
            if section == "core" && name == "hookspath" {
                let folder = self.path(top, value);
                // The whole project cannot be one.
                if self.is_inside(&folder) && !top.starts_with(&folder) && !self.roots.contains(&folder) {
                    self.folders.insert(folder);
                }
            } else if ["include", "includeif"].contains(&section) && name == "path" {
                let Some(directory) = config.parent() else { continue };
                let included = self.path(&directory, value);
                self.add(&included);
                self.read(top, &included, depth);
            } else if !ADDRESSES.contains(&section) && (section != "alias" || value.starts_with('!')) {
                for word in value.split([' ', '\t', '"', '\'', ';', '&', '|', '(', ')', '!', '=', '$']) {
                    if is_path(word) {
                        let file = self.path(top, word);
                        self.add(&file);
                    }
                }
            }
        }
    }

    /// Adds the targets of links in a directory of hooks. A branch may lack the target: whatever is
    /// created there becomes the hook.
    fn targets(&mut self, hooks: &AbsPath) {
        for entry in fs::read_dir(hooks.as_std()).into_iter().flatten().flatten().take(NAMES) {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink())
                && let Ok(link) = AbsPath::from_os(&entry.path())
                && let Ok(target) = resolve(&link)
            {
                self.add(&target);
            }
        }
    }

    fn path(&self, base: &AbsPath, value: &str) -> AbsPath {
        match (value.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(value),
        }
    }

    fn is_inside(&self, path: &AbsPath) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Adds a file, also one that does not exist.
    fn add(&mut self, path: &AbsPath) {
        let is_other = fs::symlink_metadata(path.as_std()).is_ok_and(|found| !found.is_file());
        if self.is_inside(path) && !is_in_git(path) && !is_other {
            self.files.insert(path.clone());
        }
    }
}

/// Returns whether a path leads into a directory `.git`.
pub(in crate::local) fn is_in_git(path: &AbsPath) -> bool {
    path.as_std().components().any(|part| part.as_os_str() == ".git")
}

/// Returns whether a word of a command is the path of a file: no format, address, pattern or
/// beginning of a path.
fn is_path(word: &str) -> bool {
    word.contains('/')
        && !word.ends_with('/')
        && !word.contains(['%', ':', '*', '?', '{', '}', '\\', '^', '@'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn hooks_included_files_and_programs_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let (root, home) = (top.join("w"), top.join("home"));
        let write = |path: &AbsPath, text: &str| {
            fs::create_dir_all(path.parent().unwrap().as_std()).unwrap();
            fs::write(path.as_std(), text).unwrap();
        };
        write(&root.join(".git/HEAD"), "x");
        assert_eq!(named(std::slice::from_ref(&root), Some(&home)), GitNames::default());
        let config = "[core]\n\thooksPath = .githooks\n\tfsmonitor = tools/monitor --x\n[include]\n\tpath = ../.gitsettings\n\
                      [filter \"f\"]\n\tclean = \"sh ./tools/clean %f\"\n[remote \"origin\"]\n\turl = ../other\n[alias]\n\tx = !unnamed\n\ty = !./tools/missing\n\tz = log tools/unnamed\n\tw = !f() { git switch -c feature/$1 origin/x@{1} --format=%h/%s; }; f\n";
        write(&root.join(".git/config"), config);
        write(&root.join(".gitsettings"), "[diff]\n\texternal = tools/diff\n");
        write(
            &home.join(".gitconfig"),
            &format!("[core]\n\thooksPath = ~/hooks\n\tpager = {root}/tools/pager\n"),
        );
        write(&root.join("unnamed"), "x");
        for name in ["monitor", "clean", "diff", "pager", "unnamed", "linked"] {
            write(&root.join("tools").join(name), "x");
        }
        fs::create_dir(root.join(".git/hooks").as_std()).unwrap();
        symlink("../../tools/linked", root.join(".git/hooks/pre-push").as_std()).unwrap();
        let found = named(std::slice::from_ref(&root), Some(&home));
        assert_eq!(found.folders, [root.join(".githooks")]);
        let tools = ["clean", "diff", "linked", "missing", "monitor", "pager"]
            .map(|name| root.join("tools").join(name));
        assert_eq!(found.files, [&[root.join(".gitsettings")][..], &tools].concat());
        assert!(found.has(&root.join(".githooks/pre-commit")) && !found.has(&root.join("tools/unnamed")));
        // Neither the project itself nor a place outside of it is a folder of hooks.
        write(&root.join(".git/config"), "[core]\n\thooksPath = .\n\thooksPath = ../hooks\n");
        assert_eq!(named(std::slice::from_ref(&root), None).folders, Vec::<AbsPath>::new());
    }
}
