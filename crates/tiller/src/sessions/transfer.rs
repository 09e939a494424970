//! Exports sessions for people or for another machine, and imports them.

use super::show::event_text;
use crate::{answer::rfc3339 as time, args::ExportFormat, limits};
use agent::{NewSession, Redactor, Runtime, SessionEvent, SessionId, SessionRecord};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use system::AbsPath;

/// The version of the export format, and the header key that holds it.
const VERSION: u64 = 1;
const KEY: &str = "tiller_session";

/// Writes a session in a format.
pub(super) async fn export(
    runtime: &Runtime,
    id: &SessionId,
    format: ExportFormat,
    redactor: &Redactor,
    out: &mut (impl Write + Send),
) -> Result<()> {
    match format {
        ExportFormat::Json => as_json(runtime, id, redactor, out).await,
        ExportFormat::Markdown => as_markdown(runtime, id, out).await,
    }
}

/// Writes a session as JSON lines: a header, then each event in order.
pub(crate) async fn as_json(
    runtime: &Runtime,
    id: &SessionId,
    redactor: &Redactor,
    out: &mut (impl Write + Send),
) -> Result<()> {
    let record = runtime.record(id).await?;
    writeln!(out, "{}", redactor.json_line(header(&record)))?;
    let mut after = 0;
    loop {
        let page = runtime.events(id, after).await?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = *last;
        for (seq, mut event) in page {
            place_colours(&mut event, redactor);
            let Some(mut line) = store::exported::to_json(event) else { continue };
            line["seq"] = json!(seq);
            writeln!(out, "{}", redactor.json_line(line))?;
        }
    }
}

/// Keeps the colours of a result with its text if secrets are removed from that.
fn place_colours(event: &mut SessionEvent, redactor: &Redactor) {
    if let SessionEvent::ToolCall(call) = event
        && let Some(result) = call.result.as_ref().filter(|_| !call.colours.is_empty())
    {
        call.colours = call.colours.replaced(&result.text, &redactor.redact(&result.text));
    }
}

fn header(record: &SessionRecord) -> Value {
    let directories: Vec<_> =
        record.additional_directories.iter().map(|directory| directory.as_str()).collect();
    json!({
        KEY: VERSION,
        "session_id": record.id.as_str(),
        "cwd": record.cwd.as_str(),
        "additional_directories": directories,
        "title": record.title,
        "model": record.controls.model,
        "mode": record.controls.mode.id(),
        "permission_mode": record.controls.permission_mode.id(),
        "created_at": time(record.times.created_at),
        "updated_at": time(record.times.updated_at),
    })
}

/// Writes a session as a Markdown document.
pub(crate) async fn as_markdown(
    runtime: &Runtime,
    id: &SessionId,
    out: &mut (impl Write + Send),
) -> Result<()> {
    let record = runtime.record(id).await?;
    writeln!(out, "# {}\n", record.title.as_deref().unwrap_or("(no title)").replace('\n', " "))?;
    writeln!(out, "- session: `{id}`\n- folder: `{}`\n- model: `{}`", record.cwd, record.controls.model)?;
    writeln!(
        out,
        "- created: {}\n- last used: {}",
        time(record.times.created_at),
        time(record.times.updated_at)
    )?;
    let mut failed = None;
    runtime
        .replay_written(id, &mut |event| {
            if let (None, Some(text)) = (&failed, section(event)) {
                failed = writeln!(out, "\n{text}").err();
            }
        })
        .await?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

fn section(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::UserMessage { .. } => Some(format!("## User\n\n{}", event_text(event)?.trim_end())),
        SessionEvent::ModelResponse(response) => {
            let (who, text) = (response.model.as_str(), response.text());
            let who = if who.is_empty() { "Tiller" } else { who };
            (!text.is_empty()).then(|| format!("## {who}\n\n{}", text.trim_end()))
        }
        SessionEvent::ToolCall(update) => {
            update.status.filter(|status| status.is_final())?;
            let result = update.result.as_ref().map_or("", |result| result.text.as_str());
            let fence = fence(result);
            let title = update.display.title.as_deref().unwrap_or(&update.name);
            Some(format!(
                "### Tool: {}\n\n{fence}text\n{}\n{fence}",
                title.replace('\n', " "),
                result.trim_end()
            ))
        }
        other => event_text(other).map(|text| text.trim_end().to_owned()),
    }
}

/// Returns a code fence longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Stores an export of [`as_json`] and returns its id: the exported one, or a new one if that is
/// taken.
pub(super) async fn import(runtime: &Runtime, from: impl Read, cwd: Option<AbsPath>) -> Result<SessionId> {
    let mut lines = BufReader::new(from.take(limits::IMPORT_BYTES + 1)).lines();
    let mut read = 0;
    let first = lines.next().context("the file is empty")?.context("cannot read the file")?;
    let mut session = session(&first)?;
    session.cwd = cwd.unwrap_or(session.cwd);
    let mut events = Vec::new();
    for (index, line) in lines.enumerate() {
        let number = index + 2;
        let line = line.with_context(|| format!("cannot read line {number}"))?;
        read += line.len() as u64;
        if read > limits::IMPORT_BYTES {
            bail!("the file is larger than {} bytes", limits::IMPORT_BYTES);
        }
        if line.trim().is_empty() {
            continue;
        }
        let event = serde_json::from_str(&line).map_err(|error| error.to_string());
        let event = event.and_then(|value| store::exported::from_json(&value));
        events.push(
            event.map_err(|what| anyhow!("line {number} is not an event: {what}; nothing was imported"))?,
        );
    }
    if runtime.record(&session.id).await.is_ok() {
        session.id = SessionId::fresh();
    }
    let id = session.id.clone();
    runtime.import(session, events).await?;
    Ok(id)
}

fn session(line: &str) -> Result<NewSession> {
    let header: Value = serde_json::from_str(line).unwrap_or_default();
    match header[KEY].as_u64() {
        Some(VERSION) => {}
        Some(newer) => {
            bail!("the file has version {newer}, and this program reads {VERSION}; upgrade to import it")
        }
        None => bail!("this is not an export of `tiller sessions export --format json`"),
    }
    let text = |key: &str| {
        header[key]
            .as_str()
            .filter(|text| !text.is_empty())
            .with_context(|| format!("line 1: `{key}` is missing"))
    };
    let directories = header["additional_directories"].as_array().cloned().unwrap_or_default();
    let directories = directories.iter().filter_map(Value::as_str).map(AbsPath::new);
    Ok(NewSession {
        // Earlier exports name this member `id`.
        id: SessionId(text("session_id").or_else(|missing| text("id").map_err(|_| missing))?.to_owned()),
        cwd: AbsPath::new(text("cwd")?)?,
        additional_directories: directories.collect::<Result<_, _>>()?,
        model: text("model")?.to_owned(),
        mode: text("mode")?.parse()?,
        permission_mode: text("permission_mode")?.parse()?,
        parent: None,
        owner: None,
    })
}
