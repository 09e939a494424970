//! `file_read`: reads lines of a file, from the editor's buffer where reads are delegated, or an
//! image.

use super::{
    args,
    cancel::unless_cancelled,
    current_text, not_text,
    path::{self, GivenPath},
};
use crate::{
    Access, Description, Effect, Location, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    files::{editor::Standing, freshness},
    limits::{COMPARED_BYTES, NEAR_NAMES, READ_AHEAD_LINES, READ_LINE_CHARS, READ_LINES, READ_LINES_MAX},
    text::cut,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::fmt::Write as _;
use system::{AbsPath, FileKind, Route, SystemError, TextEncoding, TextRange};

/// Reads lines of a text file, or an image.
#[derive(Debug, serde::Deserialize)]
pub(super) struct FileRead {
    path: GivenPath,
    #[serde(default, deserialize_with = "args::line")]
    offset: Option<i64>,
    #[serde(default, deserialize_with = "args::count")]
    limit: Option<u64>,
}

#[async_trait]
impl Tool for FileRead {
    const NAME: &'static str = "file_read";
    const DESCRIPTION: &'static str = "Reads a text file as lines `N\\tline`, or an image. Long files come in pages: go on with `offset` and \
        `limit`. Unsaved changes in the editor are included.";
    const EFFECT: Effect = Effect::Reads;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File, absolute or relative to the project folder"},
                "offset": {"type": "integer", "description": "First line, from 1; -N for the last N lines"},
                "limit": {"type": "integer", "minimum": 1, "maximum": READ_LINES_MAX,
                    "description": "Most lines (default 2000)"}
            },
            "required": ["path"]
        })
    }

    fn paths(&mut self) -> Vec<&mut String> {
        vec![self.path.text()]
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        let line = self.offset.filter(|offset| *offset >= 0).map(|offset| from_start(Some(offset)));
        Description {
            title: format!("Read {}", path::shown(&self.path.at(cwd), cwd)),
            kind: ToolKind::Read,
            locations: vec![Location { path: self.path.at(cwd), line }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Read(self.path.at(cwd))]
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = self.path.at(&cx.cwd);
        let (first, limit) = match self.first(cx, &path).await {
            Ok(first) => (first, self.most(cx)),
            Err(error) => return self.unread(cx, &path, error).await,
        };
        // Reads one line more than is counted, so that "more than" is certain to be true.
        let range = TextRange { line: first, limit: limit + READ_AHEAD_LINES + 1 };
        let disk = current_text::beside_client(cx, on_disk(cx, &path));
        let read = async { futures::join!(cx.system.read_text(&path, Some(range)), disk) };
        let (text, disk) = unless_cancelled(cx, read).await?;
        let text = match text {
            Ok(text) => self.newest(cx, &path, range, text, disk.flatten()).await,
            Err(error) => Err(error),
        };
        let (text, note) = match text {
            Ok(text) => text,
            Err(error) => return self.unread(cx, &path, error).await,
        };
        // A range may be returned without its last `\n`, which leaves a lone `\r`.
        let lines: Vec<&str> = text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        if lines.is_empty() {
            return Ok(self.nothing(cx, &path, first, &text));
        }
        let encoding = self.encoding(cx, &path, first, &text).await;
        let page = page(&lines, first, limit, cx);
        if first == 1 && page.shown == lines.len() {
            cx.session.files.saw(&path, &text);
        } else {
            let seen = TextRange { line: first, limit: page.shown };
            cx.session.files.saw_part(&path, seen, &lines[..page.shown].join("\n"));
        }
        Ok(ToolOutput::text(page.text + &encoding + note))
    }
}

impl FileRead {
    /// Returns the first line to read. Counting from the end requires reading the whole file.
    async fn first(&self, cx: &ToolContext, path: &AbsPath) -> Result<usize, SystemError> {
        let Some(last) = self.offset.filter(|offset| *offset < 0) else { return Ok(from_start(self.offset)) };
        let read = unless_cancelled(cx, cx.system.read_text(path, None)).await;
        let lines = read.unwrap_or_else(|_| Ok(String::new()))?.lines().count();
        Ok(lines.saturating_sub(usize::try_from(last.unsigned_abs()).unwrap_or(usize::MAX)) + 1)
    }

