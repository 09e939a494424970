//! Signing out: what was granted is forgotten here, and taken back at the authority where it lets us (RFC 7009).

use super::{
    grant::Grant,
    wire::{endpoint, is_local, post_form},
};
use crate::{limits::OAUTH_REVOKE, provider::McpOptions};
use reqwest::Url;

/// What became of tokens at the authority that gave them. They are forgotten here whatever it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// It took them back.
    Yes,
    /// It names no place for that: they are good until they end.
    NotOffered,
    /// It did not take them back; why, for people.
    No(String),
}

/// Forgets what was granted for a server, and asks its authority to take it back: for five seconds at the most. `None` where nobody is signed in. The error says
/// why it could not be forgotten.
pub async fn logout(options: &McpOptions, server: &str) -> Result<Option<Revoked>, String> {
    let Some(kept) = options.grants.load(server).await else { return Ok(None) };
    options.grants.keep(server, None).await?;
    let Some(grant) = Grant::read(&kept) else { return Ok(Some(Revoked::NotOffered)) };
    options.redactor.learn(grant.secrets());
    let Some(place) = &grant.revocation_endpoint else { return Ok(Some(Revoked::NotOffered)) };
    let revoked = tokio::time::timeout(OAUTH_REVOKE, revoke(options, &grant, place)).await;
    let late = |_| Err(format!("there was no answer within {} s", OAUTH_REVOKE.as_secs()));
    Ok(Some(match revoked.unwrap_or_else(late) {
        Ok(()) => Revoked::Yes,
        Err(why) => Revoked::No(options.redactor.redact(&why)),
    }))
}

async fn revoke(options: &McpOptions, grant: &Grant, place: &str) -> Result<(), String> {
    let near = Url::parse(&grant.url).is_ok_and(|url| is_local(&url));
    let url = endpoint(place, near)?;
    // The one that others are had with comes first; an authority may take the rest back with it, and takes what it does not know for done.
    let tokens = grant.refresh_token.as_deref().map(|token| ("refresh_token", token)).into_iter();
    for (kind, token) in tokens.chain([("access_token", grant.access_token.as_str())]) {
        let mut fields =
            vec![("token", token), ("token_type_hint", kind), ("client_id", grant.client_id.as_str())];
        fields.extend(grant.client_secret.as_deref().map(|secret| ("client_secret", secret)));
        post_form(options, &url, &fields).await?;
    }
    Ok(())
}
