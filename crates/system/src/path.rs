//! Absolute paths without access to the file system.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use std::fmt;

/// An absolute, lexically normalised UTF-8 path: no `.`, no `..`, no doubled or trailing slash.
///
/// It never accesses the file system: links are not resolved here (see [`crate::System::resolve`]),
/// and there is no current directory that a path could be relative to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsPath(Utf8PathBuf);

/// Why a string is not an [`AbsPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is relative.
    #[error("path is not absolute: {0}")]
    Relative(String),
    /// The path is not valid UTF-8; shown lossily.
    #[error("path is not UTF-8: {0}")]
    NotUtf8(String),
    /// The path is empty or contains a NUL byte.
    #[error("path is empty or contains a NUL byte: {0:?}")]
    Malformed(String),
}

impl AbsPath {
    /// Creates a path from an absolute one and normalises it lexically: `/a/./b/../c` becomes
    /// `/a/c`, and `..` at the root stays at the root.
    ///
    /// # Errors
    /// If the path is relative, empty or contains a NUL byte.
    pub fn new(path: impl AsRef<str>) -> Result<Self, PathError> {
        let path = path.as_ref();
        if path.is_empty() || path.contains('\0') {
            return Err(PathError::Malformed(path.to_owned()));
        }
        if !Utf8Path::new(path).is_absolute() {
            return Err(PathError::Relative(path.to_owned()));
        }
        Ok(Self(normalise(Utf8Path::new(path))))
    }

    /// Creates a path from an OS path.
    ///
    /// # Errors
    /// As for [`AbsPath::new`], and if the path is not UTF-8.
    pub fn from_os(path: &std::path::Path) -> Result<Self, PathError> {
        let text = path.to_str().ok_or_else(|| PathError::NotUtf8(path.to_string_lossy().into_owned()))?;
        Self::new(text)
    }

    /// Joins a relative path, or returns an absolute one as it is; the result is normalised.
    pub fn join(&self, path: impl AsRef<str>) -> Self {
        Self(normalise(&self.0.join(path.as_ref())))
    }

    /// Returns the path as a string.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the path as a [`std::path::Path`].
    pub fn as_std(&self) -> &std::path::Path {
        self.0.as_std_path()
    }

    /// Returns the parent directory, or `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(|parent| Self(parent.to_owned()))
    }

    /// Returns the last component, or `None` at the root.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file_name()
    }

    /// Returns whether this path is `base` or lies below it. Compares whole components:
    /// `/work-evil` is not below `/work`.
    pub fn starts_with(&self, base: &Self) -> bool {
        self.0.starts_with(&base.0)
    }

    /// Returns this path relative to `base`, or `None` if it does not lie below it. For `base`
    /// itself this is `""`.
    pub fn relative_to(&self, base: &Self) -> Option<&str> {
        self.0.strip_prefix(&base.0).ok().map(Utf8Path::as_str)
    }
}

fn normalise(path: &Utf8Path) -> Utf8PathBuf {
    let mut out = Utf8PathBuf::with_capacity(path.as_str().len());
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                out.pop();
            }
            other => out.push(other.as_str()),
        }
    }
    out
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_lexically_and_compared_by_component() {
        for (given, expected) in [
            ("/a/./b/../c", "/a/c"),
            ("/a//b/", "/a/b"),
            ("/..", "/"),
            ("/../../etc", "/etc"),
            ("/", "/"),
            ("/a/ b", "/a/ b"),
        ] {
            assert_eq!(AbsPath::new(given).unwrap().as_str(), expected, "{given}");
        }
        let work = AbsPath::new("/work").unwrap();
        assert!(!AbsPath::new("/work-evil/x").unwrap().starts_with(&work));
        assert!(work.join("a/../b").starts_with(&work));
        assert!(!work.join("../etc").starts_with(&work));
        assert_eq!(work.join("a/b").relative_to(&work), Some("a/b"));
        assert_eq!(work.join("/etc/hosts").as_str(), "/etc/hosts");
    }

    #[test]
    fn relative_paths_are_refused() {
        assert_eq!(AbsPath::new("a/b"), Err(PathError::Relative("a/b".into())));
        assert_eq!(AbsPath::new(""), Err(PathError::Malformed(String::new())));
        assert_eq!(AbsPath::new("/a\0b"), Err(PathError::Malformed("/a\0b".into())));
    }
}
