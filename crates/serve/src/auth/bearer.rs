//! The `Authorization` header.

use super::limits::BEARER_BYTES;
use std::fmt;

/// The credential of an `Authorization: Bearer` header (RFC 6750).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Bearer<'a>(&'a str);

/// Why a header has no credential that could be checked. The header's text is not in the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BearerError {
    /// The scheme is not `Bearer`.
    #[error("the only scheme is `Bearer`")]
    OtherScheme,
    /// The credential is empty or has characters that no credential has.
    #[error("the credential after `Bearer` is malformed")]
    Malformed,
    /// The credential is longer than any that is accepted.
    #[error("the credential is longer than {BEARER_BYTES} bytes")]
    TooLong,
}

impl<'a> Bearer<'a> {
    /// Reads the value of an `Authorization` header. The scheme's case does not matter.
    ///
    /// # Errors
    /// If it is anything but `Bearer`, spaces and the characters of `token68` (RFC 9110).
    pub fn parse(header: &'a str) -> Result<Self, BearerError> {
        let (scheme, rest) = header.split_once(' ').ok_or(BearerError::OtherScheme)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(BearerError::OtherScheme);
        }
        let credential = rest.trim_matches(' ');
        if credential.len() > BEARER_BYTES {
            return Err(BearerError::TooLong);
        }
        let plain = credential.trim_end_matches('=');
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
        match !plain.is_empty() && plain.bytes().all(known) {
            true => Ok(Self(credential)),
            false => Err(BearerError::Malformed),
        }
    }

    /// Returns the credential, which is secret.
    pub fn expose(self) -> &'a str {
        self.0
    }
}

impl fmt::Debug for Bearer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_bearer_with_one_credential_is_read() {
        let long = format!("Bearer {}", "a".repeat(BEARER_BYTES + 1));
        for (header, expected) in [
            ("Bearer abc", Ok("abc")),
            ("bearer abc", Ok("abc")),
            ("BEARER   a.b-c_d~+/== ", Ok("a.b-c_d~+/==")),
            ("", Err(BearerError::OtherScheme)),
            ("Bearer", Err(BearerError::OtherScheme)),
            ("abc", Err(BearerError::OtherScheme)),
            ("Basic YTpi", Err(BearerError::OtherScheme)),
            ("Bearerabc", Err(BearerError::OtherScheme)),
            ("Bearer\tabc", Err(BearerError::OtherScheme)),
            ("Bearer ", Err(BearerError::Malformed)),
            ("Bearer ==", Err(BearerError::Malformed)),
            ("Bearer a b", Err(BearerError::Malformed)),
            ("Bearer a, Bearer b", Err(BearerError::Malformed)),
            ("Bearer a=b", Err(BearerError::Malformed)),
            ("Bearer ä", Err(BearerError::Malformed)),
            (&long, Err(BearerError::TooLong)),
        ] {
            assert_eq!(Bearer::parse(header).map(Bearer::expose), expected, "{header:.40}");
        }
    }

    proptest! {
        #[test]
        fn no_header_panics_or_is_repeated(header in "(?i)(bearer )?\\PC{0,60}") {
            let printed = format!("{:?}", Bearer::parse(&header));
            match Bearer::parse(&header) {
                Ok(read) => {
                    prop_assert!(header.contains(read.expose()));
                    prop_assert_eq!(printed, "Ok(Bearer(..))");
                }
                Err(error) => prop_assert_eq!(printed, format!("Err({error:?})")),
            }
        }
    }
}
