//! Functions that query the database.

use super::failure::{damaged, failed};
use crate::{
    cursor::Cursor,
    limits::{EVENTS_PAGE_BYTES, LIST_PAGE_MAX},
    spent,
    stored::{self, Unreadable},
};
use agent::{
    Archived, Cost, FolderIdentity, KnownFolder, ListQuery, Owner, SessionControls, SessionEvent, SessionId,
    SessionListing, SessionPage, SessionRecord, SessionTimes, SessionTotals, StoreError, Usage,
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use system::AbsPath;

/// The columns of a [`SessionRecord`], in the order in which `record` reads them.
macro_rules! columns {
    () => {
        "id, cwd, additional_directories, model, mode, permission_mode, effort, title, created_at, updated_at, last_seq, archived, \
         branch, turns, cost, tenant, owner"
    };
}

/// A page of events, and those that could not be read.
pub(super) struct EventsPage {
    pub(super) events: Vec<(u64, SessionEvent)>,
    /// The number of each damaged event, and what is wrong with it.
    pub(super) damaged: Vec<(i64, String)>,
}

pub(super) fn get(connection: &Connection, id: &SessionId) -> Result<SessionRecord, StoreError> {
    connection
        .prepare_cached(concat!("SELECT ", columns!(), " FROM sessions WHERE id = ?1"))
        .and_then(|mut statement| statement.query_row([id.as_str()], |row| Ok(record(row))).optional())
        .map_err(|error| failed(&error))?
        .ok_or_else(|| StoreError::NotFound(id.clone()))?
        .map_err(|what| StoreError::Format(format!("session {id} is damaged: {what}; start a new session")))
}

pub(super) fn parent(connection: &Connection, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
    let parent: Option<String> = connection
        .prepare_cached("SELECT parent_id FROM sessions WHERE id = ?1")
        .and_then(|mut statement| statement.query_row([id.as_str()], |row| row.get(0)).optional())
        .map_err(|error| failed(&error))?
        .ok_or_else(|| StoreError::NotFound(id.clone()))?;
    Ok(parent.map(SessionId))
}

pub(super) fn events(
    connection: &Connection,
    id: &SessionId,
    after: u64,
    limit: usize,
) -> Result<EventsPage, StoreError> {
    let sql = |error: rusqlite::Error| failed(&error);
    // Both queries need the same snapshot: a gap must mean damage, not a concurrent write.
    let snapshot = connection.unchecked_transaction().map_err(sql)?;
    let last: i64 = snapshot
        .prepare_cached("SELECT last_seq FROM sessions WHERE id = ?1")
        .and_then(|mut statement| statement.query_row([id.as_str()], |row| row.get(0)).optional())
        .map_err(sql)?
        .ok_or_else(|| StoreError::NotFound(id.clone()))?;
    // The statement has no limit, since damaged events are replaced by the following ones: an empty
    // page means the end of the log.
    let mut statement = connection
        .prepare_cached(
            "SELECT seq, format, body, damaged IS NOT NULL FROM events WHERE session_id = ?1 AND seq > ?2 ORDER BY seq",
        )
        .map_err(sql)?;
    let mut reached = i64::try_from(after).unwrap_or(i64::MAX);
    let mut rows = statement.query((id.as_str(), reached)).map_err(sql)?;
    let mut page = EventsPage { events: Vec::new(), damaged: Vec::new() };
    let mut bytes = 0;
    while page.events.len() < limit && bytes < EVENTS_PAGE_BYTES {
        let Some(row) = rows.next().map_err(sql)? else {
            if reached < last {
                return Err(missing(id, reached + 1));
            }
            break;
        };
        let (seq, format): (i64, i64) = row.get(0).and_then(|seq| Ok((seq, row.get(1)?))).map_err(sql)?;
        if seq != reached + 1 {
            return Err(missing(id, reached + 1));
        }
        reached = seq;
        if row.get(3).map_err(sql)? {
            continue;
        }
        // Invalid UTF-8 counts as damage too.
        let event = match row.get_ref(2).map_err(sql)?.as_str() {
            Ok(body) => {
                bytes += body.len();
                stored::decode(format, body)
            }
            Err(error) => Err(Unreadable::Damaged(error.to_string())),
        };
        match event {
            Ok(event) => page.events.push((seq.cast_unsigned(), event)),
            Err(Unreadable::Newer(format)) => return Err(stored::newer(id, seq, format)),
            Err(Unreadable::Damaged(what)) => {
                tracing::warn!(session = %id, seq, what, "a damaged event is skipped; its row is kept");
                page.damaged.push((seq, what));
            }
        }
    }
    Ok(page)
}

pub(super) fn event_times(connection: &Connection, id: &SessionId) -> Result<Vec<(u64, i64)>, StoreError> {
    let sql = |error: rusqlite::Error| failed(&error);
    let mut statement = connection
        .prepare_cached("SELECT seq, at FROM events WHERE session_id = ?1 ORDER BY seq")
        .map_err(sql)?;
    let rows = statement
        .query_map([id.as_str()], |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?)))
        .map_err(sql)?;
    rows.collect::<Result<_, _>>().map_err(sql)
}

