//! Whether the credential of a live socket still holds.

use super::{CredentialId, TokenStore, limits};
use jiff::Timestamp;

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
}

/// Waits until a credential no longer holds. While the store cannot be read, a credential that was
/// valid before holds until its expiry.
pub(super) async fn until_ended(
    id: CredentialId,
    store: impl AsRef<dyn TokenStore>,
    now: impl Fn() -> Timestamp,
) -> Ended {
    let mut known_expiry = match id {
        CredentialId::Oidc { expires, .. } => Some(expires),
        CredentialId::Local | CredentialId::Token(_) => None,
    };
    loop {
        if let CredentialId::Token(id) = &id {
            match store.as_ref().row(id).await {
                Ok(None) => return Ended::Revoked { stop_turns: false },
                Ok(Some(row)) => {
                    if let Some(revoked) = row.revoked {
                        return Ended::Revoked { stop_turns: revoked.stop_turns };
                    }
                    known_expiry = row.expires;
                }
                Err(error) => {
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
