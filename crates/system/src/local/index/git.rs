//! The git directories in an index.

use super::listing::{Kind, Listing};
use crate::AbsPath;
use std::collections::BTreeSet;

/// The git directories at some time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::local) struct GitDirectories {
    pub(in crate::local) directories: BTreeSet<AbsPath>,
    /// Their configurations.
    pub(in crate::local) configs: BTreeSet<AbsPath>,
    /// The files that make git use another directory.
    pub(in crate::local) redirections: BTreeSet<AbsPath>,
    /// The symbolic links in places to which git writes.
    pub(in crate::local) links: BTreeSet<AbsPath>,
}

impl GitDirectories {
    pub(super) fn of<'a>(marked: impl Iterator<Item = (&'a AbsPath, &'a Listing)>) -> Self {
        let mut all = Self::default();
        for (path, listing) in marked {
            all.links.extend(listing.links.iter().map(|name| path.join(name)));
            if listing.kind == Kind::Git {
                let redirects = listing.controls.iter().any(|name| name == "commondir");
                all.redirections.extend(redirects.then(|| path.join("commondir")));
                all.configs.extend(listing.configs().map(|name| path.join(name)));
                all.directories.insert(path.clone());
            }
        }
        all
    }
}
