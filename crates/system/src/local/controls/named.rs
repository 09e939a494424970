//! Finds what git's configuration names inside of a project. It may change with each command of git
//! that the user agrees to, so it is compared before each command.

use super::config::Config;
use super::small_file::read;
use crate::local::entry::resolve;
use crate::local::sandbox::git_directory;
use crate::{AbsPath, FileStamp, GitNames};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::sync::Arc;

/// Sections whose values are addresses and references.
const ADDRESSES: [&str; 4] = ["branch", "remote", "submodule", "url"];
/// Maximum depth of included configurations.
const DEPTH: u8 = 5;
/// Maximum number of files and directories that are found in a project.
const NAMES: usize = 64;

/// Maximum number of files and directories that are remembered.
const KNOWN: usize = 4096;

/// The content of files and directories, with the stamps that they had before they were read.
type Stamped<T> = HashMap<AbsPath, (FileStamp, Arc<Vec<T>>)>;

/// What was read before.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The section, the name and the value of each setting of a configuration.
    settings: Stamped<[String; 3]>,
    /// The targets of the links in a directory.
    targets: Stamped<AbsPath>,
}

/// Returns what was read before, or reads it if it has changed.
fn remembered<T>(known: &mut Stamped<T>, path: &AbsPath, read: impl FnOnce() -> Vec<T>) -> Arc<Vec<T>> {
    let stamp = FileStamp::of(path);
    if let Some((before, value)) = known.get(path)
        && *before == stamp
    {
        return Arc::clone(value);
    }
    if known.len() >= KNOWN {
        known.clear();
    }
    let value = Arc::new(read());
    match stamp.is_settled() {
        true => known.insert(path.clone(), (stamp, Arc::clone(&value))),
        false => known.remove(path),
    };
    value
}

/// Returns what the configurations of the repositories at `roots` and around `directories`, and
/// those of the user in `home`, name below the roots.
pub(super) fn named(
    roots: &[AbsPath],
    directories: &[AbsPath],
    home: Option<&AbsPath>,
    known: &mut Known,
) -> GitNames {
    let mut found = Found { roots, home, known, folders: BTreeSet::new(), files: BTreeSet::new() };
    let repositories: BTreeSet<_> = roots.iter().chain(directories).filter_map(repository).collect();
    for (top, git) in repositories {
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
    known: &'a mut Known,
    folders: BTreeSet<AbsPath>,
    files: BTreeSet<AbsPath>,
}

impl Found<'_> {
    /// Adds what a configuration names. A value may be a path or a command. Its words with a slash
    /// are taken for paths: shells look up the others elsewhere.
    fn read(&mut self, top: &AbsPath, config: &AbsPath, depth: u8) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let settings = remembered(&mut self.known.settings, config, || {
            let parsed = read(config).and_then(|text| Config::parse(&text));
            let owned =
                |(section, name, value): (&str, &str, &str)| [section, name, value].map(str::to_owned);
            parsed.iter().flat_map(Config::values).map(owned).collect::<Vec<_>>()
        });
        for [section, name, value] in settings.iter() {
            let (section, name) = (section.as_str(), name.as_str());
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
        let targets = remembered(&mut self.known.targets, hooks, || {
            let entries = fs::read_dir(hooks.as_std()).into_iter().flatten().flatten().take(NAMES);
            let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            links.filter_map(|link| resolve(&AbsPath::from_os(&link.path()).ok()?).ok()).collect::<Vec<_>>()
        });
        targets.iter().for_each(|target| self.add(target));
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
        let mut known = Known::default();
        let mut named =
            |directories: &[AbsPath], home| named(std::slice::from_ref(&root), directories, home, &mut known);
        assert_eq!(named(&[], Some(&home)), GitNames::default());
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
        let found = named(&[], Some(&home));
        assert_eq!(found.folders, [root.join(".githooks")]);
        let tools = ["clean", "diff", "linked", "missing", "monitor", "pager"]
            .map(|name| root.join("tools").join(name));
        assert_eq!(found.files, [&[root.join(".gitsettings")][..], &tools].concat());
        assert!(found.has(&root.join(".githooks/pre-commit")) && !found.has(&root.join("tools/unnamed")));
        // Neither the project itself nor a place outside of it is a folder of hooks.
        write(&root.join(".git/config"), "[core]\n\thooksPath = .\n\thooksPath = ../hooks\n");
        assert_eq!(named(&[], None).folders, Vec::<AbsPath>::new());
        // A repository in the project has names too.
        write(&root.join("sub/.git/HEAD"), "x");
        write(&root.join("sub/.git/config"), "[core]\n\thooksPath = .husky/_\n");
        let found = named(&[root.join("sub/src")], None);
        assert_eq!(found.folders, [root.join("sub/.husky/_")]);
    }
}
