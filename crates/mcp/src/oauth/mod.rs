//! Signing in to servers over HTTP: what was granted, and how it is had, kept and renewed.
//!
//! The rules are those of the protocol's authorization (OAuth 2.1 with PKCE, RFC 9728, 8414, 7591 and 8707). A grant belongs to the address it was given
//! for: a server that is described with another address does not get it.

mod callback;
mod discovery;
mod grant;
mod login;
mod logout;
mod wire;

pub(crate) use grant::{bearer, renew};
pub use login::{LoginOptions, SignIn, login};
pub use logout::{Revoked, logout};

use async_trait::async_trait;

/// Where grants are kept, among the secrets.
#[async_trait]
pub trait Grants: Send + Sync {
    /// The grant for a server's name, as it was kept.
    async fn load(&self, server: &str) -> Option<String>;

    /// Keeps it in place of the one before; with `None` there is none any more. The error says why that failed.
    async fn keep(&self, server: &str, grant: Option<String>) -> Result<(), String>;

    /// The time of day, in seconds since 1970.
    fn now(&self) -> u64;
}

/// What to do where a server wants its caller to be somebody.
pub(crate) fn sign_in(server: &str) -> String {
    format!("{SIGN_IN} `tiller mcp login {server}`, or give it an Authorization header.")
}

/// Whether a server is not there because somebody has to sign in first.
pub(crate) fn wants_sign_in(why: &str) -> bool {
    why.contains(SIGN_IN)
}

const SIGN_IN: &str = "It wants you to sign in: run";
