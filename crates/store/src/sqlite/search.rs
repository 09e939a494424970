//! The full-text search. The sessions of subagents are not indexed.

use super::{
    failure::failed,
    read::{self, names},
};
use crate::{
    limits::{INDEXED_EVENTS, INDEXED_SESSIONS, SEARCH_HITS_MAX, SEARCH_RANKED},
    stored,
};
use agent::{SearchHit, SearchQuery, SessionId, StoreError, excerpt, searched_text, words};
use rusqlite::{Connection, Row, TransactionBehavior, params};
use system::AbsPath;

/// Adds the words of events just appended after event `before`: `texts` has the searchable text of
/// each, if any. A session whose index is behind is skipped; [`index_pending`] handles it.
pub(super) fn index_appended(
    connection: &Connection,
    id: &SessionId,
    before: u64,
    texts: &[Option<String>],
) -> Result<(), StoreError> {
    let work = || -> rusqlite::Result<()> {
        let before = before.cast_signed();
        let reached = before + i64::try_from(texts.len()).unwrap_or(i64::MAX);
        let mut advance = connection.prepare_cached(
            "UPDATE sessions SET searched = ?3 WHERE id = ?1 AND searched = ?2 AND parent_id IS NULL",
        )?;
        if texts.is_empty() || advance.execute((id.as_str(), before, reached))? == 0 {
            return Ok(());
        }
        for (seq, text) in (before + 1..).zip(texts) {
            if let Some(text) = text {
                add(connection, id.as_str(), seq, text)?;
            }
        }
        Ok(())
    };
    work().map_err(|error| failed(&error))
}

/// Runs a step of [`index_pending`] in a transaction of its own. It needs no flush, since lost work
/// is repeated. Returns whether there may be more.
pub(super) fn index_in_background(connection: &mut Connection) -> bool {
    let step = |connection: &mut Connection| -> Result<bool, StoreError> {
        let sql = |error: rusqlite::Error| failed(&error);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let more = index_pending(&transaction)?;
        transaction.commit().map_err(sql)?;
        Ok(more)
    };
    let stepped = connection
        .execute_batch("PRAGMA synchronous = NORMAL")
        .map_err(|error| failed(&error))
        .and_then(|()| step(connection));
    let flushes = connection.execute_batch("PRAGMA synchronous = FULL").map_err(|error| failed(&error));
    flushes.and(stepped).unwrap_or_else(|error| {
        tracing::debug!(%error, "indexing in the background failed; the next search indexes the rest");
        false
    })
}

