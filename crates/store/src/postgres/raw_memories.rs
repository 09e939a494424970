//! Reading and writing memories as their rows.

use super::{
    column::text,
    scope::{Scope, owner},
    shared::Shared,
    transaction::Transaction,
    words, write,
};
use crate::moved_memories::{MovedMemories, RawMemory, RawTimes, plan};
use agent::{Owner, StoreError};
use tokio_postgres::Row;

/// Selects the memories that a transaction sees, of one owner or of all of the tenant.
const READ: &str = "SELECT m.project, m.session_id, m.type, m.class, m.title, m.content, m.title_key, m.content_key, m.pinned, \
     m.expires_at, m.surfaced_at, m.created_at, m.updated_at, t.name, u.subject \
     FROM memories m JOIN users u ON u.id = m.owner_id JOIN tenants t ON t.id = m.tenant_id \
     WHERE m.tenant_id = $1 AND ($2::uuid IS NULL OR m.owner_id = $2) ORDER BY m.id";

/// Returns the memories of an owner, in the order in which they were saved; of all owners of the
/// scope without one.
pub(super) async fn read(
    shared: &Shared,
    scope: &Scope,
    owner: Option<Option<Owner>>,
) -> Result<Vec<RawMemory>, StoreError> {
    let own = owner.map(|owner| Scope::of(owner.as_ref()));
    let transaction = Transaction::begin(&shared.pool, own.as_ref().unwrap_or(scope)).await?;
    let tenant = own.as_ref().unwrap_or(scope).tenant;
    let rows = transaction.query(READ, &[&tenant, &own.as_ref().map(|own| own.owner)]).await?;
    transaction.commit().await?;
    Ok(rows.iter().map(memory).collect())
}

/// Inserts memories that are not there, those of each owner in one transaction.
pub(super) async fn write(shared: &Shared, new: Vec<RawMemory>) -> Result<MovedMemories, StoreError> {
    let mut owners: Vec<Option<Owner>> = new.iter().map(|memory| memory.owner.clone()).collect();
    owners.sort_by(|a, b| key(a).cmp(&key(b)));
    owners.dedup();
    let mut all = MovedMemories::default();
    for owner in owners {
        let scope = Scope::of(owner.as_ref());
        let new: Vec<RawMemory> = new.iter().filter(|memory| memory.owner == owner).cloned().collect();
        let transaction = Transaction::begin(&shared.pool, &scope).await?;
        // As those who save one do, so that what is compared does not change meanwhile.
        write::add_user(&transaction, &scope).await?;
        transaction.execute("SELECT 1 FROM users WHERE id = $1 FOR UPDATE", &[&scope.owner]).await?;
        let rows = transaction.query(READ, &[&scope.tenant, &Some(scope.owner)]).await?;
        let there: Vec<RawMemory> = rows.iter().map(memory).collect();
        let (inserted, moved) = plan(&there, &new);
        for memory in &inserted {
            insert(&transaction, &scope, memory).await?;
        }
        transaction.commit().await?;
        all.copied += moved.copied;
        all.present += moved.present;
        all.different += moved.different;
        all.full += moved.full;
    }
    Ok(all)
}

fn key(owner: &Option<Owner>) -> Option<(&str, &str)> {
    owner.as_ref().map(|owner| (owner.tenant.as_str(), owner.user.as_str()))
}

fn memory(row: &Row) -> RawMemory {
    RawMemory {
        owner: owner(row.get(13), row.get(14)),
        project: row.get(0),
        session: row.get(1),
        kind: row.get(2),
        class: row.get(3),
        title: row.get(4),
        content: row.get(5),
        keys: (row.get(6), row.get(7)),
        pinned: row.get(8),
        times: RawTimes {
            expires: row.get(9),
            surfaced: row.get(10),
            created: row.get(11),
            updated: row.get(12),
        },
    }
}

async fn insert(transaction: &Transaction, scope: &Scope, memory: &RawMemory) -> Result<(), StoreError> {
    let RawTimes { expires, surfaced, created, updated } = memory.times;
    transaction
        .execute(
            "INSERT INTO memories (tenant_id, owner_id, project, session_id, type, class, title, content, title_key, content_key, \
             pinned, expires_at, surfaced_at, created_at, updated_at, tsv) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16::text::tsvector)",
            &[
                &scope.tenant,
                &scope.owner,
                &memory.project,
                &memory.session,
                &memory.kind,
                &memory.class,
                &text(&memory.title),
                &text(&memory.content),
                &text(&memory.keys.0),
                &text(&memory.keys.1),
                &memory.pinned,
                &expires,
                &surfaced,
                &created,
                &updated,
                &words::vector(&[(&memory.title, 'A'), (&memory.content, 'D')]),
            ],
        )
        .await?;
    Ok(())
}
