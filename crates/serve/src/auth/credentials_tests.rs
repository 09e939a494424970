use super::*;
use crate::auth::{Digest, NewToken, Revocation, TokenStoreError};
use agent::Scopes;
use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::Duration,
};

/// Tokens in memory, which can fail.
#[derive(Default)]
struct MemoryTokens {
    rows: Mutex<Vec<TokenRow>>,
    fails: AtomicBool,
    /// Whether uses cannot be recorded, and how often that was tried.
    is_read_only: AtomicBool,
    writes: AtomicI64,
}

impl MemoryTokens {
    fn rows(&self) -> Result<MutexGuard<'_, Vec<TokenRow>>, TokenStoreError> {
        match self.fails.load(Ordering::SeqCst) {
            true => Err(TokenStoreError::Other("the store is away".to_owned())),
            false => Ok(self.rows.lock().unwrap()),
        }
    }
}

#[async_trait]
impl TokenStore for MemoryTokens {
    async fn find(&self, digest: &Digest) -> Result<Option<TokenRow>, TokenStoreError> {
        Ok(self.rows()?.iter().find(|row| row.digest == *digest).cloned())
    }

    async fn row(&self, id: &str) -> Result<Option<TokenRow>, TokenStoreError> {
        Ok(self.rows()?.iter().find(|row| row.id == id).cloned())
    }

    async fn list(&self) -> Result<Vec<TokenRow>, TokenStoreError> {
        Ok(self.rows()?.clone())
    }

    async fn insert(&self, row: TokenRow) -> Result<(), TokenStoreError> {
        self.rows()?.push(row);
        Ok(())
    }

    async fn revoke(&self, id: &str, revocation: Revocation) -> Result<Option<TokenRow>, TokenStoreError> {
        let mut rows = self.rows()?;
        let row = rows.iter_mut().find(|row| row.id == id);
        Ok(row.map(|row| {
            row.revoked = Some(revocation);
            row.clone()
        }))
    }

    async fn note_use(&self, id: &str, hour: Timestamp) -> Result<(), TokenStoreError> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        if self.is_read_only.load(Ordering::SeqCst) {
            return Err(TokenStoreError::Other("it is read-only".to_owned()));
        }
        let mut rows = self.rows()?;
        rows.iter_mut().filter(|row| row.id == id).for_each(|row| row.last_used = Some(hour));
        Ok(())
    }
}

/// A server with one token, and a clock.
struct Server {
    credentials: Credentials,
    tokens: Arc<MemoryTokens>,
    seconds: Arc<AtomicI64>,
    token: Token,
    id: String,
}

impl Server {
    async fn with_token(expires: Option<i64>) -> Self {
        let tokens = Arc::new(MemoryTokens::default());
        let seconds = Arc::new(AtomicI64::new(10_000));
        let second = |second| Timestamp::from_second(second).unwrap();
        let new = NewToken {
            name: "laptop".to_owned(),
            tenant: "default".to_owned(),
            user: "ada".to_owned(),
            scopes: [Scope::Connect, Scope::SessionRead].into_iter().collect(),
            expires: expires.map(second),
        };
        let (token, row) = new.make(second(10_000)).unwrap();
        let id = row.id.clone();
        tokens.insert(row).await.unwrap();
        let now = Arc::clone(&seconds);
        let clock: Clock = Arc::new(move || Timestamp::from_second(now.load(Ordering::SeqCst)).unwrap());
        let credentials = Credentials::new(tokens.clone(), clock);
        Self { credentials, tokens, seconds, token, id }
    }

    fn header(&self) -> String {
        format!("Bearer {}", self.token.expose())
    }

    async fn ask(&self, header: &str) -> Result<Principal, AuthFailure> {
        self.credentials.authenticate(Some(header), source()).await
    }
}

fn source() -> Source {
    Source::Address([192, 0, 2, 1].into())
}

#[tokio::test]
async fn a_token_authenticates_its_user_and_its_use_is_recorded_to_the_hour() {
    let server = Server::with_token(None).await;
    let principal = server.ask(&server.header()).await.unwrap();
    let scopes: Scopes = [Scope::Connect, Scope::SessionRead].into_iter().collect();
    assert_eq!((principal.tenant.as_str(), principal.user.as_str()), ("default", "ada"));
    assert_eq!((principal.credential.as_str(), principal.scopes), (server.id.as_str(), scopes));
    let used = server.tokens.list().await.unwrap()[0].last_used;
    assert_eq!(used, Some(Timestamp::from_second(7_200).unwrap()));
    assert_eq!(Credentials::require(&principal, Scope::Connect), Ok(()));
    let refused = Credentials::require(&principal, Scope::Admin);
    assert_eq!(refused, Err(AuthFailure::Forbidden { scope: Scope::Admin }));
}

