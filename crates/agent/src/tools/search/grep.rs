//! `grep`: lines by a regular expression.

use super::{Files, glob::root, pattern::Pattern};
use crate::{
    Access, Description, Effect, Location, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::{
        BINARY_PROBE_BYTES, EDITOR_READ_WITHIN, EDITOR_READS, GREP_EDITOR_FILES, GREP_LINE_CHARS, GREP_LINES,
        GREP_PER_FILE, GREP_TIME, WALK_FILES,
    },
    tools::{
        args,
        cancel::unless_cancelled,
        output,
        path::{self, GivenPath},
    },
};
use async_trait::async_trait;
use futures::{StreamExt, stream};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    fmt::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
};
use system::{AbsPath, Route, SystemError};
use tokio::time::Instant;

/// Finds lines that match a regular expression.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct Grep {
    pattern: String,
    #[serde(default, deserialize_with = "path::optional")]
    path: Option<GivenPath>,
    #[serde(default, deserialize_with = "args::optional")]
    glob: Option<String>,
}

#[async_trait]
impl Tool for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Searches file contents with a regular expression (Rust syntax, one line at a time). Returns `path:line:text`, at most 50 lines a file \
        and 100 in all. Where the editor gives out its buffers, files with matches, files of this session and a file given as path are searched as the \
        editor shows them.";
    const EFFECT: Effect = Effect::Reads;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Regular expression; (?i) ignores case"},
                "path": {"type": "string", "description": "Folder or file to search (default: the project folder)"},
                "glob": {"type": "string", "description": "Only files that match, such as *.rs or src/**; !pattern leaves files out"}
            },
            "required": ["pattern"]
        })
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        let locations = vec![Location { path: root(self.path.as_ref(), cwd), line: None }];
        Description { title: format!("Search {}", self.pattern), kind: ToolKind::Search, locations }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Read(root(self.path.as_ref(), cwd))]
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let matcher = self.matcher()?;
        let glob = self.glob.as_deref().map(Pattern::new).transpose()?;
        let include_ignored = glob.as_ref().is_some_and(|glob| glob.include_ignored);
        let deadline = Instant::now() + GREP_TIME;
        let mut files = super::files(cx, &root(self.path.as_ref(), &cx.cwd), include_ignored).await?;
        if let Some(glob) = &glob {
            let base = files.base.clone();
            files.paths.retain(|file| glob.matches(file, &base));
        }
        let mut found = search(cx, &matcher, &files, deadline).await?;
        if found.lines.is_empty() {
            found.lines.push(format!("No matches found for '{}'", self.pattern));
        }
        let mut text = found.lines.join("\n");
        for note in &found.notes {
            let _ = write!(text, "\n({note})");
        }
        Ok(ToolOutput::text(output::cap(text, &cx.limits)))
    }
}

impl Grep {
    fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        if self.pattern.is_empty() {
            return Err(ToolError::message("pattern cannot be empty."));
        }
        RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(&self.pattern).map_err(|error| {
            ToolError::message(format!("Invalid regular expression '{}': {error}", self.pattern))
        })
    }
}

#[derive(Default)]
struct Found {
    lines: Vec<String>,
    notes: Vec<String>,
}

