//! `tiller sessions`: commands on stored sessions.

mod find;
mod fork;
pub(crate) mod health;
mod moving;
pub(crate) mod repair;
mod rewind;
mod rows;
mod show;
mod silent;
pub(crate) mod transfer;

pub(crate) use moving::{MovedSessions, gone, move_folder, with_gone};
pub(crate) use repair::RepairReport;
pub(crate) use rewind::{Rewound, TurnRow};
pub(crate) use rows::{Exported, HitRow, SessionChange, SessionRow};

pub(crate) use find::{last_of_folder, not_found, record, resolve_session_id};

use crate::{
    answer::{Answer, Console, Failure, Kind, Page, bad_cursor, numbered},
    args::SessionsCommand,
    environment,
    exit::Exit,
    limits, question,
    redacting_writer::RedactingWriter,
};
use agent::{
    Archived, ListQuery, Redactor, RewindTarget, Runtime, SearchHit, SearchQuery, SessionId, SessionRecord,
    StoreError, one_line,
};
use anyhow::{Context as _, Result};
use std::{fs::File, path::Path, sync::Arc};
use system::{AbsPath, System};

/// Opens a file of `tiller sessions export`, which may exceed the limit of `System::read`.
#[expect(clippy::disallowed_methods, reason = "an exported file is read as a stream, and is in no editor")]
fn exported_file(path: &AbsPath) -> Result<File> {
    File::open(path.as_str()).with_context(|| format!("cannot open {path}"))
}

/// Runs the command. Rewinding restores files on this machine.
pub(crate) async fn run(
    console: &Console,
    runtime: &Arc<Runtime>,
    system: Arc<dyn System>,
    base: &AbsPath,
    redactor: &Redactor,
    command: SessionsCommand,
) -> Result<Exit> {
    let mut stdout = RedactingWriter::data(crate::screen::stdout(), redactor.clone());
    let resolve = async |id: &str| -> Result<SessionId> {
        let id = resolve_session_id(runtime, id, base).await?;
        // An id without a session is most likely a typing mistake, so it is an error.
        record(runtime, &id).await.map(|record| record.id)
    };
    match command {
        SessionsCommand::List { archived, limit, pages } => {
            let cwd = console.chosen_directory().cloned();
            let archived = if archived { Archived::Include } else { Archived::Exclude };
            let query = ListQuery { cwd, archived, cursor: pages.after, ..ListQuery::default() };
            list(console, runtime, system.as_ref(), query, limit as usize).await
        }
        SessionsCommand::Show { id, limit, pages } => {
            let id = resolve(&id).await?;
            match console.is_json() || pages.jsonl {
                true => show::as_json(console, runtime, &id, redactor, (&pages, limit as usize)).await,
                false => show::as_text(runtime, &id, &mut stdout).await,
            }
        }
        SessionsCommand::Fork { id } => fork::run(console, runtime, system, &resolve(&id).await?).await,
        SessionsCommand::Export { id, format } => {
            let id = resolve(&id).await?;
            if !console.is_json() {
                transfer::export(runtime, &id, format, redactor, &mut stdout).await?;
                return Ok(Exit::Ok);
            }
            let mut content = Vec::new();
            transfer::export(runtime, &id, format, redactor, &mut content).await?;
            console.print(Answer::new(Exported::new(&id, format, &content), String::new()))
        }
        SessionsCommand::Import { file } => {
            let cwd = console.chosen_directory().cloned();
            if file == Path::new("-") {
                let id = transfer::import(runtime, std::io::stdin().lock(), cwd).await?;
                return created(console, &id, "imported", None);
            }
            let file = environment::absolute(base, &file)?;
            environment::check_file("FILE", &file)?;
            let id = transfer::import(runtime, exported_file(&file)?, cwd).await?;
            created(console, &id, "imported", None)
        }
        SessionsCommand::Delete { id, yes } => {
            let id = resolve(&id).await?;
            if !yes {
                confirm_deletion(console, runtime, &id).await?;
            }
            runtime.delete(&id).await?;
            changed(console, &id, "deleted", None)
        }
        SessionsCommand::Archive { id } => {
            let id = resolve(&id).await?;
            runtime.set_archived(&id, true).await?;
            changed(console, &id, "archived", None)
        }
        SessionsCommand::Unarchive { id } => {
            let id = resolve(&id).await?;
            runtime.set_archived(&id, false).await?;
            changed(console, &id, "unarchived", None)
        }
        SessionsCommand::Rename { id, title } => {
            let id = resolve(&id).await?;
            let title = title.join(" ");
            if title.trim().is_empty() {
                return Err(crate::failure::usage("the title is empty"));
            }
            runtime.set_title(&id, title).await?;
            let title = runtime.record(&id).await?.title;
            changed(console, &id, "renamed", title)
        }
        SessionsCommand::Move { from, to } => {
            let to = environment::absolute(base, &to)?;
            environment::check_directory("NEW", &to)?;
            let from = match from.contains('/') || from == "." || from == ".." {
                true => moving::From::Folder(environment::absolute(base, Path::new(&from))?),
                false => moving::From::Session(resolve(&from).await?),
            };
            moving::run(console, runtime, system.as_ref(), from, to).await
        }
        SessionsCommand::Search { words, limit, pages } => {
            let cwd = console.chosen_directory().cloned();
            let range = (numbered(pages.after.as_deref())?, limit as usize);
            let query = SearchQuery { text: words.join(" "), cwd, ..SearchQuery::default() };
            search(console, runtime, query, range).await
        }
        SessionsCommand::Rewind { id, to, redo } => {
            let target = match to {
                _ if redo => Some(RewindTarget::Redo),
                turn => turn.map(RewindTarget::Turn),
            };
            rewind::run(console, runtime, system, &resolve(&id).await?, target).await
        }
        SessionsCommand::Repair { .. } | SessionsCommand::Migrate(_) => {
            unreachable!("they are done before the store is opened")
        }
    }
}

