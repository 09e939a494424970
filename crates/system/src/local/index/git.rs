//! Neutralises what confined commands left behind that git would execute. Existing git directories
//! are protected by mounts; this module handles those that are new, for which there was nothing to
//! mount. It runs after each command.

use super::listing::{Kind, Listing};
use crate::AbsPath;
use crate::local::controls;
use crate::local::entry::EntryHandle;
use crate::local::files::rename_to_free_name;
use rustix::fs::AtFlags;
use std::collections::BTreeSet;
use std::io::ErrorKind;

/// The git directories at some time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::local) struct GitDirectories {
    directories: BTreeSet<AbsPath>,
    /// The files that make git use another directory.
    redirections: BTreeSet<AbsPath>,
    /// The symbolic links in places to which git writes.
    links: BTreeSet<AbsPath>,
}

impl GitDirectories {
    pub(super) fn of<'a>(marked: impl Iterator<Item = (&'a AbsPath, &'a Listing)>) -> Self {
        let mut all = Self::default();
        for (path, listing) in marked {
            all.links.extend(listing.links.iter().map(|name| path.join(name)));
            if listing.kind == Kind::Git {
                let redirects = listing.controls.iter().any(|name| name == "commondir");
                all.redirections.extend(redirects.then(|| path.join("commondir")));
                all.directories.insert(path.clone());
            }
        }
        all
    }

    /// Renames what is new since `before` and would make git execute something. Returns a line for
    /// each.
    pub(in crate::local) fn disable_new(&self, before: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for commondir in self.redirections.difference(&before.redirections) {
            if !is_worktree_commondir(commondir) {
                lines.extend(set_aside(commondir, "it makes git use another directory"));
            }
        }
        for link in self.links.difference(&before.links) {
            lines.extend(set_aside(link, "git would write to where it leads"));
        }
        for directory in self.directories.difference(&before.directories) {
            let config = directory.join("config");
            if config.as_std().symlink_metadata().is_ok()
                && controls::read(&config).is_none_or(|text| !controls::all_harmless(&text))
            {
                lines.extend(set_aside(&config, "it may name programs that git would run"));
            }
            let hooks = directory.join("hooks");
            for entry in std::fs::read_dir(hooks.as_std()).into_iter().flatten().flatten() {
                // Git executes only hooks without an extension.
                let hook = entry.file_name().into_string().map(|name| hooks.join(name));
                if let Some(hook) = hook.ok().filter(|hook| hook.as_std().extension().is_none()) {
                    lines.extend(set_aside(&hook, "git would run it"));
                }
            }
        }
        lines
    }
}

/// Returns whether a `commondir` file links a worktree's git directory to the one that contains it.
fn is_worktree_commondir(commondir: &AbsPath) -> bool {
    let above = commondir.parent().and_then(|directory| directory.parent());
    let is_place = above.is_some_and(|above| above.file_name() == Some("worktrees"));
    is_place && controls::read(commondir).is_some_and(|text| text.trim_end() == "../..")
}

/// The maximum number of names that are tried.
const NAMES: usize = 100;

/// Renames a file so that git does not find it. Returns a line that says so; `None` if it is gone.
///
/// A command in the background may exchange a directory of the path for a link, which is not
/// followed.
fn set_aside(path: &AbsPath, why: &str) -> Option<String> {
    let failed = |error: String| Some(format!("{path} could not be renamed, but should be: {why} ({error})"));
    let entry = match EntryHandle::open(path, false) {
        Ok(entry) => entry,
        Err(error) if error.is_not_found() => return None,
        Err(error) => return failed(error.to_string()),
    };
    for number in 0..NAMES {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let name = format!("{}.not-trusted{suffix}", entry.name);
        match rename_to_free_name(&entry.directory, &entry.name, &entry.directory, &name) {
            Ok(()) => return Some(format!("{path} was renamed to {}/{name}: {why}", path.parent()?)),
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return failed(error.to_string()),
        }
    }
    match rustix::fs::unlinkat(&entry.directory, &entry.name, AtFlags::empty()) {
        Ok(()) => Some(format!("{path} was removed: {why}")),
        Err(error) => failed(error.to_string()),
    }
}
