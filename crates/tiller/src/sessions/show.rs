//! `tiller sessions show`: the conversation of a session, for people and for programs.

use crate::{
    answer::{Console, Page, numbered},
    args::{OutputFormat, Pages},
    exit::Exit,
    headless::output::Output,
};
use agent::{Content, Redactor, Runtime, SessionEvent, SessionId, ToolStatus, TurnEnd};
use anyhow::Result;
use serde_json::Value;
use std::{
    io::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// A buffer that is read after its writer is gone.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Prints a page of the events, each as `-p -o stream-json` prints it. The cursor is the number of
/// events before the page.
pub(super) async fn as_json(
    console: &Console,
    runtime: &Runtime,
    id: &SessionId,
    redactor: &Redactor,
    (pages, limit): (&Pages, usize),
) -> Result<Exit> {
    let skipped: usize = numbered(pages.after.as_deref())?;
    let last = skipped.saturating_add(limit);
    let now = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&now);
    let clock = move || clock.load(Ordering::Relaxed);
    let buffer = Buffer::default();
    let mut output = Output::new(OutputFormat::StreamJson, buffer.clone(), clock).redacting(redactor.clone());
    let (mut found, mut items, mut failed) = (0, Vec::new(), None);
    runtime
        .replay_timed(id, &mut |at, event| {
            // One more than the page shows that there are more.
            if found > last {
                return;
            }
            now.store(at.cast_unsigned(), Ordering::Relaxed);
            output.event(event);
            for line in buffer.take().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                found += 1;
                if (skipped + 1..=last).contains(&found) {
                    match serde_json::from_slice::<Value>(line) {
                        Ok(item) => items.push(item),
                        Err(error) => failed = Some(error),
                    }
                }
            }
        })
        .await?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let next = (found > last).then(|| last.to_string());
    console.page(Page { items, next }, Value::clone, |_| String::new())
}

/// Prints the whole conversation.
pub(super) async fn as_text(
    runtime: &Runtime,
    id: &SessionId,
    out: &mut (impl Write + Send),
) -> Result<Exit> {
    let mut print = |event: &SessionEvent| {
        if let Some(text) = event_text(event) {
            // A closed stdout is not an error: the reader has taken as much as it wanted.
            let _ = writeln!(out, "{text}");
        }
    };
    runtime.replay_written(id, &mut print).await?;
    Ok(Exit::Ok)
}

/// Returns what people read of an event; `None` if that is nothing.
pub(super) fn event_text(event: &SessionEvent) -> Option<String> {
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
        Content::Text(text) => text,
        // The user named it, and did not write its text.
        Content::Resource { uri, .. } | Content::ResourceLink { uri, .. } => uri,
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
