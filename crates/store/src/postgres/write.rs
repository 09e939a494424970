//! Changing sessions other than by appending.

use super::{blobs, column::text, lease, scope::Scope, shared::Shared, transaction::Transaction};
use crate::{Machine, clock::now};
use agent::{Lease, NewSession, SessionId, StoreError};
use system::AbsPath;
use tokio_postgres::{error::SqlState, types::ToSql};

/// Creates the row of a session, with its lease.
pub(super) async fn create(
    transaction: &Transaction,
    shared: &Shared,
    scope: &Scope,
    session: &NewSession,
) -> Result<Lease, StoreError> {
    let id = &session.id;
    if id.as_str().contains('\0') {
        return Err(StoreError::Io(format!("the id {:?} has a NUL; use another one", id.as_str())));
    }
    add_user(transaction, scope).await?;
    let created = transaction
        .try_query(
            "INSERT INTO sessions (tenant_id, owner_id, id, cwd, additional_directories, model, mode, permission_mode, \
             created_at, updated_at, last_seq, parent_id, lease_epoch, lease_node, lease_incarnation, lease_since, workspace) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 0, $10, 1, $11, $12, clock_timestamp(), \
             CASE WHEN $13::text <> 'any' THEN jsonb_build_object('folders', $13::text, 'host', $14::text) END)",
            &[
                &scope.tenant,
                &scope.owner,
                &id.as_str(),
                &session.cwd.as_str(),
                &to_json(&session.additional_directories),
                &text(&session.model),
                &session.mode.id(),
                &session.permission_mode.id(),
                &now(),
                &session.parent.as_ref().map(SessionId::as_str),
                &shared.node.id,
                &shared.node.incarnation(),
                &shared.node.folders(),
                &Machine::here().host,
            ],
        )
        .await;
    match created {
        Ok(_) => Ok(Lease { session: id.clone(), epoch: 1 }),
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
            Err(StoreError::Io(format!("session {id} exists already; load it, or use another id")))
        }
        Err(error) => Err(super::failure::failed(&error)),
    }
}

/// Adds the tenant and the user of a scope, if they are new.
pub(super) async fn add_user(transaction: &Transaction, scope: &Scope) -> Result<(), StoreError> {
    let (tenant, user) = scope.names();
    transaction
        .execute(
            "INSERT INTO tenants (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            &[&scope.tenant, &tenant],
        )
        .await?;
    transaction
        .execute(
            "INSERT INTO users (id, tenant_id, subject) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            &[&scope.owner, &scope.tenant, &user],
        )
        .await?;
    Ok(())
}

pub(super) fn to_json(directories: &[AbsPath]) -> String {
    let directories: Vec<&str> = directories.iter().map(|path| path.as_str()).collect();
    serde_json::to_string(&directories).expect("a list of texts is JSON")
}

/// A column and its value.
pub(super) type Column<'a> = (&'static str, &'a (dyn ToSql + Sync));

