//! Memories in the session database, each of one user.

use super::{column::text, scope::Scope, shared::Shared, transaction::Transaction, words, write};
use crate::{
    clock::now,
    limits::{EXPIRED_KEPT_MS, MEMORIES_FOUND_MAX, MEMORIES_PER_SCOPE},
    memory_rows::{COLUMNS, end, project as stored_project, row_id, weight_of_class_and_type},
};
use agent::{
    Memories, Memory, MemoryChange, MemoryClass, MemoryId, MemoryKind, MemoryNote, MemoryQuery, MemoryScope,
    MemoryTimes, NewMemory, PINNED_WEIGHT, SessionId, StoreError, Stored, memory_keys,
};
use async_trait::async_trait;
use std::sync::{Arc, LazyLock};
use system::AbsPath;
use tokio_postgres::Row;

/// The query for memories, ordered by their words if there are any, else by [`Memory::weight`].
static FIND: LazyLock<String> = LazyLock::new(|| {
    let weight = weight_of_class_and_type();
    format!(
        "SELECT {COLUMNS} FROM memories AS m WHERE m.tenant_id = $1 AND m.owner_id = $2 \
         AND ($3 = 'all' OR m.project IS NULL OR ($3 = 'project' AND m.project = $4)) \
         AND ($5::text IS NULL OR m.type = $5) AND ($6::text IS NULL OR m.class = $6) \
         AND (m.expires_at IS NULL OR m.expires_at > $7) AND ($9::text IS NULL OR m.tsv @@ $9::tsquery) \
         ORDER BY CASE WHEN $9 IS NULL THEN 0 ELSE ts_rank('{{0.1, 0.2, 0.4, 0.4}}', m.tsv, $9::tsquery, 1) END DESC, \
         CASE WHEN $9 IS NOT NULL THEN 0 ELSE CASE WHEN m.pinned THEN {PINNED_WEIGHT} ELSE 0 END \
         + {weight} END DESC, \
         m.updated_at DESC, m.id DESC LIMIT $8"
    )
});

/// The memories of a store.
pub(super) struct PostgresMemories {
    pub(super) shared: Arc<Shared>,
    pub(super) scope: Scope,
}

impl PostgresMemories {
    async fn begin(&self) -> Result<Transaction, StoreError> {
        Transaction::begin(&self.shared.pool, &self.scope).await
    }

    async fn read(&self, transaction: &Transaction, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM memories AS m WHERE m.id = $1 AND m.owner_id = $2");
        let row = transaction.first(&sql, &[&row_id(id), &self.scope.owner]).await?;
        Ok(row.as_ref().map(memory))
    }

    /// Returns a memory of the same scope, not expired, with an equal title or an equal content.
    async fn equal(
        &self,
        transaction: &Transaction,
        note: &MemoryNote,
        project: Option<&str>,
        except: Option<MemoryId>,
    ) -> Result<Option<Memory>, StoreError> {
        let (title_key, content_key) = memory_keys(note);
        let sql = format!(
            "SELECT {COLUMNS} FROM memories AS m WHERE m.tenant_id = $1 AND m.owner_id = $2 \
             AND m.project IS NOT DISTINCT FROM $3 AND (m.title_key = $4 OR m.content_key = $5) \
             AND m.id IS DISTINCT FROM $6 AND (m.expires_at IS NULL OR m.expires_at > $7) ORDER BY m.id LIMIT 1"
        );
        let Scope { tenant, owner, .. } = &self.scope;
        let except = except.map(row_id);
        let row = transaction
            .first(&sql, &[tenant, owner, &project, &text(&title_key), &content_key, &except, &now()])
            .await?;
        Ok(row.as_ref().map(memory))
    }

    /// Locks the memories of this user: those that are compared must not change meanwhile.
    async fn lock(&self, transaction: &Transaction) -> Result<(), StoreError> {
        write::add_user(transaction, &self.scope).await?;
        transaction.execute("SELECT 1 FROM users WHERE id = $1 FOR UPDATE", &[&self.scope.owner]).await?;
        Ok(())
    }
}

#[async_trait]
impl Memories for PostgresMemories {
    async fn add(&self, new: NewMemory) -> Result<Stored, StoreError> {
        let transaction = self.begin().await?;
        self.lock(&transaction).await?;
        let now = now();
        let Scope { tenant, owner, .. } = &self.scope;
        transaction
            .execute(
                "DELETE FROM memories WHERE owner_id = $1 AND expires_at < $2",
                &[owner, &(now - EXPIRED_KEPT_MS)],
            )
            .await?;
        let project = new.project.as_ref().map(AbsPath::as_str);
        if let Some(equal) = self.equal(&transaction, &new.note, project, None).await? {
            transaction.commit().await?;
            return Ok(Stored::Duplicate(equal));
        }
        let count = transaction
            .first(
                "SELECT count(*) FROM memories WHERE owner_id = $1 AND project IS NOT DISTINCT FROM $2",
                &[owner, &project],
            )
            .await?;
        if count.is_some_and(|row| row.get::<_, i64>(0) >= MEMORIES_PER_SCOPE as i64) {
            transaction.commit().await?;
            return Ok(Stored::Full(MEMORIES_PER_SCOPE));
        }
        let MemoryNote { kind, class, title, content, pinned } = &new.note;
        let (title_key, content_key) = memory_keys(&new.note);
        let row = transaction
            .first(
                &format!(
                    "INSERT INTO memories AS m (tenant_id, owner_id, project, session_id, type, class, title, content, title_key, \
                     content_key, pinned, expires_at, created_at, updated_at, tsv) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14::text::tsvector) RETURNING {COLUMNS}"
                ),
                &[
                    tenant,
                    owner,
                    &project,
                    &new.session.as_ref().map(SessionId::as_str),
                    &kind.id(),
                    &class.id(),
                    &text(title),
                    &text(content),
                    &text(&title_key),
                    &content_key,
                    pinned,
                    &end(now, new.expiry),
                    &now,
                    &vector(&new.note),
                ],
            )
            .await?;
        transaction.commit().await?;
        Ok(row.as_ref().map_or(Stored::Full(0), |row| Stored::Done(memory(row))))
    }

