//! Signing out: the grant is deleted here and revoked at the authority if it supports that (RFC
//! 7009).

use super::{
    error::OAuthError,
    grant::Grant,
    wire::{endpoint, is_local, post_form},
};
use crate::{limits::OAUTH_REVOKE, options::McpOptions};
use reqwest::Url;

/// The outcome of revoking tokens at the authority. The local grant is deleted in every case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revocation {
    /// The tokens were revoked.
    Done,
    /// The authority has no revocation endpoint: the tokens stay valid until they expire.
    NotOffered,
    /// Revocation failed, with the reason as text for people.
    Failed(String),
}

/// Deletes the grant for a server and asks the authority to revoke it, for at most five seconds.
/// Returns `None` if there is no grant.
///
/// # Errors
///
/// Fails if the grant could not be deleted.
pub async fn logout(options: &McpOptions, server: &str) -> Result<Option<Revocation>, String> {
    let Some(stored) = options.stores.grants.load(server).await else { return Ok(None) };
    options.stores.grants.keep(server, None).await?;
    let Some(grant) = Grant::read(&stored) else { return Ok(Some(Revocation::NotOffered)) };
    options.redactor.learn(grant.secrets());
    let Some(place) = &grant.revocation_endpoint else { return Ok(Some(Revocation::NotOffered)) };
    let revoked = tokio::time::timeout(OAUTH_REVOKE, revoke(options, &grant, place)).await;
    let late = |_| Err(format!("there was no response within {} s", OAUTH_REVOKE.as_secs()).into());
    Ok(Some(match revoked.unwrap_or_else(late) {
        Ok(()) => Revocation::Done,
        Err(why) => Revocation::Failed(options.redactor.redact(&why.to_string())),
    }))
}

async fn revoke(options: &McpOptions, grant: &Grant, place: &str) -> Result<(), OAuthError> {
    let local_server = Url::parse(&grant.url).is_ok_and(|url| is_local(&url));
    let url = endpoint(place, local_server)?;
    // The refresh token goes first: an authority may revoke the access token with it, and must
    // accept a token that it no longer knows.
    let tokens = grant.refresh_token.as_deref().map(|token| ("refresh_token", token)).into_iter();
    for (kind, token) in tokens.chain([("access_token", grant.access_token.as_str())]) {
        let mut fields =
            vec![("token", token), ("token_type_hint", kind), ("client_id", grant.client.id.as_str())];
        fields.extend(grant.client.secret.as_deref().map(|secret| ("client_secret", secret)));
        post_form(options, &url, &fields).await?;
    }
    Ok(())
}