/// Returns the error for a missing event. Rows of events are only ever added, so a gap is damage
/// that SQLite did not detect.
fn missing(id: &SessionId, seq: i64) -> StoreError {
    damaged(&format!("event {seq} of session {id} is missing"))
}

pub(super) fn ids_with_prefix(
    connection: &Connection,
    owner: Option<&Owner>,
    prefix: &str,
    limit: usize,
) -> Result<Vec<SessionId>, StoreError> {
    let ids = || -> rusqlite::Result<Vec<SessionId>> {
        // The range uses the index; the comparison of the beginning decides.
        let mut statement = connection.prepare_cached(
            "SELECT id FROM sessions WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 AND id < ?1 || char(1114111) \
             AND tenant IS ?3 AND owner IS ?4 ORDER BY id LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let (tenant, user) = names(owner);
        statement.query_map((prefix, limit, tenant, user), |row| row.get(0).map(SessionId))?.collect()
    };
    ids().map_err(|error| failed(&error))
}

/// Returns what each session of a tenant has counted since a time. The events that a fork began
/// with are older than it.
pub(super) fn spent(
    connection: &Connection,
    tenant: &str,
    since: i64,
) -> Result<Vec<(Owner, Usage)>, StoreError> {
    let spent = || -> rusqlite::Result<Vec<(Owner, Usage)>> {
        let mut sessions = connection.prepare_cached(
            "SELECT id, owner, max(?2, created_at) FROM sessions \
             WHERE tenant = ?1 AND owner IS NOT NULL AND updated_at >= ?2",
        )?;
        let mut counts = connection.prepare_cached(
            "SELECT format, body FROM events WHERE session_id = ?1 AND kind = 'usage' AND at < ?2 AND damaged IS NULL \
             ORDER BY seq DESC LIMIT 1",
        )?;
        let mut last_before = |id: &str, time: i64| {
            let count = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
            counts.query_row((id, time), count).optional()
        };
        let mut rows = sessions.query((tenant, since))?;
        let mut spent = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, user, begin): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let Some((format, body)) = last_before(&id, i64::MAX)? else { continue };
            let before = last_before(&id, begin)?;
            let before = before.as_ref().map(|(format, body)| (*format, body.as_str()));
            let used = spent::between(before, (format, &body));
            if used != Usage::default() {
                spent.push((Owner { tenant: tenant.to_owned(), user }, used));
            }
        }
        Ok(spent)
    };
    spent().map_err(|error| failed(&error))
}

/// Returns the names of an owner as they are stored.
pub(super) fn names(owner: Option<&Owner>) -> (Option<&str>, Option<&str>) {
    owner.map(|owner| (owner.tenant.as_str(), owner.user.as_str())).unzip()
}

pub(super) fn list(connection: &Connection, query: &ListQuery) -> Result<SessionPage, StoreError> {
    let after = query.cursor.as_deref().map_or_else(|| Ok(Cursor::start()), Cursor::parse)?;
    let limit = query.limit.min(LIST_PAGE_MAX);
    if limit == 0 {
        return Ok(SessionPage::default());
    }
    match rows(connection, query, &after, limit) {
        Ok((sessions, next)) => {
            Ok(SessionPage { sessions, next_cursor: next.map(|cursor| cursor.to_text()) })
        }
        Err(error) => Err(failed(&error)),
    }
}

fn rows(
    connection: &Connection,
    query: &ListQuery,
    after: &Cursor,
    limit: usize,
) -> rusqlite::Result<(Vec<SessionRecord>, Option<Cursor>)> {
    // The smallest and largest accepted value of the column, so that one statement covers all
    // cases.
    let (least, most) = (query.archived == Archived::Only, query.archived != Archived::Exclude);
    let begun_or = query
        .begun_or
        .as_ref()
        .map(|open| serde_json::json!(open.iter().map(SessionId::as_str).collect::<Vec<_>>()));
    let begun_or = begun_or.map(|open| open.to_string());
    let project = query.project.as_ref().map(AbsPath::as_str);
    let cwd = query.cwd.as_ref().map(|cwd| match query.spellings.is_empty() {
        true => cwd.as_str().to_owned(),
        false => {
            let all = std::iter::once(cwd).chain(&query.spellings).map(AbsPath::as_str);
            serde_json::json!(all.collect::<Vec<_>>()).to_string()
        }
    });
    let (tenant, user) = names(query.owner.as_ref());
    let mut statement = connection.prepare_cached(list_statement(query))?;
    let mut rows = statement.query(params![
        after.updated_at,
        after.id.as_str(),
        least,
        most,
        begun_or,
        project,
        cwd,
        tenant,
        user
    ])?;
    let mut sessions: Vec<SessionRecord> = Vec::new();
    while let Some(row) = rows.next()? {
        match record(row) {
            Ok(_) if sessions.len() == limit => {
                let last = sessions
                    .last()
                    .map(|last| Cursor { updated_at: last.times.updated_at, id: last.id.clone() });
                return Ok((sessions, last));
            }
            Ok(session) => sessions.push(session),
            // The other sessions must stay accessible.
            Err(what) => tracing::warn!(what, "a damaged session is omitted from the list"),
        }
    }
    Ok((sessions, None))
}

