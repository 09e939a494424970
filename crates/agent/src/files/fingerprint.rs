//! Hashes of texts, by which texts are compared without being kept.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The hash of a text. It ignores the kind of line ending, because editors show `\n` for files that
/// contain `\r\n`, and line endings at the end of the text, because some editors omit them when a
/// range is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Returns the hash of a text.
    pub fn of(text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for line in text.trim_end_matches(['\n', '\r']).split('\n') {
            hasher.update(line.strip_suffix('\r').unwrap_or(line).as_bytes());
            hasher.update(b"\n");
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(hash)
    }
}

/// Locks a record, also after a panic of another holder.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
