//! Memories in the session database.

use super::{LazyReader, failure::failed, worker::Durability, worker::Worker};
use crate::clock::now;
use crate::limits::{EXPIRED_KEPT_MS, MEMORIES_FOUND_MAX, MEMORIES_PER_SCOPE};
use crate::memory_rows::{COLUMNS, end, project as stored_project, row_id, weight_of_class_and_type};
use agent::{
    Memories, Memory, MemoryChange, MemoryClass, MemoryId, MemoryKind, MemoryNote, MemoryQuery, MemoryScope,
    MemoryTimes, NewMemory, Owner, PINNED_WEIGHT, SessionId, StoreError, Stored, memory_keys, words,
};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::sync::{Arc, LazyLock};
use system::AbsPath;

/// The conditions of a query. `IS` compares a missing owner too.
const MATCHING: &str = "m.tenant IS ?7 AND m.owner IS ?8 AND (?1 = 'all' OR m.project IS NULL OR (?1 = 'project' AND m.project = ?2)) \
    AND (?3 IS NULL OR m.type = ?3) AND (?4 IS NULL OR m.class = ?4) \
    AND (m.expires_at IS NULL OR m.expires_at > ?5)";

/// The query for all memories, ordered by [`Memory::weight`].
static LIST: LazyLock<String> = LazyLock::new(|| {
    let weight = weight_of_class_and_type();
    format!(
        "SELECT {COLUMNS} FROM memories AS m WHERE {MATCHING} ORDER BY \
         iif(m.pinned, {PINNED_WEIGHT}, 0) + {weight} DESC, \
         m.updated_at DESC, m.id DESC LIMIT ?6"
    )
});

/// The query for memories with words; a word in the title counts four times as much.
static SEARCH: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS} FROM memory_words JOIN memories AS m ON m.id = memory_words.rowid \
         WHERE memory_words MATCH ?9 AND {MATCHING} ORDER BY bm25(memory_words, 4.0, 1.0), m.id DESC LIMIT ?6"
    )
});

/// The memories of one user in a store. They share its threads and its file.
pub(super) struct SqliteMemories {
    pub(super) writer: Arc<Worker>,
    pub(super) reader: Arc<LazyReader>,
    pub(super) user: MemoryUser,
}

/// The user whom memories belong to, as the columns `tenant` and `owner` have it.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryUser {
    tenant: Option<String>,
    owner: Option<String>,
}

impl MemoryUser {
    /// Returns a user of a server; the user of this machine without one.
    pub(super) fn of(owner: Option<&Owner>) -> Self {
        Self { tenant: owner.map(|owner| owner.tenant.clone()), owner: owner.map(|owner| owner.user.clone()) }
    }
}

#[async_trait]
impl Memories for SqliteMemories {
    async fn add(&self, memory: NewMemory) -> Result<Stored, StoreError> {
        let user = self.user.clone();
        self.writer
            .call(move |connection| add(connection, &user, &memory).map_err(|error| failed(&error)))
            .await
    }

    async fn change(&self, id: MemoryId, to: MemoryChange) -> Result<Option<Stored>, StoreError> {
        let user = self.user.clone();
        let change = move |connection: &Connection| change(connection, &user, id, &to);
        self.writer.call(move |connection| change(connection).map_err(|error| failed(&error))).await
    }

    async fn get(&self, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        let user = self.user.clone();
        self.reader.call(move |connection| get(connection, &user, id).map_err(|error| failed(&error))).await
    }

    async fn forget(&self, id: MemoryId) -> Result<bool, StoreError> {
        let user = self.user.clone();
        self.writer
            .call(move |connection| forget(connection, &user, id).map_err(|error| failed(&error)))
            .await
    }

    async fn find(&self, query: MemoryQuery) -> Result<Vec<Memory>, StoreError> {
        let user = self.user.clone();
        self.reader
            .call(move |connection| find(connection, &user, &query).map_err(|error| failed(&error)))
            .await
    }