/// Returns the directories of the sessions of a user.
pub(super) fn directories(
    connection: &Connection,
    owner: Option<&Owner>,
) -> Result<Vec<KnownFolder>, StoreError> {
    let (tenant, user) = names(owner);
    let sql = "SELECT DISTINCT cwd, identity FROM sessions WHERE tenant IS ?1 AND owner IS ?2 AND parent_id IS NULL";
    let read = || -> rusqlite::Result<Vec<(String, Option<String>)>> {
        let mut statement = connection.prepare_cached(sql)?;
        statement.query_map(params![tenant, user], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let directories = read().map_err(|error| failed(&error))?.into_iter();
    // A damaged row is left out, as in lists.
    let known = directories.filter_map(|(path, identity)| {
        let identity = identity.as_deref().and_then(FolderIdentity::from_json);
        AbsPath::new(path).ok().map(|path| KnownFolder { path, identity })
    });
    Ok(known.collect())
}

/// Selects the sessions of a list. Each of the statements uses the index that fits it. A list
/// of begun sessions has those with a prompt or a title, and those with the given ids.
fn list_statement(query: &ListQuery) -> &'static str {
    macro_rules! list {
        ($bounds:literal) => {
            concat!(
                "SELECT ",
                columns!(),
                " FROM sessions WHERE ",
                $bounds,
                " AND (updated_at, id) < (?1, ?2) AND archived BETWEEN ?3 AND ?4 AND parent_id IS NULL \
                 AND (?5 IS NULL OR title IS NOT NULL OR id IN (SELECT value FROM json_each(?5)) OR (last_seq > 0 AND EXISTS \
                 (SELECT 1 FROM events WHERE session_id = sessions.id AND kind = 'user_message'))) \
                 AND (?6 IS NULL OR cwd = ?6 OR substr(cwd, 1, length(rtrim(?6, '/')) + 1) = rtrim(?6, '/') || '/') \
                 AND ?7 IS ?7 AND ?8 IS ?8 AND ?9 IS ?9 ORDER BY updated_at DESC, id DESC"
            )
        };
    }
    match (&query.cwd, &query.owner) {
        (None, None) => list!("owner IS NULL"),
        (Some(_), None) if !query.spellings.is_empty() => {
            list!("cwd IN (SELECT value FROM json_each(?7)) AND owner IS NULL")
        }
        (Some(_), Some(_)) if !query.spellings.is_empty() => {
            list!("cwd IN (SELECT value FROM json_each(?7)) AND tenant = ?8 AND owner = ?9")
        }
        (Some(_), None) => list!("cwd = ?7 AND owner IS NULL"),
        (None, Some(_)) => list!("tenant = ?8 AND owner = ?9"),
        (Some(_), Some(_)) => list!("cwd = ?7 AND tenant = ?8 AND owner = ?9"),
    }
}

/// Parses a row. The error states what is wrong with it.
fn record(row: &Row<'_>) -> Result<SessionRecord, String> {
    let text = |column| row.get::<_, String>(column).map_err(|error| error.to_string());
    let number = |column| row.get::<_, i64>(column).map_err(|error| error.to_string());
    let path = |text: &str| AbsPath::new(text).map_err(|error| error.to_string());
    let directories: Vec<String> = serde_json::from_str(&text(2)?).map_err(|error| error.to_string())?;
    let effort: Option<String> = row.get(6).map_err(|error| error.to_string())?;
    Ok(SessionRecord {
        id: SessionId(text(0)?),
        cwd: path(&text(1)?)?,
        additional_directories: directories
            .iter()
            .map(|directory| path(directory))
            .collect::<Result<_, _>>()?,
        controls: SessionControls {
            model: text(3)?,
            mode: text(4)?.parse().map_err(|error: agent::UnknownMode| error.to_string())?,
            permission_mode: text(5)?.parse().map_err(|error: agent::UnknownMode| error.to_string())?,
            effort: effort
                .map(|effort| effort.parse().map_err(|error: agent::UnknownMode| error.to_string()))
                .transpose()?,
        },
        title: row.get(7).map_err(|error| error.to_string())?,
        times: SessionTimes { created_at: number(8)?, updated_at: number(9)? },
        last_seq: number(10)?.cast_unsigned(),
        branch: row.get(12).map_err(|error| error.to_string())?,
        totals: SessionTotals {
            turns: number(13)?.cast_unsigned(),
            cost: row
                .get::<_, Option<i64>>(14)
                .map_err(|error| error.to_string())?
                .map(|cost| Cost(cost.cast_unsigned())),
        },
        listing: SessionListing {
            owner: owner(row).map_err(|error| error.to_string())?,
            archived: number(11)? != 0,
        },
    })
}

fn owner(row: &Row<'_>) -> rusqlite::Result<Option<Owner>> {
    let (tenant, user): (Option<String>, Option<String>) = (row.get(15)?, row.get(16)?);
    Ok(tenant.zip(user).map(|(tenant, user)| Owner { tenant, user }))
}
