//! The issuer: where its keys are, and how long they are used.

use super::jwk::{Key, Published};
use crate::auth::limits;
use async_trait::async_trait;
use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use serde::Deserialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// Fetches documents of an issuer.
///
/// It follows no redirect to another host, checks certificates, and reaches private addresses only
/// if the settings say so.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// Returns the body of a successful answer to a GET request.
    ///
    /// # Errors
    /// [`FetchError::TooLarge`] as soon as the body is known to be longer than `most` bytes.
    async fn get(&self, url: &str, most: usize) -> Result<Vec<u8>, FetchError>;
}

/// Why a document was not fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// It is longer than was asked for.
    #[error("the answer is longer than {most} bytes")]
    TooLarge {
        /// The limit.
        most: usize,
    },
    /// The server was not reached, or did not answer with success.
    #[error("{0}")]
    Failed(String),
}

/// A URL that is not trusted as an issuer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the issuer {url:?} is not used: it must begin with https://, or with http:// on this machine, and have no query"
)]
pub struct IssuerUrlError {
    url: String,
}

/// The keys of an issuer as they were fetched.
#[derive(Debug)]
pub(super) struct Keys {
    keys: Vec<Key>,
    fetched: Instant,
}

/// An issuer with its keys.
pub(super) struct Issuer {
    source: Arc<Source>,
    state: Mutex<State>,
}

struct Source {
    url: String,
    fetch: Arc<dyn Fetch>,
}

type Fetching = Shared<BoxFuture<'static, Result<Arc<Keys>, String>>>;

#[derive(Default)]
struct State {
    keys: Option<Arc<Keys>>,
    /// When the last request began, and the request while it runs.
    asked: Option<Instant>,
    fetching: Option<Fetching>,
    /// Whether the last request failed.
    failed: bool,
}

/// What is read of the discovery document.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

/// What is read of a set of keys. A key of an unknown form is left out, not an error.
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<serde_json::Value>,
}

impl Keys {
    /// Returns the key with an id. Without an id it must be the only key.
    pub(super) fn find(&self, id: Option<&str>) -> Option<&Key> {
        match (id, self.keys.as_slice()) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(_), keys) => keys.iter().find(|key| key.id() == id),
        }
    }
}

impl Issuer {
    pub(super) fn new(url: &str, fetch: Arc<dyn Fetch>) -> Result<Self, IssuerUrlError> {
        if !is_trusted(url, url) || url.contains(['?', '#']) {
            return Err(IssuerUrlError { url: url.to_owned() });
        }
        Ok(Self { source: Arc::new(Source { url: url.to_owned(), fetch }), state: Mutex::default() })
    }

    /// Returns the keys, fetched again where that is needed for this key id: for an unknown id at
    /// most every 30 seconds, for a known one in the background once an hour. Keys are used for 24
    /// hours while the issuer does not answer, and no longer.
    ///
    /// # Errors
    /// If no keys are known, or the id is not and the issuer does not answer. The text is for the
    /// log.
    pub(super) async fn keys(&self, id: Option<&str>) -> Result<Arc<Keys>, String> {
        let (known, fetching) = self.known_or_fetching(id);
        let Some(fetching) = fetching else {
            return known
                .ok_or_else(|| "the keys of the issuer could not be fetched a moment ago".to_owned());
        };
        match known {
            Some(keys) if keys.find(id).is_some() => Ok(keys),
            _ => fetching.await,
        }
    }

