//! The header in which a node names the user that it forwards for. Only sockets of other nodes, and
//! of this process itself, may send it.

use crate::{auth::Source, http::Problem};
use agent::{Principal, Scope, Scopes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The name of the header.
pub(crate) const PRINCIPAL: HeaderName = HeaderName::from_static("tiller-principal");

/// A user, and where their client is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Forwarded {
    pub(crate) principal: Principal,
    pub(crate) source: Source,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    tenant: String,
    user: String,
    credential: String,
    scopes: Vec<String>,
    /// The user id of a client on the machine of the first node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<u32>,
    /// The address of any other client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
}

impl Forwarded {
    /// Returns the header's value.
    pub(crate) fn to_header(&self) -> HeaderValue {
        let (uid, address) = match self.source {
            Source::Unix(uid) => (Some(uid), None),
            Source::Address(address) => (None, Some(address)),
        };
        let Principal { tenant, user, credential, scopes } = self.principal.clone();
        let scopes = scopes.iter().map(|scope| scope.name().to_owned()).collect();
        let wire = Wire { tenant, user, credential, scopes, uid, address };
        // A struct of texts and numbers is always JSON, and base64 always a header's value.
        let json = serde_json::to_vec(&wire).unwrap_or_default();
        let mut value = HeaderValue::from_str(&URL_SAFE_NO_PAD.encode(json))
            .unwrap_or_else(|_| HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }

    /// Reads the header of a request from a node.
    ///
    /// # Errors
    /// If it is missing, or is not from a node of this version or the one before.
    pub(crate) fn of_headers(headers: &HeaderMap) -> Result<Self, Problem> {
        let read = || {
            let bytes = URL_SAFE_NO_PAD.decode(headers.get(PRINCIPAL)?.as_bytes()).ok()?;
            let wire: Wire = serde_json::from_slice(&bytes).ok()?;
            let source = match (wire.uid, wire.address) {
                (Some(uid), None) => Source::Unix(uid),
                (None, Some(address)) => Source::Address(address),
                _ => return None,
            };
            // A newer node may know scopes that mean nothing here.
            let scopes: Scopes = wire.scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok()).collect();
            let Wire { tenant, user, credential, .. } = wire;
            Some(Self { principal: Principal { tenant, user, credential, scopes }, source })
        };
        read().ok_or_else(|| {
            Problem::new(
                StatusCode::UNAUTHORIZED,
                "credential_invalid",
                "this address is for other nodes, which name the user of each request",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_node_of_another_version_is_read_as_far_as_it_is_understood() {
        let wire = r#"{"tenant":"t","user":"ada","credential":"c","scopes":["connect","fly"],"uid":7,"trace":{"id":1}}"#;
        let value = HeaderValue::from_str(&URL_SAFE_NO_PAD.encode(wire)).unwrap();
        let forwarded = Forwarded::of_headers(&HeaderMap::from_iter([(PRINCIPAL, value)])).unwrap();
        assert_eq!((forwarded.principal.user.as_str(), forwarded.source), ("ada", Source::Unix(7)));
        assert!(forwarded.principal.scopes.has(Scope::Connect));
    }

    #[test]
    fn a_user_and_their_place_survive_the_header() {
        let mut principal = Principal::local("ada \"ü\"\r\n");
        principal.scopes = [Scope::Connect, Scope::SessionApprove].into_iter().collect();
        for source in [Source::Unix(1000), Source::Address("2001:db8::1".parse().unwrap())] {
            let forwarded = Forwarded { principal: principal.clone(), source };
            let headers = HeaderMap::from_iter([(PRINCIPAL, forwarded.to_header())]);
            assert_eq!(Forwarded::of_headers(&headers), Ok(forwarded));
        }
        for value in ["", "e30", "!!!", "eyJ0ZW5hbnQiOiJhIn0"] {
            let headers = HeaderMap::from_iter([(PRINCIPAL, HeaderValue::from_static(value))]);
            assert_eq!(Forwarded::of_headers(&headers).unwrap_err().status, 401, "{value}");
        }
        assert_eq!(Forwarded::of_headers(&HeaderMap::new()).unwrap_err().status, 401);
    }
}
