//! Discovery of a server's authorization server and its endpoints.

use super::wire::{self, INVALID_RESPONSE, endpoint, is_local};
use crate::options::McpOptions;
use reqwest::{
    Url,
    header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE},
};
use serde_json::{Value, json};

/// A server's authorization.
pub(super) struct AuthorizationMetadata {
    /// The resource identifier that tokens are requested for.
    pub(super) resource: String,
    /// The scope that the server asks for, if it names one.
    pub(super) scope: Option<String>,
    pub(super) issuer: String,
    pub(super) authorization: Url,
    pub(super) token: Url,
    pub(super) registration: Option<Url>,
    /// The revocation endpoint. An unusable one is dropped, since signing in does not need it.
    pub(super) revocation: Option<Url>,
}

/// Queries the server, then the authorization server that it names.
pub(super) async fn discover(options: &McpOptions, server: &Url) -> Result<AuthorizationMetadata, String> {
    let local_server = is_local(server);
    let (resource, scope, issuer) = match resource_metadata(options, server, local_server).await? {
        Some(found) => found,
        // In earlier versions of the protocol, a server is its own authorization server.
        None => (resource(server), None, server.origin().ascii_serialization()),
    };
    let metadata = authority_metadata(options, &issuer, local_server).await?;
    let named = metadata["issuer"].as_str().unwrap_or_default();
    if named.trim_end_matches('/') != issuer.trim_end_matches('/') {
        return Err(format!(
            "the metadata of {} names another issuer, {}",
            agent::one_line(&issuer),
            agent::one_line(named)
        ));
    }
    let methods = metadata["code_challenge_methods_supported"].as_array();
    if !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
        return Err(format!(
            "{} does not support PKCE with S256, which is required",
            agent::one_line(&issuer)
        ));
    }
    let at = |key: &str| metadata[key].as_str().map(|text| endpoint(text, local_server)).transpose();
    let missing = |key: &str| format!("{} names no {key}", agent::one_line(&issuer));
    Ok(AuthorizationMetadata {
        resource,
        scope,
        authorization: at("authorization_endpoint")?.ok_or_else(|| missing("authorization_endpoint"))?,
        token: at("token_endpoint")?.ok_or_else(|| missing("token_endpoint"))?,
        registration: at("registration_endpoint")?,
        revocation: at("revocation_endpoint").ok().flatten(),
        issuer: named.to_owned(),
    })
}

/// Returns the resource, its scope and its issuer; `None` if the server publishes no metadata.
async fn resource_metadata(
    options: &McpOptions,
    server: &Url,
    local_server: bool,
) -> Result<Option<(String, Option<String>, String)>, String> {
    let challenge = challenge(options, server).await?;
    let wanted = challenge.as_deref().and_then(|text| parameter(text, "scope"));
    let named = challenge.as_deref().and_then(|text| parameter(text, "resource_metadata"));
    let mut places = Vec::new();
    match named {
        Some(text) => places.push(endpoint(&text, local_server)?),
        None => places.extend(well_known(server, "oauth-protected-resource")),
    }
    for place in places {
        let (status, response) = wire::json(options, &place, |client| client.get(place.clone())).await?;
        if status != 200 || !response.is_object() {
            continue;
        }
        let resource = response["resource"].as_str().ok_or(INVALID_RESPONSE)?;
        // A token for another resource would be valid at a foreign server.
        let resource_url = endpoint(resource, local_server)?;
        let below = server.path().starts_with(resource_url.path().trim_end_matches('/'));
        if resource_url.origin() != server.origin() || !below {
            return Err(format!("its metadata names another resource, {}", agent::one_line(resource)));
        }
        let issuer =
            response["authorization_servers"][0].as_str().ok_or("it names no authorization server")?;
        endpoint(issuer, local_server)?;
        let scopes = response["scopes_supported"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let scopes = scopes.collect::<Vec<_>>().join(" ");
        let scope = wanted.or((!scopes.is_empty()).then_some(scopes));
        return Ok(Some((resource.to_owned(), scope, issuer.to_owned())));
    }
    Ok(None)
}

/// Sends `initialize` without credentials and returns the `WWW-Authenticate` header.
async fn challenge(options: &McpOptions, server: &Url) -> Result<Option<String>, String> {
    let client = (options.http)(server.as_str())?;
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": crate::serve::OUR_NAME, "version": options.version },
        },
    });
    let request = client
        .post(server.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(hello.to_string());
    let sent = tokio::time::timeout(crate::limits::OAUTH_REQUEST, request.send()).await;
    let response = sent
        .map_err(|_| "it did not respond in time".to_owned())?
        .map_err(|error| format!("the request failed: {}", error.without_url()))?;
    if response.status().is_success() {
        return Err("it requires no sign-in".to_owned());
    }
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    Ok(challenge.and_then(|value| value.to_str().ok()).map(str::to_owned))
}