/// Indexes words that an older program stored or that were salvaged, in steps so that other writes
/// can run in between. Returns whether there may be more.
pub(super) fn index_pending(connection: &Connection) -> Result<bool, StoreError> {
    let work = || -> rusqlite::Result<bool> {
        let mut behind = connection.prepare_cached(
            "SELECT id, searched, last_seq FROM sessions WHERE searched < last_seq AND parent_id IS NULL LIMIT ?1",
        )?;
        let behind: Vec<(String, i64, i64)> = behind
            .query_map([INDEXED_SESSIONS], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut remaining = INDEXED_EVENTS;
        for (id, searched, last) in &behind {
            if remaining <= 0 {
                break;
            }
            remaining -= index_session(connection, id, *searched, *last, remaining)?;
        }
        Ok(!behind.is_empty())
    };
    work().map_err(|error| failed(&error))
}

/// Whether stored events are not indexed.
pub(super) fn is_behind(connection: &Connection) -> Result<bool, StoreError> {
    connection
        .prepare_cached("SELECT 1 FROM sessions WHERE searched < last_seq AND parent_id IS NULL LIMIT 1")
        .and_then(|mut statement| statement.exists([]))
        .map_err(|error| failed(&error))
}

/// Indexes some events of a session and returns how many.
fn index_session(
    connection: &Connection,
    id: &str,
    searched: i64,
    last: i64,
    limit: i64,
) -> rusqlite::Result<i64> {
    let mut events = connection.prepare_cached(
        "SELECT seq, format, body FROM events WHERE session_id = ?1 AND seq > ?2 AND damaged IS NULL \
         AND kind IN ('user_message', 'model_response', 'answer', 'title_changed') ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = events.query((id, searched, limit))?;
    let (mut count, mut reached) = (0, last);
    while let Some(row) = rows.next()? {
        let (seq, format): (i64, i64) = (row.get(0)?, row.get(1)?);
        count += 1;
        if count == limit {
            reached = seq;
        }
        // An unreadable event is not searchable; it is reported when the session is read.
        let event = row.get_ref(2)?.as_str().ok().and_then(|body| stored::decode(format, body).ok());
        if let Some(text) = event.as_ref().and_then(searched_text) {
            add(connection, id, seq, &text)?;
        }
    }
    connection.prepare_cached("UPDATE sessions SET searched = ?2 WHERE id = ?1")?.execute((id, reached))?;
    Ok(count.max(1))
}

/// Adds the words of an event to the index.
fn add(connection: &Connection, id: &str, seq: i64, text: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO searchable (session_id, seq) VALUES (?1, ?2)")?
        .execute((id, seq))?;
    let row_id = connection.last_insert_rowid();
    connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?.execute((row_id, text))?;
    Ok(())
}

/// The sessions that a search covers, in the parameters of its statements.
struct Covered<'a> {
    owner: (Option<&'a str>, Option<&'a str>),
    cwd: Option<&'a str>,
    project: Option<&'a str>,
    except: Option<&'a str>,
}

/// Restricts a statement on `searchable AS s` to the covered sessions. Their ids are collected
/// once, from an index: reading the session of each match would take far longer. `0` is the
/// character after `/`, so the range has the directories below the root.
const COVERED: &str = "(?5 IS NULL OR s.session_id <> ?5) \
    AND (?3 IS NULL OR s.session_id IN (SELECT id FROM sessions WHERE cwd = ?3)) \
    AND (?4 IS NULL OR s.session_id IN (SELECT id FROM sessions WHERE cwd = ?4 \
    UNION ALL SELECT id FROM sessions WHERE cwd >= rtrim(?4, '/') || '/' AND cwd < rtrim(?4, '/') || '0'))";

/// Restricts a statement on `searchable AS s` to the sessions of the user of this machine. In a
/// file of one user the index of the others' sessions is empty.
const OF_NOBODY: &str = " AND ?6 IS NULL AND ?7 IS NULL \
    AND s.session_id NOT IN (SELECT id FROM sessions WHERE owner IS NOT NULL)";

/// Restricts a statement on `searchable AS s` to the sessions of an owner.
const OF_OWNER: &str = " AND s.session_id IN (SELECT id FROM sessions WHERE tenant = ?6 AND owner = ?7)";

impl<'a> Covered<'a> {
    fn of(query: &'a SearchQuery) -> Self {
        Self {
            owner: names(query.owner.as_ref()),
            cwd: query.cwd.as_ref().map(AbsPath::as_str),
            project: query.project.as_ref().map(AbsPath::as_str),
            except: query.except.as_ref().map(SessionId::as_str),
        }
    }

    /// Returns the condition on `searchable AS s`.
    fn condition(&self) -> String {
        format!("{COVERED}{}", if self.owner.1.is_some() { OF_OWNER } else { OF_NOBODY })
    }

    /// Whether all sessions of the file are covered.
    fn is_all(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let is_bounded =
            self.owner.1.is_some() || self.cwd.is_some() || self.project.is_some() || self.except.is_some();
        Ok(!is_bounded
            && !connection.prepare_cached("SELECT 1 FROM sessions WHERE owner IS NOT NULL")?.exists([])?)
    }
}

/// Returns the row ids of the oldest and the newest message to rank, among the newest matches;
/// `None` without a match. Ranking very many messages takes long, and the ranks no longer separate
/// them well.
fn ranked(
    connection: &Connection,
    matching: &str,
    covered: &Covered<'_>,
) -> rusqlite::Result<Option<(i64, i64)>> {
    let ends = |row: &Row<'_>| {
        let oldest: Option<i64> = row.get(0)?;
        Ok(oldest.zip(row.get(1)?))
    };
    if covered.is_all(connection)? {
        return connection
            .prepare_cached(
                "SELECT min(id), max(id) FROM (SELECT rowid AS id FROM words WHERE words MATCH ?1 \
                 ORDER BY rowid DESC LIMIT ?2)",
            )?
            .query_row((matching, SEARCH_RANKED), ends);
    }
    connection
        .prepare_cached(&format!(
            "SELECT min(id), max(id) FROM (SELECT words.rowid AS id FROM words \
             JOIN searchable AS s ON s.id = words.rowid WHERE words MATCH ?1 AND {} \
             ORDER BY words.rowid DESC LIMIT ?2)",
            covered.condition()
        ))?
        .query_row(
            params![
                matching,
                SEARCH_RANKED,
                covered.cwd,
                covered.project,
                covered.except,
                covered.owner.0,
                covered.owner.1
            ],
            ends,
        )
}

/// Returns the best matches among the newest messages that match.
pub(super) fn find(connection: &Connection, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
    let wanted = words(&query.text);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    // Quoted, so that no word is parsed as query syntax.
    let matching: Vec<_> = wanted.iter().map(|word| format!("\"{word}\"*")).collect();
    let matching = matching.join(" ");
    let limit = i64::try_from(query.limit.min(SEARCH_HITS_MAX)).unwrap_or(i64::MAX);
    let covered = Covered::of(query);
    let found = || -> rusqlite::Result<Vec<(String, i64, i64, String)>> {
        let Some((oldest, newest)) = ranked(connection, &matching, &covered)? else {
            return Ok(Vec::new());
        };
        let mut statement = connection.prepare_cached(&format!(
            "SELECT e.session_id, e.seq, e.format, e.body FROM words \
             JOIN searchable AS s ON s.id = words.rowid \
             JOIN events AS e ON e.session_id = s.session_id AND e.seq = s.seq \
             WHERE words MATCH ?1 AND words.rowid BETWEEN ?8 AND ?9 AND {} ORDER BY rank LIMIT ?2",
            covered.condition()
        ))?;
        let Covered { owner: (tenant, user), cwd, project, except } = covered;
        statement
            .query_map(
                params![&matching, limit, cwd, project, except, tenant, user, oldest, newest],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
            )?
            .collect()
    };
    let mut hits = Vec::new();
    for (id, seq, format, body) in found().map_err(|error| failed(&error))? {
        let text = stored::decode(format, &body).ok().as_ref().and_then(searched_text).unwrap_or_default();
        let session = read::get(connection, &SessionId(id))?;
        hits.push(SearchHit { session, seq: seq.cast_unsigned(), excerpt: excerpt(&text, &wanted) });
    }
    Ok(hits)
}