    fn most(&self, cx: &ToolContext) -> usize {
        let asked = self.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(READ_LINES);
        asked.clamp(1, READ_LINES_MAX).min(cx.limits.output_lines).max(1)
    }

    /// Returns the lines to show of what the editor returned (`text`) and the text on disk, and a
    /// note on their relation. An editor may still show an older text than the disk has.
    async fn newest(
        &self,
        cx: &ToolContext,
        path: &AbsPath,
        range: TextRange,
        text: String,
        on_disk: Option<Option<String>>,
    ) -> Result<(String, &'static str), SystemError> {
        let Some(on_disk) = on_disk else { return Ok((text, "")) };
        let editor = cx.session.files.editor();
        let is_whole = range.line == 1 && text.lines().count() < range.limit;
        let held = match is_whole {
            true => Some(text.clone()),
            // The rest of a long file is read only if it may tell something.
            false if on_disk.as_deref().is_some_and(|on_disk| editor.is_common(path, on_disk)) => None,
            false => cx.system.read_text(path, None).await.ok(),
        };
        match held.map(|held| editor.compare(path, &held, on_disk.as_deref())) {
            Some(Standing::Stale) => {
                let newer = on_disk.ok_or_else(|| SystemError::NotFound(path.clone()))?;
                Ok((freshness::lines(&newer, range).to_owned(), STALE))
            }
            Some(Standing::Conflict) => Ok((text, CONFLICT)),
            Some(Standing::Same | Standing::Unsaved) | None => Ok((text, "")),
        }
    }

    /// Returns the message for an empty result: an empty file, or a page past the end.
    fn nothing(&self, cx: &ToolContext, path: &AbsPath, first: usize, text: &str) -> ToolOutput {
        if first > 1 {
            let given = &self.path;
            let text = format!(
                "{given} has no line {first}: offset is past the end of the file. Read it with a smaller offset."
            );
            return ToolOutput::text(text);
        }
        cx.session.files.saw(path, text);
        ToolOutput::text(format!("{} is empty.", self.path))
    }

    /// Returns a note on the encoding of a file on disk that is not UTF-8. The encoding is looked
    /// up only if the text may not come from UTF-8: it is not ASCII, or the file is longer than the
    /// text.
    async fn encoding(&self, cx: &ToolContext, path: &AbsPath, first: usize, text: &str) -> String {
        if cx.system.routes().read_text == Route::Client {
            return String::new();
        }
        let is_short = async || {
            let size = cx.system.metadata(path).await.map_or(0, |found| found.size);
            first > 1 || size < text.len() as u64 * 2
        };
        if text.is_ascii() && is_short().await {
            return String::new();
        }
        match cx.system.read_disk_snapshot(path).await.encoding {
            TextEncoding::Utf8 => String::new(),
            other => format!("\n[{} is {other} text; edits and writes keep that]", self.path),
        }
    }

    /// Returns the result for a file that cannot be read as text.
    async fn unread(
        &self,
        cx: &ToolContext,
        path: &AbsPath,
        error: SystemError,
    ) -> Result<ToolOutput, ToolError> {
        let given = &self.path;
        Err(ToolError::message(match error {
            SystemError::NotFound(_) => return Err(not_found(cx, given, path).await),
            SystemError::NotText { size, .. } => return not_text::read(cx, given, path, size).await,
            SystemError::IsDirectory(_) => {
                format!("{given} is a directory. List it with glob: pattern \"*\", path \"{given}\".")
            }
            SystemError::TooLarge { size, limit, .. } => format!(
                "{given} is too large to read at once ({size} bytes, the limit is {limit}). Read a part with a positive `offset` and a small `limit`, or \
                 search it with grep."
            ),
            other => format!("{given} is not readable: {other}"),
        }))
    }
}

/// The note on a text that the editor shows differently.
const STALE: &str = "\n[the editor still shows an older text of this file; this is the text on disk]";
/// The note on a text of the editor that cannot be changed.
const CONFLICT: &str = "\n[this is the editor's text; the file on disk was changed as well (by a command, say), in a different way. It cannot be edited before the user saves it or reloads it]";

