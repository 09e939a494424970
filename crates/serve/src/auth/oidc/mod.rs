//! Credentials of an identity provider: signed tokens (JWT) of an OpenID Connect issuer.
//!
//! Architecture Invariant: the algorithm of a signature follows from the key that the issuer
//! published, never from the token.

mod claims;
mod issuer;
mod jwk;
mod jwt;

pub use claims::{GroupScopes, OidcClaims, TenantRule};
pub use issuer::{Fetch, FetchError, IssuerUrlError};

use super::{Bearer, BearerVerifier, Clock, CredentialId, Refusal, Verified, limits};
use agent::Principal;
use async_trait::async_trait;
use issuer::{Issuer, Keys};
use jiff::Timestamp;
use jwt::SignedToken;
use std::sync::Arc;

/// The issuer that is trusted, and what its tokens mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcOptions {
    /// The issuer: an `https` URL, exactly as in the claim `iss`. `http` is accepted for this
    /// machine only.
    pub issuer: String,
    /// What the claim `aud` must name: the id of this server at the issuer.
    pub audience: String,
    /// What the claims of a token mean here.
    pub claims: OidcClaims,
}

/// Accepts the tokens of one issuer.
pub struct OidcVerifier {
    options: OidcOptions,
    issuer: Issuer,
    clock: Clock,
}

impl OidcVerifier {
    /// Trusts an issuer. Nothing is fetched before the first token is checked.
    ///
    /// # Errors
    /// If the issuer is no URL that can be trusted.
    pub fn new(options: OidcOptions, fetch: Arc<dyn Fetch>, clock: Clock) -> Result<Self, IssuerUrlError> {
        let issuer = Issuer::new(&options.issuer, fetch)?;
        Ok(Self { options, issuer, clock })
    }

    /// Checks a token with the keys that are known, without a request.
    fn check(&self, token: &SignedToken<'_>, keys: &Keys) -> Result<Verified, Refusal> {
        let invalid = |why: String| Refusal::Invalid(why);
        let key = keys
            .find(token.key_id())
            .ok_or_else(|| invalid("no key of the issuer has its kid".to_owned()))?;
        token.verify(key).map_err(|why| invalid(why.to_owned()))?;
        let claims = token.claims().map_err(|why| invalid(why.to_owned()))?;
        let now = (self.clock)().as_second();
        let expires = claims.check(&self.options, now).map_err(invalid)?;
        let identity = self.options.claims.identity(&claims).map_err(invalid)?;
        let expires = expires.saturating_add(limits::CLOCK_SKEW.as_secs().cast_signed());
        let expires = Timestamp::from_second(expires).unwrap_or(Timestamp::MAX);
        let credential = CredentialId::oidc(token.text(), expires).to_string();
        let (tenant, user) = (identity.tenant, identity.user);
        Ok(Verified { principal: Principal { tenant, user, credential, scopes: identity.scopes }, expires })
    }
}

#[async_trait]
impl BearerVerifier for OidcVerifier {
    async fn verify(&self, bearer: Bearer<'_>) -> Result<Verified, Refusal> {
        let token = SignedToken::parse(bearer.expose()).map_err(|why| Refusal::Invalid(why.to_owned()))?;
        let keys = self.issuer.keys(token.key_id()).await.map_err(Refusal::Unavailable)?;
        self.check(&token, &keys)
    }
}

#[cfg(test)]
mod tests;
