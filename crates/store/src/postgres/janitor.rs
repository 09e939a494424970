//! The janitor of a database: one process at a time, under an advisory lock.
//!
//! The lock only saves work. It falls with its connection, and carries no epoch, so each deletion
//! is safe by itself: it locks the rows first, and then reads again whether they are in use.

use super::{
    blobs,
    failure::failed,
    migrate, read,
    scope::{Scope, owner},
    shared::Shared,
    transaction::{Transaction, connect},
    write,
};
use crate::{
    janitor::{Janitor, Sweep},
    limits::{SWEPT_BLOBS, SWEPT_SESSIONS},
};
use agent::{SessionId, StoreError};
use async_trait::async_trait;
use deadpool_postgres::{ClientWrapper, Object};
use std::{sync::Arc, time::Instant};
use tokio_postgres::Row;

/// The lock of the janitor: `sweeps` in ASCII.
const LOCK: i64 = 0x7377_6565_7073;
/// The schema version that has the functions.
const SCHEMA: i32 = 4;

/// Selects the next blobs of a tenant after a hash, and whether something refers to each.
const PAGE: &str = "SELECT p.hash, EXISTS (SELECT 1 FROM contents c WHERE c.tenant_id = $1 AND c.hash = p.hash) \
     OR EXISTS (SELECT 1 FROM events e WHERE e.tenant_id = $1 AND e.blob = p.hash) \
     FROM (SELECT DISTINCT hash FROM blobs WHERE tenant_id = $1 AND hash > $2 ORDER BY hash LIMIT $3) p ORDER BY p.hash";

/// Deletes from a database.
pub(super) struct PostgresJanitor(pub(super) Arc<Shared>);

#[async_trait]
impl Janitor for PostgresJanitor {
    async fn begin(&self) -> Result<Option<Box<dyn Sweep>>, StoreError> {
        // Not given back to the pool: the lock ends with it.
        let connection = Object::take(connect(&self.0.pool, Instant::now()).await?);
        let version = migrate::version(&*connection).await.map_err(|error| failed(&error))?;
        if version.is_none_or(|version| version < SCHEMA) {
            let message = "the session database has an older schema, which no janitor can use; run `tiller store migrate --store URL`";
            return Err(StoreError::Format(message.to_owned()));
        }
        let sweep = PostgresSweep { shared: Arc::clone(&self.0), connection };
        let rows = sweep.query("SELECT pg_try_advisory_lock($1)", &[&LOCK]).await?;
        let is_ours = rows.first().is_some_and(|row| row.get(0));
        Ok(is_ours.then(|| Box::new(sweep) as Box<dyn Sweep>))
    }
}

struct PostgresSweep {
    shared: Arc<Shared>,
    connection: ClientWrapper,
}

impl PostgresSweep {
    /// Queries on the connection that has the lock, so that a sweep ends with it.
    async fn query(&self, sql: &str, params: super::transaction::Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.connection.query(sql, params).await.map_err(|error| failed(&error))
    }

    async fn begin(&self, scope: &Scope) -> Result<Transaction, StoreError> {
        Transaction::begin(&self.shared.pool, scope).await
    }

    /// Deletes those of the next blobs of a tenant that nothing refers to, and returns how many
    /// those were and the last hash that it read.
    async fn sweep_page(&self, scope: &Scope, after: &[u8]) -> Result<(u64, Option<Vec<u8>>), StoreError> {
        let transaction = self.begin(scope).await?;
        let rows = transaction.query(PAGE, &[&scope.tenant, &after, &SWEPT_BLOBS]).await?;
        let orphans: Vec<Vec<u8>> =
            rows.iter().filter(|row| !row.get::<_, bool>(1)).map(|row| row.get(0)).collect();
        let mut gone = 0;
        if !orphans.is_empty() {
            // An append that is about to refer to one of them holds its rows, and `drop_blobs`
            // waits for it and then sees the reference; or it waits for `drop_blobs`, finds the
            // rows gone, and stores them again (`blobs::keep`). So new ones need no age to be kept.
            blobs::drop_unused(&transaction, &orphans).await?;
            let left = transaction
                .first(
                    "SELECT count(DISTINCT hash) FROM blobs WHERE tenant_id = $1 AND hash = ANY ($2)",
                    &[&scope.tenant, &orphans],
                )
                .await?;
            let left: i64 = left.map(|row| row.get(0)).unwrap_or_default();
            gone = (orphans.len() as u64).saturating_sub(left.cast_unsigned());
        }
        transaction.commit().await?;
        Ok((gone, rows.last().map(|row| row.get(0))))
    }
}

#[async_trait]
impl Sweep for PostgresSweep {
    async fn delete_unused(&mut self, before: i64) -> Result<u64, StoreError> {
        let sql = "SELECT tenant, subject, id FROM unused_sessions($1, $2)";
        let found = self.query(sql, &[&before, &SWEPT_SESSIONS]).await?;
        let mut deleted = 0;
        for row in found {
            let scope = Scope::of(owner(row.get(0), row.get(1)).as_ref());
            let transaction = self.begin(&scope).await?;
            let ids = write::delete_unused(&transaction, &SessionId(row.get(2)), before).await;
            deleted += u64::from(!read(transaction, ids).await?.is_empty());
        }
        Ok(deleted)
    }

    async fn delete_orphans(&mut self) -> Result<u64, StoreError> {
        let mut deleted = 0;
        for row in self.query("SELECT name FROM tenant_names()", &[]).await? {
            let scope = Scope::of_tenant(row.get(0));
            let mut after = Vec::new();
            // Another process may sweep once the lock is lost.
            while !self.connection.is_closed()
                && let (gone, Some(last)) = self.sweep_page(&scope, &after).await?
            {
                deleted += gone;
                after = last;
            }
        }
        Ok(deleted)
    }
}
