//! Where tokens are stored.

use super::{CredentialId, Digest, Token, limits};
use agent::Scopes;
use async_trait::async_trait;
use jiff::Timestamp;
use system::{AbsPath, SystemError};

/// A stored token: everything about it but its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The id, which is not secret.
    pub id: String,
    /// What the user calls it.
    pub name: String,
    /// The tenant of the user.
    pub tenant: String,
    /// The user that it authenticates.
    pub user: String,
    /// What it permits.
    pub scopes: Scopes,
    /// When it was created.
    pub created: Timestamp,
    /// When it expires; `None` if never.
    pub expires: Option<Timestamp>,
    /// When it was last used, to the hour; `None` if never.
    pub last_used: Option<Timestamp>,
    /// Its revocation, if it was revoked.
    pub revoked: Option<Revocation>,
    /// The SHA-256 of its value.
    pub digest: Digest,
}

/// When a token was revoked, and whether turns that run with it are stopped too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revocation {
    /// When it was revoked.
    pub at: Timestamp,
    /// Whether running turns of its connections are cancelled.
    pub stop_turns: bool,
}

/// A token to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What the user calls it.
    pub name: String,
    /// The tenant of the user.
    pub tenant: String,
    /// The user that it authenticates.
    pub user: String,
    /// What it permits.
    pub scopes: Scopes,
    /// When it expires; `None` if never.
    pub expires: Option<Timestamp>,
}

/// Why a token cannot be created as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// The name is empty, too long, or not printable.
    #[error("the name of a token is 1 to {} printable characters", limits::NAME_CHARS)]
    Name,
    /// The name of a user or tenant has characters that are not allowed.
    #[error(
        "{what} {value:?} is not used: it takes 1 to {} of the characters a-z A-Z 0-9 . _ @ + - and begins with neither . nor -",
        limits::IDENTITY_BYTES
    )]
    Identity {
        /// `the user` or `the tenant`.
        what: &'static str,
        /// The name.
        value: String,
    },
    /// The token would permit nothing.
    #[error("a token needs at least one scope")]
    NoScope,
    /// The token would have expired before it is used.
    #[error("the token would already have expired")]
    Expired,
    /// The operating system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

impl NewToken {
    /// Makes the token and the row to store. The token's value exists only in the result.
    ///
    /// # Errors
    /// If a name or the expiry is not allowed, or no scope is given.
    pub fn make(self, now: Timestamp) -> Result<(Token, TokenRow), BadToken> {
        let chars = self.name.chars().count();
        let printable = !self.name.chars().any(char::is_control) && self.name.trim() == self.name;
        if !(1..=limits::NAME_CHARS).contains(&chars) || !printable {
            return Err(BadToken::Name);
        }
        for (what, value) in [("the user", &self.user), ("the tenant", &self.tenant)] {
            if !is_identity(value) {
                return Err(BadToken::Identity { what, value: value.clone() });
            }
        }
        if self.scopes == Scopes::default() {
            return Err(BadToken::NoScope);
        }
        if self.expires.is_some_and(|expires| expires <= now) {
            return Err(BadToken::Expired);
        }
        let token = Token::generate()?;
        let row = TokenRow {
            id: CredentialId::new_token()?.to_string(),
            name: self.name,
            tenant: self.tenant,
            user: self.user,
            scopes: self.scopes,
            created: to_second(now),
            expires: self.expires.map(to_second),
            last_used: None,
            revoked: None,
            digest: token.digest(),
        };
        Ok((token, row))
    }
}

/// Whether a text can be the name of a user or a tenant. It can be the name of a directory then.
pub(super) fn is_identity(text: &str) -> bool {
    if text.starts_with(['.', '-']) {
        return false;
    }
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._@+-".contains(&byte);
    (1..=limits::IDENTITY_BYTES).contains(&text.len()) && text.bytes().all(known)
}

fn to_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

impl TokenRow {
    /// The most tokens of a store.
    pub const MOST: usize = limits::TOKENS;

