//! Authorization for servers over HTTP: sign-in, storage and renewal of grants, sign-out.
//!
//! Follows the authorization part of the MCP specification: OAuth 2.1 with PKCE, protected resource
//! metadata (RFC 9728), authorization server metadata (RFC 8414), resource indicators (RFC 8707)
//! and dynamic client registration (RFC 7591). A grant is bound to the URL it was issued for: if a
//! server's description gets another URL, the grant is not used.

mod callback;
mod discovery;
mod error;
mod grant;
mod login;
mod logout;
mod store;
mod wire;

pub(crate) use error::OAuthError;
pub use grant::{GrantExpiry, grant_expiry};
pub(crate) use grant::{bearer, renew};
pub use login::{LoginOptions, SignIn, login};
pub use logout::{Revocation, logout};
pub use store::Grants;

/// Returns the instruction for a server that requires a sign-in.
pub(crate) fn sign_in(server: &str) -> String {
    format!("It requires a sign-in: run `tiller mcp login {server}`, or give it an Authorization header.")
}
