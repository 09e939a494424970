//! Checks and repairs a file, for `tiller doctor` and `tiller sessions repair`.

use super::{
    connection::{self, SCHEMA_VERSION},
    failure::{failed_at, is_damaged},
    file_state, quarantine,
    salvage::{self, CutSession, Salvaged},
};
use agent::StoreError;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// The maximum number of problems that a check reports.
const PROBLEMS_MAX: usize = 20;

/// How thorough a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckDepth {
    /// Checks every page and every log; takes seconds for a gigabyte.
    Quick,
    /// Also compares indexes with every row; takes several times as long.
    Thorough,
}

/// What would repair a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing needs repair.
    Nothing,
    /// Rebuild the indexes from the rows. Nothing is lost.
    Indexes,
    /// Copy what can be read to a fresh file, and set the damaged one aside.
    Salvage,
    /// No repair: the file belongs to another program or a newer version.
    Refuse,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What is wrong with the file, for display; empty if it is healthy.
    pub problems: Vec<String>,
    /// What would repair it.
    pub remedy: Remedy,
    /// The version of its schema, if that can be read.
    pub schema: Option<i32>,
    /// The number of sessions in it, as far as it can be read.
    pub sessions: u64,
    /// Sessions that lost a part in earlier damage.
    pub cut: Vec<CutSession>,
    /// Damaged files that were set aside, the oldest first.
    pub set_aside: Vec<PathBuf>,
}

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repaired {
    /// Nothing: the file is healthy, or there is none.
    Nothing,
    /// Its indexes were rebuilt.
    Indexes,
    /// What could be read was copied to a fresh file.
    Salvaged(Salvaged),
}

/// Checks a file without changing it. Returns `None` if there is no file.
///
/// # Errors
///
/// [`StoreError::Io`] if it cannot be opened for a reason other than damage.
pub fn examine(path: &Path, depth: CheckDepth) -> Result<Option<Health>, StoreError> {
    let set_aside = quarantine::set_aside(path);
    let health =
        |problems, remedy| Health { problems, remedy, schema: None, sessions: 0, cut: Vec::new(), set_aside };
    let file = path.display();
    match file_state::length(path) {
        None if file_state::identity(path).is_some() => {
            return Ok(Some(health(vec![format!("{file} is not a file; move it away")], Remedy::Refuse)));
        }
        None => return Ok(None),
        Some(0) if file_state::is_unfinished(path) => return Ok(None),
        Some(0) => {
            let what = format!(
                "{file} is an empty file (0 bytes); if it contained sessions, restore it from a backup"
            );
            return Ok(Some(health(vec![what], Remedy::Salvage)));
        }
        Some(_) => {}
    }
    match inspect(path, depth) {
        Ok(found) => Ok(Some(Health { set_aside: health(Vec::new(), Remedy::Nothing).set_aside, ..found })),
        Err(error) if is_damaged(&error) => {
            Ok(Some(health(vec![format!("{file} is damaged: {error}")], Remedy::Salvage)))
        }
        Err(error) => Err(failed_at(path, &error)),
    }
}

/// Repairs a file: rebuilds its indexes if only they are damaged, otherwise copies what can be read
/// to a fresh file.
///
/// # Errors
///
/// - [`StoreError::Format`] if it belongs to another program or a newer version.
/// - [`StoreError::Io`] if it cannot be read or written.
///
/// The file is unchanged then.
pub fn repair(path: &Path) -> Result<Repaired, StoreError> {
    quarantine::finish(path)?;
    let Some(health) = examine(path, CheckDepth::Thorough)? else { return Ok(Repaired::Nothing) };
    match health.remedy {
        Remedy::Nothing => Ok(Repaired::Nothing),
        Remedy::Refuse => Err(StoreError::Format(health.problems.join("; "))),
        Remedy::Indexes if rebuild_indexes(path).is_ok() && is_healthy(path)? => Ok(Repaired::Indexes),
        Remedy::Indexes | Remedy::Salvage => {
            let done = salvage::recover(path, file_state::identity(path))?;
            Ok(done.map_or(Repaired::Nothing, Repaired::Salvaged))
        }
    }
}

