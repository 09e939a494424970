//! A string that must never be displayed.

use std::{
    collections::BTreeSet,
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Mutex, PoisonError},
};

/// Hashes of the keys that were refused last. A key is the same in all sessions of a process, and
/// stays the same when settings are read again.
static REFUSED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

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

    /// Notes whether the provider accepted the key with the last request.
    pub(crate) fn note(&self, accepted: bool) {
        let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        match accepted {
            true => refused.remove(&self.hash()),
            false => refused.insert(self.hash()),
        };
    }

    /// Returns whether the provider refused the key with the last request.
    pub(crate) fn is_refused(&self) -> bool {
        REFUSED.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.hash())
    }

    /// Returns whether the provider refused the first key with the last request, and not the spare
    /// one.
    pub(crate) fn wants_spare(first: Option<&Self>, spare: Option<&Self>) -> bool {
        first.is_some_and(Self::is_refused) && spare.is_some_and(|spare| !spare.is_refused())
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
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
