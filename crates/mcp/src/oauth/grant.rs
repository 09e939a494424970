//! A stored grant, and its renewal.

use super::{
    error::OAuthError,
    wire::{INVALID_RESPONSE, endpoint, is_local, post_form},
};
use crate::{limits::OAUTH_MARGIN, options::McpOptions};
use reqwest::Url;
use serde_json::{Value, json};

/// The tokens granted for a server's URL, with what their renewal needs.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Grant {
    /// The server's URL. The token is sent to no other.
    pub(super) url: String,
    pub(super) token_endpoint: String,
    /// The revocation endpoint, if the authority has one.
    pub(super) revocation_endpoint: Option<String>,
    pub(super) resource: String,
    pub(super) client: OAuthClient,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// In seconds since 1970; `None` if the authority did not send it.
    pub(super) expires: Option<u64>,
}

/// This program, as an authorization server knows it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct OAuthClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
}

impl Grant {
    /// Serializes the grant for storage.
    pub(super) fn to_json(&self) -> String {
        json!({
            "version": 1, "url": self.url, "token_endpoint": self.token_endpoint,
            "revocation_endpoint": self.revocation_endpoint, "resource": self.resource,
            "client_id": self.client.id, "client_secret": self.client.secret, "access_token": self.access_token,
            "refresh_token": self.refresh_token, "expires": self.expires,
        })
        .to_string()
    }

    /// Parses a stored grant; `None` if it is invalid.
    pub(super) fn read(stored: &str) -> Option<Self> {
        let stored: Value = serde_json::from_str(stored).ok()?;
        let text = |key: &str| stored[key].as_str().map(str::to_owned);
        Some(Self {
            url: text("url")?,
            token_endpoint: text("token_endpoint")?,
            revocation_endpoint: text("revocation_endpoint"),
            resource: text("resource")?,
            client: OAuthClient { id: text("client_id")?, secret: text("client_secret") },
            access_token: text("access_token")?,
            refresh_token: text("refresh_token"),
            expires: stored["expires"].as_u64(),
        })
    }

    /// Returns the values to register as secrets.
    pub(super) fn secrets(&self) -> Vec<String> {
        let further = [&self.client.secret, &self.refresh_token].into_iter().flatten().cloned();
        std::iter::once(self.access_token.clone()).chain(further).collect()
    }

    /// Takes over the tokens of a response.
    pub(super) fn update(&mut self, response: &Value, now: u64) -> Result<(), String> {
        let token =
            response["access_token"].as_str().filter(|token| !token.is_empty()).ok_or(INVALID_RESPONSE)?;
        if response["token_type"].as_str().is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err("it issues tokens of an unsupported type".to_owned());
        }
        token.clone_into(&mut self.access_token);
        self.expires = response["expires_in"].as_u64().map(|seconds| now.saturating_add(seconds));
        if let Some(token) = response["refresh_token"].as_str() {
            self.refresh_token = Some(token.to_owned());
        }
        Ok(())
    }
}

/// How long a stored grant lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantExpiry {
    /// When its token ends, in seconds since 1970; `None` if the authority did not say.
    pub expires: Option<u64>,
    /// Whether the token is renewed without the user.
    pub renews: bool,
}

/// Returns how long a stored grant lasts; `None` if it is invalid.
pub fn grant_expiry(stored: &str) -> Option<GrantExpiry> {
    let grant = Grant::read(stored)?;
    Some(GrantExpiry { expires: grant.expires, renews: grant.refresh_token.is_some() })
}

/// Returns the access token for a server's URL, renewed if it is about to expire; `None` if there
/// is no grant for the URL. A token whose renewal fails temporarily is used until it expires.
///
/// # Errors
///
/// If the token could not be renewed and a new sign-in is needed, or it has expired.
pub(crate) async fn bearer(
    options: &McpOptions,
    server: &str,
    url: &str,
) -> Result<Option<String>, OAuthError> {
    let Some(grant) = load(options, server, url).await else { return Ok(None) };
    let token = grant.access_token.clone();
    let now = || options.stores.grants.now();
    let expires = grant.expires.filter(|expires| *expires <= now() + OAUTH_MARGIN.as_secs());
    let Some(expires) = expires.filter(|_| grant.refresh_token.is_some()) else { return Ok(Some(token)) };
    match renew_grant(options, server, grant).await {
        Err(error) if !error.needs_sign_in() && now() < expires => {
            let why = options.redactor.redact(&error.to_string());
            tracing::warn!(server, "a token that is about to expire could not be renewed: {why}");
            Ok(Some(token))
        }
        renewed => renewed.map(Some),
    }
}

/// Returns another token in place of `refused`, which the server rejected; `None` if only a new
/// sign-in can provide one.
pub(crate) async fn renew(
    options: &McpOptions,
    server: &str,
    url: &str,
    refused: &str,
) -> Result<Option<String>, OAuthError> {
    let Some(grant) = load(options, server, url).await else { return Ok(None) };
    match &grant.refresh_token {
        // Another process has renewed the token.
        _ if grant.access_token != refused => Ok(Some(grant.access_token)),
        None => Ok(None),
        Some(_) => renew_grant(options, server, grant).await.map(Some),
    }
}

async fn load(options: &McpOptions, server: &str, url: &str) -> Option<Grant> {
    let grant = Grant::read(&options.stores.grants.load(server).await?)?;
    options.redactor.learn(grant.secrets());
    (grant.url == url).then_some(grant)
}

async fn renew_grant(options: &McpOptions, server: &str, mut grant: Grant) -> Result<String, OAuthError> {
    let local_server = Url::parse(&grant.url).is_ok_and(|url| is_local(&url));
    let url = endpoint(&grant.token_endpoint, local_server)?;
    let refresh = grant.refresh_token.clone().unwrap_or_default();
    let mut fields = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
        ("client_id", grant.client.id.as_str()),
        ("resource", grant.resource.as_str()),
    ];
    fields.extend(grant.client.secret.as_deref().map(|secret| ("client_secret", secret)));
    let response = post_form(options, &url, &fields).await?;
    grant.update(&response, options.stores.grants.now())?;
    options.redactor.learn(grant.secrets());
    // A token that could not be stored is still valid for this connection.
    if let Err(why) = options.stores.grants.keep(server, Some(grant.to_json())).await {
        tracing::warn!("a renewed token could not be stored: {why}");
    }
    Ok(grant.access_token)
}
