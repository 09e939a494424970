//! Rows of a damaged file into the tables of a fresh one. A row is known by its shape: which tree it was in may not be readable.

use super::{
    pages::Pages,
    rows::{Row, rows},
};
use rusqlite::{
    Connection, ErrorCode, params_from_iter,
    types::Value::{self, Blob, Integer, Null, Text},
};
use std::collections::HashMap;

/// What was found beside the rows of the tables.
pub(super) struct Found {
    /// The folder of each session, as the index of folders has it.
    pub(super) folders: HashMap<String, String>,
    /// Whether events may be those of a session that was deleted.
    pub(super) may_be_deleted: bool,
}

/// The columns that a session's row had at first; steps of the schema add more at its end.
const FIRST_COLUMNS: usize = 17;

/// Copies every row that can be read. Rows that refer to others may come before them.
pub(super) fn copy(pages: &Pages, fresh: &Connection) -> rusqlite::Result<Found> {
    fresh.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    let columns: Vec<String> = fresh
        .prepare("SELECT name FROM pragma_table_info('sessions') ORDER BY cid")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let free = pages.free();
    let mut folders = HashMap::new();
    for number in (1..=pages.count()).filter(|number| !free.pages.contains(number)) {
        for row in rows(pages, number) {
            match place(&row, columns.len()) {
                Some(Place::Session(values)) => {
                    let names = columns[..values.len()].join(", ");
                    insert(fresh, &format!("sessions ({names})"), values)?;
                }
                Some(Place::Event(values)) => insert(fresh, "events", &readable(values))?,
                Some(Place::Mark(values)) => insert(fresh, "salvaged", values)?,
                Some(Place::Content(values)) => {
                    insert(fresh, "contents (session_id, hash, size, bytes)", &values[1..])?;
                }
                Some(Place::Folder { id, folder }) => {
                    folders.insert(id.to_owned(), folder.to_owned());
                }
                None => {}
            }
        }
    }
    Ok(Found { folders, may_be_deleted: !free.complete })
}

/// Where a row belongs.
enum Place<'a> {
    Session(&'a [Value]),
    Event(&'a [Value]),
    Content(&'a [Value]),
    Mark(&'a [Value]),
    Folder { id: &'a str, folder: &'a str },
}

fn place(row: &Row, columns: usize) -> Option<Place<'_>> {
    match row {
        Row::Numbered(values) => match values.as_slice() {
            [Null, Text(_), Text(_), Integer(_), Blob(_)] => Some(Place::Content(values)),
            _ => None,
        },
        Row::Keyed(values) => match values.as_slice() {
            [Text(_), Integer(1..), Integer(_), Text(_), Text(_) | Blob(_), Integer(_), Null | Text(_)] => {
                Some(Place::Event(values))
            }
            [Text(folder), Integer(_), Text(id)] => Some(Place::Folder { id, folder }),
            [Text(_), Integer(_), Text(_), Text(_)] => Some(Place::Mark(values)),
            [Text(_), Text(_), Text(_), Text(_), Text(_), Text(_), ..]
                if (FIRST_COLUMNS..=columns).contains(&values.len()) =>
            {
                Some(Place::Session(values))
            }
            _ => None,
        },
    }
}

/// An event whose body is no text any more is kept as one that is damaged.
fn readable(event: &[Value]) -> Vec<Value> {
    let mut event = event.to_vec();
    if let [_, _, _, _, body @ Blob(_), _, damaged] = event.as_mut_slice() {
        if let Blob(bytes) = &*body {
            *body = Text(String::from_utf8_lossy(bytes).into_owned());
        }
        *damaged = Text("its text is no UTF-8".to_owned());
    }
    event
}

/// Adds a row. One that is there already, or that the table does not take, is left out.
fn insert(fresh: &Connection, table: &str, values: &[Value]) -> rusqlite::Result<()> {
    let marks = vec!["?"; values.len()].join(", ");
    let mut statement = fresh.prepare_cached(&format!("INSERT OR IGNORE INTO {table} VALUES ({marks})"))?;
    match statement.execute(params_from_iter(values)) {
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) => Err(error),
        _ => Ok(()),
    }
}
