//! OAuth tokens for client credentials, cached until they expire.

use crate::{
    account::Account,
    auth::Scheme,
    client::{ClientFactory, Network},
    guard,
    limits::{REQUEST, TOKEN_MARGIN},
    request::{Request, basic, form},
    retry,
};
use agent::Redactor;
use reqwest::{
    Method, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::json;
use std::{collections::HashMap, time::Duration};
use tokio::{sync::Mutex, time::Instant};

/// The tokens of one run.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<HashMap<String, Token>>);

#[derive(Clone)]
struct Token {
    text: String,
    ends: Instant,
}

impl Tokens {
    /// Returns an account's token, and requests one if none is cached. `account_id` identifies the
    /// account. Returns `None` for other schemes. The error is text for people.
    pub(crate) async fn get(
        &self,
        account_id: &str,
        scheme: &Scheme,
        account: &Account,
        network: Network,
        http: &ClientFactory,
        redactor: &Redactor,
    ) -> Result<Option<String>, String> {
        let Scheme::ClientCredentials { id, secret, token_url, scopes } = scheme else { return Ok(None) };
        let (id, secret) = (account.get(id).unwrap_or_default(), account.get(secret).unwrap_or_default());
        // A changed secret must not reuse the old token.
        let key = format!("{account_id} {token_url} {id} {}", blake3::hash(secret.as_bytes()));
        let mut known = self.0.lock().await;
        let now = Instant::now();
        let last = known.get(&key).filter(|token| token.ends > now).cloned();
        if let Some(token) = last.as_ref().filter(|token| token.ends > now + TOKEN_MARGIN) {
            return Ok(Some(token.text.clone()));
        }
        match request((id, secret), token_url, scopes, network, http, redactor).await {
            Ok(token) => {
                known.retain(|_, token| token.ends > now);
                known.insert(key, token.clone());
                Ok(Some(token.text))
            }
            // The last token is valid until it expires.
            Err(error) => last.map(|token| Some(token.text)).ok_or(error),
        }
    }
}

/// Requests a token. The error is text for people.
async fn request(
    (id, secret): (&str, &str),
    token_url: &str,
    scopes: &str,
    network: Network,
    http: &ClientFactory,
    redactor: &Redactor,
) -> Result<Token, String> {
    let url = Url::parse(token_url).map_err(|_| "the address for tokens is wrong".to_owned())?;
    guard::check(&url, network).map_err(|refused| refused.to_string())?;
    if url.scheme() == "http" && network == Network::Public {
        return Err(
            guard::RefusedAddress::Unencrypted(url.host_str().unwrap_or_default().to_owned()).to_string()
        );
    }
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let body_encoding = basic(id, secret);
    redactor.learn([body_encoding.trim_start_matches("Basic ").to_owned()]);
    let mut own =
        HeaderValue::from_str(&body_encoding).map_err(|_| "the client's id cannot be sent".to_owned())?;
    own.set_sensitive(true);
    headers.insert(AUTHORIZATION, own);
    let mut fields = json!({ "grant_type": "client_credentials" });
    if !scopes.is_empty() {
        fields["scope"] = json!(scopes);
    }
    let client = http(url.as_str(), network)?;
    let request =
        Request { method: Method::POST, url, headers, body: Some(form(&fields).into_bytes()), shown: None };
    let answer = retry::send(&client, &request, false, network).await;
    let answer = answer.map_err(|why| format!("the token request failed: {why}"))?;
    let text = answer.data["access_token"]
        .as_str()
        .ok_or("the token request failed: the response contains no token")?;
    redactor.learn([text.to_owned()]);
    let lasts = answer.data["expires_in"].as_u64().map_or(REQUEST, Duration::from_secs);
    Ok(Token { text: text.to_owned(), ends: Instant::now() + lasts })
}