async fn search(
    cx: &ToolContext,
    matcher: &RegexMatcher,
    files: &Files,
    deadline: Instant,
) -> Result<Found, ToolError> {
    let mut found = Found::default();
    let mut unread = 0;
    let mut capped = Vec::new();
    if files.partial {
        found.notes.push(format!("only the first {WALK_FILES} files were looked at; pass a deeper path"));
    }
    let asked = AtomicUsize::new(0);
    // Several at a time, since an editor takes a while to answer; in their order all the same.
    let matched = (0..files.paths.len()).map(|at| matches(cx, matcher, &files.paths[at], files, &asked));
    let mut matched = std::pin::pin!(stream::iter(matched).buffered(EDITOR_READS));
    let mut names = files.paths.iter();
    loop {
        let lines = tokio::select! {
            biased;
            () = tokio::time::sleep_until(deadline) => {
                let limit = GREP_TIME.as_secs();
                found.notes.push(format!("stopped after {limit} s; there may be more matches: pass a deeper path or a glob"));
                break;
            }
            next = matched.next() => match next {
                Some(lines) => lines?,
                None => break,
            },
        };
        let name = names.next().map_or("", |file| path::shown(file, &cx.cwd));
        match lines {
            Some(mut lines) => {
                if lines.len() > GREP_PER_FILE {
                    lines.truncate(GREP_PER_FILE);
                    capped.push(name.to_owned());
                }
                found.lines.append(&mut lines);
            }
            None => unread += 1,
        }
        if found.lines.len() > GREP_LINES {
            found.lines.truncate(GREP_LINES);
            found.notes.push(format!(
                "only the first {GREP_LINES} lines are shown; use a narrower pattern, path or glob"
            ));
            break;
        }
    }
    if !capped.is_empty() {
        found
            .notes
            .push(format!("only the first {GREP_PER_FILE} lines of each are shown: {}", capped.join(", ")));
    }
    if unread > 0 {
        found.notes.push(format!("{unread} files could not be read"));
    }
    let unasked = asked.load(Ordering::Relaxed).saturating_sub(GREP_EDITOR_FILES);
    if unasked > 0 {
        found.notes.push(format!(
            "{unasked} files with matches were searched as they are on disk, not as the editor shows them"
        ));
    }
    Ok(found)
}

/// The matching lines of the editor's text; none when the editor does not tell.
async fn held(
    cx: &ToolContext,
    matcher: &RegexMatcher,
    file: &AbsPath,
) -> Result<Option<Vec<String>>, ToolError> {
    let read = tokio::time::timeout(EDITOR_READ_WITHIN, cx.system.read_text(file, None));
    let read = unless_cancelled(cx, read).await?;
    let text = read.ok().and_then(Result::ok);
    Ok(text.map(|text| in_file(matcher, path::shown(file, &cx.cwd), text.as_bytes())))
}

/// A file's matching lines: in the editor's text where the editor may hold another than the disk;
/// none when it cannot be read. `asked` counts the files with matches on disk.
async fn matches(
    cx: &ToolContext,
    matcher: &RegexMatcher,
    file: &AbsPath,
    files: &Files,
    asked: &AtomicUsize,
) -> Result<Option<Vec<String>>, ToolError> {
    let name = path::shown(file, &cx.cwd);
    if files.overlaid.contains(file)
        && let Some(lines) = held(cx, matcher, file).await?
    {
        return Ok(Some(lines));
    }
    let lines = match unless_cancelled(cx, cx.system.read(file)).await? {
        Ok(bytes) => in_file(matcher, name, &bytes),
        // One that is gone by now is empty.
        Err(SystemError::NotFound(_)) => Vec::new(),
        Err(_) => return Ok(None),
    };
    // The work between two reads holds the thread; others get their turn here.
    tokio::task::yield_now().await;
    let by_editor = cx.system.routes().read_text == Route::Client;
    if lines.is_empty() || !by_editor || asked.fetch_add(1, Ordering::Relaxed) >= GREP_EDITOR_FILES {
        return Ok(Some(lines));
    }
    Ok(Some(held(cx, matcher, file).await?.unwrap_or(lines)))
}

/// A file's matching lines, one more than are shown at the most. Binary files have none.
fn in_file(matcher: &RegexMatcher, name: &str, bytes: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    if bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0) {
        return lines;
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let bytes = unified(bytes);
    let sink = Lossy(|number, line| {
        let line = line.strip_suffix('\n').unwrap_or(line);
        lines.push(format!("{name}:{number}:{}", output::cut(line, GREP_LINE_CHARS)));
        Ok(true)
    });
    if let Err(error) = searcher().search_slice(matcher, &bytes, sink) {
        tracing::debug!(%error, name, "search gave up on a file");
    }
    lines
}

/// The bytes with `\n` for every `\r\n`: an editor shows `\n` where the disk has `\r\n`, and `$` must mean the same in both.
fn unified(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.windows(2).any(|pair| pair == b"\r\n") {
        return bytes.into();
    }
    let mut out = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        if byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            out.push(byte);
        }
    }
    out.into()
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .max_matches(Some(GREP_PER_FILE as u64 + 1))
        .build()
}
