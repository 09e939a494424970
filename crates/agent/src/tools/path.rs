//! Paths in the arguments of tool calls.

use crate::text::file_uri::file_uri_path;
use std::fmt;
use system::AbsPath;

/// A path as the model wrote it: absolute, relative to the session's directory, or a `file://` URI.
/// `~` is not expanded.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct GivenPath(String);

impl GivenPath {
    /// Resolves the path against a session's directory.
    pub(super) fn at(&self, cwd: &AbsPath) -> AbsPath {
        cwd.join(&self.0)
    }

    /// Returns the text, to replace it.
    pub(super) fn text(&mut self) -> &mut String {
        &mut self.0
    }

    /// Returns the path without git's prefix `a/` or `b/` for the sides of a diff; `None` if it has
    /// none.
    pub(super) fn without_git_prefix(&self) -> Option<Self> {
        let rest = self.0.strip_prefix("a/").or_else(|| self.0.strip_prefix("b/"))?;
        Self::try_from(rest.to_owned()).ok()
    }
}

impl fmt::Display for GivenPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for GivenPath {
    type Error = String;

    fn try_from(given: String) -> Result<Self, String> {
        let path = if given.starts_with("file://") {
            file_uri_path(&given).ok_or_else(|| format!("not a file URI of this machine: {given}"))?
        } else {
            given
        };
        if path.trim().is_empty() {
            return Err("path cannot be empty".to_owned());
        }
        if path.contains('\0') {
            return Err(format!("path holds a NUL byte: {path:?}"));
        }
        Ok(Self(path))
    }
}

/// Deserializes an optional path: `null` and blank strings are `None`.
pub(super) fn optional<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<GivenPath>, D::Error> {
    let given = super::args::optional(from)?;
    given.map(GivenPath::try_from).transpose().map_err(serde::de::Error::custom)
}

pub(super) use crate::tool::titles::path_title as shown;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn understands_what_models_write() {
        let cwd = AbsPath::new("/w").unwrap();
        for (given, expected) in [
            ("a.txt", Some("/w/a.txt")),
            ("./a/../b", Some("/w/b")),
            ("../x", Some("/x")),
            ("/etc/hosts", Some("/etc/hosts")),
            ("~/x", Some("/w/~/x")),
            ("file:///w/a%20b", Some("/w/a b")),
            ("file://localhost/w/ü", Some("/w/ü")),
            ("file://elsewhere/x", None),
            ("file:///w/%zz", None),
            ("file:///w/%ü", None),
            ("file:///w/%00", None),
            ("", None),
            (" ", None),
        ] {
            let got = GivenPath::try_from(given.to_owned()).ok().map(|path| path.at(&cwd).to_string());
            assert_eq!(got.as_deref(), expected, "{given}");
        }
    }
}
