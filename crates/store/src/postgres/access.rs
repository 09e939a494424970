//! Tokens and the audit of a server in the database. The tables are reached through functions that
//! the migration defines; no statement here names them.

use super::{
    address::Address,
    failure::{cannot_connect, failed, unreachable},
    migrate, status,
};
use crate::{
    access::{AuditEntry, TokenRecord},
    limits::POSTGRES_ACCESS_POOL,
};
use agent::StoreError;
use deadpool_postgres::Pool;
use tokio_postgres::{Row, types::ToSql};

/// Tokens and the audit of a server in a database.
pub struct AccessTables {
    pool: Pool,
}

impl AccessTables {
    /// Connects to a database.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the server cannot be reached; [`StoreError::Format`] for a URL that is
    /// none, or a schema that this program cannot use or that has no such tables yet.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let client = address.connect().await.map_err(|error| cannot_connect(&error))?;
        status::check(&client).await?;
        migrate::check(&client).await?;
        let version = migrate::version(&client).await.map_err(|error| failed(&error))?;
        if version.is_some_and(|version| version < SCHEMA) {
            let message =
                "the session database has no table of tokens yet; run `tiller store migrate --store URL`";
            return Err(StoreError::Format(message.to_owned()));
        }
        Ok(Self { pool: address.pool_of(POSTGRES_ACCESS_POOL)? })
    }

    /// Returns the token with this SHA-256, in hexadecimal digits.
    pub async fn token_by_digest(&self, sha256: &str) -> Result<Option<TokenRecord>, StoreError> {
        let rows = self.query("SELECT * FROM find_token($1)", &[&sha256]).await?;
        rows.first().map(token).transpose()
    }

    /// Returns the token with this id.
    pub async fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        let rows = self.query("SELECT * FROM token_of($1)", &[&id]).await?;
        rows.first().map(token).transpose()
    }

    /// Returns all tokens, oldest first.
    pub async fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.query("SELECT * FROM list_tokens()", &[]).await?.iter().map(token).collect()
    }

    /// Adds a token, after removing those that ended before a time. Returns false, and adds
    /// nothing, if there are `at_most` already.
    pub async fn add_token(
        &self,
        token: &TokenRecord,
        ended_before: i64,
        at_most: i64,
    ) -> Result<bool, StoreError> {
        let TokenRecord { id, sha256, name, tenant, user, scopes, created, expires, .. } = token;
        let rows = self
            .query(
                "SELECT add_token($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                &[id, sha256, name, tenant, user, scopes, created, expires, &ended_before, &at_most],
            )
            .await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Revokes a token; returns it as it is then, `None` if there is none with this id.
    pub async fn revoke_token(
        &self,
        id: &str,
        at: i64,
        stops_turns: bool,
    ) -> Result<Option<TokenRecord>, StoreError> {
        let rows = self.query("SELECT * FROM revoke_token($1, $2, $3)", &[&id, &at, &stops_turns]).await?;
        rows.first().map(token).transpose()
    }

    /// Notes the hour in which a token was used.
    pub async fn note_token_use(&self, id: &str, hour: i64) -> Result<(), StoreError> {
        self.query("SELECT note_token_use($1, $2)", &[&id, &hour]).await.map(drop)
    }

    /// Appends to the audit.
    pub async fn record(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let AuditEntry { at, what, who, source, session, request, about } = entry;
        let who = |part: usize| who.as_ref().map(|who| who[part].as_str());
        self.query(
            "SELECT record_audit($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &[at, what, &who(0), &who(1), &who(2), source, session, request, about],
        )
        .await
        .map(drop)
    }

    /// Returns the audit since a time, in milliseconds since the epoch, in the order in which it
    /// was written.
    pub async fn audit_since(&self, since: i64, at_most: i64) -> Result<Vec<AuditEntry>, StoreError> {
        let rows = self.query("SELECT * FROM audit_since($1, $2)", &[&since, &at_most]).await?;
        Ok(rows.iter().map(entry).collect())
    }

    async fn query(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let connection = self.pool.get().await.map_err(|error| unreachable(&error))?;
        let statement = connection.prepare_cached(sql).await.map_err(|error| failed(&error))?;
        connection.query(&statement, params).await.map_err(|error| failed(&error))
    }
}

/// The schema version that has the tables.
const SCHEMA: i32 = 2;

fn token(row: &Row) -> Result<TokenRecord, StoreError> {
    let read = || {
        let sha256: Vec<u8> = row.try_get("sha256")?;
        let revoked: Option<i64> = row.try_get("revoked_at")?;
        let stops_turns: bool = row.try_get("stops_turns")?;
        Ok(TokenRecord {
            id: row.try_get("id")?,
            sha256: sha256.iter().map(|byte| format!("{byte:02x}")).collect(),
            name: row.try_get("name")?,
            tenant: row.try_get("tenant")?,
            user: row.try_get("subject")?,
            scopes: row.try_get("scopes")?,
            created: row.try_get("created_at")?,
            expires: row.try_get("expires_at")?,
            last_used: row.try_get("last_used")?,
            revoked: revoked.map(|at| (at, stops_turns)),
        })
    };
    read().map_err(|error: tokio_postgres::Error| failed(&error))
}

fn entry(row: &Row) -> AuditEntry {
    let (tenant, user, credential): (Option<String>, Option<String>, Option<String>) =
        (row.get(2), row.get(3), row.get(4));
    let who = tenant.zip(user).zip(credential).map(|((tenant, user), credential)| [tenant, user, credential]);
    AuditEntry {
        at: row.get(0),
        what: row.get(1),
        who,
        source: row.get(5),
        session: row.get(6),
        request: row.get(7),
        about: row.get(8),
    }
}
