//! The single files that editors and agents obey by themselves, such as `.envrc`. A mount over such
//! a file would keep git from replacing it: a checkout would leave the old one, and the next commit
//! would take the branch's change back. Therefore commands that the session waits for change the
//! file itself, and it is compared when they have ended. A version that a reference of the
//! repository had before the session's first command stays. Any other is renamed, the old one is
//! put back, and the user decides.

use super::findings::Findings;
use super::folders::{Content, Tree, content};
use super::shared_base::SharedBase;
use crate::local::aside::{Aside, set_aside};
use crate::local::entry::EntryHandle;
use crate::local::modes::Opened;
use crate::{AbsPath, ControlChange, ControlPlace, SystemError};
use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The files that commands change in place.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The versions of a file in the repository, by it and the directory for a session's copies.
    versions: HashMap<(AbsPath, AbsPath), Vec<Tree>>,
    /// The contents to compare with, while commands run.
    bases: HashMap<AbsPath, Weak<Base>>,
}

/// A file, with the content that it has if no command has changed it.
#[derive(Debug)]
pub(in crate::local) struct Base {
    path: AbsPath,
    versions: Vec<Tree>,
    content: Mutex<Option<Content>>,
    /// Keeps the content for commands of other processes.
    _record: Option<SharedBase>,
}

impl Files {
    /// Notes the versions of files, for a session that has its copies in `directory`.
    pub(super) fn learn(
        &mut self,
        directory: &AbsPath,
        files: impl IntoIterator<Item = (AbsPath, Vec<Tree>)>,
    ) {
        let files = files.into_iter().map(|(path, versions)| ((path, directory.clone()), versions));
        self.versions.extend(files);
    }

    /// Returns the content of files before a command, and the files that cannot be compared: those
    /// that are no small regular files with one name. Commands that run at the same time have the
    /// same.
    pub(super) fn bases(
        &mut self,
        paths: &[AbsPath],
        directory: &AbsPath,
        own: Option<&AbsPath>,
    ) -> (Vec<Arc<Base>>, Vec<AbsPath>) {
        let (mut bases, mut others) = (Vec::new(), Vec::new());
        self.bases.retain(|_, base| base.strong_count() > 0);
        for path in paths {
            if let Some(known) = self.bases.get(path).and_then(Weak::upgrade) {
                bases.push(known);
                continue;
            }
            let shared = own.and_then(|own| SharedBase::take(own, path).ok());
            let (record, content) = match shared {
                Some((record, content)) => (Some(record), content),
                None => (None, content(path)),
            };
            if content.is_none() && fs::symlink_metadata(path.as_std()).is_ok() {
                others.push(path.clone());
                continue;
            }
            let versions = self.versions.get(&(path.clone(), directory.clone())).cloned().unwrap_or_default();
            let base = Arc::new(Base {
                path: path.clone(),
                versions,
                content: Mutex::new(content),
                _record: record,
            });
            self.bases.insert(path.clone(), Arc::downgrade(&base));
            bases.push(base);
        }
        (bases, others)
    }

    /// Changes a file, and removes the one that was renamed.
    pub(super) fn carry_over(
        &mut self,
        aside: Option<&AbsPath>,
        path: &AbsPath,
        after: Option<Content>,
    ) -> Result<(), SystemError> {
        match &after {
            Some(after) => after.write_to(path)?,
            None => {
                let removed = EntryHandle::open(path, false)?.remove();
                removed.map_err(|error| SystemError::from_io("remove", path, error.into()))?;
            }
        }
        if let Some(aside) = aside.filter(|aside| content(aside) == after) {
            EntryHandle::open(aside, false)?.remove().ok();
        }
        if let Some(base) = self.bases.get(path).and_then(Weak::upgrade) {
            *base.content.lock().unwrap_or_else(PoisonError::into_inner) = after;
        }
        Ok(())
    }
}

impl Base {
    /// Compares the file with what it was. Returns a line if that cannot be put back.
    pub(super) fn compare(&self, directory: &AbsPath, findings: &mut Findings) -> Vec<String> {
        let path = &self.path;
        let _opened = Opened::along(path);
        let mut before = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = fs::symlink_metadata(path.as_std()).is_ok();
        let now = content(path);
        // Neither a link, nor below one, nor a directory, nor a large file.
        let is_plain = now.is_some() == is_there;
        if now == *before && is_plain {
            return Vec::new();
        }
        let has = |content: &Option<Content>| {
            let id = content.as_ref().map(Content::id);
            self.versions.iter().any(|tree| tree.get("").map(|version| version.id.as_str()) == id.as_deref())
        };
        // Content that no reference has would be lost.
        if is_plain && has(&now) && (before.is_none() || has(&before)) {
            *before = now;
            return Vec::new();
        }
        let mut lines = Vec::new();
        // A link in the path leads other programs to another file.
        let above = std::iter::successors(path.parent(), AbsPath::parent);
        let is_link =
            |path: &AbsPath| fs::symlink_metadata(path.as_std()).is_ok_and(|found| found.is_symlink());
        let link = above.filter(is_link).last();
        let aside = match set_aside(link.as_ref().unwrap_or(path)) {
            Ok(Aside::Renamed(aside)) => Some(aside),
            Ok(Aside::Removed | Aside::Gone) => None,
            Err(error) => {
                return vec![format!("a command changed {path}, which could not be renamed: {error}")];
            }
        };
        if let Some(before) = before.as_ref()
            && let Err(error) = before.write_to(path)
        {
            lines.push(format!("{path} could not be put back: {error}"));
        }
        if is_plain {
            let key = (path, &now, &*before);
            findings.add(directory, key, || ControlChange {
                path: path.clone(),
                settings: Vec::new(),
                before: before.as_ref().map(|content| content.bytes.clone()),
                executable: now.as_ref().is_some_and(Content::is_executable),
                after: now.as_ref().map(|content| content.bytes.clone()),
                place: ControlPlace::Aside(aside),
            });
        } else if let Some(aside) = aside {
            lines.push(format!(
                "{path} was renamed to {aside}: other programs obey such a file automatically"
            ));
        }
        lines
    }
}
