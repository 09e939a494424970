//! Who may use the server: credentials of connections, and what follows from them.
//!
//! [`Credentials`] turns an `Authorization` header into an [`agent::Principal`], or into an
//! [`AuthFailure`] that has the HTTP status and the words of the answer.
//!
//! Architecture Invariant: no credential is in a `Debug` output, an error, a log line or the audit.
//! A value that is secret has a type of its own, which prints as `..`.

mod audit;
mod bearer;
mod clock;
pub mod contract;
mod credential_id;
mod credentials;
mod digest;
mod failure;
mod limits;
mod live;
mod oidc;
mod quota;
mod source;
mod throttle;
mod ticket;
mod token;
mod token_document;
mod token_file;
mod token_store;

pub use audit::{Audit, AuditError, AuditEvent, AuditRecord, AuditReport, AuditedPrincipal, FileAudit};
pub use bearer::{Bearer, BearerError};
pub use clock::{Clock, wall_clock};
pub use credential_id::CredentialId;
pub use credentials::{BearerVerifier, Credentials, Refusal, Verified};
pub use digest::Digest;
pub use failure::{AuthFailure, Problem};
pub use live::Ended;
pub use oidc::{
    Fetch, FetchError, GroupScopes, IssuerUrlError, OidcClaims, OidcOptions, OidcVerifier, TenantRule,
};
pub use quota::{Level, Permit, Quota, QuotaExceeded, QuotaLimits, Quotas, TurnPermit, WaitingTurn};
pub use source::Source;
pub use ticket::{Ticket, TicketError, Tickets};
pub use token::{NotAToken, Token};
pub use token_file::FileTokens;
pub use token_store::{BadToken, NewToken, Revocation, TokenRow, TokenStore, TokenStoreError};
