//! Tokens in memory.

use agent::Scope;
use async_trait::async_trait;
use jiff::Timestamp;
use serve::auth::{Digest, NewToken, Revocation, Token, TokenRow, TokenStore, TokenStoreError};
use std::sync::Mutex;

/// Tokens in memory.
#[derive(Default)]
pub(crate) struct MemoryTokens(Mutex<Vec<TokenRow>>);

impl MemoryTokens {
    /// Adds a token of a user. Returns its value and its id.
    pub(crate) fn add(&self, user: &str, scopes: &[Scope]) -> (Token, String) {
        let new = NewToken {
            name: "laptop".to_owned(),
            tenant: "default".to_owned(),
            user: user.to_owned(),
            scopes: scopes.iter().copied().collect(),
            expires: None,
        };
        let (token, row) = new.make(Timestamp::UNIX_EPOCH).unwrap();
        let id = row.id.clone();
        self.0.lock().unwrap().push(row);
        (token, id)
    }

    /// Changes a stored token.
    pub(crate) fn change(&self, id: &str, change: impl FnOnce(&mut TokenRow)) {
        change(self.0.lock().unwrap().iter_mut().find(|row| row.id == id).unwrap());
    }
}

#[async_trait]
impl TokenStore for MemoryTokens {
    async fn find(&self, digest: &Digest) -> Result<Option<TokenRow>, TokenStoreError> {
        Ok(self.0.lock().unwrap().iter().find(|row| row.digest == *digest).cloned())
    }

    async fn row(&self, id: &str) -> Result<Option<TokenRow>, TokenStoreError> {
        Ok(self.0.lock().unwrap().iter().find(|row| row.id == id).cloned())
    }

    async fn list(&self) -> Result<Vec<TokenRow>, TokenStoreError> {
        Ok(self.0.lock().unwrap().clone())
    }

    async fn insert(&self, row: TokenRow) -> Result<(), TokenStoreError> {
        self.0.lock().unwrap().push(row);
        Ok(())
    }

    async fn revoke(&self, id: &str, revocation: Revocation) -> Result<Option<TokenRow>, TokenStoreError> {
        self.change(id, |row| row.revoked = Some(revocation));
        self.row(id).await
    }

    async fn note_use(&self, id: &str, hour: Timestamp) -> Result<(), TokenStoreError> {
        self.change(id, |row| row.last_used = Some(hour));
        Ok(())
    }
}
