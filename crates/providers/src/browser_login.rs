//! The sign-in in the browser that a vendor publishes for programs of others: the user approves
//! there, and the vendor makes a key for this program.
//!
//! OpenRouter's is the only one: it needs no registered client. The page gets the hash of a random
//! text (PKCE), and the code that comes back is worth nothing without the text.

use crate::{
    http::{Http, root_cause},
    limits::{LOGIN_REDIRECT, LOGIN_WAIT, MAX_LOGIN_BYTES, MAX_REDIRECT_BYTES},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// Why there is no key. Never contains the code or the key.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// Something of this machine is missing: a port, random bytes, an address.
    #[error("the sign-in cannot start: {0}")]
    Start(String),
    /// The user did not finish in time.
    #[error("the sign-in was not completed within {} minutes", LOGIN_WAIT.as_secs() / 60)]
    TimedOut,
    /// The user or the vendor refused.
    #[error("the sign-in was refused: {0}")]
    Refused(String),
    /// The vendor could not be reached.
    #[error("the key could not be fetched: {0}")]
    Network(String),
}

/// A sign-in that waits for the browser.
pub struct BrowserLogin {
    page: Url,
    exchange: Url,
    verifier: String,
    listener: TcpListener,
    /// The path of the redirect, which nobody can guess.
    path: String,
    http: Http,
}

impl BrowserLogin {
    /// Opens a port of this machine for the browser's redirect. `base_url` is that of the vendor's
    /// API.
    ///
    /// # Errors
    /// If the address is invalid, or no port can be opened.
    #[expect(clippy::disallowed_methods, reason = "a browser of this machine calls back at this port")]
    pub async fn start(base_url: &str) -> Result<Self, LoginError> {
        let start = |what: String| LoginError::Start(what);
        let base = Url::parse(base_url).map_err(|error| start(format!("{base_url:?}: {error}")))?;
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| start(error.to_string()))?;
        let port = listener.local_addr().map_err(|error| start(error.to_string()))?.port();
        let (verifier, path) = (random()?, format!("/{}", random()?));
        let mut page = base.clone();
        page.set_path("/auth");
        page.query_pairs_mut()
            .clear()
            .append_pair("callback_url", &format!("http://localhost:{port}{path}"))
            .append_pair(
                "code_challenge",
                &BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())),
            )
            .append_pair("code_challenge_method", "S256");
        let mut exchange = base;
        exchange.set_path(&format!("{}/auth/keys", exchange.path().trim_end_matches('/')));
        Ok(Self { page, exchange, verifier, listener, path, http: Http::default() })
    }

    /// The page for the user's browser. It contains no secret.
    pub fn page(&self) -> &str {
        self.page.as_str()
    }

    /// Waits until the user has approved, and returns the key. Cancel-safe.
    ///
    /// # Errors
    /// If the user does not approve in time, or the vendor gives no key.
    pub async fn finish(self) -> Result<String, LoginError> {
        let code = timeout(LOGIN_WAIT, self.code()).await.map_err(|_| LoginError::TimedOut)??;
        let body = json!({
            "code": code, "code_verifier": self.verifier, "code_challenge_method": "S256",
        });
        let network = |what: String| LoginError::Network(what);
        let client = self.http.client(&self.exchange).map_err(|error| network(error.to_string()))?;
        let exchange = async {
            let failed =
                |error: reqwest::Error| network(root_cause(&error).unwrap_or_else(|| error.to_string()));
            let request = client.post(self.exchange.clone());
            let request = request.header(reqwest::header::CONTENT_TYPE, "application/json");
            let mut response = request.body(body.to_string()).send().await.map_err(failed)?;
            let status = response.status();
            let mut answer = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                answer.extend_from_slice(&chunk);
                if answer.len() > MAX_LOGIN_BYTES {
                    return Err(network("the response is too long".to_owned()));
                }
            }
            let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
            match answer["key"].as_str() {
                Some(key) if status.is_success() && !key.is_empty() => Ok(key.trim().to_owned()),
                _ => Err(LoginError::Refused(format!("the vendor answered {}", status.as_u16()))),
            }
        };
        timeout(LOGIN_REDIRECT * 3, exchange).await.map_err(|_| network("it took too long".to_owned()))?
    }

    /// Waits for the browser's redirect. Other requests are refused.
    async fn code(&self) -> Result<String, LoginError> {
        loop {
            let accepted = self.listener.accept().await;
            let (mut stream, _) = accepted.map_err(|error| LoginError::Start(error.to_string()))?;
            // A silent connection must not delay the others for long.
            let Ok(Some(path)) = timeout(LOGIN_REDIRECT, path_of(&mut stream)).await else { continue };
            let answer = self.answer(&path);
            let (status, text) = match &answer {
                None => ("404 Not Found", "Nothing is here."),
                Some(Ok(_)) => ("200 OK", "Tiller may use your account. This window can be closed."),
                Some(Err(_)) => ("400 Bad Request", "The sign-in failed. The terminal shows why."),
            };
            let page = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
                 cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}",
                text.len()
            );
            // The browser may have disconnected; its answer counts nevertheless.
            let _ = timeout(Duration::from_secs(1), stream.write_all(page.as_bytes())).await;
            if let Some(answer) = answer {
                return answer;
            }
        }
    }

    /// Returns the code, or why there is none; `None` if this is not the expected redirect.
    fn answer(&self, path: &str) -> Option<Result<String, LoginError>> {
        let url = Url::parse("http://localhost").ok()?.join(path).ok()?;
        if url.path() != self.path {
            return None;
        }
        let field = |name: &str| {
            let (_, value) = url.query_pairs().find(|(key, _)| key == name)?;
            Some(value.into_owned())
        };
        match (field("code"), field("error")) {
            (Some(code), None) if !code.is_empty() => Some(Ok(code)),
            (_, Some(error)) => Some(Err(LoginError::Refused(agent::one_line(&error)))),
            _ => Some(Err(LoginError::Refused("the redirect contains no code".to_owned()))),
        }
    }
}

/// Reads the path and query of a GET request.
async fn path_of(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await.ok()?;
        if read == 0 || head.len() + read > MAX_REDIRECT_BYTES {
            return None;
        }
        head.extend_from_slice(&buffer[..read]);
    }
    let head = String::from_utf8(head).ok()?;
    let mut words = head.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned)).flatten()
}

/// Returns 32 random bytes, encoded as text.
fn random() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| LoginError::Start(error.to_string()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_expected_redirect_is_accepted() {
        let login = BrowserLogin::start("https://openrouter.ai/api/v1").await.unwrap();
        let page = Url::parse(login.page()).unwrap();
        assert_eq!(page.host_str(), Some("openrouter.ai"));
        assert_eq!(page.path(), "/auth");
        assert!(!login.page().contains(&login.verifier), "the page gets a hash only");
        assert_eq!(login.exchange.as_str(), "https://openrouter.ai/api/v1/auth/keys");
        let own = login.path.clone();
        assert_eq!(login.answer(&format!("{own}?code=c")).unwrap().unwrap(), "c");
        for refused in [format!("{own}?error=denied"), own.clone(), format!("{own}?code=")] {
            assert!(login.answer(&refused).unwrap().is_err(), "{refused}");
        }
        for other in ["/?code=c", "/favicon.ico", "//x?code=c"] {
            assert!(login.answer(other).is_none(), "{other}");
        }
    }
}