    async fn surfaced(&self, ids: Vec<MemoryId>) -> Result<(), StoreError> {
        let user = self.user.clone();
        // The times only inform people, so no flush is waited for.
        self.writer
            .call_with(Durability::WithNextFlush, move |connection| {
                surfaced(connection, &user, &ids).map_err(|error| failed(&error))
            })
            .await
    }
}

fn surfaced(connection: &Connection, user: &MemoryUser, ids: &[MemoryId]) -> rusqlite::Result<()> {
    let now = now();
    let mut update = connection.prepare_cached(
        "UPDATE memories SET surfaced_at = ?2 WHERE id = ?1 AND tenant IS ?3 AND owner IS ?4",
    )?;
    ids.iter().try_for_each(|id| update.execute((row_id(*id), now, &user.tenant, &user.owner)).map(drop))
}

fn add(connection: &Connection, user: &MemoryUser, new: &NewMemory) -> rusqlite::Result<Stored> {
    let now = now();
    connection
        .prepare_cached("DELETE FROM memories WHERE expires_at < ?1")?
        .execute([now - EXPIRED_KEPT_MS])?;
    let project = new.project.as_ref().map(AbsPath::as_str);
    if let Some(equal) = equal(connection, user, &new.note, project, None, now)? {
        return Ok(Stored::Duplicate(equal));
    }
    let count: i64 = connection
        .prepare_cached("SELECT count(*) FROM memories WHERE project IS ?1 AND tenant IS ?2 AND owner IS ?3")?
        .query_row((project, &user.tenant, &user.owner), |row| row.get(0))?;
    if count >= MEMORIES_PER_SCOPE as i64 {
        return Ok(Stored::Full(MEMORIES_PER_SCOPE));
    }
    let MemoryNote { kind, class, title, content, pinned } = &new.note;
    let (title_key, content_key) = memory_keys(&new.note);
    connection
        .prepare_cached(
            "INSERT INTO memories (project, session_id, type, class, title, content, title_key, content_key, pinned, \
             expires_at, created_at, updated_at, tenant, owner) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13)",
        )?
        .execute(params![
            project,
            new.session.as_ref().map(SessionId::as_str),
            kind.id(),
            class.id(),
            title,
            content,
            title_key,
            content_key,
            pinned,
            end(now, new.expiry),
            now,
            user.tenant,
            user.owner,
        ])?;
    let id = MemoryId(connection.last_insert_rowid().cast_unsigned());
    Ok(get(connection, user, id)?.map_or(Stored::Full(0), Stored::Done))
}

fn change(
    connection: &Connection,
    user: &MemoryUser,
    id: MemoryId,
    change: &MemoryChange,
) -> rusqlite::Result<Option<Stored>> {
    let Some(memory) = get(connection, user, id)? else { return Ok(None) };
    let now = now();
    let note = change.note.as_ref().unwrap_or(&memory.note);
    let project = change.project.as_ref().unwrap_or(&memory.project);
    let project = project.as_ref().map(AbsPath::as_str);
    if let Some(equal) = equal(connection, user, note, project, Some(id), now)? {
        return Ok(Some(Stored::Duplicate(equal)));
    }
    let expires_at = change.expiry.map_or(memory.times.expires_at, |expiry| end(now, expiry));
    let (title_key, content_key) = memory_keys(note);
    connection
        .prepare_cached(
            "UPDATE memories SET project = ?2, type = ?3, class = ?4, title = ?5, content = ?6, title_key = ?7, \
             content_key = ?8, pinned = ?9, expires_at = ?10, updated_at = max(updated_at, ?11) WHERE id = ?1",
        )?
        .execute(params![
            row_id(id),
            project,
            note.kind.id(),
            note.class.id(),
            note.title,
            note.content,
            title_key,
            content_key,
            note.pinned,
            expires_at,
            now,
        ])?;
    Ok(get(connection, user, id)?.map(Stored::Done))
}