#[tokio::test]
async fn a_use_that_cannot_be_recorded_keeps_no_one_out_and_is_tried_once_an_hour() {
    let server = Server::with_token(None).await;
    server.tokens.is_read_only.store(true, Ordering::SeqCst);
    for _ in 0..20 {
        server.ask(&server.header()).await.unwrap();
    }
    assert_eq!(server.tokens.writes.load(Ordering::SeqCst), 1);
    server.seconds.fetch_add(3_600, Ordering::SeqCst);
    server.tokens.is_read_only.store(false, Ordering::SeqCst);
    for _ in 0..20 {
        server.ask(&server.header()).await.unwrap();
    }
    assert_eq!(server.tokens.writes.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_unknown_an_expired_and_a_revoked_token_are_answered_alike() {
    let server = Server::with_token(Some(20_000)).await;
    let unknown = Token::generate().unwrap();
    let unknown = server.ask(&format!("Bearer {}", unknown.expose())).await.unwrap_err();
    server.seconds.store(20_000, Ordering::SeqCst);
    let expired = server.ask(&server.header()).await.unwrap_err();
    server.seconds.store(19_999, Ordering::SeqCst);
    server.ask(&server.header()).await.unwrap();
    let revocation = Revocation { at: Timestamp::from_second(1).unwrap(), stop_turns: false };
    server.tokens.revoke(&server.id, revocation).await.unwrap();
    let revoked = server.ask(&server.header()).await.unwrap_err();
    assert_eq!(unknown, AuthFailure::Invalid);
    assert_eq!((&expired, &revoked), (&unknown, &unknown));
    assert_eq!((expired.problem(), revoked.problem()), (unknown.problem(), unknown.problem()));
}

#[tokio::test]
async fn no_credential_is_in_any_error_or_debug_output() {
    let server = Server::with_token(None).await;
    let value = server.token.expose().to_owned();
    let secret = &value[4..];
    let mut printed = format!("{:?} {:?}", server.credentials, server.tokens.list().await.unwrap());
    let headers = [
        value.clone(),
        format!("Basic {value}"),
        format!("Bearer {value}x"),
        format!("Bearer {value}, Bearer {value}"),
        format!("Bearer {}", &value[..46]),
        format!("Bearer {secret}"),
    ];
    for header in headers {
        let failure = server.ask(&header).await.unwrap_err();
        printed += &format!("{failure} {failure:?} {:?} {:?}", failure.problem(), failure.www_authenticate());
    }
    printed += &format!("{:?}", server.ask(&server.header()).await.unwrap());
    assert!(!printed.contains(&secret[..20]), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn a_source_with_ten_wrong_credentials_is_refused_for_a_growing_time() {
    let server = Server::with_token(None).await;
    for header in (0..10).map(|number| format!("Bearer wrong{number}")) {
        assert_eq!(server.ask(&header).await, Err(AuthFailure::Invalid));
    }
    let failure = server.ask(&server.header()).await.unwrap_err();
    assert_eq!((failure.status(), failure.retry_after()), (429, Some(Duration::from_secs(5))));
    let other = Source::Address([192, 0, 2, 2].into());
    server.credentials.authenticate(Some(&server.header()), other).await.unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    server.ask(&server.header()).await.unwrap();
    assert_eq!(server.ask("Basic x").await.unwrap_err().status(), 401);
    let again = server.ask(&server.header()).await.unwrap_err();
    assert_eq!(again.retry_after(), Some(Duration::from_secs(10)));
}

#[tokio::test]
async fn a_request_without_a_credential_is_no_failed_credential() {
    let server = Server::with_token(None).await;
    for _ in 0..50 {
        let failure = server.credentials.authenticate(None, source()).await.unwrap_err();
        assert_eq!(failure, AuthFailure::Missing);
    }
    server.ask(&server.header()).await.unwrap();
}

#[tokio::test]
async fn a_store_that_fails_accepts_no_credential_and_counts_none() {
    let server = Server::with_token(None).await;
    server.tokens.fails.store(true, Ordering::SeqCst);
    for _ in 0..20 {
        assert_eq!(server.ask(&server.header()).await, Err(AuthFailure::Unavailable));
    }
    server.tokens.fails.store(false, Ordering::SeqCst);
    server.ask(&server.header()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_live_socket_learns_within_five_seconds_of_revocation_and_expiry() {
    let server = Server::with_token(Some(20_000)).await;
    let principal = server.ask(&server.header()).await.unwrap();
    let mut watch = Box::pin(server.credentials.watch_validity(&principal));
    let pending = tokio::time::timeout(Duration::from_secs(60), &mut watch).await;
    assert!(pending.is_err(), "a valid credential holds");
    server.seconds.store(20_000, Ordering::SeqCst);
    let ended = tokio::time::timeout(Duration::from_secs(5), &mut watch).await.unwrap();
    assert_eq!(ended, Ended::Expired);

    server.seconds.store(10_000, Ordering::SeqCst);
    let mut watch = Box::pin(server.credentials.watch_validity(&principal));
    assert!(tokio::time::timeout(Duration::from_secs(3), &mut watch).await.is_err());
    // While the store fails, what was valid holds; then the revocation is seen.
    server.tokens.fails.store(true, Ordering::SeqCst);
    assert!(tokio::time::timeout(Duration::from_secs(60), &mut watch).await.is_err());
    server.tokens.fails.store(false, Ordering::SeqCst);
    let revocation = Revocation { at: Timestamp::from_second(1).unwrap(), stop_turns: true };
    server.tokens.revoke(&server.id, revocation).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(5), watch).await.unwrap();
    assert_eq!(ended, Ended::Revoked { stop_turns: true });
}

#[tokio::test(start_paused = true)]
async fn the_expiry_of_a_provider_credential_is_in_its_id() {
    let server = Server::with_token(None).await;
    let expires = Timestamp::from_second(10_100).unwrap();
    let id = CredentialId::oidc("secret", expires).to_string();
    let principal = Principal { credential: id, ..Principal::local("ada") };
    let mut watch = Box::pin(server.credentials.watch_validity(&principal));
    assert!(tokio::time::timeout(Duration::from_secs(9), &mut watch).await.is_err());
    server.seconds.store(10_100, Ordering::SeqCst);
    assert_eq!(tokio::time::timeout(Duration::from_secs(5), watch).await, Ok(Ended::Expired));
    let local = server.credentials.watch_validity(&Principal::local("ada"));
    assert!(tokio::time::timeout(Duration::from_secs(3_600), local).await.is_err());
    let odd = Principal { credential: "odd".to_owned(), ..Principal::local("ada") };
    let ended = server.credentials.watch_validity(&odd).await;
    assert_eq!(ended, Ended::Revoked { stop_turns: false });
}
