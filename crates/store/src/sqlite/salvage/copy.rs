//! Copies the rows of a damaged file to the tables of a fresh one. Rows are identified by their
//! column types, since the tree they belong to may be unreadable.

use super::{
    pages::Pages,
    rows::{Row, rows},
};
use rusqlite::{
    Connection, ErrorCode, params_from_iter,
    types::Value::{self, Blob, Integer, Null, Text},
};
use std::collections::HashMap;

/// Additional information about the damaged file.
pub(super) struct Found {
    /// The directory of each session, according to the index of directories.
    pub(super) directories: HashMap<String, String>,
    /// Whether the copied events may include those of deleted sessions.
    pub(super) may_be_deleted: bool,
}

/// The number of columns of a session's row in the first schema; migrations append more.
const FIRST_COLUMNS: usize = 17;

/// Copies every readable row. Rows may precede the rows that they refer to.
pub(super) fn copy(pages: &Pages, fresh: &Connection) -> rusqlite::Result<Found> {
    fresh.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    let columns: Vec<String> = fresh
        .prepare("SELECT name FROM pragma_table_info('sessions') ORDER BY cid")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let free = pages.free();
    let mut directories = HashMap::new();
    for number in (1..=pages.count()).filter(|number| !free.pages.contains(number)) {
        for row in rows(pages, number) {
            match kind_of(&row, columns.len()) {
                Some(FileState::Session(values)) => {
                    let names = columns[..values.len()].join(", ");
                    insert(fresh, &format!("sessions ({names})"), values)?;
                }
                Some(FileState::Event(values)) => insert(fresh, "events", &readable(values))?,
                Some(FileState::Mark(values)) => insert(fresh, "salvaged", values)?,
                Some(FileState::Content(values)) => {
                    insert(fresh, "contents (session_id, hash, size, bytes)", &values[1..])?;
                }
                Some(FileState::Memory(id, values)) => {
                    let mut values: Vec<_> =
                        std::iter::once(Integer(id)).chain(values[1..].iter().cloned()).collect();
                    values.resize(MEMORY_COLUMNS, Null);
                    insert(fresh, "memories", &values)?;
                }
                Some(FileState::Directory { id, directory }) => {
                    directories.insert(id.to_owned(), directory.to_owned());
                }
                None => {}
            }
        }
    }
    Ok(Found { directories, may_be_deleted: !free.complete })
}

/// The columns of the table of memories.
const MEMORY_COLUMNS: usize = 16;

/// The table of a row.
enum FileState<'a> {
    Session(&'a [Value]),
    Event(&'a [Value]),
    Content(&'a [Value]),
    Mark(&'a [Value]),
    /// With its number, which is the id of the row.
    Memory(i64, &'a [Value]),
    Directory {
        id: &'a str,
        directory: &'a str,
    },
}

fn kind_of(row: &Row, columns: usize) -> Option<FileState<'_>> {
    match row {
        Row::Numbered(id, values) => match values.as_slice() {
            [Null, Text(_), Text(_), Integer(_), Blob(_)] => Some(FileState::Content(values)),
            // A forgotten memory was emptied before its row was removed.
            [_, _, _, _, _, Text(title), ..] if title.is_empty() => None,
            [
                Null,
                Null | Text(_),
                Null | Text(_),
                Text(_),
                Text(_),
                Text(_),
                Text(_),
                Text(_),
                Text(_),
                Integer(_),
                Null | Integer(_),
                Null | Integer(_),
                Integer(_),
                Integer(_),
                // The user of a server, in rows since memories have owners.
                owner @ ..,
            ] if is_owner(owner) => Some(FileState::Memory(*id, values)),
            _ => None,
        },
        Row::Keyed(values) => match values.as_slice() {
            [Text(_), Integer(1..), Integer(_), Text(_), Text(_) | Blob(_), Integer(_), Null | Text(_)] => {
                Some(FileState::Event(values))
            }
            [Text(directory), Integer(_), Text(id)] => Some(FileState::Directory { id, directory }),
            [Text(_), Integer(_), Text(_), Text(_)] => Some(FileState::Mark(values)),
            [Text(_), Text(_), Text(_), Text(_), Text(_), Text(_), ..]
                if (FIRST_COLUMNS..=columns).contains(&values.len()) =>
            {
                Some(FileState::Session(values))
            }
            _ => None,
        },
    }
}

/// Marks an event as damaged if its body is not valid UTF-8.
fn readable(event: &[Value]) -> Vec<Value> {
    let mut event = event.to_vec();
    if let [_, _, _, _, body @ Blob(_), _, damaged] = event.as_mut_slice() {
        if let Blob(bytes) = &*body {
            *body = Text(String::from_utf8_lossy(bytes).into_owned());
        }
        *damaged = Text("its text is not valid UTF-8".to_owned());
    }
    event
}

/// Whether the last values of a memory are its tenant and its user, or missing as in old rows.
fn is_owner(values: &[Value]) -> bool {
    matches!(values, [] | [Null | Text(_), Null | Text(_)])
}

/// Adds a row, unless it exists already or violates a constraint.
fn insert(fresh: &Connection, table: &str, values: &[Value]) -> rusqlite::Result<()> {
    let placeholders = vec!["?"; values.len()].join(", ");
    let mut statement =
        fresh.prepare_cached(&format!("INSERT OR IGNORE INTO {table} VALUES ({placeholders})"))?;
    match statement.execute(params_from_iter(values)) {
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) => Err(error),
        _ => Ok(()),
    }
}