    /// Returns the keys that may be used now, and the request that runs or was begun for this id.
    fn known_or_fetching(&self, id: Option<&str>) -> (Option<Arc<Keys>>, Option<Fetching>) {
        let now = Instant::now();
        let mut state = self.state();
        if let Some(done) = state.fetching.as_ref().and_then(|fetching| fetching.peek().cloned()) {
            state.fetching = None;
            state.failed = done.is_err();
            match done {
                Ok(keys) => state.keys = Some(keys),
                Err(error) => tracing::warn!("the keys of {} are not renewed: {error}", self.source.url),
            }
        }
        let known = state.keys.clone().filter(|keys| now - keys.fetched < limits::KEYS_KEPT);
        let is_good = known
            .as_ref()
            .is_some_and(|keys| keys.find(id).is_some() && now - keys.fetched < limits::KEYS_RENEWED);
        let may_ask = state.asked.is_none_or(|asked| now - asked >= limits::KEYS_INTERVAL);
        if !is_good && state.fetching.is_none() && may_ask {
            let source = Arc::clone(&self.source);
            let fetching = async move { source.fetch_keys().await.map(Arc::new) }.boxed().shared();
            // It goes on when the request that needed it is dropped, and ends by its timeout.
            tokio::spawn(fetching.clone());
            state.asked = Some(now);
            state.fetching = Some(fetching);
        }
        let fetching = if is_good { None } else { state.fetching.clone() };
        // An id that is not known may be that of a new key while the issuer does not answer.
        let known = known.filter(|keys| keys.find(id).is_some() || !state.failed);
        (known, fetching)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source {
    async fn fetch_keys(&self) -> Result<Keys, String> {
        let fetched = Instant::now();
        let fetching = tokio::time::timeout(limits::KEYS_TIMEOUT, self.fetch_documents());
        let set = fetching.await.map_err(|_| "it does not answer".to_owned())??;
        let published = set.keys.into_iter().filter_map(|key| serde_json::from_value::<Published>(key).ok());
        let keys: Vec<_> = published.filter_map(Key::of).collect();
        match keys.is_empty() {
            true => Err("none of its keys is for RS256, ES256 or EdDSA".to_owned()),
            false => Ok(Keys { keys, fetched }),
        }
    }

    async fn fetch_documents(&self) -> Result<KeySet, String> {
        let base = self.url.trim_end_matches('/');
        let discovery: Discovery = self.document(&format!("{base}/.well-known/openid-configuration")).await?;
        if discovery.issuer != self.url {
            return Err("its discovery document names another issuer".to_owned());
        }
        if !is_trusted(&discovery.jwks_uri, &self.url) {
            return Err("its keys are not at an https address".to_owned());
        }
        let set: KeySet = self.document(&discovery.jwks_uri).await?;
        match set.keys.len() > limits::KEYS {
            true => Err(format!("it has more than {} keys", limits::KEYS)),
            false => Ok(set),
        }
    }

    async fn document<T: for<'de> Deserialize<'de>>(&self, url: &str) -> Result<T, String> {
        let body = self.fetch.get(url, limits::KEYS_BYTES).await.map_err(|error| error.to_string())?;
        if body.len() > limits::KEYS_BYTES {
            return Err(FetchError::TooLarge { most: limits::KEYS_BYTES }.to_string());
        }
        serde_json::from_slice(&body).map_err(|_| "a document of it cannot be read".to_owned())
    }
}

/// Whether a URL is on `https`; `http` on this machine is accepted for an issuer that is itself
/// there.
fn is_trusted(url: &str, issuer: &str) -> bool {
    let on_this_machine = |url: &str| {
        let rest = url.strip_prefix("http://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = match authority.strip_prefix('[') {
            Some(_) => authority.split_inclusive(']').next()?,
            None => authority.split(':').next()?,
        };
        (!authority.contains('@') && ["localhost", "127.0.0.1", "[::1]"].contains(&host)).then_some(())
    };
    let secure = url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    secure || (on_this_machine(url).is_some() && on_this_machine(issuer).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_is_trusted_and_http_on_this_machine() {
        for (url, issuer, expected) in [
            ("https://id.example", "https://id.example", true),
            ("https://keys.example/x?y=1", "https://id.example", true),
            ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a", true),
            ("http://[::1]:8080", "http://localhost", true),
            ("http://127.0.0.1/keys", "https://id.example", false),
            ("http://id.example", "http://id.example", false),
            ("http://127.0.0.1.id.example", "http://127.0.0.1.id.example", false),
            ("http://127.0.0.1@id.example", "http://127.0.0.1@id.example", false),
            ("https://", "https://", false),
            ("file:///etc/passwd", "https://id.example", false),
            ("", "", false),
        ] {
            assert_eq!(is_trusted(url, issuer), expected, "{url} of {issuer}");
        }
    }
}