    async fn change(&self, id: MemoryId, change: MemoryChange) -> Result<Option<Stored>, StoreError> {
        let transaction = self.begin().await?;
        self.lock(&transaction).await?;
        let Some(memory) = self.read(&transaction, id).await? else {
            transaction.commit().await?;
            return Ok(None);
        };
        let now = now();
        let note = change.note.as_ref().unwrap_or(&memory.note);
        let project = change.project.as_ref().unwrap_or(&memory.project).as_ref().map(AbsPath::as_str);
        if let Some(equal) = self.equal(&transaction, note, project, Some(id)).await? {
            transaction.commit().await?;
            return Ok(Some(Stored::Duplicate(equal)));
        }
        let expires_at = change.expiry.map_or(memory.times.expires_at, |expiry| end(now, expiry));
        let (title_key, content_key) = memory_keys(note);
        transaction
            .execute(
                "UPDATE memories SET project = $2, type = $3, class = $4, title = $5, content = $6, title_key = $7, \
                 content_key = $8, pinned = $9, expires_at = $10, updated_at = greatest(updated_at, $11), \
                 tsv = $12::text::tsvector WHERE id = $1",
                &[
                    &row_id(id),
                    &project,
                    &note.kind.id(),
                    &note.class.id(),
                    &text(&note.title),
                    &text(&note.content),
                    &text(&title_key),
                    &content_key,
                    &note.pinned,
                    &expires_at,
                    &now,
                    &vector(note),
                ],
            )
            .await?;
        let changed = self.read(&transaction, id).await?;
        transaction.commit().await?;
        Ok(changed.map(Stored::Done))
    }

    async fn get(&self, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        let transaction = self.begin().await?;
        let memory = self.read(&transaction, id).await?;
        transaction.commit().await?;
        Ok(memory)
    }

    async fn forget(&self, id: MemoryId) -> Result<bool, StoreError> {
        let transaction = self.begin().await?;
        let sql = "DELETE FROM memories WHERE id = $1 AND owner_id = $2";
        let count = transaction.execute(sql, &[&row_id(id), &self.scope.owner]).await?;
        transaction.commit().await?;
        Ok(count > 0)
    }

    async fn find(&self, query: MemoryQuery) -> Result<Vec<Memory>, StoreError> {
        let (scope, project) = match &query.scope {
            MemoryScope::All => ("all", None),
            MemoryScope::User => ("user", None),
            MemoryScope::Project(root) => ("project", Some(root.as_str())),
        };
        // A query for expired memories compares with a time before all of them.
        let after = if query.expired { i64::MIN } else { now() };
        let (kind, class) = (query.kind.map(MemoryKind::id), query.class.map(MemoryClass::id));
        let limit = i64::try_from(query.limit.min(MEMORIES_FOUND_MAX)).unwrap_or(i64::MAX);
        let words = words::query(&agent::words(&query.text), query.any_word);
        let transaction = self.begin().await?;
        let Scope { tenant, owner, .. } = &self.scope;
        let rows = transaction
            .query(&FIND, &[tenant, owner, &scope, &project, &kind, &class, &after, &limit, &words])
            .await?;
        transaction.commit().await?;
        Ok(rows.iter().map(memory).collect())
    }

    async fn surfaced(&self, ids: Vec<MemoryId>) -> Result<(), StoreError> {
        let ids: Vec<i64> = ids.into_iter().map(row_id).collect();
        let transaction = self.begin().await?;
        let sql = "UPDATE memories SET surfaced_at = $3 WHERE id = ANY ($1) AND owner_id = $2";
        transaction.execute(sql, &[&ids, &self.scope.owner, &now()]).await?;
        transaction.commit().await
    }
}

/// The words of a memory; one in the title counts four times as much.
fn vector(note: &MemoryNote) -> String {
    words::vector(&[(&note.title, 'A'), (&note.content, 'D')])
}

/// Reads a row. A value that this program does not know, which only damage or a newer program can
/// have written, is read as the least important one.
fn memory(row: &Row) -> Memory {
    let project: Option<String> = row.get(1);
    Memory {
        id: MemoryId(row.get::<_, i64>(0).cast_unsigned()),
        note: MemoryNote {
            kind: row.get::<_, &str>(3).parse().unwrap_or(MemoryKind::Project),
            class: row.get::<_, &str>(4).parse().unwrap_or(MemoryClass::Working),
            title: row.get(5),
            content: row.get(6),
            pinned: row.get(7),
        },
        // A path that is not absolute belongs to no project, and must not make the memory valid
        // everywhere.
        project: project.map(|path| stored_project(&path)),
        session: row.get::<_, Option<String>>(2).map(SessionId),
        times: MemoryTimes {
            created_at: row.get(8),
            updated_at: row.get(9),
            surfaced_at: row.get(10),
            expires_at: row.get(11),
        },
    }
}
