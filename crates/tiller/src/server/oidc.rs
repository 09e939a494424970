//! Tokens of an identity provider, from the settings `serve.oidc`.

use super::refuse;
use crate::{options::OidcSettings, wiring};
use ::integrations::{ClientFactory, Network, ReleaseError, get_document};
use ::serve::auth::{Clock, Fetch, FetchError, OidcClaims, OidcOptions, OidcVerifier, TenantRule};
use agent::Principal;
use anyhow::Result;
use async_trait::async_trait;
use std::sync::Arc;

/// Returns what checks the tokens of the identity provider; `None` if the settings name none.
///
/// # Errors
/// If the settings are incomplete.
pub(super) fn verifier(settings: &OidcSettings, clock: Clock) -> Result<Option<OidcVerifier>> {
    let Some(issuer) = settings.issuer.clone() else {
        return match settings {
            OidcSettings { audience: None, .. } => Ok(None),
            _ => Err(refuse(
                "serve.oidc.issuer is missing; set it to the URL of the identity provider".to_owned(),
            )),
        };
    };
    let Some(audience) = settings.audience.clone() else {
        return Err(refuse(
            "serve.oidc.audience is missing; set it to the id of this server at the identity provider"
                .to_owned(),
        ));
    };
    let tenant = match &settings.tenant_claim {
        Some(claim) => TenantRule::Claim(claim.clone()),
        None => TenantRule::Always(Principal::ONLY_TENANT.to_owned()),
    };
    let claims = OidcClaims {
        user: settings.user_claim.clone(),
        tenant,
        groups: settings.groups_claim.clone(),
        scopes: settings.groups.clone(),
        everyone: settings.scopes,
    };
    let fetch = Arc::new(Fetcher { clients: wiring::guarded_clients(), is_local: settings.is_local });
    let options = OidcOptions { issuer, audience, claims };
    OidcVerifier::new(options, fetch, clock)
        .map(Some)
        .map_err(|error| refuse(format!("serve.oidc.issuer: {error}")))
}

/// Fetches the documents of an identity provider, behind the address guard.
struct Fetcher {
    clients: Arc<ClientFactory>,
    /// Whether the provider may be on this machine or in a private network.
    is_local: bool,
}

#[async_trait]
impl Fetch for Fetcher {
    async fn get(&self, url: &str, most: usize) -> Result<Vec<u8>, FetchError> {
        let network = if self.is_local { Network::Private } else { Network::Public };
        get_document(&*self.clients, url, network, most).await.map_err(|error| match error {
            ReleaseError::TooLarge { .. } => FetchError::TooLarge { most },
            other if self.is_local => FetchError::Failed(other.to_string()),
            other => FetchError::Failed(format!("{other} (serve.oidc.local permits private networks)")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_settings_is_refused_by_the_name_of_the_other() {
        let clock = ::serve::auth::wall_clock;
        let none = OidcSettings::default();
        assert!(verifier(&none, clock()).unwrap().is_none());
        let refused = |settings: OidcSettings| verifier(&settings, clock()).err().unwrap().to_string();
        let (issuer, audience) = (Some("https://id.example".to_owned()), Some("tiller".to_owned()));
        let error = refused(OidcSettings { issuer: issuer.clone(), ..OidcSettings::default() });
        assert!(error.contains("serve.oidc.audience"), "{error}");
        let error = refused(OidcSettings { audience: audience.clone(), ..OidcSettings::default() });
        assert!(error.contains("serve.oidc.issuer"), "{error}");
        let plain = Some("http://id.example".to_owned());
        let error =
            refused(OidcSettings { issuer: plain, audience: audience.clone(), ..OidcSettings::default() });
        assert!(error.contains("https://"), "{error}");
        let whole = OidcSettings { issuer, audience, ..OidcSettings::default() };
        assert!(verifier(&whole, clock()).unwrap().is_some());
    }
}
