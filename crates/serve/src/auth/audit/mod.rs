//! Who did what to the server, without any content.

mod file;
mod line;

pub use file::{AuditReport, FileAudit};

use super::{Source, limits};
use agent::Principal;
use async_trait::async_trait;
use jiff::Timestamp;
use system::SystemError;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditEvent {
    /// A connection was authenticated.
    Authenticated,
    /// A request was refused for its credential, or its scopes.
    Refused,
    /// A token was created.
    TokenCreated,
    /// A token was revoked.
    TokenRevoked,
    /// Connections were closed because their credential was revoked or has expired.
    CredentialEnded,
    /// A connection joined a session.
    Attached,
    /// An administrator read what belongs to another user.
    CrossUserRead,
    /// A session went to another node, or to another process.
    TakenOver,
    /// A request was refused for a quota.
    QuotaRefused,
    /// An administrator changed the server: disconnected a client, drained a node.
    Administered,
    /// Sessions were migrated to another store.
    Migrated,
    /// The server deleted sessions that were not used for long, or contents that nothing needs.
    Deleted,
}

impl AuditEvent {
    /// All events.
    pub const ALL: [Self; 12] = [
        Self::Authenticated,
        Self::Refused,
        Self::TokenCreated,
        Self::TokenRevoked,
        Self::CredentialEnded,
        Self::Attached,
        Self::CrossUserRead,
        Self::TakenOver,
        Self::QuotaRefused,
        Self::Administered,
        Self::Migrated,
        Self::Deleted,
    ];

    /// Returns the event with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Returns its name, as in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Authenticated => "authenticated",
            Self::Refused => "refused",
            Self::TokenCreated => "token_created",
            Self::TokenRevoked => "token_revoked",
            Self::CredentialEnded => "credential_ended",
            Self::Attached => "attached",
            Self::CrossUserRead => "cross_user_read",
            Self::TakenOver => "taken_over",
            Self::QuotaRefused => "quota_refused",
            Self::Administered => "administered",
            Self::Migrated => "migrated",
            Self::Deleted => "deleted",
        }
    }

    /// Whether the record must survive a power failure. Those of ordinary use are left to the OS:
    /// a strict order of both is kept, since a later record that is synced syncs all before it.
    pub fn is_synced(self) -> bool {
        match self {
            Self::Authenticated | Self::Attached | Self::Refused | Self::QuotaRefused => false,
            Self::TokenCreated
            | Self::TokenRevoked
            | Self::CredentialEnded
            | Self::CrossUserRead
            | Self::TakenOver
            | Self::Administered
            | Self::Migrated
            | Self::Deleted => true,
        }
    }
}

/// One record. It has ids and words of this program only, never a text of a user, of a model or of
/// a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub what: AuditEvent,
    /// Who did it, if that is known.
    pub who: Option<AuditedPrincipal>,
    /// Where the request came from.
    pub source: Option<Source>,
    /// The id of the session that it is about.
    pub session: Option<String>,
    /// The id of the request.
    pub request: Option<String>,
    /// What it is about beside: the id of a token, the name of a quota, the reason of a refusal.
    pub about: Option<String>,
}

/// The principal of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedPrincipal {
    /// The tenant.
    pub tenant: String,
    /// The user.
    pub user: String,
    /// The id of the credential.
    pub credential: String,
}

impl From<&Principal> for AuditedPrincipal {
    fn from(principal: &Principal) -> Self {
        Self {
            tenant: principal.tenant.clone(),
            user: principal.user.clone(),
            credential: principal.credential.clone(),
        }
    }
}

impl AuditRecord {
    /// The most records that are read at once.
    pub const MOST: usize = limits::AUDIT_RECORDS;

    /// Cuts the texts that a client chose, as they are stored.
    #[must_use]
    pub fn bounded(self) -> Self {
        let cut = |text: Option<String>| text.map(line::bounded);
        Self { session: cut(self.session), request: cut(self.request), about: cut(self.about), ..self }
    }

    /// Begins a record of something that a principal did.
    pub fn new(at: Timestamp, what: AuditEvent, who: Option<&Principal>) -> Self {
        let who = who.map(AuditedPrincipal::from);
        Self { at, what, who, source: None, session: None, request: None, about: None }
    }
}

/// Why something was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file cannot be written or read, or others can read it.
    #[error("the audit: {0}")]
    File(#[from] SystemError),
    /// Another store, such as a database, failed.
    #[error("the audit: {0}")]
    Other(String),
}

/// Where the audit is kept.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Appends a record. A caller that must not act unrecorded acts only after it.
    async fn record(&self, record: AuditRecord) -> Result<(), AuditError>;

    /// Returns the records since a time, in the order in which they were written.
    async fn since(&self, since: Timestamp) -> Result<AuditReport, AuditError>;
}