/// Returns a memory of the same scope, not expired, with an equal title or an equal content.
fn equal(
    connection: &Connection,
    user: &MemoryUser,
    note: &MemoryNote,
    project: Option<&str>,
    except: Option<MemoryId>,
    now: i64,
) -> rusqlite::Result<Option<Memory>> {
    let (title_key, content_key) = memory_keys(note);
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM memories AS m WHERE m.project IS ?1 AND (m.title_key = ?2 OR m.content_key = ?3) \
             AND m.id IS NOT ?4 AND (m.expires_at IS NULL OR m.expires_at > ?5) \
             AND m.tenant IS ?6 AND m.owner IS ?7 ORDER BY m.id LIMIT 1"
        ))?
        .query_row(
            (project, title_key, content_key, except.map(row_id), now, &user.tenant, &user.owner),
            memory,
        )
        .optional()
}

fn get(connection: &Connection, user: &MemoryUser, id: MemoryId) -> rusqlite::Result<Option<Memory>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM memories AS m WHERE m.id = ?1 AND m.tenant IS ?2 AND m.owner IS ?3"
        ))?
        .query_row((row_id(id), &user.tenant, &user.owner), memory)
        .optional()
}

fn forget(connection: &Connection, user: &MemoryUser, id: MemoryId) -> rusqlite::Result<bool> {
    if get(connection, user, id)?.is_none() {
        return Ok(false);
    }
    // Emptied first: if the file is damaged later, the salvage must not find the text on a page
    // that is no longer used.
    let emptied = connection
        .prepare_cached("UPDATE memories SET title = '', content = '', title_key = '' WHERE id = ?1")?
        .execute([row_id(id)])?;
    connection.prepare_cached("DELETE FROM memories WHERE id = ?1")?.execute([row_id(id)])?;
    Ok(emptied > 0)
}

fn find(connection: &Connection, user: &MemoryUser, query: &MemoryQuery) -> rusqlite::Result<Vec<Memory>> {
    let (scope, project) = match &query.scope {
        MemoryScope::All => ("all", None),
        MemoryScope::User => ("user", None),
        MemoryScope::Project(root) => ("project", Some(root.as_str())),
    };
    // A query for expired memories compares with a time before all of them.
    let after = if query.expired { i64::MIN } else { now() };
    let (kind, class) = (query.kind.map(MemoryKind::id), query.class.map(MemoryClass::id));
    let limit = i64::try_from(query.limit.min(MEMORIES_FOUND_MAX)).unwrap_or(i64::MAX);
    // Quoted, so that no word is parsed as query syntax.
    let words: Vec<_> = words(&query.text).iter().map(|word| format!("\"{word}\"*")).collect();
    if words.is_empty() {
        return connection
            .prepare_cached(&LIST)?
            .query_map((scope, project, kind, class, after, limit, &user.tenant, &user.owner), memory)?
            .collect();
    }
    let words = words.join(if query.any_word { " OR " } else { " " });
    connection
        .prepare_cached(&SEARCH)?
        .query_map((scope, project, kind, class, after, limit, &user.tenant, &user.owner, words), memory)?
        .collect()
}

/// Reads a row. A value that this program does not know, which only damage or a newer program can
/// have written, is read as the least important one.
fn memory(row: &Row<'_>) -> rusqlite::Result<Memory> {
    let text = |column| row.get::<_, String>(column);
    let project: Option<String> = row.get(1)?;
    Ok(Memory {
        id: MemoryId(row.get::<_, i64>(0)?.cast_unsigned()),
        note: MemoryNote {
            kind: text(3)?.parse().unwrap_or(MemoryKind::Project),
            class: text(4)?.parse().unwrap_or(MemoryClass::Working),
            title: text(5)?,
            content: text(6)?,
            pinned: row.get(7)?,
        },
        // A path that is not absolute belongs to no project, and must not make the memory valid
        // everywhere.
        project: project.map(|path| stored_project(&path)),
        session: row.get::<_, Option<String>>(2)?.map(SessionId),
        times: MemoryTimes {
            created_at: row.get(8)?,
            updated_at: row.get(9)?,
            surfaced_at: row.get(10)?,
            expires_at: row.get(11)?,
        },
    })
}
