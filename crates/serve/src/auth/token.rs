//! A static token: `tlr_` and 256 random bits.

use super::{Digest, limits::SECRET_BYTES};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use std::fmt;

/// The prefix of every token, by which scanners for leaked secrets recognise it.
const PREFIX: &str = "tlr_";

/// A static token. Its value is shown once, when it is created; only its digest is stored.
#[derive(Clone)]
pub struct Token(String);

/// A text that is not a token. The text is not in the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token: a token is `tlr_` and 43 characters of the URL-safe base64 alphabet")]
pub struct NotAToken;

impl Token {
    /// Makes a new token.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub fn generate() -> Result<Self, getrandom::Error> {
        random_text().map(|text| Self(format!("{PREFIX}{text}")))
    }

    /// Reads a token.
    ///
    /// # Errors
    /// If the text does not have the form of one. Nothing is known about whether it is valid.
    pub fn parse(text: &str) -> Result<Self, NotAToken> {
        let secret = text.strip_prefix(PREFIX).ok_or(NotAToken)?;
        match is_random_text(secret) {
            true => Ok(Self(text.to_owned())),
            false => Err(NotAToken),
        }
    }

    /// Whether a text begins as tokens do. Another credential, such as a JWT, does not.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Returns the value, for the one place that prints or sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns what is stored of it.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Returns 256 random bits as 43 characters of URL-safe base64.
pub(super) fn random_text() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Whether a text is what [`random_text`] returns. Each value has exactly one such text.
pub(super) fn is_random_text(text: &str) -> bool {
    let mut bytes = [0; SECRET_BYTES + 1];
    BASE64_URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).is_ok_and(|length| length == SECRET_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_is_a_prefix_and_256_random_bits_and_never_printed_by_accident() {
        let (one, other) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!(one.expose().len(), 4 + 43);
        let read = Token::parse(one.expose()).unwrap();
        assert_eq!(read.digest(), one.digest());
        assert_eq!(format!("{read:?}"), "Token(..)");
    }

    #[test]
    fn what_is_almost_a_token_is_none() {
        let good = format!("tlr_{}A", "a".repeat(42));
        assert!(Token::parse(&good).is_ok());
        for bad in [
            "",
            "tlr_",
            &good[..46],
            &format!("{good}A"),
            &format!("{good}="),
            // The last character has bits beyond the 256: another spelling of the same value.
            &format!("tlr_{}B", "a".repeat(42)),
            &good.replace("tlr_", "TLR_"),
            &good.replace('a', "+"),
            &format!(" {good}"),
            &format!("{good}\n"),
        ] {
            assert_eq!(Token::parse(bad).err(), Some(NotAToken), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_or_is_repeated(text in "(tlr_)?\\PC{0,80}") {
            match Token::parse(&text) {
                Ok(token) => prop_assert_eq!(token.expose(), text.as_str()),
                Err(error) => {
                    prop_assert_eq!(error.to_string(), NotAToken.to_string());
                }
            }
        }

        #[test]
        fn every_value_of_256_bits_is_read_back(bytes in any::<[u8; 32]>()) {
            let text = format!("tlr_{}", BASE64_URL_SAFE_NO_PAD.encode(bytes));
            prop_assert!(Token::parse(&text).is_ok());
        }
    }
}