    /// Returns the time before which an ended token is removed when another is added.
    pub fn kept_since(now: Timestamp) -> Timestamp {
        now.checked_sub(limits::ENDED_TOKENS_KEPT).unwrap_or(Timestamp::MIN)
    }

    /// Whether it authenticates at this time.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }
}

/// Why a store of tokens could not do something.
#[derive(Debug, thiserror::Error)]
pub enum TokenStoreError {
    /// A file cannot be read or written, or others can read it.
    #[error(transparent)]
    File(#[from] SystemError),
    /// The token file cannot be used as it is.
    #[error("{path} is not used: {problem}")]
    Malformed {
        /// The token file.
        path: AbsPath,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// Another process has the file locked.
    #[error("{path} is being changed by another process; try again")]
    Busy {
        /// The token file.
        path: AbsPath,
    },
    /// The store has as many tokens as it takes.
    #[error("there are {} tokens already; revoke some, they are removed after 30 days", limits::TOKENS)]
    TooMany,
    /// Another store, such as a database, failed.
    #[error("{0}")]
    Other(String),
}

/// Where tokens are stored. A change is seen by all readers within 5 seconds.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Returns the row with this digest, also a revoked or an expired one.
    async fn find(&self, digest: &Digest) -> Result<Option<TokenRow>, TokenStoreError>;

    /// Returns the row with this id. It is called every 2 seconds for each live socket, so it
    /// answers from a cache.
    async fn row(&self, id: &str) -> Result<Option<TokenRow>, TokenStoreError>;

    /// Returns all rows, oldest first.
    async fn list(&self) -> Result<Vec<TokenRow>, TokenStoreError>;

    /// Adds a row, and removes rows that ended long ago.
    async fn insert(&self, row: TokenRow) -> Result<(), TokenStoreError>;

    /// Revokes a token. Returns its row as it is then; `None` if there is none with this id. A
    /// revoked token stays as it was revoked first, except that `stop_turns` can be added.
    async fn revoke(&self, id: &str, revocation: Revocation) -> Result<Option<TokenRow>, TokenStoreError>;

    /// Records that a token was used in this hour. It may be left out while others write.
    async fn note_use(&self, id: &str, hour: Timestamp) -> Result<(), TokenStoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::Scope;

    fn new(name: &str, user: &str) -> NewToken {
        NewToken {
            name: name.to_owned(),
            tenant: "default".to_owned(),
            user: user.to_owned(),
            scopes: [Scope::Connect].into_iter().collect(),
            expires: None,
        }
    }

    #[test]
    fn a_row_has_no_value_and_ends_by_expiry_and_revocation() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let expires = Some(second(2_000));
        let (token, mut row) = NewToken { expires, ..new("laptop", "ada") }.make(second(1_000)).unwrap();
        assert!(!format!("{row:?}").contains(token.expose()));
        assert_eq!(row.digest, token.digest());
        assert!(row.is_valid_at(second(1_999)));
        assert!(!row.is_valid_at(second(2_000)));
        row.revoked = Some(Revocation { at: second(1_500), stop_turns: false });
        assert!(!row.is_valid_at(second(1_400)), "a revoked token is never valid again");
    }

    #[test]
    fn what_no_token_may_have_is_refused() {
        let now = Timestamp::from_second(1_000).unwrap();
        for (token, expected) in [
            (new("", "ada"), "the name"),
            (new(&"x".repeat(65), "ada"), "the name"),
            (new("a\u{1b}[2J", "ada"), "the name"),
            (new("laptop", ""), "the user"),
            (new("laptop", "ada lovelace"), "the user"),
            (new("laptop", ".."), "the user"),
            (new("laptop", "-x"), "the user"),
            (NewToken { tenant: "a/b".to_owned(), ..new("laptop", "ada") }, "the tenant"),
            (NewToken { scopes: Scopes::default(), ..new("laptop", "ada") }, "scope"),
            (NewToken { expires: Some(now), ..new("laptop", "ada") }, "expired"),
        ] {
            let error = token.make(now).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