/// Sets columns of a session that is held.
pub(super) async fn set(
    shared: &Shared,
    scope: &Scope,
    lease: &Lease,
    columns: &[Column<'_>],
) -> Result<(), StoreError> {
    let transaction = Transaction::begin(&shared.pool, scope).await?;
    let names = (4..).zip(columns).map(|(at, (name, _))| format!("{name} = ${at}"));
    let sql = format!(
        "UPDATE sessions SET {} WHERE id = $1 AND lease_epoch = $2 AND lease_node = $3",
        names.collect::<Vec<_>>().join(", ")
    );
    let (id, epoch) = (lease.session.as_str(), lease.epoch.cast_signed());
    let lease_of: [&(dyn ToSql + Sync); 3] = [&id, &epoch, &shared.node.id];
    let values: Vec<_> = lease_of.into_iter().chain(columns.iter().map(|(_, value)| *value)).collect();
    let changed = transaction.execute(&sql, &values).await?;
    transaction.commit().await?;
    match changed {
        0 => Err(lease::lost(shared, scope, &lease.session).await),
        _ => Ok(()),
    }
}

/// Creates a session with the events of another. Returns its lease and its last event.
pub(super) async fn fork(
    transaction: &Transaction,
    shared: &Shared,
    scope: &Scope,
    from: &SessionId,
    session: &NewSession,
) -> Result<(Lease, u64), StoreError> {
    // The lock keeps a deletion of the original from deleting what both refer to.
    let origin = transaction
        .first("SELECT last_seq FROM sessions WHERE id = $1 FOR KEY SHARE", &[&from.as_str()])
        .await?;
    let last: i64 = origin.ok_or_else(|| StoreError::NotFound(from.clone()))?.get(0);
    let lease = create(transaction, shared, scope, session).await?;
    let (to, from) = (session.id.as_str(), from.as_str());
    transaction
        .execute(
            "INSERT INTO events (tenant_id, session_id, seq, format, kind, body, blob, at, damaged) \
             SELECT tenant_id, $1, seq, format, kind, body, blob, at, damaged FROM events \
             WHERE session_id = $2 AND seq <= $3",
            &[&to, &from, &last],
        )
        .await?;
    transaction
        .execute(
            "INSERT INTO contents (tenant_id, session_id, hash, size, nth) \
             SELECT tenant_id, $1, hash, size, nth FROM contents WHERE session_id = $2",
            &[&to, &from],
        )
        .await?;
    transaction
        .execute(
            "UPDATE sessions n SET title = o.title, effort = o.effort, last_seq = $3, turns = o.turns, cost = o.cost, \
             workspace = o.workspace FROM sessions o WHERE n.id = $1 AND o.id = $2",
            &[&to, &from, &last],
        )
        .await?;
    Ok((lease, last.cast_unsigned()))
}

/// Deletes a session and those of its subagents, unless another living node holds it. Returns the
/// deleted ids.
pub(super) async fn delete(
    transaction: &Transaction,
    shared: &Shared,
    id: &SessionId,
) -> Result<Vec<String>, StoreError> {
    match lease::refuse_while_held(transaction, shared, id).await {
        Err(StoreError::NotFound(_)) => return Ok(Vec::new()),
        other => other?,
    }
    let rows = transaction
        .query(
            "SELECT id FROM sessions WHERE id = $1 OR parent_id = $1 ORDER BY id FOR UPDATE",
            &[&id.as_str()],
        )
        .await?;
    remove(transaction, rows.iter().map(|row| row.get(0)).collect()).await
}

/// Deletes a session and those of its subagents, unless one was used since a time, or a living node
/// holds it. Returns the deleted ids.
pub(super) async fn delete_unused(
    transaction: &Transaction,
    id: &SessionId,
    before: i64,
) -> Result<Vec<String>, StoreError> {
    // A process that takes the lease or appends changes the row, so it waits for this one, or this
    // one for it: the statement after the lock sees what was committed before.
    let rows = transaction
        .query(
            "SELECT id FROM sessions WHERE id = $1 OR parent_id = $1 ORDER BY id FOR UPDATE",
            &[&id.as_str()],
        )
        .await?;
    let ids: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let sql = format!(
        "SELECT 1 FROM sessions s WHERE s.id = ANY ($1) AND (s.updated_at >= $2 OR EXISTS ({}))",
        lease::LIVING
    );
    match ids.is_empty() || transaction.first(&sql, &[&ids, &before]).await?.is_some() {
        true => Ok(Vec::new()),
        false => remove(transaction, ids).await,
    }
}

/// Deletes sessions whose rows are locked, and what only they refer to.
async fn remove(transaction: &Transaction, ids: Vec<String>) -> Result<Vec<String>, StoreError> {
    let hashes = transaction
        .query(
            "SELECT hash FROM contents WHERE session_id = ANY ($1) \
             UNION SELECT blob FROM events WHERE session_id = ANY ($1) AND blob IS NOT NULL",
            &[&ids],
        )
        .await?;
    // What belongs to a session is visible only while it exists.
    for table in ["words", "contents", "events"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE session_id = ANY ($1)"), &[&ids]).await?;
    }
    transaction.execute("DELETE FROM sessions WHERE id = ANY ($1)", &[&ids]).await?;
    blobs::drop_unused(transaction, &hashes.iter().map(|row| row.get(0)).collect::<Vec<Vec<u8>>>()).await?;
    Ok(ids)
}

pub(super) async fn set_archived(
    transaction: &Transaction,
    shared: &Shared,
    id: &SessionId,
    archived: bool,
) -> Result<(), StoreError> {
    lease::refuse_while_held(transaction, shared, id).await?;
    let sql = "UPDATE sessions SET archived = $2 WHERE id = $1";
    transaction.execute(sql, &[&id.as_str(), &archived]).await?;
    Ok(())
}

/// Marks the rows of damaged events with what is wrong; later reads skip them silently.
pub(super) async fn mark_damaged(
    transaction: &Transaction,
    id: &SessionId,
    damaged: &[(i64, String)],
) -> Result<(), StoreError> {
    for (seq, what) in damaged {
        let sql = "UPDATE events SET damaged = $3 WHERE session_id = $1 AND seq = $2";
        transaction.execute(sql, &[&id.as_str(), seq, &text(what)]).await?;
    }
    Ok(())
}
