//! Reading sessions and their events.

use super::{
    blobs,
    column::text,
    scope::{Scope, owner},
    transaction::Transaction,
};
use crate::{
    cursor::Cursor,
    limits::{EVENTS_PAGE_BYTES, EVENTS_READ, LIST_PAGE_MAX},
    spent,
    stored::{self, Unreadable},
};
use agent::{
    Archived, Cost, FolderIdentity, KnownFolder, ListQuery, Owner, SessionControls, SessionEvent, SessionId,
    SessionListing, SessionPage, SessionRecord, SessionTimes, SessionTotals, StoreError, Usage,
};
use system::AbsPath;
use tokio_postgres::{Row, types::FromSql};

/// Selects the columns of a [`SessionRecord`], in the order in which `record` reads them.
const RECORD: &str = "SELECT s.id, s.cwd, s.additional_directories, s.model, s.mode, s.permission_mode, s.effort, s.title, \
     s.created_at, s.updated_at, s.last_seq, s.archived, s.branch, s.turns, s.cost, t.name, u.subject \
     FROM sessions s JOIN users u ON u.id = s.owner_id JOIN tenants t ON t.id = s.tenant_id";

/// A page of events, and those that could not be read.
pub(super) struct EventsPage {
    pub(super) events: Vec<(u64, SessionEvent)>,
    /// The number of each damaged event, and what is wrong with it.
    pub(super) damaged: Vec<(i64, String)>,
}

pub(super) async fn get(transaction: &Transaction, id: &SessionId) -> Result<SessionRecord, StoreError> {
    transaction
        .first(&format!("{RECORD} WHERE s.id = $1"), &[&id.as_str()])
        .await?
        .map(|row| record(&row))
        .ok_or_else(|| StoreError::NotFound(id.clone()))?
        .map_err(|what| StoreError::Format(format!("session {id} is damaged: {what}; start a new session")))
}

/// Returns the name and the host of the folders that a session works in, if they are those of one
/// node.
pub(super) async fn folders(
    transaction: &Transaction,
    id: &SessionId,
) -> Result<Option<(String, String)>, StoreError> {
    let sql = "SELECT workspace->>'folders', coalesce(workspace->>'host', '') FROM sessions WHERE id = $1";
    let row = transaction.first(sql, &[&id.as_str()]).await?;
    let row = row.ok_or_else(|| StoreError::NotFound(id.clone()))?;
    Ok(row.get::<_, Option<String>>(0).map(|folders| (folders, row.get(1))))
}

pub(super) async fn parent(
    transaction: &Transaction,
    id: &SessionId,
) -> Result<Option<SessionId>, StoreError> {
    let row = transaction.first("SELECT parent_id FROM sessions WHERE id = $1", &[&id.as_str()]).await?;
    let row = row.ok_or_else(|| StoreError::NotFound(id.clone()))?;
    Ok(row.get::<_, Option<String>>(0).map(SessionId))
}

/// Returns the events after a number. A gap up to the number in the session's row is damage; events
/// after it are being appended now.
pub(super) async fn events(
    transaction: &Transaction,
    id: &SessionId,
    after: u64,
    limit: usize,
) -> Result<EventsPage, StoreError> {
    let row = transaction.first("SELECT last_seq FROM sessions WHERE id = $1", &[&id.as_str()]).await?;
    let last: i64 = row.ok_or_else(|| StoreError::NotFound(id.clone()))?.get(0);
    let mut reached = i64::try_from(after).unwrap_or(i64::MAX);
    let mut page = EventsPage { events: Vec::new(), damaged: Vec::new() };
    let mut bytes = 0;
    while page.events.len() < limit && bytes < EVENTS_PAGE_BYTES {
        let some = i64::try_from(limit - page.events.len()).unwrap_or(i64::MAX).min(EVENTS_READ);
        let rows = transaction
            .query(
                "SELECT seq, format, body, blob, damaged IS NOT NULL FROM events \
                 WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                &[&id.as_str(), &reached, &some],
            )
            .await?;
        if rows.is_empty() {
            if reached < last {
                return Err(missing(id, reached + 1));
            }
            break;
        }
        for row in rows {
            let seq: i64 = row.get(0);
            if seq != reached + 1 {
                return Err(missing(id, reached + 1));
            }
            if bytes >= EVENTS_PAGE_BYTES {
                break;
            }
            reached = seq;
            if row.get(4) {
                continue;
            }
            let format = i64::from(row.get::<_, i16>(1));
            let body = body(transaction, row.get(2), row.get(3)).await?;
            bytes += body.as_ref().map_or(0, String::len);
            match body.map_err(Unreadable::Damaged).and_then(|body| stored::decode(format, &body)) {
                Ok(event) => page.events.push((seq.cast_unsigned(), event)),
                Err(Unreadable::Newer(format)) => return Err(stored::newer(id, seq, format)),
                Err(Unreadable::Damaged(what)) => {
                    tracing::warn!(session = %id, seq, what, "a damaged event is skipped; its row is kept");
                    page.damaged.push((seq, what));
                }
            }
        }
    }
    Ok(page)
}

