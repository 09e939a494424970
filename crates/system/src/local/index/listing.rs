//! The contents of one directory.

use crate::path::text_of;
use crate::{AbsPath, Folded, Sandbox};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;

/// How deep the directories of submodules are searched for; their names may contain slashes.
const MODULE_DEPTH: u8 = 6;
/// The files of a git directory that control what git executes.
const CONTROLS: [&str; 5] = ["config", "config.worktree", "hooks", "commondir", "gitdir"];
/// Those of them that are in the format of git's configuration.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];
/// Those of them that must not be created in a git directory that lacks them.
const RESERVED: [&str; 3] = ["config.worktree", "commondir", "hooks"];
/// The directories of a git directory in which others of submodules and worktrees are.
const HOLDERS: [&str; 2] = ["modules", "worktrees"];
/// The directories of a git directory to whose files git writes.
const WRITTEN: [&str; 2] = ["logs", "refs"];

/// What a directory is, by its place and by what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory that commands can write to, as the view names it.
    Root,
    Plain,
    /// A git directory.
    Git,
    /// A directory for git directories, at this depth.
    Holder(u8),
    /// A directory with references or their logs.
    Written,
}

/// The contents of a directory, as of its change time.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    /// The change time, or a value that never matches.
    pub(super) changed: (i64, i64),
    /// What the directory is by its place alone.
    pub(super) came_as: Kind,
    pub(super) kind: Kind,
    directories: Vec<String>,
    pub(super) secrets: Vec<String>,
    /// What controls the programs that others execute.
    pub(super) controls: Vec<String>,
    /// Unix sockets.
    pub(super) sockets: Vec<String>,
    /// Symbolic links in a place to which git writes.
    pub(super) links: Vec<String>,
    /// The number of other files.
    files: usize,
}

impl Listing {
    /// Reads a directory. One that does not exist is empty.
    ///
    /// # Errors
    /// If the user may not list it.
    pub(super) fn read(
        sandbox: &Sandbox,
        path: &AbsPath,
        came_as: Kind,
        changed: (i64, i64),
    ) -> io::Result<Self> {
        let entries = match std::fs::read_dir(path.as_std()) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(error),
            read => read,
        };
        let mut listing = Self {
            changed,
            came_as,
            kind: came_as,
            directories: Vec::new(),
            secrets: Vec::new(),
            controls: Vec::new(),
            sockets: Vec::new(),
            links: Vec::new(),
            files: 0,
        };
        let mut names = Vec::new();
        for entry in entries.into_iter().flatten().flatten() {
            if let Ok(kind) = entry.file_type() {
                names.push((text_of(&entry.file_name()), kind));
            }
        }
        listing.kind = listing.kind_of(path, &names);
        let is_git = listing.kind == Kind::Git;
        for (name, kind) in names {
            if is_git && CONTROLS.iter().any(|control| name.eq_ignore_ascii_case(control)) {
                listing.controls.push(name.clone());
            }
            if kind.is_dir() {
                listing.directories.push(name);
            } else if kind.is_socket() {
                listing.sockets.push(name);
            } else if kind.is_symlink() && (is_git || listing.kind == Kind::Written) {
                listing.links.push(name);
            } else if is_git || listing.kind == Kind::Written {
                // Git's own files are no secrets.
            } else if kind.is_file() && sandbox.is_secret(&path.join(&name)) {
                listing.secrets.push(name);
            } else if is_git_name(&name) {
                // That of a worktree or a submodule contains the path of its git directory.
                listing.controls.push(name);
            } else if kind.is_file() {
                listing.files += 1;
            }
        }
        Ok(listing)
    }

    fn kind_of(&self, path: &AbsPath, names: &[(String, std::fs::FileType)]) -> Kind {
        // A file system may be case-insensitive.
        let has = |wanted: &str| names.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let looks_like_git = || {
            has("HEAD") && (has("objects") || has("commondir"))
                || has("config") && has("objects") && has("refs")
        };
        match self.came_as {
            Kind::Root if path.file_name().is_some_and(is_git_name) || looks_like_git() => Kind::Git,
            Kind::Root => Kind::Plain,
            Kind::Plain if looks_like_git() => Kind::Git,
            // One of them is sufficient: the others may have been removed as a disguise.
            Kind::Holder(_) if has("HEAD") || CONTROLS.iter().any(|name| has(name)) => Kind::Git,
            kind => kind,
        }
    }

    /// Returns the directories below this one that are of interest.
    pub(super) fn below(&self, path: &AbsPath) -> impl Iterator<Item = (AbsPath, Kind)> {
        let kind = self.kind;
        let kinds = self.directories.iter().filter_map(move |name| {
            let kind = match kind {
                Kind::Root | Kind::Plain if is_git_name(name) => Kind::Git,
                Kind::Root | Kind::Plain => Kind::Plain,
                Kind::Git if HOLDERS.contains(&name.as_str()) => Kind::Holder(0),
                Kind::Git if WRITTEN.contains(&name.as_str()) => Kind::Written,
                Kind::Git => return None,
                Kind::Holder(depth) if depth < MODULE_DEPTH => Kind::Holder(depth + 1),
                Kind::Holder(_) => return None,
                Kind::Written => Kind::Written,
            };
            Some((path.join(name), kind))
        });
        kinds.collect::<Vec<_>>().into_iter()
    }

    /// Returns the names in a git directory that do not exist and would control it.
    pub(super) fn missing(&self) -> impl Iterator<Item = &'static str> {
        let missing = |name: &&str| self.kind == Kind::Git && !self.controls.iter().any(|held| held == name);
        RESERVED.into_iter().filter(missing)
    }

    /// Returns the names of the configurations in a git directory.
    pub(super) fn configs(&self) -> impl Iterator<Item = &String> {
        // A file system may be case-insensitive.
        let is_config = |name: &&String| CONFIGS.iter().any(|config| name.eq_ignore_ascii_case(config));
        self.controls.iter().filter(is_config)
    }

    /// Whether anything in it is found.
    pub(super) fn is_marked(&self) -> bool {
        self.kind == Kind::Git
            || [&self.secrets, &self.controls, &self.links, &self.sockets]
                .iter()
                .any(|names| !names.is_empty())
    }

    pub(super) fn entries(&self) -> usize {
        self.directories.len() + self.files + self.secrets.len()
    }
}

/// Returns whether some file system treats a name as `.git`.
pub(super) fn is_git_name(name: &str) -> bool {
    Folded::of(name).matches(".git")
}
