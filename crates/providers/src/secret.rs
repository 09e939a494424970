//! A string that is never shown.

use std::fmt;

/// A key. Its `Debug` prints nothing of it, there is no `Display`, and texts from servers are cleaned of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key; white space around it (a line end from a file or a shell) is dropped.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key, for the one header it goes into.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the key in a text. A placeholder is left: it would be found in the middle of words.
    pub(crate) fn redact(&self, text: &str) -> String {
        if system::is_secret_value(&self.0) { text.replace(&self.0, "[key]") } else { text.to_owned() }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
