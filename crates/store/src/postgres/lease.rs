//! Leases: which node may write to a session. They are in the session's row, so that an append and
//! a takeover cannot both win.

use super::{scope::Scope, shared::Shared, transaction::Transaction};
use crate::limits::{ABANDONED_WAIT, POSTGRES_STATEMENT};
use agent::{Lease, LeaseHolder, SessionId, StoreError};
use std::{
    sync::{Arc, Weak},
    time::Instant,
};
use tokio_postgres::Row;

/// The row of the node that holds session `s`, as long as it lives.
pub(super) const LIVING: &str = "SELECT n.host, n.pid FROM nodes n WHERE n.id = s.lease_node \
     AND n.incarnation = s.lease_incarnation AND n.expires_at > clock_timestamp()";

/// Takes the lease of a session that is free, ours, or whose holder is gone; any with `$4`.
const ACQUIRE: &str = "UPDATE sessions s SET lease_epoch = s.lease_epoch + 1, lease_node = $2, lease_incarnation = $3, \
     lease_since = clock_timestamp() WHERE s.id = $1 AND ($4 OR s.lease_node IS NULL OR s.lease_node = $2 \
     OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = s.lease_node AND n.incarnation = s.lease_incarnation \
     AND n.expires_at > clock_timestamp())) RETURNING s.lease_epoch, s.last_seq";

/// Acquires the lease of a session.
pub(super) async fn acquire(
    shared: &Shared,
    scope: &Scope,
    id: &SessionId,
    take_over: bool,
) -> Result<Lease, StoreError> {
    let transaction = Transaction::begin(&shared.pool, scope).await?;
    let params: super::transaction::Params<'_> =
        &[&id.as_str(), &shared.node.id, &shared.node.incarnation(), &take_over];
    if let Some(row) = transaction.first(ACQUIRE, params).await? {
        transaction.commit().await?;
        let lease = Lease { session: id.clone(), epoch: row.get::<_, i64>(0).cast_unsigned() };
        shared.leases.put(&lease, row.get::<_, i64>(1).cast_unsigned());
        return Ok(lease);
    }
    let holder = holder_of(&transaction, shared, id).await;
    transaction.commit().await?;
    match holder? {
        Some(holder) => Err(StoreError::Held { session: id.clone(), holder }),
        None => Err(StoreError::Io(format!("session {id} was released meanwhile; open it again"))),
    }
}

/// Returns the living node that holds a session, if it is another one.
pub(super) async fn holder(
    shared: &Shared,
    scope: &Scope,
    id: &SessionId,
) -> Result<Option<LeaseHolder>, StoreError> {
    let transaction = Transaction::begin(&shared.pool, scope).await?;
    let holder = holder_of(&transaction, shared, id).await;
    transaction.commit().await?;
    holder
}

async fn holder_of(
    transaction: &Transaction,
    shared: &Shared,
    id: &SessionId,
) -> Result<Option<LeaseHolder>, StoreError> {
    let sql = format!(
        "SELECT s.lease_node, {SINCE}, n.host, n.pid FROM sessions s LEFT JOIN LATERAL ({LIVING}) n ON true WHERE s.id = $1"
    );
    let row = transaction.first(&sql, &[&id.as_str()]).await?;
    row.map(|row| other_holder(&row, shared)).ok_or_else(|| StoreError::NotFound(id.clone()))
}

/// When the lease was taken, as RFC 3339.
const SINCE: &str = "to_char(s.lease_since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";

/// Reads the node, when it took the lease, and its host and process, if it lives.
fn other_holder(row: &Row, shared: &Shared) -> Option<LeaseHolder> {
    let node: Option<uuid::Uuid> = row.get(0);
    let host: Option<String> = row.get(2);
    let host = host.filter(|_| node != Some(shared.node.id))?;
    let pid = u32::try_from(row.get::<_, i64>(3)).unwrap_or_default();
    Some(LeaseHolder { pid, host, since: row.get::<_, Option<String>>(1).unwrap_or_default() })
}

/// Locks the row of a session; [`StoreError::Held`] if another living node holds it, and
/// [`StoreError::NotFound`] without it.
pub(super) async fn refuse_while_held(
    transaction: &Transaction,
    shared: &Shared,
    id: &SessionId,
) -> Result<(), StoreError> {
    let locked =
        transaction.first("SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", &[&id.as_str()]).await?;
    if locked.is_none() {
        return Err(StoreError::NotFound(id.clone()));
    }
    match holder_of(transaction, shared, id).await? {
        Some(holder) => Err(StoreError::Held { session: id.clone(), holder }),
        None => Ok(()),
    }
}

/// Releases a lease, if it is the current one.
pub(super) async fn release(shared: &Shared, scope: &Scope, lease: &Lease) -> Result<(), StoreError> {
    shared.leases.remove(lease);
    let transaction = Transaction::begin(&shared.pool, scope).await?;
    transaction
        .execute(
            "UPDATE sessions SET lease_node = NULL, lease_incarnation = NULL, lease_since = NULL \
             WHERE id = $1 AND lease_epoch = $2 AND lease_node = $3",
            &[&lease.session.as_str(), &lease.epoch.cast_signed(), &shared.node.id],
        )
        .await?;
    transaction.commit().await
}

/// Whether a lease is the current one.
pub(super) async fn check(shared: &Shared, scope: &Scope, lease: &Lease) -> Result<bool, StoreError> {
    let transaction = Transaction::begin(&shared.pool, scope).await?;
    let row = transaction
        .first(
            "SELECT 1 FROM sessions WHERE id = $1 AND lease_epoch = $2 AND lease_node = $3",
            &[&lease.session.as_str(), &lease.epoch.cast_signed(), &shared.node.id],
        )
        .await?;
    transaction.commit().await?;
    Ok(row.is_some())
}

/// Returns why a lease is not valid: the session is gone, or it was taken over.
pub(super) async fn lost(shared: &Shared, scope: &Scope, id: &SessionId) -> StoreError {
    let look = async {
        let transaction = Transaction::begin(&shared.pool, scope).await?;
        let row = transaction.first("SELECT 1 FROM sessions WHERE id = $1", &[&id.as_str()]).await?;
        transaction.commit().await?;
        Ok(row.is_some())
    };
    match look.await {
        Ok(true) => StoreError::Fenced(id.clone()),
        Ok(false) => StoreError::NotFound(id.clone()),
        Err(error) => error,
    }
}

/// Gives a lease up whose log is not known here any more. The database hears of it as soon as it
/// can be reached, for [`ABANDONED_WAIT`]; later the lease ends with this process.
pub(super) fn give_up(shared: &Arc<Shared>, scope: &Scope, lease: &Lease) {
    shared.leases.remove(lease);
    let (weak, scope, lease): (Weak<Shared>, Scope, Lease) =
        (Arc::downgrade(shared), scope.clone(), lease.clone());
    tokio::spawn(async move {
        let begun = Instant::now();
        while begun.elapsed() < ABANDONED_WAIT {
            let Some(shared) = weak.upgrade() else { return };
            if release_quietly(&shared, &scope, &lease).await {
                return;
            }
            drop(shared);
            tokio::time::sleep(POSTGRES_STATEMENT / 10).await;
        }
    });
}

async fn release_quietly(shared: &Shared, scope: &Scope, lease: &Lease) -> bool {
    // A lease that was taken again here meanwhile has another epoch.
    release(shared, scope, lease).await.is_ok()
}
