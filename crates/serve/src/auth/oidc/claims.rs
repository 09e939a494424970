//! What the claims of a token mean here.

use super::OidcOptions;
use crate::auth::{limits, token_store::is_identity};
use agent::Scopes;
use serde_json::{Map, Value};

/// What the claims of a token mean here: who it authenticates, and what that permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcClaims {
    /// The claim with the name of the user: `sub`, `preferred_username`, `email` (which must be
    /// verified then) or another one.
    pub user: String,
    /// How the tenant is found.
    pub tenant: TenantRule,
    /// The claim with the groups of the user: a list of texts, or one text.
    pub groups: String,
    /// What each group permits. A user has the scopes of all groups.
    pub scopes: Vec<GroupScopes>,
    /// What every user of the issuer has, without a group.
    pub everyone: Scopes,
}

/// How the tenant of a token is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantRule {
    /// All users are of this tenant.
    Always(String),
    /// This claim names it.
    Claim(String),
}

/// What a group permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupScopes {
    /// The name of the group, as in the claim.
    pub group: String,
    /// Its scopes.
    pub scopes: Scopes,
}

/// Who a token authenticates.
pub(super) struct Identity {
    pub(super) tenant: String,
    pub(super) user: String,
    pub(super) scopes: Scopes,
}

/// The claims of a token whose signature is right.
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(Self)
    }

    /// Checks issuer, audience and times, and returns when the token expires, in seconds. Errors
    /// name the claim and not its value.
    pub(super) fn check(&self, options: &OidcOptions, now: i64) -> Result<i64, String> {
        if self.text("iss") != Some(&options.issuer) {
            return Err("iss is another issuer".to_owned());
        }
        let for_us = match self.0.get("aud") {
            Some(Value::String(audience)) => *audience == options.audience,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(&options.audience)),
            _ => false,
        };
        if !for_us {
            return Err("aud does not name this server".to_owned());
        }
        let skew = limits::CLOCK_SKEW.as_secs().cast_signed();
        let expires = self.time("exp")?.ok_or("exp is missing")?;
        if now >= expires.saturating_add(skew) {
            return Err("exp is over".to_owned());
        }
        for name in ["nbf", "iat"] {
            if self.time(name)?.is_some_and(|time| time > now.saturating_add(skew)) {
                return Err(format!("{name} is in the future"));
            }
        }
        Ok(expires)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Returns a time in seconds since the epoch, which may have a fraction.
    fn time(&self, name: &str) -> Result<Option<i64>, String> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let whole = value.as_i64().or_else(|| {
            let number = value.as_f64().filter(|number| (0.0..1e12).contains(number))?;
            #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
            Some(number as i64)
        });
        whole.map(Some).ok_or_else(|| format!("{name} is no time"))
    }

    fn texts(&self, name: &str) -> Vec<&str> {
        match self.0.get(name) {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }
}

impl OidcClaims {
    /// Returns who the claims are about. Errors name the claim and not its value.
    pub(super) fn identity(&self, claims: &Claims) -> Result<Identity, String> {
        let named = |claim: &str| {
            let name = claims.text(claim).filter(|name| is_identity(name));
            name.map(str::to_owned).ok_or_else(|| {
                format!(
                    "{claim} is not 1 to {} of the characters a-z A-Z 0-9 . _ @ + -",
                    limits::IDENTITY_BYTES
                )
            })
        };
        // An address that its user chose without proof could be that of another user.
        if self.user == "email" && claims.0.get("email_verified") != Some(&Value::Bool(true)) {
            return Err("email is not verified".to_owned());
        }
        let user = named(&self.user)?;
        let tenant = match &self.tenant {
            TenantRule::Always(tenant) => tenant.clone(),
            TenantRule::Claim(claim) => named(claim)?,
        };
        let groups = claims.texts(&self.groups);
        let of_groups = self.scopes.iter().filter(|one| groups.contains(&one.group.as_str()));
        let scopes: Scopes =
            of_groups.flat_map(|one| one.scopes.iter()).chain(self.everyone.iter()).collect();
        match scopes == Scopes::default() {
            true => Err("none of its groups permits anything".to_owned()),
            false => Ok(Identity { tenant, user, scopes }),
        }
    }
}
