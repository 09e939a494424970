//! Absolute paths without access to the file system.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// An absolute, lexically normalised path: no `.`, no `..`, no doubled or trailing slash.
///
/// It never accesses the file system: links are not resolved here (see [`crate::System::resolve`]),
/// and there is no current directory that a path could be relative to.
///
/// Names of files are bytes. The text of a path has a character of a private use area for each byte
/// that is not part of UTF-8, U+F0080 to U+F00FF for 0x80 to 0xFF. There is one text for each path:
/// a name that has such a character itself is written byte by byte.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsPath {
    text: Utf8PathBuf,
    /// The path of the file, if its text is another one. Boxed, because there is rarely one.
    bytes: Option<Box<PathBuf>>,
}

/// The character for the byte 0 in the text of a path.
const FIRST: u32 = 0xF_0000;

/// The first byte of the UTF-8 of such characters. Most paths do not have it.
const MARK: u8 = 0xF3;

/// Returns the character for a byte that is not part of UTF-8.
fn character(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).expect("it is no surrogate")
}

/// Returns the byte that a character stands for in the text of a path.
fn byte(character: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

/// Returns the text for the name or the path of a file.
pub(crate) fn text_of(name: &OsStr) -> String {
    if let Some(text) = name.to_str().filter(|text| !text.as_bytes().contains(&MARK)) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        for valid in chunk.valid().chars() {
            match byte(valid) {
                None => text.push(valid),
                Some(_) => {
                    text.extend(valid.encode_utf8(&mut [0; 4]).bytes().map(character));
                }
            }
        }
        text.extend(chunk.invalid().iter().copied().map(character));
    }
    text
}

/// Returns the name or the path of a file with a text, if it differs from the text.
fn bytes_of(text: &str) -> Option<OsString> {
    if !text.as_bytes().contains(&MARK) || !text.chars().any(|character| byte(character).is_some()) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Some(OsString::from_vec(bytes))
}

/// Why a string is not an [`AbsPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is relative.
    #[error("path is not absolute: {0}")]
    Relative(String),
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
        Ok(Self::normalised(Utf8Path::new(path)))
    }

    /// Creates a path from an OS path.
    ///
    /// # Errors
    /// As for [`AbsPath::new`].
    pub fn from_os(path: &Path) -> Result<Self, PathError> {
        Self::new(text_of(path.as_os_str()))
    }

    fn normalised(path: &Utf8Path) -> Self {
        let text = normalise(path);
        match bytes_of(text.as_str()) {
            None => Self { text, bytes: None },
            Some(bytes) => {
                let bytes = PathBuf::from(bytes);
                // Another spelling of the same name, such as one of bytes that are UTF-8 together.
                let text = Utf8PathBuf::from(text_of(bytes.as_os_str()));
                let is_same = text.as_std_path() == bytes;
                Self { text, bytes: (!is_same).then(|| Box::new(bytes)) }
            }
        }
    }

    /// Joins a relative path, or returns an absolute one as it is; the result is normalised.
    pub fn join(&self, path: impl AsRef<str>) -> Self {
        Self::normalised(&self.text.join(path.as_ref()))
    }

    /// Joins the name of a file.
    pub(crate) fn join_os(&self, name: &OsStr) -> Self {
        self.join(text_of(name))
    }

    /// Returns the path as a string.
    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }

    /// Returns the path as a [`std::path::Path`].
    pub fn as_std(&self) -> &Path {
        self.bytes.as_ref().map_or(self.text.as_std_path(), |bytes| bytes.as_path())
    }

    /// Returns the parent directory, or `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let bytes = self.bytes.as_ref().and_then(|bytes| bytes.parent());
        let text = self.text.parent()?.to_owned();
        let bytes =
            bytes.filter(|bytes| *bytes != text.as_std_path()).map(|bytes| Box::new(bytes.to_owned()));
        Some(Self { text, bytes })
    }

    /// Returns the last component, or `None` at the root.
    pub fn file_name(&self) -> Option<&str> {
        self.text.file_name()
    }

    /// Returns whether this path is `base` or lies below it. Compares whole components:
    /// `/work-evil` is not below `/work`.
    pub fn starts_with(&self, base: &Self) -> bool {
        self.text.starts_with(&base.text)
    }

    /// Returns this path relative to `base`, or `None` if it does not lie below it. For `base`
    /// itself this is `""`.
    pub fn relative_to(&self, base: &Self) -> Option<&str> {
        self.text.strip_prefix(&base.text).ok().map(Utf8Path::as_str)
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
    fn each_path_of_bytes_has_one_text() {
        let os = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        for bytes in [
            "/a/é".as_bytes(),
            b"/a\xff/b",
            b"/\xc3\x28/x",
            "/\u{f00c3}\u{f00a9}".as_bytes(),
            "/\u{f0041}".as_bytes(),
        ] {
            let path = AbsPath::from_os(&os(bytes)).unwrap();
            assert_eq!(path.as_std(), os(bytes), "{path:?}");
            assert_eq!(AbsPath::new(path.as_str()), Ok(path.clone()));
            assert_eq!(path.parent().unwrap().as_std(), os(bytes).parent().unwrap());
            assert_eq!(path.parent().unwrap().join(path.file_name().unwrap()), path);
        }
        let spelled = AbsPath::new("/a/\u{f00c3}\u{f00a9}").unwrap();
        assert_eq!(spelled, AbsPath::new("/a/é").unwrap());
        // Only bytes over 0x7f have another spelling.
        assert_ne!(AbsPath::new("/\u{f002e}env").unwrap(), AbsPath::new("/.env").unwrap());
    }

    #[test]
    fn relative_paths_are_refused() {
        assert_eq!(AbsPath::new("a/b"), Err(PathError::Relative("a/b".into())));
        assert_eq!(AbsPath::new(""), Err(PathError::Malformed(String::new())));
        assert_eq!(AbsPath::new("/a\0b"), Err(PathError::Malformed("/a\0b".into())));
    }
}
