//! Restores sessions from copied rows: each gets a row, and its events up to the first gap.

use super::{CutSession, Salvaged, copy::Found};
use crate::stored;
use agent::{Effort, Mode, PermissionMode, SessionEvent};
use rusqlite::{Connection, params};
use system::AbsPath;

/// Truncates each log at its first gap, creates missing rows of sessions, and marks the sessions
/// that lost a part.
pub(super) fn rebuild_sessions(fresh: &Connection, found: &Found) -> rusqlite::Result<Salvaged> {
    let logs: Vec<(String, i64, i64)> = fresh
        .prepare("SELECT session_id, count(*), max(seq) FROM events GROUP BY session_id")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    // If the index is complete, a session that is not in it was deleted, and its events are
    // remnants on a page.
    let index_is_complete = !found.directories.is_empty() && index_covers(fresh, found)?;
    let mut cut = Vec::new();
    for (id, count, last) in logs {
        let kept = if count == last { last } else { first_gap(fresh, &id)? };
        fresh
            .prepare_cached("DELETE FROM events WHERE session_id = ?1 AND seq > ?2")?
            .execute((&id, kept))?;
        let known = fresh.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([&id])?;
        let directory = found.directories.get(&id);
        if !known && (directory.is_some() || !index_is_complete && !found.may_be_deleted) {
            cut.push((rebuild_row(fresh, &id, directory)?, kept));
        }
    }
    fresh.execute_batch("DELETE FROM events WHERE session_id NOT IN (SELECT id FROM sessions)")?;
    // Of these, neither a row nor an event is left.
    for (id, directory) in found.directories.iter().filter(|_| !found.may_be_deleted) {
        let known = fresh.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([id])?;
        if !known {
            let lost = "everything but its directory is lost".to_owned();
            cut.push((CutSession { lost, ..rebuild_row(fresh, id, Some(directory))? }, 0));
        }
    }
    // The log may be longer than the row states, if only an older version of the row was readable.
    let lengths: Vec<(String, i64, i64)> = fresh
        .prepare(
            "SELECT id, last_seq, (SELECT coalesce(max(seq), 0) FROM events WHERE session_id = id) FROM sessions",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let sessions = lengths.len();
    for (id, stated, kept) in lengths {
        if stated > kept {
            let lost = match kept {
                0 => format!("all of its {stated} events are lost"),
                _ => format!("events {} to {stated} are lost", kept + 1),
            };
            cut.push((CutSession { id: id.clone(), kept: 0, lost }, kept));
        }
        if stated != kept {
            fresh.execute("UPDATE sessions SET last_seq = ?2 WHERE id = ?1", (&id, kept))?;
        }
    }
    fresh.execute_batch(COUNT_AGAIN)?;
    let cut: Vec<CutSession> =
        cut.into_iter().map(|(cut, kept)| CutSession { kept: kept.cast_unsigned(), ..cut }).collect();
    for cut in &cut {
        mark(fresh, cut)?;
    }
    fresh.execute_batch(
        "UPDATE sessions SET searched = 0; \
         DELETE FROM contents WHERE session_id NOT IN (SELECT id FROM sessions); \
         DELETE FROM salvaged WHERE session_id NOT IN (SELECT id FROM sessions)",
    )?;
    Ok(Salvaged { whole: sessions - cut.len(), cut, ..Salvaged::default() })
}

/// Counts the turns of each session again, and takes the cost from its last count.
const COUNT_AGAIN: &str = "UPDATE sessions SET \
     turns = (SELECT count(*) FROM events WHERE session_id = sessions.id AND kind = 'turn_started'), \
     cost = (SELECT CAST(coalesce(json_extract(body, '$.total.cost'), 0) + \
     coalesce(json_extract(body, '$.subagents.cost'), 0) AS INTEGER) FROM events \
     WHERE session_id = sessions.id AND kind = 'usage' AND CASE WHEN json_valid(body) \
     THEN coalesce(json_extract(body, '$.total.cost'), json_extract(body, '$.subagents.cost')) IS NOT NULL END \
     ORDER BY seq DESC LIMIT 1)";

/// Returns whether every session that has its row is in the index of directories.
fn index_covers(fresh: &Connection, found: &Found) -> rusqlite::Result<bool> {
    let mut sessions = fresh.prepare("SELECT id FROM sessions")?;
    let ids: Vec<String> = sessions.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(ids.iter().all(|id| found.directories.contains_key(id)))
}

/// Returns the last event before the first gap.
fn first_gap(fresh: &Connection, id: &str) -> rusqlite::Result<i64> {
    let mut events = fresh.prepare_cached("SELECT seq FROM events WHERE session_id = ?1 ORDER BY seq")?;
    let mut kept = 0;
    for seq in events.query_map([id], |row| row.get::<_, i64>(0))? {
        if seq? != kept + 1 {
            break;
        }
        kept += 1;
    }
    Ok(kept)
}

/// Recreates the row of a session from its log.
fn rebuild_row(fresh: &Connection, id: &str, directory: Option<&String>) -> rusqlite::Result<CutSession> {
    let cwd = directory.filter(|directory| AbsPath::new(directory.as_str()).is_ok());
    let lost = match cwd {
        Some(_) => "its row is lost and was rebuilt from its events",
        None => "its row and its directory are lost; the rest was rebuilt from its events",
    };
    let (mut model, mut title, mut effort) = (String::new(), None, None);
    let (mut mode, mut permission_mode) = (Mode::default(), PermissionMode::default());
    let mut events =
        fresh.prepare_cached("SELECT format, body FROM events WHERE session_id = ?1 ORDER BY seq")?;
    let mut events = events.query([id])?;
    while let Some(row) = events.next()? {
        match stored::decode(row.get(0)?, &row.get::<_, String>(1)?) {
            Ok(SessionEvent::ModelResponse(response)) => model = response.model,
            Ok(SessionEvent::ModelChanged(to)) => model = to,
            Ok(SessionEvent::ModeChanged(to)) => mode = to,
            Ok(SessionEvent::PermissionModeChanged(to)) => permission_mode = to,
            Ok(SessionEvent::TitleChanged(to)) => title = Some(to),
            Ok(SessionEvent::EffortChanged(to)) => effort = to,
            _ => {}
        }
    }
    fresh
        .prepare_cached(
            "INSERT INTO sessions (id, cwd, additional_directories, model, mode, permission_mode, title, effort, \
             created_at, updated_at, last_seq, lease_epoch) \
             SELECT ?1, ?2, '[]', ?3, ?4, ?5, ?6, ?7, coalesce(min(at), 0), coalesce(max(at), 0), coalesce(max(seq), 0), 0 \
             FROM events WHERE session_id = ?1",
        )?
        .execute(params![
            id,
            cwd.map_or("/", String::as_str),
            model,
            mode.id(),
            permission_mode.id(),
            title,
            effort.map(Effort::id),
        ])?;
    Ok(CutSession { id: id.to_owned(), kept: 0, lost: lost.to_owned() })
}

/// Marks a session that lost a part. Also ends its lease: its holder must not continue, since the
/// log is not what was written.
fn mark(fresh: &Connection, cut: &CutSession) -> rusqlite::Result<()> {
    fresh
        .prepare_cached(
            "INSERT INTO salvaged (session_id, at, lost, file) VALUES (?1, unixepoch() * 1000, ?2, '') \
             ON CONFLICT (session_id) DO UPDATE SET at = excluded.at, lost = salvaged.lost || '; ' || excluded.lost, file = ''",
        )?
        .execute((&cut.id, &cut.lost))?;
    fresh
        .prepare_cached(
            "UPDATE sessions SET lease_epoch = lease_epoch + 1, lease_owner = NULL, lease_host = NULL, lease_pid = NULL, \
             lease_start = NULL, lease_since = NULL, lease_seen = NULL WHERE id = ?1",
        )?
        .execute([&cut.id])?;
    Ok(())
}
