//! The id of a credential, which is not secret.

use super::Digest;
use jiff::Timestamp;
use std::{fmt, str::FromStr};

/// Which credential a principal was authenticated with. Its text is `Principal::credential`; it is
/// in lists and in the audit, and permits nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialId {
    /// None: a user of this machine, over a Unix socket.
    Local,
    /// A static token, by the id of its row.
    Token(String),
    /// A token of an identity provider. It has its own end, because no row has it.
    Oidc {
        /// The first digits of the token's digest.
        digest: String,
        /// When it expires.
        expires: Timestamp,
    },
}

/// The prefix of ids of static tokens.
const TOKEN: &str = "tok_";

/// The prefix of ids of tokens of an identity provider.
const OIDC: &str = "oidc_";

/// The number of digits of a digest in an id: enough to tell credentials apart, and no more.
const DIGITS: usize = 16;

impl CredentialId {
    /// Makes the id of a new static token.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub fn new_token() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; DIGITS / 2];
        getrandom::fill(&mut bytes)?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self::Token(format!("{TOKEN}{digits}")))
    }

    /// Returns the id of a token of an identity provider.
    pub fn oidc(token: &str, expires: Timestamp) -> Self {
        let mut digest = Digest::of(token.as_bytes()).to_hex();
        digest.truncate(DIGITS);
        Self::Oidc { digest, expires }
    }
}

impl fmt::Display for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Token(id) => f.write_str(id),
            Self::Oidc { digest, expires } => write!(f, "{OIDC}{digest}_{}", expires.as_second()),
        }
    }
}

/// A text that is no id of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a credential")]
pub struct NotACredentialId;

impl FromStr for CredentialId {
    type Err = NotACredentialId;

    fn from_str(text: &str) -> Result<Self, NotACredentialId> {
        let oidc = |rest: &str| {
            let (digest, expires) = rest.split_once('_')?;
            let expires = Timestamp::from_second(expires.parse().ok()?).ok()?;
            Some(Self::Oidc { digest: digest.to_owned(), expires })
        };
        match text {
            "local" => Ok(Self::Local),
            _ if text.starts_with(TOKEN) => Ok(Self::Token(text.to_owned())),
            _ => text.strip_prefix(OIDC).and_then(oidc).ok_or(NotACredentialId),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_is_read_back_and_has_no_part_of_the_credential() {
        let expires = Timestamp::from_second(1_800_000_000).unwrap();
        let oidc = CredentialId::oidc("eyJhbGciOiJ", expires);
        for id in [CredentialId::Local, CredentialId::new_token().unwrap(), oidc.clone()] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert!(!oidc.to_string().contains("eyJ"), "{oidc}");
        assert_eq!(agent::Principal::local("a").credential.parse(), Ok(CredentialId::Local));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(oidc_|tok_|local)?[0-9a-f_-]{0,60}") {
            if let Ok(id) = text.parse::<CredentialId>() {
                prop_assert_eq!(id.to_string().parse::<CredentialId>(), Ok(id));
            }
        }
    }
}
