//! A string that must never be displayed.

use std::fmt;

/// An API key. `Debug` prints none of it, there is no `Display`, and texts from servers are
/// redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret. Trims surrounding white space, such as the line end from a file or a
    /// shell.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// Returns the key, for the header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the key in a text. A placeholder key is not replaced, since it
    /// would match parts of ordinary words.
    pub(crate) fn redact(&self, text: &str) -> String {
        if system::is_secret_value(&self.0) { text.replace(&self.0, "[key]") } else { text.to_owned() }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
