//! Authenticates requests.

use super::{
    AuthFailure, Bearer, Clock, CredentialId, Ended, Source, Token, TokenRow, TokenStore, live,
    throttle::Throttle,
};
use agent::{Principal, Scope};
use async_trait::async_trait;
use jiff::Timestamp;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// Checks the credentials of requests, counts those that fail by source address, and reports when
/// a credential no longer holds.
pub struct Credentials {
    tokens: Arc<dyn TokenStore>,
    bearer: Option<Arc<dyn BearerVerifier>>,
    clock: Clock,
    throttle: Mutex<Throttle>,
    /// The hour for which the use of each token was recorded last, or could not be.
    noted: Mutex<HashMap<String, Timestamp>>,
}

/// Checks bearer credentials that are not static tokens, such as those of an identity provider.
#[async_trait]
pub trait BearerVerifier: Send + Sync {
    /// Checks a credential. Its text must be in no error and no log line.
    async fn verify(&self, bearer: Bearer<'_>) -> Result<Verified, Refusal>;
}

/// What a verifier knows of a valid credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Who it authenticates; its `credential` is the text of a [`CredentialId`].
    pub principal: Principal,
    /// When it expires.
    pub expires: Timestamp,
}

/// Why a verifier does not accept a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is not valid. The text is for the server's log.
    #[error("{0}")]
    Invalid(String),
    /// It cannot be checked now. The text is for the server's log.
    #[error("{0}")]
    Unavailable(String),
}

impl Credentials {
    /// Accepts the tokens of a store.
    pub fn new(tokens: Arc<dyn TokenStore>, clock: Clock) -> Self {
        Self { tokens, bearer: None, clock, throttle: Mutex::default(), noted: Mutex::default() }
    }

    /// Accepts the credentials of a verifier too.
    pub fn with_verifier(self, bearer: Arc<dyn BearerVerifier>) -> Self {
        Self { bearer: Some(bearer), ..self }
    }

    /// Authenticates a request by the value of its `Authorization` header. Refuse a request with
    /// several such headers before. Nothing may be read or allocated for a request before this.
    ///
    /// # Errors
    /// If there is no credential, it is not valid, the source sent too many that are not, or none
    /// can be checked now.
    pub async fn authenticate(&self, header: Option<&str>, source: Source) -> Result<Principal, AuthFailure> {
        if let Some(retry_after) = self.throttle().refusal(source, Instant::now()) {
            return Err(AuthFailure::Throttled { retry_after });
        }
        let checked = match header {
            None => Err(AuthFailure::Missing),
            Some(header) => match Bearer::parse(header) {
                Ok(bearer) => self.check(bearer, source).await,
                Err(error) => Err(error.into()),
            },
        };
        if let Err(AuthFailure::Invalid | AuthFailure::Malformed(_)) = checked {
            self.throttle().failed(source, Instant::now());
        }
        checked
    }

    /// Fails if a principal does not have a scope.
    ///
    /// # Errors
    /// [`AuthFailure::Forbidden`], which names the scope.
    pub fn require(principal: &Principal, scope: Scope) -> Result<(), AuthFailure> {
        if principal.scopes.has(scope) { Ok(()) } else { Err(AuthFailure::Forbidden { scope }) }
    }

    /// Returns a future that completes within 5 seconds after the credential of a principal was
    /// revoked or has expired. That of a user of this machine never does.
    pub fn watch_validity(&self, principal: &Principal) -> impl Future<Output = Ended> + Send + 'static {
        let (tokens, clock) = (Arc::clone(&self.tokens), Arc::clone(&self.clock));
        let id = principal.credential.parse::<CredentialId>();
        async move {
            match id {
                Ok(CredentialId::Local) => std::future::pending().await,
                Ok(id) => live::until_ended(id, tokens, || clock()).await,
                // An id that no verifier makes is that of no credential.
                Err(_) => Ended::Revoked { stop_turns: false },
            }
        }
    }

    async fn check(&self, bearer: Bearer<'_>, source: Source) -> Result<Principal, AuthFailure> {
        if Token::is_meant(bearer.expose()) {
            return self.check_token(bearer).await;
        }
        let Some(verifier) = &self.bearer else { return Err(AuthFailure::Invalid) };
        match verifier.verify(bearer).await {
            Ok(verified) if verified.expires > (self.clock)() => Ok(verified.principal),
            Ok(_) => Err(AuthFailure::Invalid),
            Err(Refusal::Invalid(why)) => {
                tracing::info!(%source, "a credential is not valid: {why}");
                Err(AuthFailure::Invalid)
            }
            Err(Refusal::Unavailable(why)) => {
                tracing::warn!("a credential cannot be checked: {why}");
                Err(AuthFailure::Unavailable)
            }
        }
    }

    async fn check_token(&self, bearer: Bearer<'_>) -> Result<Principal, AuthFailure> {
        let token = Token::parse(bearer.expose()).map_err(|_| AuthFailure::Invalid)?;
        let found = self.tokens.find(&token.digest()).await.map_err(|error| {
            tracing::error!("tokens cannot be checked, so none is accepted: {error}");
            AuthFailure::Unavailable
        })?;
        let now = (self.clock)();
        let row = found.filter(|row| row.is_valid_at(now)).ok_or(AuthFailure::Invalid)?;
        self.note_use(&row, now).await;
        Ok(Principal { tenant: row.tenant, user: row.user, credential: row.id, scopes: row.scopes })
    }

    /// Records the hour of the use, once an hour. A store that cannot be written keeps no one out,
    /// and is reported once an hour for each token.
    async fn note_use(&self, row: &TokenRow, now: Timestamp) {
        let second = now.as_second();
        let Ok(hour) = Timestamp::from_second(second - second.rem_euclid(60 * 60)) else { return };
        let is_known = |noted: Option<Timestamp>| noted.is_some_and(|noted| hour <= noted);
        if is_known(row.last_used) || is_known(self.noted().insert(row.id.clone(), hour)) {
            return;
        }
        if let Err(error) = self.tokens.note_use(&row.id, hour).await {
            tracing::warn!("the use of the token {} is not recorded: {error}", row.id);
        }
    }

    /// It has only ids of valid tokens, so it is as small as the store.
    fn noted(&self) -> MutexGuard<'_, HashMap<String, Timestamp>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn throttle(&self) -> MutexGuard<'_, Throttle> {
        self.throttle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
