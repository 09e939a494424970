//! Exports memories as Markdown, and imports them.

use super::{Store, form, form::Form};
use crate::environment;
use agent::{Memory, MemoryAuthor, MemoryDraft, MemoryError, MemoryKind};
use anyhow::{Context as _, Result, bail};
use std::{
    io::{Read as _, Write},
    path::Path,
};
use system::{AbsPath, LocalSystem, System as _};

/// The largest text that is read, in bytes: more than the memories of a project can have.
pub(super) const BYTES: u64 = 32 * 1024 * 1024;

/// The greatest number of days until a memory expires.
const DAYS_MAX: u32 = 3_650;

/// Writes memories in the form that `import` reads.
pub(super) fn export(memories: &[Memory], out: &mut impl Write) -> Result<()> {
    for memory in memories {
        writeln!(out, "{}", form::text(memory))?;
    }
    Ok(())
}

/// Stores the memories of a file, all that are not there yet; returns them, and the number of the
/// others. The whole file is read first.
pub(super) async fn import(
    store: &Store,
    base: &AbsPath,
    file: &Path,
    here: bool,
) -> Result<(Vec<Memory>, usize)> {
    let forms = form::read(&text(base, file).await?)?;
    let (mut saved, mut known) = (Vec::new(), 0);
    for form in &forms {
        let project = match here {
            true => None,
            false => form.project.as_ref(),
        };
        let memories = store.of_project(project);
        let draft = MemoryDraft { expires_days: days_until(form.expires)?.or(Some(0)), ..draft(form) };
        match memories.save(draft, MemoryAuthor::User).await {
            Ok(memory) => saved.push(memory),
            Err(MemoryError::Duplicate(_)) => known += 1,
            Err(error) => bail!("{}: {error} ({} memories were saved before)", form.note.title, saved.len()),
        }
    }
    Ok((saved, known))
}

async fn text(base: &AbsPath, file: &Path) -> Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().lock().take(BYTES).read_to_string(&mut text)?;
        return Ok(text);
    }
    let file = environment::absolute(base, file)?;
    environment::check_file("FILE", &file)?;
    let bytes = LocalSystem::new().read(&file).await?;
    String::from_utf8(bytes).with_context(|| format!("{file} is not UTF-8"))
}

/// Returns the draft of a form, without its expiry.
pub(super) fn draft(form: &Form) -> MemoryDraft {
    let note = form.note.clone();
    MemoryDraft {
        kind: Some(note.kind),
        class: Some(note.class),
        title: Some(note.title),
        content: Some(note.content),
        pinned: Some(note.pinned),
        ..MemoryDraft::default()
    }
}

/// Returns the project of an edited memory: none if it is about the user, else the one that the
/// form names, else the one that it had, else that of the directory.
pub(super) fn project_of(
    form: &Form,
    before: Option<&AbsPath>,
    here: impl FnOnce() -> AbsPath,
) -> Option<AbsPath> {
    (form.note.kind != MemoryKind::User)
        .then(|| form.project.clone().or_else(|| before.cloned()).unwrap_or_else(here))
}

/// Returns the number of days from today until a day; `None` without a day.
///
/// # Errors
/// If the day has passed or is more than ten years away.
pub(super) fn days_until(day: Option<jiff::civil::Date>) -> Result<Option<u32>> {
    let Some(day) = day else { return Ok(None) };
    match u32::try_from((day - today()).get_days()) {
        Ok(days) if (1..=DAYS_MAX).contains(&days) => Ok(Some(days)),
        _ => bail!("expires: {day} is not within the next ten years; write another day, or never"),
    }
}

/// Today, in UTC, as the days of memories are.
fn today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
