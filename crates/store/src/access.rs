//! Tokens and the audit of a server, as they are stored.

/// A stored token: everything about it but its value. Times are milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// The id, which is not secret.
    pub id: String,
    /// The SHA-256 of its value, in hexadecimal digits.
    pub sha256: String,
    /// What the user calls it.
    pub name: String,
    /// The tenant of the user.
    pub tenant: String,
    /// The user that it authenticates.
    pub user: String,
    /// What it permits: names with blanks between them.
    pub scopes: String,
    /// When it was created.
    pub created: i64,
    /// When it expires; `None` if never.
    pub expires: Option<i64>,
    /// When it was last used; `None` if never.
    pub last_used: Option<i64>,
    /// When it was revoked, and whether running turns were to be stopped.
    pub revoked: Option<(i64, bool)>,
}

/// A record of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditEntry {
    /// When it happened, in milliseconds since the epoch.
    pub at: i64,
    /// What happened: a word.
    pub what: String,
    /// Who did it, if that is known: the tenant, the user and the id of the credential.
    pub who: Option<[String; 3]>,
    /// Where the request came from.
    pub source: Option<String>,
    /// The session that it is about.
    pub session: Option<String>,
    /// The id of the request.
    pub request: Option<String>,
    /// What it is about beside.
    pub about: Option<String>,
}
