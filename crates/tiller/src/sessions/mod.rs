//! `tiller sessions`: commands on stored sessions.

mod find;
pub(crate) mod health;
pub(crate) mod repair;
mod rewind;
pub(crate) mod transfer;

pub(crate) use find::{not_found, record, resolve_session_id};

use crate::{
    answer::Console,
    args::{ExportFormat, OutputFormat, SessionsCommand},
    environment,
    exit::Exit,
    headless::output::Output,
    limits,
    redacting_writer::RedactingWriter,
    screen,
};
use agent::{
    Archived, Content, ListQuery, Redactor, RewindTarget, Runtime, SearchQuery, SessionEvent, SessionId,
    SessionRecord, ToolStatus, TurnEnd, one_line,
};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
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
        SessionsCommand::List { archived, limit } => {
            let cwd = console.chosen_directory().cloned();
            let archived = if archived { Archived::Include } else { Archived::Exclude };
            let query = ListQuery { cwd, archived, ..ListQuery::default() };
            list(console, runtime, query, limit as usize, redactor).await
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
        SessionsCommand::Delete { id } => {
            let id = resolve(&id).await?;
            runtime.delete(&id).await?;
            Ok(Exit::Ok)
        }
        SessionsCommand::Archive { id } => {
            runtime.set_archived(&resolve(&id).await?, true).await?;
            Ok(Exit::Ok)
        }
        SessionsCommand::Unarchive { id } => {
            runtime.set_archived(&resolve(&id).await?, false).await?;
            Ok(Exit::Ok)
        }
        SessionsCommand::Search { words, limit } => {
            let cwd = console.chosen_directory().cloned();
            let (text, limit) = (words.join(" "), limit as usize);
            search(console, runtime, SearchQuery { text, cwd, limit, ..SearchQuery::default() }, redactor)
                .await
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

async fn list(
    console: &Console,
    runtime: &Runtime,
    mut query: ListQuery,
    limit: usize,
    redactor: &Redactor,
) -> Result<Exit> {
    let json = console.is_json();
    query.limit = limit.min(limits::SESSIONS_PAGE);
    let mut left = limit;
    let mut stdout = screen::stdout();
    loop {
        let page = runtime.list(query.clone()).await?;
        for record in page.sessions.iter().take(left) {
            let line = match json {
                true => redactor.json_line(as_json(record)),
                false => redactor.shown(&as_text(record)),
            };
            if writeln!(stdout, "{line}").is_err() {
                return Ok(Exit::Ok);
            }
        }
        if page.sessions.is_empty() && left == limit && !json {
            console.note("No sessions are stored; a prompt creates one: tiller -p PROMPT");
        }
        left = left.saturating_sub(page.sessions.len());
        query.cursor = page.next_cursor;
        if left == 0 || query.cursor.is_none() {
            return Ok(Exit::Ok);
        }
    }
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
    redactor: &Redactor,
) -> Result<Exit> {
    let json = console.is_json();
    let mut stdout = RedactingWriter::new(crate::streams::stdout(), redactor.clone());
    let hits = runtime.search(query).await?;
    if hits.is_empty() && !json {
        console.note("Nothing was found. Each word must occur in one message, whole or as its beginning.");
    }
    for hit in hits {
        let (id, title) = (&hit.session.id, hit.session.title.as_deref().unwrap_or("(no title)"));
        let line = match json {
            true => redactor.json_line(json!({
                "session_id": id.as_str(),
                "title": hit.session.title,
                "cwd": hit.session.cwd.as_str(),
                "updated_at": time(hit.session.times.updated_at),
                "event": hit.seq,
                "excerpt": hit.excerpt,
            })),
            false => format!(
                "{id}  {}  {}\n    {}",
                time(hit.session.times.updated_at),
                one_line(title),
                one_line(&hit.excerpt)
            ),
        };
        if writeln!(stdout, "{line}").is_err() {
            break;
        }
    }
    Ok(Exit::Ok)
}

fn as_json(record: &SessionRecord) -> Value {
    json!({
        "session_id": record.id.as_str(),
        "cwd": record.cwd.as_str(),
        "title": record.title,
        "model": record.controls.model,
        "mode": record.controls.mode.id(),
        "permission_mode": record.controls.permission_mode.id(),
        "created_at": time(record.times.created_at),
        "updated_at": time(record.times.updated_at),
        "archived": record.archived,
    })
}

fn as_text(record: &SessionRecord) -> String {
    let title = record.title.as_deref().unwrap_or("(no title)");
    let title: String = one_line(title).chars().take(limits::TITLE_CHARS).collect();
    let archived = if record.archived { "  (archived)" } else { "" };
    let (id, updated_at) = (&record.id, time(record.times.updated_at));
    format!("{id}  {updated_at}  {}  {}{archived}\n    {title}", record.controls.model, record.cwd)
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

fn time(milliseconds: i64) -> String {
    match jiff::Timestamp::from_second(milliseconds.div_euclid(1000)) {
        Ok(time) => time.to_string(),
        Err(_) => milliseconds.to_string(),
    }
}
