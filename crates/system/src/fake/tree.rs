//! The in-memory file tree.

use crate::{AbsPath, Entry, FileKind, Metadata, SystemError, resolve};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

/// An entry of the tree.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Directory,
    /// The content, and the number of the write that created it, which serves as a deterministic
    /// clock.
    File(Vec<u8>, u64),
    Link(String),
    Other,
}

/// All entries below the root, by full path without links.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<AbsPath, Node>,
    writes: u64,
}

impl Default for Tree {
    fn default() -> Self {
        let root = AbsPath::new("/").expect("the root is absolute");
        Self { nodes: BTreeMap::from([(root, Node::Directory)]), writes: 0 }
    }
}

impl Tree {
    /// Adds a node and its parent directories.
    pub(super) fn add(&mut self, path: &AbsPath, node: Node) -> Result<(), SystemError> {
        let place = self.place(path)?;
        if let Some(parent) = place.parent() {
            self.create_dir_all(&parent)?;
        }
        self.nodes.insert(place, node);
        Ok(())
    }

    pub(super) fn add_file(&mut self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.writes += 1;
        self.add(path, Node::File(bytes.to_vec(), self.writes))
    }

    pub(super) fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        resolve::resolve(path, |candidate| {
            Ok(match self.nodes.get(candidate) {
                Some(Node::Link(target)) => Some(target.clone()),
                _ => None,
            })
        })
        .map_err(|source| SystemError::from_io("resolve", path, source))
    }

    pub(super) fn file(&self, path: &AbsPath) -> Result<&[u8], SystemError> {
        match self.nodes.get(&self.resolve(path)?) {
            Some(Node::File(bytes, _)) => Ok(bytes),
            Some(Node::Directory) => Err(SystemError::IsDirectory(path.clone())),
            Some(Node::Other | Node::Link(_)) => Err(SystemError::NotRegular(path.clone())),
            None => Err(SystemError::NotFound(path.clone())),
        }
    }

    /// Replaces a file's content; the parent directory must exist.
    pub(super) fn write(&mut self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        match self.file(path) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        let target = self.resolve(path)?;
        self.expect_parent_of(&target)?;
        self.writes += 1;
        self.nodes.insert(target, Node::File(bytes.to_vec(), self.writes));
        Ok(())
    }

    pub(super) fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        let found = self.nodes.get(&self.resolve(path)?).or_else(|| self.nodes.get(path));
        let node = found.ok_or_else(|| SystemError::NotFound(path.clone()))?;
        let (size, modified) = match node {
            Node::File(bytes, write) => (bytes.len() as u64, Some(UNIX_EPOCH + Duration::from_secs(*write))),
            _ => (0, None),
        };
        Ok(Metadata { kind: kind(node), size, modified, id: None })
    }

    pub(super) fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        let directory = self.resolve(path)?;
        match self.nodes.get(&directory) {
            Some(Node::Directory) => Ok(self
                .below(&directory)
                .filter(|(child, _)| child.parent().as_ref() == Some(&directory))
                .filter_map(|(child, node)| {
                    Some(Entry { path: path.join(child.file_name()?), kind: kind(node) })
                })
                .collect()),
            _ => Err(SystemError::NotFound(path.clone())),
        }
    }

    pub(super) fn create_dir_all(&mut self, path: &AbsPath) -> Result<(), SystemError> {
        let directory = self.resolve(path)?;
        let mut missing = Vec::new();
        let mut at = Some(directory);
        while let Some(directory) = at {
            match self.nodes.get(&directory) {
                Some(Node::Directory) => break,
                None => {
                    at = directory.parent();
                    missing.push(directory);
                }
                Some(_) => {
                    let source = io::ErrorKind::AlreadyExists.into();
                    return Err(SystemError::from_io("create directory", &directory, source));
                }
            }
        }
        self.nodes.extend(missing.into_iter().map(|directory| (directory, Node::Directory)));
        Ok(())
    }

    /// Removes the entry itself: a link, not its target.
    pub(super) fn remove(&mut self, path: &AbsPath) -> Result<(), SystemError> {
        let place = self.place(path)?;
        if !self.nodes.contains_key(&place) {
            return Err(SystemError::NotFound(path.clone()));
        }
        self.nodes.retain(|at, _| !at.starts_with(&place));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        let (source, target) = (self.place(from)?, self.place(to)?);
        if !self.nodes.contains_key(&source) {
            return Err(SystemError::NotFound(from.clone()));
        }
        self.expect_parent_of(&target)?;
        if self.nodes.contains_key(&target) {
            return Err(SystemError::Exists(to.clone()));
        }
        let moved: Vec<_> = self.nodes.keys().filter(|at| at.starts_with(&source)).cloned().collect();
        for at in moved {
            let rest = at.relative_to(&source).expect("it was found below").to_owned();
            let node = self.nodes.remove(&at).expect("it was listed a moment ago");
            let new = if rest.is_empty() { target.clone() } else { target.join(rest) };
            self.nodes.insert(new, node);
        }
        Ok(())
    }

    /// Returns all entries below a directory, sorted by path.
    pub(super) fn below<'a>(
        &'a self,
        directory: &'a AbsPath,
    ) -> impl Iterator<Item = (&'a AbsPath, &'a Node)> {
        self.nodes.iter().filter(move |(at, _)| *at != directory && at.starts_with(directory))
    }

    /// Resolves the links in the parent of a path, but not the path itself.
    fn place(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path.clone()) };
        Ok(self.resolve(&parent)?.join(name))
    }

    fn expect_parent_of(&self, target: &AbsPath) -> Result<(), SystemError> {
        let directory = target.parent().and_then(|parent| self.nodes.get(&parent));
        if matches!(directory, Some(Node::Directory)) {
            Ok(())
        } else {
            Err(SystemError::NotFound(target.clone()))
        }
    }
}

pub(super) fn kind(node: &Node) -> FileKind {
    match node {
        Node::Directory => FileKind::Directory,
        Node::File(..) => FileKind::File,
        Node::Link(_) | Node::Other => FileKind::Other,
    }
}
