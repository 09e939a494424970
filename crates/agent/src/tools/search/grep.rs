//! `grep`: lines by a regular expression.

use super::{Files, glob::root, pattern::Pattern};
use crate::{
    Access, Description, Effect, Location, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::{BINARY_PROBE_BYTES, GREP_LINE_CHARS, GREP_LINES, GREP_PER_FILE, GREP_TIME, WALK_FILES},
    tools::{
        args,
        cancel::unless_cancelled,
        output,
        path::{self, GivenPath},
    },
};
use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use serde_json::{Value, json};
use std::{borrow::Cow, fmt::Write as _};
use system::{AbsPath, SystemError};
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
        and 100 in all. Unsaved text of files that were read or written in this session is searched too.";
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
    for file in &files.paths {
        let bytes = tokio::select! {
            biased;
            () = tokio::time::sleep_until(deadline) => {
                let limit = GREP_TIME.as_secs();
                found.notes.push(format!("stopped after {limit} s; there may be more matches: pass a deeper path or a glob"));
                break;
            }
            bytes = bytes(cx, file, files) => bytes?,
        };
        match bytes {
            Some(bytes) => {
                let name = path::shown(file, &cx.cwd);
                let before = found.lines.len();
                in_file(matcher, name, &bytes, &mut found.lines);
                if found.lines.len() - before > GREP_PER_FILE {
                    found.lines.truncate(before + GREP_PER_FILE);
                    capped.push(name.to_owned());
                }
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
        // The work between two reads holds the thread; others get their turn here.
        tokio::task::yield_now().await;
    }
    if !capped.is_empty() {
        found
            .notes
            .push(format!("only the first {GREP_PER_FILE} lines of each are shown: {}", capped.join(", ")));
    }
    if unread > 0 {
        found.notes.push(format!("{unread} files could not be read"));
    }
    Ok(found)
}

/// A file's bytes, the editor's where it holds them; none when it cannot be read. One that is gone by now is empty.
async fn bytes(cx: &ToolContext, file: &AbsPath, files: &Files) -> Result<Option<Vec<u8>>, ToolError> {
    if files.overlaid.contains(file)
        && let Ok(text) = unless_cancelled(cx, cx.system.read_text(file, None)).await?
    {
        return Ok(Some(text.into_bytes()));
    }
    Ok(match unless_cancelled(cx, cx.system.read(file)).await? {
        Ok(bytes) => Some(bytes),
        Err(SystemError::NotFound(_)) => Some(Vec::new()),
        Err(_) => None,
    })
}

/// Adds a file's matching lines, one more than are shown at the most. Binary files have none.
fn in_file(matcher: &RegexMatcher, name: &str, bytes: &[u8], lines: &mut Vec<String>) {
    if bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0) {
        return;
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
