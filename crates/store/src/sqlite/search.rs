//! The full-text search. The sessions of subagents are not indexed.

use super::{failure::failed, read};
use crate::{
    limits::{INDEXED_EVENTS, INDEXED_SESSIONS, SEARCH_HITS_MAX, SEARCH_RANKED},
    stored,
};
use agent::{SearchHit, SearchQuery, SessionId, StoreError, excerpt, searched_text, words};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

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

/// Returns the row id of the oldest message to rank, among the newest matches. Ranking very many
/// messages takes long, and the ranks no longer separate them well.
fn oldest_ranked(connection: &Connection, matching: &str, cwd: Option<&str>) -> rusqlite::Result<i64> {
    let sql = match cwd {
        None => "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2",
        Some(_) => {
            "SELECT words.rowid FROM words JOIN searchable AS s ON s.id = words.rowid \
             JOIN sessions ON sessions.id = s.session_id \
             WHERE words MATCH ?1 AND cwd = ?3 ORDER BY words.rowid DESC LIMIT 1 OFFSET ?2"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let last = SEARCH_RANKED - 1;
    let oldest = match cwd {
        None => statement.query_row((matching, last), |row| row.get(0)),
        Some(cwd) => statement.query_row((matching, last, cwd), |row| row.get(0)),
    };
    Ok(oldest.optional()?.unwrap_or_default())
}

/// Returns the best matches among the newest messages that match.
pub(super) fn find(connection: &Connection, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
    let wanted = words(&query.text);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    // Quoted, so that no word is parsed as query syntax.
    let matching: Vec<_> = wanted.iter().map(|word| format!("\"{word}\"*")).collect();
    let limit = i64::try_from(query.limit.min(SEARCH_HITS_MAX)).unwrap_or(i64::MAX);
    let matching = matching.join(" ");
    let cwd = query.cwd.as_ref().map(|cwd| cwd.as_str());
    let found = || -> rusqlite::Result<Vec<(String, i64, i64, String)>> {
        let mut statement = connection.prepare_cached(
            "SELECT e.session_id, e.seq, e.format, e.body FROM words \
             JOIN searchable AS s ON s.id = words.rowid \
             JOIN events AS e ON e.session_id = s.session_id AND e.seq = s.seq \
             WHERE words MATCH ?1 AND words.rowid >= ?4 \
             AND (?2 IS NULL OR (SELECT cwd FROM sessions WHERE id = s.session_id) = ?2) \
             ORDER BY rank LIMIT ?3",
        )?;
        let oldest = oldest_ranked(connection, &matching, cwd)?;
        statement
            .query_map((&matching, cwd, limit, oldest), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?
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
