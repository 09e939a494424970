//! The tools for earlier sessions. They are limited to the sessions of the project unless the user
//! allows all.

mod entries;
mod read;
mod search;

pub(super) use read::SessionRead;
pub(super) use search::{SessionSearch, found};

use crate::{
    Access, SessionRecord, StoreError, ToolError, memories::date, policy::ALL_PROJECTS, tools::args,
};

/// Returns the access of a call that reads sessions of the project, or of all projects.
fn accesses(tool: &str, all_projects: bool) -> Vec<Access> {
    args::touches_nothing(if all_projects { ALL_PROJECTS } else { tool })
}

/// Describes a session in one line: its id, the date of its last use, its title.
fn line(record: &SessionRecord, with_directory: bool) -> String {
    let title = crate::label(record.title.as_deref().unwrap_or_default(), usize::MAX);
    let title = if title.is_empty() { "(no title)" } else { &title };
    let archived = if record.listing.archived { " (archived)" } else { "" };
    let directory = if with_directory { format!(" in {}", record.cwd) } else { String::new() };
    format!("{} {} {title}{directory}{archived}", record.id, date(record.times.updated_at))
}

fn failed(error: &StoreError) -> ToolError {
    ToolError::message(format!("The stored sessions cannot be read: {error}"))
}