fn is_healthy(path: &Path) -> Result<bool, StoreError> {
    Ok(examine(path, CheckDepth::Thorough)?.is_none_or(|health| health.problems.is_empty()))
}

fn inspect(path: &Path, depth: CheckDepth) -> rusqlite::Result<Health> {
    let connection = connection::open_raw(path)?;
    let mut health = Health {
        problems: Vec::new(),
        remedy: Remedy::Nothing,
        schema: None,
        sessions: 0,
        cut: Vec::new(),
        set_aside: Vec::new(),
    };
    let version = connection::version(&connection)?;
    health.schema = i32::try_from(version).ok().filter(|version| *version > 0);
    if version == 0 || version > SCHEMA_VERSION {
        let problem = match version {
            0 => "is a database of another program; choose another data directory".to_owned(),
            newer => format!("was created by a newer version (schema {newer}); upgrade to write to it"),
        };
        health.problems.push(format!("{} {problem}", path.display()));
        health.remedy = Remedy::Refuse;
        return Ok(health);
    }
    let pragma = match depth {
        CheckDepth::Quick => format!("PRAGMA quick_check({PROBLEMS_MAX})"),
        CheckDepth::Thorough => format!("PRAGMA integrity_check({PROBLEMS_MAX})"),
    };
    let found: Vec<String> =
        connection.prepare(&pragma)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    health.problems = found.into_iter().filter(|line| line != "ok").collect();
    let gaps = gaps(&connection)?;
    health.remedy = match (&health.problems, &gaps) {
        (problems, gaps) if problems.is_empty() && gaps.is_empty() => Remedy::Nothing,
        (problems, gaps) if gaps.is_empty() && problems.iter().all(|line| is_index_problem(line)) => {
            Remedy::Indexes
        }
        _ => Remedy::Salvage,
    };
    health.problems.extend(gaps);
    health.sessions = connection
        .query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))
        .map(i64::cast_unsigned)?;
    if version == SCHEMA_VERSION {
        health.cut = cut(&connection)?;
    }
    Ok(health)
}

/// Returns whether a problem is an index that does not match its table, from which it can be
/// rebuilt.
fn is_index_problem(line: &str) -> bool {
    ["missing from index", "entries in index", "entry in index", "inverted index", "fts5: "]
        .iter()
        .any(|of_index| line.contains(of_index))
}

/// Returns sessions whose log lacks events although no page is damaged.
fn gaps(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut gaps = connection.prepare(
        "SELECT id, last_seq, (SELECT count(*) FROM events WHERE session_id = id) AS there FROM sessions \
         WHERE there <> last_seq LIMIT 20",
    )?;
    let gaps = gaps.query_map([], |row| {
        let (id, stated, found): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("session {id} has {found} events, but its row states {stated}"))
    })?;
    gaps.collect()
}

fn cut(connection: &Connection) -> rusqlite::Result<Vec<CutSession>> {
    let mut cut = connection.prepare(
        "SELECT session_id, last_seq, lost, file FROM salvaged JOIN sessions ON id = session_id ORDER BY at",
    )?;
    let cut = cut.query_map([], |row| {
        let (lost, file): (String, String) = (row.get(2)?, row.get(3)?);
        Ok(CutSession {
            id: row.get(0)?,
            kept: row.get::<_, i64>(1)?.cast_unsigned(),
            lost: format!("{lost} (it may still be in {file})"),
        })
    })?;
    cut.collect()
}

fn rebuild_indexes(path: &Path) -> rusqlite::Result<()> {
    let mut connection = connection::open_raw(path)?;
    let transaction = connection.transaction()?;
    // The search then indexes everything again.
    transaction.execute_batch(
        "REINDEX; INSERT INTO words (words) VALUES ('delete-all'); DELETE FROM searchable; UPDATE sessions SET searched = 0",
    )?;
    // A file of an older schema has no memories.
    let is_there = "SELECT 1 FROM sqlite_schema WHERE name = 'memory_words'";
    if transaction.prepare(is_there)?.exists([])? {
        transaction.execute_batch("INSERT INTO memory_words (memory_words) VALUES ('rebuild')")?;
    }
    transaction.commit()
}
