//! Whether the credential of a live socket still holds.

use super::{CredentialId, TokenStore, limits};
use jiff::Timestamp;
use tokio::time::Instant;

/// Why the credential of a live socket no longer holds. The socket is closed with 4401.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It has expired.
    Expired,
    /// It was revoked, or removed.
    Revoked {
        /// Whether running turns that its connections started are cancelled too.
        stop_turns: bool,
    },
    /// Whether it holds could not be found out for a minute.
    Unknown,
}

/// Waits until a credential no longer holds. A store that cannot be read for a short while ends
/// none.
pub(super) async fn until_ended(
    id: CredentialId,
    store: impl AsRef<dyn TokenStore>,
    now: impl Fn() -> Timestamp,
) -> Ended {
    let mut known_expiry = match id {
        CredentialId::Oidc { expires, .. } => Some(expires),
        CredentialId::Local | CredentialId::Token(_) => None,
    };
    let mut unreadable_since: Option<Instant> = None;
    loop {
        if let CredentialId::Token(id) = &id {
            let asked = Instant::now();
            match store.as_ref().row(id).await {
                Ok(None) => return Ended::Revoked { stop_turns: false },
                Ok(Some(row)) => {
                    if let Some(revoked) = row.revoked {
                        return Ended::Revoked { stop_turns: revoked.stop_turns };
                    }
                    known_expiry = row.expires;
                    unreadable_since = None;
                }
                Err(error) => {
                    let since = *unreadable_since.get_or_insert(asked);
                    if since.elapsed() >= limits::VALIDITY_UNKNOWN {
                        let seconds = limits::VALIDITY_UNKNOWN.as_secs();
                        tracing::error!(
                            "it could not be checked for {seconds} s whether the token {id} was revoked, so its \
                             connections are closed: {error}"
                        );
                        return Ended::Unknown;
                    }
                    tracing::warn!("it cannot be checked whether the token {id} was revoked: {error}");
                }
            }
        }
        if known_expiry.is_some_and(|expires| expires <= now()) {
            return Ended::Expired;
        }
        tokio::time::sleep(limits::VALIDITY_CHECK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Digest, NewToken, Revocation, TokenRow, TokenStoreError};
    use agent::Scope;
    use async_trait::async_trait;
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };

    /// A store with one token, which can fail.
    struct Failing(TokenRow, AtomicBool);

    #[async_trait]
    impl TokenStore for Failing {
        async fn find(&self, _digest: &Digest) -> Result<Option<TokenRow>, TokenStoreError> {
            unreachable!("a live socket looks by the id")
        }

        async fn row(&self, _id: &str) -> Result<Option<TokenRow>, TokenStoreError> {
            match self.1.load(Ordering::Relaxed) {
                true => Err(TokenStoreError::Other("the database is gone".to_owned())),
                false => Ok(Some(self.0.clone())),
            }
        }

        async fn list(&self) -> Result<Vec<TokenRow>, TokenStoreError> {
            unreachable!("a live socket looks by the id")
        }

        async fn insert(&self, _row: TokenRow) -> Result<(), TokenStoreError> {
            unreachable!("a live socket adds nothing")
        }

        async fn revoke(
            &self,
            _id: &str,
            _revocation: Revocation,
        ) -> Result<Option<TokenRow>, TokenStoreError> {
            unreachable!("a live socket revokes nothing")
        }

        async fn note_use(&self, _id: &str, _hour: Timestamp) -> Result<(), TokenStoreError> {
            unreachable!("a live socket notes nothing")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_cannot_be_read_for_a_minute_ends_a_live_socket_and_a_shorter_failure_does_not() {
        let new = NewToken {
            name: "laptop".to_owned(),
            tenant: "default".to_owned(),
            user: "ada".to_owned(),
            scopes: [Scope::Connect].into_iter().collect(),
            expires: None,
        };
        let now = Timestamp::from_second(1_000).unwrap();
        let row = new.make(now).unwrap().1;
        let store = Arc::new(Failing(row.clone(), AtomicBool::new(false)));
        let id = CredentialId::Token(row.id.clone());
        let tokens: Arc<dyn TokenStore> = store.clone();
        let ended = tokio::spawn(until_ended(id, tokens, move || now));
        let fails = |fails| store.1.store(fails, Ordering::Relaxed);
        for _ in 0..3 {
            fails(true);
            tokio::time::sleep(Duration::from_secs(50)).await;
            assert!(!ended.is_finished(), "a short failure ends nothing");
            fails(false);
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        fails(true);
        let since = Instant::now();
        assert_eq!(ended.await.unwrap(), Ended::Unknown);
        let seconds = since.elapsed().as_secs();
        assert!((60..=64).contains(&seconds), "{seconds}");
    }
}