/// Reports what was changed of a session.
fn changed(console: &Console, id: &SessionId, what: &'static str, title: Option<String>) -> Result<Exit> {
    let text = format!("{id} is {what}\n");
    console.print(Answer::new(SessionChange::new(id, what, title), text))
}

/// Reports a session that was created; people get its id, which a script can use as it is.
fn created(console: &Console, id: &SessionId, how: &'static str, title: Option<String>) -> Result<Exit> {
    console.print(Answer::new(SessionChange::new(id, how, title), format!("{id}\n")))
}

/// Asks whether a session is to be deleted.
///
/// # Errors
/// If the answer is no, or the question cannot be asked.
async fn confirm_deletion(console: &Console, runtime: &Runtime, id: &SessionId) -> Result<()> {
    if !console.may_ask() {
        return Err(Console::missing("a confirmation", "--yes").into());
    }
    let title = record(runtime, id).await?.title.unwrap_or_else(|| "(no title)".to_owned());
    let question = format!("Delete {id}, {}, and everything stored of it? [y/N] ", one_line(&title));
    let yes = question::ask(&question, |line| Ok(matches!(line.to_lowercase().as_str(), "y" | "yes")))?;
    if yes { Ok(()) } else { Err(Failure::new(Kind::Denied, format!("session {id} was not deleted")).into()) }
}

async fn list(
    console: &Console,
    runtime: &Runtime,
    system: &dyn System,
    mut query: ListQuery,
    limit: usize,
) -> Result<Exit> {
    let given = query.cursor.clone();
    let mut items = Vec::new();
    let next = loop {
        query.limit = (limit - items.len()).min(limits::SESSIONS_PAGE);
        let page =
            runtime.list_of_folder(system, query.clone()).await.map_err(|error| match (error, &given) {
                (StoreError::BadCursor(_), Some(given)) => bad_cursor(given),
                (error, _) => error.into(),
            })?;
        items.extend(page.sessions);
        query.cursor = page.next_cursor;
        if items.len() >= limit || query.cursor.is_none() {
            break query.cursor;
        }
    };
    if items.is_empty() && given.is_none() && !console.is_json() {
        console.note("No sessions are stored; a prompt creates one: tiller -p PROMPT");
    }
    console.page(Page { items, next }, SessionRow::of, |record| as_text(record, console))
}

async fn search(
    console: &Console,
    runtime: &Runtime,
    query: SearchQuery,
    (skipped, limit): (usize, usize),
) -> Result<Exit> {
    // One more shows whether there are more.
    let query = SearchQuery { limit: skipped.saturating_add(limit + 1), ..query };
    let page = Page::ranked(runtime.search(query).await?, skipped, limit);
    if page.items.is_empty() && !console.is_json() {
        console.note("Nothing was found. Each word must occur in one message, whole or as its beginning.");
    }
    let line = |hit: &SearchHit| {
        let (id, title) = (&hit.session.id, hit.session.title.as_deref().unwrap_or("(no title)"));
        let updated_at = console.moment(hit.session.times.updated_at);
        format!("{id}  {updated_at}  {}\n    {}\n", one_line(title), one_line(&hit.excerpt))
    };
    console.page(page, HitRow::of, line)
}

fn as_text(record: &SessionRecord, console: &Console) -> String {
    let title = record.title.as_deref().unwrap_or("(no title)");
    let title: String = one_line(title).chars().take(limits::TITLE_CHARS).collect();
    let archived = if record.listing.archived { "  (archived)" } else { "" };
    let (id, updated_at) = (&record.id, console.moment(record.times.updated_at));
    format!("{id}  {updated_at}  {}  {}{archived}\n    {title}\n", record.controls.model, record.cwd)
}