/// Returns the body of an event, or what is wrong with it.
pub(super) async fn body(
    transaction: &Transaction,
    body: Option<String>,
    blob: Option<Vec<u8>>,
) -> Result<Result<String, String>, StoreError> {
    let Some(hash) = blob else { return Ok(body.ok_or_else(|| "it has no body".to_owned())) };
    let bytes = blobs::get(transaction, &hash).await?;
    let bytes = bytes.ok_or_else(|| "its body is missing or changed".to_owned());
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|error| error.to_string())))
}

pub(super) async fn event_times(
    transaction: &Transaction,
    id: &SessionId,
) -> Result<Vec<(u64, i64)>, StoreError> {
    let rows = transaction
        .query("SELECT seq, at FROM events WHERE session_id = $1 ORDER BY seq", &[&id.as_str()])
        .await?;
    Ok(rows.iter().map(|row| (row.get::<_, i64>(0).cast_unsigned(), row.get(1))).collect())
}

/// Returns the error for a missing event. Rows of events are only ever added.
fn missing(id: &SessionId, seq: i64) -> StoreError {
    StoreError::Format(format!(
        "event {seq} of session {id} is missing in the session database; restore the database from a backup, or start a new session"
    ))
}

pub(super) async fn ids_with_prefix(
    transaction: &Transaction,
    scope: &Scope,
    prefix: &str,
    limit: usize,
) -> Result<Vec<SessionId>, StoreError> {
    // The range uses the index; the comparison of the beginning decides.
    let rows = transaction
        .query(
            "SELECT id FROM sessions WHERE tenant_id = $1 AND owner_id = $2 AND id >= $3 AND id < $3 || chr(1114111) \
             AND starts_with(id, $3) ORDER BY id LIMIT $4",
            &[&scope.tenant, &scope.owner, &prefix, &i64::try_from(limit).unwrap_or(i64::MAX)],
        )
        .await?;
    Ok(rows.iter().map(|row| SessionId(row.get(0))).collect())
}

/// Selects the last count of each session of a tenant, and the last one before a time. The events
/// that a fork began with are older than it.
const SPENT: &str = "SELECT u.subject, l.format, l.body, b.format, b.body \
     FROM sessions s JOIN users u ON u.id = s.owner_id AND u.subject <> '' \
     JOIN LATERAL (SELECT e.format, e.body FROM events e WHERE e.tenant_id = s.tenant_id AND e.session_id = s.id \
     AND e.kind = 'usage' AND e.body IS NOT NULL AND e.damaged IS NULL ORDER BY e.seq DESC LIMIT 1) l ON true \
     LEFT JOIN LATERAL (SELECT e.format, e.body FROM events e WHERE e.tenant_id = s.tenant_id AND e.session_id = s.id \
     AND e.kind = 'usage' AND e.body IS NOT NULL AND e.damaged IS NULL AND e.at < greatest($2, s.created_at) \
     ORDER BY e.seq DESC LIMIT 1) b ON true \
     WHERE s.tenant_id = $1 AND s.updated_at >= $2";

/// Returns what each session of a tenant has counted since a time.
pub(super) async fn spent(
    transaction: &Transaction,
    scope: &Scope,
    tenant: &str,
    since: i64,
) -> Result<Vec<(Owner, Usage)>, StoreError> {
    let rows = transaction.query(SPENT, &[&scope.tenant, &since]).await?;
    let used = rows.iter().filter_map(|row| {
        let before: Option<&str> = row.get(4);
        let before = before.and_then(|body| Some((row.get::<_, Option<i16>>(3)?.into(), body)));
        let used = spent::between(before, (row.get::<_, i16>(1).into(), row.get(2)));
        let owner = Owner { tenant: tenant.to_owned(), user: row.get(0) };
        (used != Usage::default()).then_some((owner, used))
    });
    Ok(used.collect())
}

/// Returns the directories of the sessions of a user.
pub(super) async fn directories(
    transaction: &Transaction,
    scope: &Scope,
) -> Result<Vec<KnownFolder>, StoreError> {
    let sql = "SELECT DISTINCT cwd, identity FROM sessions WHERE tenant_id = $1 AND owner_id = $2 AND parent_id IS NULL";
    let rows = transaction.query(sql, &[&scope.tenant, &scope.owner]).await?;
    let known = rows.iter().filter_map(|row| {
        let path = AbsPath::new(row.get::<_, String>(0)).ok()?;
        let identity = row.get::<_, Option<&str>>(1).and_then(FolderIdentity::from_json);
        Some(KnownFolder { path, identity })
    });
    Ok(known.collect())
}

