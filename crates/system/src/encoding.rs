//! The encodings of text files.

use std::fmt;

/// The encoding of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextEncoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-16 little endian, with a byte-order mark.
    Utf16Le,
    /// UTF-16 big endian, with a byte-order mark.
    Utf16Be,
    /// Windows-1252, a superset of the printable part of ISO 8859-1 (Latin-1).
    Windows1252,
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16 (little endian)",
            Self::Utf16Be => "UTF-16 (big endian)",
            Self::Windows1252 => "Windows-1252 (Latin-1)",
        })
    }
}
