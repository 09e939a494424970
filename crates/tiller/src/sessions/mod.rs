//! `tiller sessions`: commands on stored sessions.

mod find;
pub(crate) mod health;
pub(crate) mod repair;
mod rewind;
mod rows;
pub(crate) mod transfer;

pub(crate) use rows::{HitRow, SessionChange, SessionRow};

pub(crate) use find::{not_found, record, resolve_session_id};

use crate::{
    answer::{Answer, Console, Failure, Kind, Page, bad_cursor, numbered},
    args::{ExportFormat, OutputFormat, SessionsCommand},
    environment,
    exit::Exit,
    headless::output::Output,
    limits, question,
    redacting_writer::RedactingWriter,
};
use agent::{
    Archived, Content, ListQuery, Redactor, RewindTarget, Runtime, SearchHit, SearchQuery, SessionEvent,
    SessionId, SessionRecord, StoreError, ToolStatus, TurnEnd, one_line,
};
use anyhow::{Context as _, Result};
use std::{
    fs::File,
    io::Write,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
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
    let mut stdout = RedactingWriter::new(crate::streams::stdout(), redactor.clone());
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
            list(console, runtime, query, limit as usize).await
        }
        SessionsCommand::Show { id } => {
            show(runtime, &resolve(&id).await?, redactor, console.is_json()).await
        }
        SessionsCommand::Export { id, format } => {
            let id = resolve(&id).await?;
            match format {
                ExportFormat::Json => transfer::as_json(runtime, &id, redactor, &mut stdout).await?,
                ExportFormat::Markdown => transfer::as_markdown(runtime, &id, &mut stdout).await?,
            }
            Ok(Exit::Ok)
        }
        SessionsCommand::Import { file } => {
            let cwd = console.chosen_directory().cloned();
            if file == Path::new("-") {
                return transfer::import(runtime, std::io::stdin().lock(), cwd, &mut stdout).await;
            }
            let file = environment::absolute(base, &file)?;
            environment::check_file("FILE", &file)?;
            transfer::import(runtime, exported_file(&file)?, cwd, &mut stdout).await
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
            rewind::run(runtime, system, &resolve(&id).await?, target).await
        }
        SessionsCommand::Repair { .. } => unreachable!("it is done before the store is opened"),
    }
}

/// Reports what was changed of a session.
fn changed(console: &Console, id: &SessionId, what: &'static str, title: Option<String>) -> Result<Exit> {
    let text = format!("{id} is {what}\n");
    console.print(Answer::new(SessionChange::new(id, what, title), text))
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

async fn list(console: &Console, runtime: &Runtime, mut query: ListQuery, limit: usize) -> Result<Exit> {
    let given = query.cursor.clone();
    let mut items = Vec::new();
    let next = loop {
        query.limit = (limit - items.len()).min(limits::SESSIONS_PAGE);
        let page = runtime.list(query.clone()).await.map_err(|error| match (error, &given) {
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

async fn show(runtime: &Runtime, id: &SessionId, redactor: &Redactor, json: bool) -> Result<Exit> {
    let mut stdout = RedactingWriter::new(crate::streams::stdout(), redactor.clone());
    if json {
        let now = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&now);
        let clock = move || clock.load(Ordering::Relaxed);
        let mut output = Output::new(OutputFormat::StreamJson, stdout, clock).redacting(redactor.clone());
        runtime
            .replay_timed(id, &mut |at, event| {
                now.store(at.cast_unsigned(), Ordering::Relaxed);
                output.event(event);
            })
            .await?;
        return Ok(Exit::Ok);
    }
    runtime
        .replay(id, &mut |event| {
            if let Some(text) = event_text(event) {
                // A closed stdout is not an error: the reader has taken as much as it wanted.
                let _ = writeln!(stdout, "{text}");
            }
        })
        .await?;
    Ok(Exit::Ok)
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
    let archived = if record.archived { "  (archived)" } else { "" };
    let (id, updated_at) = (&record.id, console.moment(record.times.updated_at));
    format!("{id}  {updated_at}  {}  {}{archived}\n    {title}\n", record.controls.model, record.cwd)
}

fn event_text(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::UserMessage { content, .. } => {
            let texts: Vec<_> = content.iter().map(content_text).collect();
            Some(format!("> {}\n", texts.join("\n").replace('\n', "\n> ")))
        }
        SessionEvent::ModelResponse(response) => {
            let text = response.text();
            (!text.is_empty()).then(|| format!("{text}\n"))
        }
        SessionEvent::ToolCall(update) => {
            let status = update.status.filter(|status| status.is_final())?;
            let result = update.result.as_ref().map_or("", |result| result.text.as_str());
            Some(format!("[{}: {}]\n{result}\n", update.name, status_id(status)))
        }
        SessionEvent::ModelChanged(model) => Some(format!("[model: {model}]\n")),
        SessionEvent::EffortChanged(effort) => {
            Some(format!("[thought level: {}]\n", effort.map_or("default", agent::Effort::id)))
        }
        SessionEvent::ModeChanged(mode) => Some(format!("[mode: {}]\n", mode.id())),
        SessionEvent::PermissionModeChanged(mode) => Some(format!("[permission mode: {}]\n", mode.id())),
        SessionEvent::TurnEnded { end: TurnEnd::Failed(message), .. } => {
            Some(format!("[failed: {message}]\n"))
        }
        _ => None,
    }
}

fn content_text(content: &Content) -> &str {
    match content {
        Content::Text(text) | Content::Resource { text, .. } => text,
        Content::ResourceLink { uri, .. } => uri,
        Content::Image { .. } => "(an image)",
    }
}

fn status_id(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Pending => "pending",
        ToolStatus::InProgress => "in progress",
        ToolStatus::Completed => "completed",
        ToolStatus::Failed => "failed",
        ToolStatus::Cancelled => "cancelled",
        ToolStatus::Interrupted => "interrupted",
    }
}