pub(super) async fn list(
    transaction: &Transaction,
    scope: &Scope,
    query: &ListQuery,
    after: &Cursor,
) -> Result<SessionPage, StoreError> {
    let limit = query.limit.min(LIST_PAGE_MAX);
    let open =
        query.begun_or.as_ref().map(|open| open.iter().map(|id| text(id.as_str())).collect::<Vec<_>>());
    let project = query.project.as_ref().map(AbsPath::as_str);
    let cwd = query
        .cwd
        .as_ref()
        .map(|cwd| std::iter::once(cwd).chain(&query.spellings).map(AbsPath::as_str).collect::<Vec<_>>());
    // The first values select the index. The sixth parameter is the list of open sessions; without
    // it all are listed.
    let of_cwd = match &cwd {
        None => "$9::text[] IS NULL",
        Some(cwd) if cwd.len() == 1 => "s.cwd = ($9::text[])[1]",
        Some(_) => "s.cwd = ANY ($9)",
    };
    let sql = format!(
        "{RECORD} WHERE s.tenant_id = $1 AND s.owner_id = $2 AND {of_cwd} AND (s.updated_at, s.id) < ($3, $4) \
         AND s.archived >= $5 AND s.archived <= $6 AND s.parent_id IS NULL \
         AND ($7::text[] IS NULL OR s.title IS NOT NULL OR s.id = ANY ($7) OR (s.last_seq > 0 AND EXISTS \
         (SELECT 1 FROM events e WHERE e.tenant_id = s.tenant_id AND e.session_id = s.id AND e.kind = 'user_message'))) \
         AND ($8::text IS NULL OR s.cwd = $8 OR starts_with(s.cwd, rtrim($8, '/') || '/')) \
         ORDER BY s.updated_at DESC, s.id DESC LIMIT $10"
    );
    let (least, most) = (query.archived == Archived::Only, query.archived != Archived::Exclude);
    let some = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = transaction
        .query(
            &sql,
            &[
                &scope.tenant,
                &scope.owner,
                &after.updated_at,
                &after.id.as_str(),
                &least,
                &most,
                &open,
                &project,
                &cwd,
                &some,
            ],
        )
        .await?;
    let has_more = rows.len() > limit;
    let shown = &rows[..rows.len().min(limit)];
    let next = shown.last().filter(|_| has_more);
    let next = next.map(|row| Cursor { updated_at: row.get(9), id: SessionId(row.get(0)) });
    let mut sessions = Vec::with_capacity(shown.len());
    for row in shown {
        match record(row) {
            Ok(session) => sessions.push(session),
            // The other sessions must stay accessible.
            Err(what) => tracing::warn!(what, "a damaged session is omitted from the list"),
        }
    }
    Ok(SessionPage { sessions, next_cursor: next.map(|cursor| cursor.to_text()) })
}

/// Parses a row. The error states what is wrong with it.
fn record(row: &Row) -> Result<SessionRecord, String> {
    fn column<'a, T: FromSql<'a>>(row: &'a Row, nth: usize) -> Result<T, String> {
        row.try_get(nth).map_err(|error| error.to_string())
    }
    let path = |text: &str| AbsPath::new(text).map_err(|error| error.to_string());
    let directories: Vec<String> =
        serde_json::from_str(column(row, 2)?).map_err(|error| error.to_string())?;
    let unknown = |error: agent::UnknownMode| error.to_string();
    let effort: Option<&str> = column(row, 6)?;
    Ok(SessionRecord {
        id: SessionId(column(row, 0)?),
        cwd: path(column(row, 1)?)?,
        additional_directories: directories
            .iter()
            .map(|directory| path(directory))
            .collect::<Result<_, _>>()?,
        controls: SessionControls {
            model: column(row, 3)?,
            mode: column::<&str>(row, 4)?.parse().map_err(unknown)?,
            permission_mode: column::<&str>(row, 5)?.parse().map_err(unknown)?,
            effort: effort.map(|effort| effort.parse().map_err(unknown)).transpose()?,
        },
        title: column(row, 7)?,
        branch: column(row, 12)?,
        totals: SessionTotals {
            turns: column::<i64>(row, 13)?.cast_unsigned(),
            cost: column::<Option<i64>>(row, 14)?.map(|cost| Cost(cost.cast_unsigned())),
        },
        times: SessionTimes { created_at: column(row, 8)?, updated_at: column(row, 9)? },
        last_seq: column::<i64>(row, 10)?.cast_unsigned(),
        listing: SessionListing {
            owner: owner(column(row, 15)?, column(row, 16)?),
            archived: column(row, 11)?,
        },
    })
}
