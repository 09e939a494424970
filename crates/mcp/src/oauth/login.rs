//! Signing in: authorization in the user's browser, stored as a grant.

use super::{
    callback::Callback,
    discovery::{AuthorizationMetadata, discover},
    grant::{Grant, OAuthClient},
    wire::{self, INVALID_RESPONSE, endpoint, is_local, post_form, refusal},
};
use crate::{
    config::{ServerConfig, ServerTransport},
    limits::OAUTH_LOGIN,
    options::McpOptions,
    reference,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use reqwest::{Url, header::CONTENT_TYPE};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// Options of a sign-in.
#[derive(Debug, Clone, Default)]
pub struct LoginOptions {
    /// The id of a preregistered client; if absent, a client is registered dynamically.
    pub client_id: Option<String>,
    /// The scope to request instead of the scope that the server names.
    pub scope: Option<String>,
}

/// The page on which the user signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The URL, which contains no secret: `https://…`, or `http://…` on this machine.
    pub url: String,
    /// The host of the URL, to be shown before the page is opened.
    pub host: String,
}

/// Signs the user in to a server and stores the grant.
///
/// `show` is called once with the page to open or display; then the redirect is awaited, for at
/// most five minutes. The error is text for people.
pub async fn login(
    server: &ServerConfig,
    options: &McpOptions,
    login_options: LoginOptions,
    show: impl FnOnce(SignIn),
) -> Result<(), String> {
    let resolved = reference::resolve(server, options.stores.values.as_ref()).await?;
    options.redactor.learn(resolved.secrets);
    let ServerTransport::Http { url, .. } = resolved.transport else {
        return Err("it is a local program; only servers over HTTP have a sign-in".to_owned());
    };
    let at = Url::parse(&url).map_err(|_| "its `url` is not a valid URL".to_owned())?;
    let local_server = is_local(&at);
    endpoint(&url, local_server)?;
    let found = discover(options, &at).await?;
    let callback = Callback::open().await?;
    let (client_id, client_secret) = match login_options.client_id {
        Some(id) => (id, None),
        None => register(options, &found, &callback.uri).await?,
    };
    let (verifier, state) = (random()?, random()?);
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let mut page = found.authorization.clone();
    page.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &client_id)
        .append_pair("redirect_uri", &callback.uri)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", &state)
        .append_pair("resource", &found.resource);
    if let Some(scope) = login_options.scope.as_ref().or(found.scope.as_ref()) {
        page.query_pairs_mut().append_pair("scope", scope);
    }
    let redirect = callback.uri.clone();
    show(SignIn { host: page.host_str().unwrap_or_default().to_owned(), url: page.into() });
    let code = tokio::time::timeout(OAUTH_LOGIN, callback.code(&state, &found.issuer)).await;
    let code = code.map_err(|_| {
        format!("the sign-in was not completed within {} minutes", OAUTH_LOGIN.as_secs() / 60)
    })??;
    options.redactor.learn([code.clone(), verifier.clone()]);
    let mut fields = vec![
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", redirect.as_str()),
        ("client_id", client_id.as_str()),
        ("code_verifier", verifier.as_str()),
        ("resource", found.resource.as_str()),
    ];
    fields.extend(client_secret.as_deref().map(|secret| ("client_secret", secret)));
    let response = post_form(options, &found.token, &fields).await.map_err(|error| error.to_string())?;
    let mut grant = Grant {
        url,
        token_endpoint: found.token.into(),
        revocation_endpoint: found.revocation.map(String::from),
        resource: found.resource,
        client: OAuthClient { id: client_id, secret: client_secret },
        access_token: String::new(),
        refresh_token: None,
        expires: None,
    };
    grant.update(&response, options.stores.grants.now())?;
    options.redactor.learn(grant.secrets());
    options.stores.grants.keep(&server.name, Some(grant.to_json())).await
}

/// Registers this client and returns its id, and its secret if there is one.
async fn register(
    options: &McpOptions,
    found: &AuthorizationMetadata,
    redirect: &str,
) -> Result<(String, Option<String>), String> {
    let url = found.registration.as_ref().ok_or_else(|| {
        format!(
            "{} does not support automatic registration; register a client there and pass its id with --client-id",
            agent::one_line(&found.issuer)
        )
    })?;
    let about = json!({
        "client_name": "Tiller", "redirect_uris": [redirect], "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"], "token_endpoint_auth_method": "none",
    });
    let send = |client: reqwest::Client| {
        client.post(url.clone()).header(CONTENT_TYPE, "application/json").body(about.to_string())
    };
    let (status, response) = wire::json(options, url, send).await?;
    if !(200..300).contains(&status) {
        return Err(refusal(url, status, &response).to_string());
    }
    let id = response["client_id"].as_str().ok_or(INVALID_RESPONSE)?.to_owned();
    let secret = response["client_secret"].as_str().map(str::to_owned);
    options.redactor.learn(secret.clone());
    Ok((id, secret))
}

/// Returns 32 random bytes from the system, encoded as text.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system provides no random bytes: {error}"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