/// Returns a parameter of a challenge: `NAME="VALUE"` or `NAME=VALUE`.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let begins = |at: usize| !challenge[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let start = challenge
        .match_indices(name)
        .find(|(at, _)| begins(*at) && challenge[at + name.len()..].starts_with('='))?
        .0;
    let value = &challenge[start + name.len() + 1..];
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split([',', ' ']).next()?,
    };
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the metadata of an authorization server.
async fn authority_metadata(options: &McpOptions, issuer: &str, local_server: bool) -> Result<Value, String> {
    let url = endpoint(issuer, local_server)?;
    let mut places: Vec<_> = well_known(&url, "oauth-authorization-server").into_iter().take(1).collect();
    places.extend(well_known(&url, "openid-configuration").into_iter().take(1));
    if url.path() != "/" {
        let mut appended = url.clone();
        appended.set_path(&format!("{}/.well-known/openid-configuration", url.path().trim_end_matches('/')));
        places.push(appended);
    }
    for place in places {
        let (status, response) = wire::json(options, &place, |client| client.get(place.clone())).await?;
        if status == 200 && response.is_object() {
            return Ok(response);
        }
    }
    Err(format!("{} publishes no metadata of an authorization server", agent::one_line(issuer)))
}

/// Returns the well-known URLs for an address: for its path, then for its whole host.
fn well_known(url: &Url, what: &str) -> Vec<Url> {
    let place = |path: &str| {
        let mut place = url.clone();
        place.set_path(&format!("/.well-known/{what}{path}"));
        place.set_query(None);
        place.set_fragment(None);
        place
    };
    match url.path().trim_end_matches('/') {
        "" => vec![place("")],
        path => vec![place(path), place("")],
    }
}

/// Returns a server's canonical resource identifier: its URL without query and fragment.
fn resource(server: &Url) -> String {
    let mut resource = server.clone();
    resource.set_query(None);
    resource.set_fragment(None);
    resource.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_challenge_are_parsed() {
        let text =
            r#"Bearer error="invalid_token", resource_metadata="https://h/x?a=b,c", scope="a b", x_scope=no"#;
        assert_eq!(parameter(text, "resource_metadata").as_deref(), Some("https://h/x?a=b,c"));
        assert_eq!(parameter(text, "scope").as_deref(), Some("a b"));
        assert_eq!(parameter("Bearer scope=mcp, x=y", "scope").as_deref(), Some("mcp"));
        assert_eq!(parameter("Bearer x_scope=no", "scope"), None);
    }

    #[test]
    fn well_known_is_inserted_before_the_path() {
        let places = |url: &str| -> Vec<String> {
            well_known(&Url::parse(url).unwrap(), "w").into_iter().map(String::from).collect()
        };
        assert_eq!(places("https://h/a/b?c"), ["https://h/.well-known/w/a/b", "https://h/.well-known/w"]);
        assert_eq!(places("https://h/"), ["https://h/.well-known/w"]);
    }
}
