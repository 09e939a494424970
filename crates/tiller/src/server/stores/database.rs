//! Tokens and the audit in the database of sessions.

use crate::limits::TOKENS_CACHED;
use ::serve::auth::{
    Audit, AuditError, AuditEvent, AuditRecord, AuditReport, AuditedPrincipal, Clock, Digest, Revocation,
    Source, TokenRow, TokenStore, TokenStoreError,
};
use agent::{Scope, Scopes, StoreError};
use async_trait::async_trait;
use jiff::Timestamp;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::{
    AccessTables,
    access::{AuditEntry, TokenRecord},
};
use tokio::time::Instant;

/// The tokens of a server in a database. What was read is used for 2 seconds, so that a revocation
/// by another process is seen within 5.
pub(super) struct TableTokens {
    tables: Arc<AccessTables>,
    clock: Clock,
    cached: Mutex<HashMap<String, Cached>>,
}

/// A token as it was read.
#[derive(Clone)]
struct Cached {
    row: TokenRow,
    read: Instant,
}

impl TableTokens {
    pub(super) fn new(tables: Arc<AccessTables>, clock: Clock) -> Self {
        Self { tables, clock, cached: Mutex::default() }
    }

    fn cached(&self) -> MutexGuard<'_, HashMap<String, Cached>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was read of the matching token, if that is recent.
    fn recent(&self, fits: impl Fn(&TokenRow) -> bool) -> Option<TokenRow> {
        let mut cached = self.cached();
        cached.retain(|_, cached| cached.read.elapsed() < TOKENS_CACHED);
        cached.values().find(|cached| fits(&cached.row)).map(|cached| cached.row.clone())
    }

    fn keep(&self, row: Option<TokenRow>, read: Instant) -> Option<TokenRow> {
        let row = row?;
        self.cached().insert(row.id.clone(), Cached { row: row.clone(), read });
        Some(row)
    }
}

#[async_trait]
impl TokenStore for TableTokens {
    async fn find(&self, digest: &Digest) -> Result<Option<TokenRow>, TokenStoreError> {
        if let Some(row) = self.recent(|row| row.digest == *digest) {
            return Ok(Some(row));
        }
        let read = Instant::now();
        let found = self.tables.token_by_digest(&digest.to_hex()).await.map_err(failed)?;
        Ok(self.keep(found.map(row).transpose()?, read))
    }

    async fn row(&self, id: &str) -> Result<Option<TokenRow>, TokenStoreError> {
        if let Some(row) = self.recent(|row| row.id == id) {
            return Ok(Some(row));
        }
        let read = Instant::now();
        let found = self.tables.token(id).await.map_err(failed)?;
        Ok(self.keep(found.map(row).transpose()?, read))
    }

    async fn list(&self) -> Result<Vec<TokenRow>, TokenStoreError> {
        self.tables.tokens().await.map_err(failed)?.into_iter().map(row).collect()
    }

    async fn insert(&self, row: TokenRow) -> Result<(), TokenStoreError> {
        let since = TokenRow::kept_since((self.clock)()).as_millisecond();
        let most = i64::try_from(TokenRow::MOST).unwrap_or(i64::MAX);
        match self.tables.add_token(&record(row), since, most).await.map_err(failed)? {
            true => Ok(()),
            false => Err(TokenStoreError::TooMany),
        }
    }

    async fn revoke(&self, id: &str, revocation: Revocation) -> Result<Option<TokenRow>, TokenStoreError> {
        let Revocation { at, stop_turns } = revocation;
        let revoked = self.tables.revoke_token(id, at.as_millisecond(), stop_turns).await.map_err(failed)?;
        self.cached().remove(id);
        revoked.map(row).transpose()
    }

    async fn note_use(&self, id: &str, hour: Timestamp) -> Result<(), TokenStoreError> {
        self.tables.note_token_use(id, hour.as_millisecond()).await.map_err(failed)
    }
}

