//! The SHA-256 of a secret, which is what is stored of it.

use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::{Choice, ConstantTimeEq};

/// The SHA-256 of a secret. Two are compared in constant time.
#[derive(Clone, Copy)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of a secret.
    pub fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns its stored form: 64 hexadecimal digits, as `sha256sum` prints them.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads the stored form; `None` if the text is something else.
    pub fn from_hex(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        let digit = |byte: u8| (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// Returns the bytes, as a key of a map.
    pub fn bytes(self) -> [u8; 32] {
        self.0
    }
}

impl ConstantTimeEq for Digest {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for Digest {}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_the_stored_form_of_sha256sum() {
        let digest = Digest::of(b"abc");
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_hex(), hex);
        assert_eq!(Digest::from_hex(hex), Some(digest));
        assert_ne!(Digest::of(b"abd"), digest);
        for bad in ["", "ba78", &hex.replace('b', "g"), &format!("{hex}00"), &"é".repeat(32)] {
            assert_eq!(Digest::from_hex(bad), None, "{bad}");
        }
        assert_eq!(format!("{digest:?}"), "Digest(..)");
    }
}