/// Returns the text on disk, the inner `None` if there is no file; `None` if the text is too long
/// to be compared with the editor's at each read.
async fn on_disk(cx: &ToolContext, path: &AbsPath) -> Option<Option<String>> {
    match cx.system.metadata(path).await {
        Ok(found) if found.size <= COMPARED_BYTES => cx.system.read_text_on_disk(path).await.ok(),
        Err(SystemError::NotFound(_)) => Some(None),
        _ => None,
    }
}

/// Converts a 1-based line number; 0 is the first line as well.
fn from_start(offset: Option<i64>) -> usize {
    usize::try_from(offset.unwrap_or(1)).unwrap_or(1).max(1)
}

/// Returns the error `File not found: p`, with similar names from the same directory.
pub(super) async fn not_found(cx: &ToolContext, given: &GivenPath, path: &AbsPath) -> ToolError {
    let mut text = format!("File not found: {given}");
    let mut names = without_first_folders(cx, path).await;
    names.extend(near_names(cx, path).await);
    if !names.is_empty() {
        let _ = write!(text, "\nDid you mean: {}?", names.join(", "));
    }
    ToolError::message(text)
}

/// Returns the file that is meant if the path has folders at its beginning that are not there, such
/// as `src/a.py` for `a.py`, or the name of the project.
async fn without_first_folders(cx: &ToolContext, path: &AbsPath) -> Vec<String> {
    let mut rest = path.relative_to(&cx.cwd).unwrap_or_default();
    while let Some((_, shorter)) = rest.split_once('/') {
        rest = shorter;
        let found = cx.system.metadata(&cx.cwd.join(rest)).await;
        if found.is_ok_and(|found| found.kind == FileKind::File) {
            return vec![rest.to_owned()];
        }
    }
    Vec::new()
}

async fn near_names(cx: &ToolContext, path: &AbsPath) -> Vec<String> {
    let (Some(folder), Some(wanted)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let wanted = wanted.to_lowercase();
    let entries = cx.system.read_dir(&folder).await.unwrap_or_default();
    let mut near: Vec<(f64, AbsPath)> = entries
        .into_iter()
        .filter(|entry| entry.kind == FileKind::File)
        .filter_map(|entry| {
            let name = entry.path.file_name()?.to_lowercase();
            let likeness = strsim::normalized_damerau_levenshtein(&name, &wanted);
            let likeness = if stem(&name) == stem(&wanted) { 1.0 } else { likeness };
            (likeness >= 0.7).then_some((likeness, entry.path))
        })
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.iter().take(NEAR_NAMES).map(|(_, near)| path::shown(near, &cx.cwd).to_owned()).collect()
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

struct Page {
    text: String,
    shown: usize,
}

/// Returns the numbered lines that fit the limits, and how to continue. Cut here and not by
/// `output::cap`, because the tracker records which lines were shown.
fn page(lines: &[&str], first: usize, limit: usize, cx: &ToolContext) -> Page {
    // Leaves room for the closing note.
    let bytes = cx.limits.output_bytes.saturating_sub(300);
    let mut text = String::new();
    let mut shown = 0;
    let mut cut = Vec::new();
    for line in lines.iter().take(limit) {
        let is_cut = line.len() > READ_LINE_CHARS && line.chars().nth(READ_LINE_CHARS).is_some();
        let line = format!("{}\t{}", first + shown, cut::cut(line, READ_LINE_CHARS));
        if shown > 0 && text.len() + line.len() + 1 > bytes {
            break;
        }
        if shown > 0 {
            text.push('\n');
        }
        text.push_str(&line);
        if is_cut {
            cut.push(first + shown);
        }
        shown += 1;
    }
    if let Some(number) = cut.first() {
        let which = match cut.len() {
            1 => format!("line {number} is"),
            several => format!("line {number} and {} more are", several - 1),
        };
        let from = READ_LINE_CHARS + 1;
        let _ = write!(
            text,
            "\n... {which} cut after {READ_LINE_CHARS} characters (the rest with bash: sed -n {number}p FILE | cut -c{from}-)"
        );
    }
    let more = lines.len() - shown;
    let next = first + shown;
    if lines.len() > limit + READ_AHEAD_LINES {
        // The look-ahead was filled, so the number of lines after it is unknown.
        let _ = write!(text, "\n... more than {READ_AHEAD_LINES} more lines (continue with offset={next})");
    } else if more > 0 {
        let _ = write!(text, "\n... {more} more lines (continue with offset={next})");
    }
    Page { text, shown }
}