/// The audit of a server in a database.
pub(super) struct TableAudit(pub(super) Arc<AccessTables>);

#[async_trait]
impl Audit for TableAudit {
    async fn record(&self, record: AuditRecord) -> Result<(), AuditError> {
        let AuditRecord { at, what, who, source, session, request, about } = record.bounded();
        let entry = AuditEntry {
            at: at.as_millisecond(),
            what: what.name().to_owned(),
            who: who.map(|who| [who.tenant, who.user, who.credential]),
            source: source.map(Source::to_text),
            session: session.map(storable),
            request: request.map(storable),
            about: about.map(storable),
        };
        self.0.record(&entry).await.map_err(|error| AuditError::Other(error.to_string()))
    }

    async fn since(&self, since: Timestamp) -> Result<AuditReport, AuditError> {
        let most = i64::try_from(AuditRecord::MOST).unwrap_or(i64::MAX - 1);
        let read = self.0.audit_since(since.as_millisecond(), most + 1).await;
        let mut entries = read.map_err(|error| AuditError::Other(error.to_string()))?;
        let has_more = entries.len() > AuditRecord::MOST;
        entries.truncate(AuditRecord::MOST);
        let mut report = AuditReport { has_more, ..AuditReport::default() };
        for entry in entries {
            match audited(entry) {
                Some(record) => report.records.push(record),
                None => report.unreadable += 1,
            }
        }
        Ok(report)
    }
}

/// A text of PostgreSQL has no zero byte.
fn storable(text: String) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Reads a record; `None` if it is from a later version.
fn audited(entry: AuditEntry) -> Option<AuditRecord> {
    let AuditEntry { at, what, who, source, session, request, about } = entry;
    Some(AuditRecord {
        at: Timestamp::from_millisecond(at).ok()?,
        what: AuditEvent::named(&what)?,
        who: who.map(|[tenant, user, credential]| AuditedPrincipal { tenant, user, credential }),
        source: match source {
            Some(text) => Some(Source::from_text(&text)?),
            None => None,
        },
        session,
        request,
        about,
    })
}

fn row(record: TokenRecord) -> Result<TokenRow, TokenStoreError> {
    let TokenRecord { id, sha256, name, tenant, user, scopes, created, expires, last_used, revoked } = record;
    let unreadable = || TokenStoreError::Other(format!("the row of the token {id} cannot be read"));
    let time = |milliseconds| Timestamp::from_millisecond(milliseconds).map_err(|_| unreadable());
    let scopes: Result<Scopes, _> = scopes.split_whitespace().map(str::parse::<Scope>).collect();
    let revoked = match revoked {
        Some((at, stop_turns)) => Some(Revocation { at: time(at)?, stop_turns }),
        None => None,
    };
    Ok(TokenRow {
        digest: Digest::from_hex(&sha256).ok_or_else(unreadable)?,
        scopes: scopes.map_err(|_| unreadable())?,
        created: time(created)?,
        expires: expires.map(time).transpose()?,
        last_used: last_used.map(time).transpose()?,
        revoked,
        id,
        name,
        tenant,
        user,
    })
}

fn record(row: TokenRow) -> TokenRecord {
    let TokenRow { id, name, tenant, user, scopes, created, expires, last_used, revoked, digest } = row;
    TokenRecord {
        id,
        sha256: digest.to_hex(),
        name,
        tenant,
        user,
        scopes: scopes.iter().map(Scope::name).collect::<Vec<_>>().join(" "),
        created: created.as_millisecond(),
        expires: expires.map(Timestamp::as_millisecond),
        last_used: last_used.map(Timestamp::as_millisecond),
        revoked: revoked.map(|revoked| (revoked.at.as_millisecond(), revoked.stop_turns)),
    }
}

fn failed(error: StoreError) -> TokenStoreError {
    TokenStoreError::Other(error.to_string())
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
