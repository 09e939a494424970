//! `tiller sessions move`: binds sessions to the folder in which their project is now.

use super::{find::is_gone, record};
use crate::{
    answer::{Answer, Console, Failure, Kind},
    exit::Exit,
    limits,
};
use agent::{Archived, ListQuery, Runtime, SessionId, SessionRecord, one_line};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use system::{AbsPath, System};

/// How many sessions an error names.
const NAMED: usize = 3;

/// Which sessions move.
pub(super) enum From {
    /// One session.
    Session(SessionId),
    /// All sessions of a folder and of those below it.
    Folder(AbsPath),
}

/// The sessions that were moved to another folder.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MovedSessions {
    /// The sessions that moved.
    moved: Vec<MovedSession>,
    /// The sessions that stay, because they are in use.
    left: Vec<LeftSession>,
}

/// A session that was moved.
#[derive(Debug, Serialize, JsonSchema)]
struct MovedSession {
    /// The id of the session.
    id: String,
    /// Its folder before.
    from: String,
    /// Its folder now.
    to: String,
}

/// A session that was not moved.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftSession {
    /// The id of the session.
    id: String,
    /// The reason.
    error: String,
}

/// Moves the sessions and prints them.
pub(super) async fn run(
    console: &Console,
    runtime: &Runtime,
    system: &dyn System,
    from: From,
    to: AbsPath,
) -> Result<Exit> {
    let answer = match from {
        From::Session(id) => {
            let record = record(runtime, &id).await?;
            let old = record.cwd.clone();
            move_all(runtime, vec![record], &old, &to).await
        }
        From::Folder(old) => {
            let answer = move_folder(runtime, &old, &to).await?;
            if answer.moved.is_empty() && answer.left.is_empty() {
                let what = format!("no session is of {old} or a folder below it");
                let failure = Failure::new(Kind::NotFound, what);
                return Err(with_gone(failure, runtime, system, &to).await.into());
            }
            answer
        }
    };
    let moved = answer.moved.iter().map(|one| format!("{} is now of {}\n", one.id, one.to));
    let left = answer.left.iter().map(|one| format!("{} stays: {}\n", one.id, one.error));
    let text: String = moved.chain(left).collect();
    let failure = answer.left.first().map(|one| {
        let what = format!("{} of the sessions were not moved: {}", answer.left.len(), one.error);
        Failure::new(Kind::Busy, what).hint("close them, and move them again")
    });
    let answer = Answer::new(answer, text);
    console.print(match failure {
        None => answer,
        Some(failure) => answer.failed(failure),
    })
}

/// Moves the sessions of a folder, and of those below it, to another folder.
pub(crate) async fn move_folder(runtime: &Runtime, old: &AbsPath, to: &AbsPath) -> Result<MovedSessions> {
    Ok(move_all(runtime, all_below(runtime, old).await?, old, to).await)
}

async fn move_all(
    runtime: &Runtime,
    records: Vec<SessionRecord>,
    old: &AbsPath,
    to: &AbsPath,
) -> MovedSessions {
    let mut answer = MovedSessions { moved: Vec::new(), left: Vec::new() };
    for record in records {
        let place = match record.cwd.relative_to(old) {
            Some(below) if !below.is_empty() => to.join(below),
            _ => to.clone(),
        };
        let (id, from) = (record.id.to_string(), record.cwd.to_string());
        match runtime.move_session(&record.id, &place).await {
            Ok(()) => answer.moved.push(MovedSession { id, from, to: place.to_string() }),
            Err(error) => answer.left.push(LeftSession { id, error: error.to_string() }),
        }
    }
    answer
}

async fn all_below(runtime: &Runtime, folder: &AbsPath) -> Result<Vec<SessionRecord>> {
    let mut query = ListQuery {
        project: Some(folder.clone()),
        archived: Archived::Include,
        limit: limits::SESSIONS_PAGE,
        ..ListQuery::default()
    };
    let mut all = Vec::new();
    loop {
        let page = runtime.list(query.clone()).await?;
        all.extend(page.sessions);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

/// Adds to a failure the last sessions whose folders do not exist any more, and how to move them to
/// `to`: perhaps they are of a project that was moved there.
pub(crate) async fn with_gone(
    failure: Failure,
    runtime: &Runtime,
    system: &dyn System,
    to: &AbsPath,
) -> Failure {
    let query = ListQuery { limit: limits::SESSIONS_PAGE, ..ListQuery::default() };
    let records = runtime.list(query).await.map(|page| page.sessions).unwrap_or_default();
    let mut folders: Vec<SessionRecord> = Vec::new();
    for record in records {
        let known = folders.iter().any(|known| known.cwd == record.cwd);
        if !known && folders.len() < NAMED && is_gone(system, &record.cwd).await {
            folders.push(record);
        }
    }
    if folders.is_empty() {
        return failure.next("tiller sessions list");
    }
    let named: Vec<_> = folders
        .iter()
        .map(|record| {
            let title = record.title.as_deref().unwrap_or("(no title)");
            format!("{} ({} {})", record.cwd, record.id, one_line(title))
        })
        .collect();
    let failure =
        failure.hint(format!("these folders of sessions do not exist any more: {}", named.join(", ")));
    let commands = folders.iter().map(|record| move_command(record.cwd.as_str(), to));
    commands.fold(failure, |failure, command| failure.next(command))
}

/// Returns the failure for a session whose folder does not exist; `None` if it does. `from` is what
/// moves to `now`: the session, or the sessions of its folder.
pub(crate) async fn gone(
    system: &dyn System,
    record: &SessionRecord,
    from: &str,
    now: &AbsPath,
) -> Option<Failure> {
    if !is_gone(system, &record.cwd).await {
        return None;
    }
    let what = format!("session {} is of {}, which does not exist any more", record.id, record.cwd);
    Some(
        Failure::new(Kind::NotFound, what)
            .hint("if the project was moved, move its sessions to where it is now")
            .next(move_command(from, now)),
    )
}

fn move_command(from: &str, to: &AbsPath) -> String {
    format!("tiller sessions move {} {}", quoted(from), quoted(to.as_str()))
}

/// Returns a word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%:".contains(c);
    match word.chars().all(is_plain) && !word.starts_with('-') {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
