//! `grep`: finds lines by regular expression.

use super::{
    Files,
    glob::root,
    matching::{Entry, Kind, Searching},
    page::Page,
    pattern::Pattern,
    reading::{Reading, read},
};
use crate::{
    Access, Description, Effect, Location, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::{
        EDITOR_READ_WITHIN, EDITOR_READS, GREP_CONTEXT, GREP_COUNTED, GREP_EDITOR_FILES, GREP_MATCHES,
        GREP_MATCHES_MAX, GREP_PATTERN_BYTES, GREP_PER_FILE, GREP_TIME, WALK_FILES,
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
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
};
use system::{AbsPath, Route, SystemError};
use tokio::time::Instant;

/// Finds lines that match a regular expression. The argument aliases are the names that other
/// agents' search tools use for the same arguments.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct Grep {
    pattern: String,
    #[serde(default, deserialize_with = "path::optional")]
    path: Option<GivenPath>,
    #[serde(default, deserialize_with = "args::optional", alias = "include")]
    glob: Option<String>,
    /// A file type: the name of a language or an extension.
    #[serde(default, rename = "type", deserialize_with = "args::optional")]
    file_type: Option<String>,
    #[serde(default, alias = "output_mode")]
    mode: Mode,
    #[serde(default, alias = "-i", alias = "case_insensitive", deserialize_with = "args::flag")]
    ignore_case: bool,
    #[serde(default, deserialize_with = "args::flag")]
    multiline: bool,
    #[serde(default, alias = "-C", deserialize_with = "args::count")]
    context: Option<u64>,
    #[serde(default, alias = "-B", deserialize_with = "args::count")]
    before: Option<u64>,
    #[serde(default, alias = "-A", deserialize_with = "args::count")]
    after: Option<u64>,
    #[serde(default, alias = "head_limit", deserialize_with = "args::count")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "args::count")]
    offset: Option<u64>,
}

/// The form of the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// The matching lines.
    #[default]
    Content,
    /// The files with at least one match.
    #[serde(alias = "files")]
    FilesWithMatches,
    /// The number of matches per file.
    Count,
}

#[async_trait]
impl Tool for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Searches file contents with a regular expression (Rust syntax). Returns `path:line:text`. \
        Unsaved changes in the editor are searched where it gives them out.";
    const EFFECT: Effect = Effect::Reads;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string", "description": "Folder or file"},
                "glob": {"type": "string", "description": "Only such files: *.rs, src/**, !*.md"},
                "type": {"type": "string", "description": "rust, py, ts"},
                "mode": {"type": "string", "enum": ["content", "files_with_matches", "count"]},
                "ignore_case": {"type": "boolean"},
                "multiline": {"type": "boolean", "description": "Match across lines; . matches line ends"},
                "context": {"type": "integer", "description": "Lines around each match"},
                "before": {"type": "integer"},
                "after": {"type": "integer"},
                "limit": {"type": "integer", "description": "Default 100"},
                "offset": {"type": "integer"}
            },
            "required": ["pattern"]
        })
    }

    fn paths(&mut self) -> Vec<&mut String> {
        self.path.iter_mut().map(GivenPath::text).collect()
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        let locations = vec![Location { path: root(self.path.as_ref(), cwd), line: None }];
        Description { title: format!("Search {}", self.pattern), kind: ToolKind::Search, locations }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Read(root(self.path.as_ref(), cwd))]
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.pattern.is_empty() {
            return Err(ToolError::message("pattern cannot be empty."));
        }
        if self.pattern.len() > GREP_PATTERN_BYTES {
            return Err(ToolError::message(format!(
                "pattern has {} bytes; {GREP_PATTERN_BYTES} are the most. Search for a part of it.",
                self.pattern.len()
            )));
        }
        let deadline = Instant::now() + GREP_TIME;
        let files = self.files(cx).await?;
        let readings = read(&self.pattern, self.ignore_case, self.multiline)?;
        let mut found = Found::default();
        let mut as_read = String::new();
        for Reading { matcher, multiline, note, is_guess } in readings {
            let (before, after) = self.context();
            let searching = Searching { matcher, multiline, before, after, most: self.most() };
            found = self.search(cx, &searching, &files, deadline).await?;
            if found.matches > 0 || !is_guess {
                as_read = note;
            }
            if found.matches > 0 {
                break;
            }
        }
        let mut text = self.report(&found);
        let as_read = Some(as_read).filter(|note| !note.is_empty());
        for note in as_read.iter().chain(&found.notes) {
            let _ = write!(text, "\n({note})");
        }
        Ok(ToolOutput::text(output::within(cx, text).await))
    }
}

/// The results of a search.
#[derive(Default)]
struct Found {
    /// The lines of the result.
    lines: Vec<String>,
    /// The number of matches, or of files with matches, as far as counted.
    matches: usize,
    /// Whether there are more than were counted.
    uncounted: bool,
    notes: Vec<String>,
}

impl Grep {
    fn page(&self) -> Page {
        Page::new(self.offset, self.limit, GREP_MATCHES, GREP_MATCHES_MAX)
    }

    /// Returns the numbers of context lines before and after each match.
    fn context(&self) -> (usize, usize) {
        let lines = |own: Option<u64>| {
            let lines = own.or(self.context).unwrap_or(0);
            usize::try_from(lines).unwrap_or(GREP_CONTEXT).min(GREP_CONTEXT)
        };
        match self.mode {
            Mode::Content => (lines(self.before), lines(self.after)),
            Mode::FilesWithMatches | Mode::Count => (0, 0),
        }
    }

    /// Returns the maximum number of matches to search for in one file.
    fn most(&self) -> usize {
        match self.mode {
            Mode::FilesWithMatches => 1,
            Mode::Content | Mode::Count => self.page().end() + GREP_COUNTED,
        }
    }

    async fn files(&self, cx: &ToolContext) -> Result<Files, ToolError> {
        let glob = self.glob.as_deref().map(Pattern::new).transpose()?;
        let kind = self.file_type.as_deref().map(Pattern::of_type).transpose()?;
        let include_ignored = glob.as_ref().is_some_and(|glob| glob.include_ignored);
        let mut files = super::files(cx, &root(self.path.as_ref(), &cx.cwd), include_ignored).await?;
        let base = files.base.clone();
        files
            .paths
            .retain(|file| [&glob, &kind].into_iter().flatten().all(|pattern| pattern.matches(file, &base)));
        Ok(files)
    }

    /// Whether only the first matches of each file are shown: only if the call asks for no
    /// particular number of matches.
    fn caps_files(&self, files: &Files) -> bool {
        self.limit.is_none() && self.offset.is_none() && files.paths.len() > 1
    }

    async fn search(
        &self,
        cx: &ToolContext,
        searching: &Searching,
        files: &Files,
        deadline: Instant,
    ) -> Result<Found, ToolError> {
        let mut found = Found::default();
        let (mut unread, mut capped) = (0, Vec::new());
        if files.partial {
            found.notes.push(format!("only the first {WALK_FILES} files were searched; pass a deeper path"));
        }
        let asked = AtomicUsize::new(0);
        // Several files concurrently, because an editor takes a while to answer; results keep the
        // files' order.
        let entries =
            (0..files.paths.len()).map(|at| entries(cx, searching, &files.paths[at], files, &asked));
        let mut entries = std::pin::pin!(stream::iter(entries).buffered(EDITOR_READS));
        let mut names = files.paths.iter();
        let caps = self.caps_files(files);
        loop {
            let next = tokio::select! {
                biased;
                () = tokio::time::sleep_until(deadline) => {
                    let limit = GREP_TIME.as_secs();
                    found.notes.push(format!("stopped after {limit} s; there may be more matches: pass a deeper path or a glob"));
                    break;
                }
                next = entries.next() => match next {
                    Some(entries) => entries?,
                    None => break,
                },
            };
            let name = names.next().map_or("", |file| path::shown(file, &cx.cwd));
            match next {
                Some(entries) if caps && self.take(&mut found, name, &entries, GREP_PER_FILE) => {
                    capped.push(name.to_owned());
                }
                Some(entries) if !caps => drop(self.take(&mut found, name, &entries, usize::MAX)),
                Some(_) => {}
                None => unread += 1,
            }
            if found.matches >= self.page().end() + GREP_COUNTED {
                found.uncounted = true;
                break;
            }
        }
        if !capped.is_empty() {
            let (list, most) = (capped.join(", "), GREP_PER_FILE);
            found.notes.push(format!(
                "only the first {most} matches of each are shown: {list}; pass limit or path for more"
            ));
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

    /// Adds the entries of one file to the result; returns whether the file has more matches than
    /// `most`.
    fn take(&self, found: &mut Found, name: &str, entries: &[Entry], most: usize) -> bool {
        let page = self.page();
        let count = entries.iter().filter(|entry| entry.kind == Kind::Match).count();
        match self.mode {
            _ if count == 0 => {}
            Mode::FilesWithMatches | Mode::Count => {
                if page.has(found.matches) {
                    found.lines.push(match self.mode {
                        Mode::Count => format!("{name}:{count}"),
                        _ => name.to_owned(),
                    });
                }
                found.matches += 1;
                return false;
            }
            Mode::Content => {
                let shown = entries_of_page(found.matches, page, entries, most, self.context().0);
                // A separator keeps matches of different files apart.
                let apart = entries.iter().any(|entry| entry.kind != Kind::Match) && !found.lines.is_empty();
                if apart && !shown.is_empty() {
                    found.lines.push("--".to_owned());
                }
                found.lines.extend(shown.into_iter().map(|entry| entry.line(name)));
                found.matches += count.min(most);
            }
        }
        count > most
    }

    fn report(&self, found: &Found) -> String {
        let (page, noun) = (self.page(), if self.mode == Mode::Content { "matches" } else { "files" });
        if found.matches == 0 {
            return format!("No matches found for '{}'", self.pattern);
        }
        if found.lines.is_empty() {
            return format!(
                "No more than {} {noun} for '{}'; pass a smaller offset",
                found.matches, self.pattern
            );
        }
        let mut text = found.lines.join("\n");
        let more = found.matches.saturating_sub(page.end());
        if more > 0 {
            let least = if found.uncounted { "at least " } else { "" };
            let _ = write!(
                text,
                "\n... {least}{more} more {noun}; pass offset {} or a narrower pattern, path or glob",
                page.end()
            );
        }
        text
    }
}

/// Returns the entries of one file that belong on a page: matches with their context lines.
/// `before` is the number of matches in the preceding files; at most `most` matches of this file
/// count.
fn entries_of_page(
    before: usize,
    page: Page,
    entries: &[Entry],
    most: usize,
    lines_before: usize,
) -> Vec<&Entry> {
    let (mut shown, mut matches, mut on_page) = (Vec::new(), 0, false);
    // Lines between two matches; they belong to the second match if they are near enough to it.
    let mut between: Vec<&Entry> = Vec::new();
    for entry in entries {
        match entry.kind {
            Kind::Match => {
                on_page = matches < most && page.has(before + matches);
                matches += 1;
                if on_page {
                    between.retain(|line| match line.kind {
                        Kind::Break => !shown.is_empty(),
                        _ => line.number + lines_before as u64 >= entry.number,
                    });
                    shown.append(&mut between);
                    shown.push(entry);
                }
                between.clear();
            }
            Kind::After if on_page => shown.push(entry),
            Kind::Break | Kind::Before | Kind::After => between.push(entry),
        }
    }
    shown
}

/// Returns the entries of the editor's text; `None` if the editor does not provide it, or the disk
/// has the same text or a newer one.
async fn held(
    cx: &ToolContext,
    searching: &Searching,
    file: &AbsPath,
) -> Result<Option<Vec<Entry>>, ToolError> {
    let read = tokio::time::timeout(EDITOR_READ_WITHIN, cx.system.read_text(file, None));
    let read = unless_cancelled(cx, read).await?;
    // An old text that the editor still shows is not searched: the disk has a newer one.
    let text = read.ok().and_then(Result::ok).filter(|text| !cx.session.files.editor().is_common(file, text));
    Ok(text.map(|text| searching.entries(text.as_bytes())))
}

/// Returns the entries of a file, from the editor's text where it may differ from the disk; `None`
/// if the file cannot be read. `asked` counts the files with matches on disk, to limit requests to
/// the editor.
async fn entries(
    cx: &ToolContext,
    searching: &Searching,
    file: &AbsPath,
    files: &Files,
    asked: &AtomicUsize,
) -> Result<Option<Vec<Entry>>, ToolError> {
    if files.overlaid.contains(file)
        && let Some(entries) = held(cx, searching, file).await?
    {
        return Ok(Some(entries));
    }
    let entries = match unless_cancelled(cx, cx.system.read(file)).await? {
        Ok(bytes) => searching.entries(&bytes),
        // A file that was removed in the meantime has no entries.
        Err(SystemError::NotFound(_)) => Vec::new(),
        Err(_) => return Ok(None),
    };
    // The search between two reads blocks the thread, so other tasks get a turn here.
    tokio::task::yield_now().await;
    let by_editor = cx.system.routes().read_text == Route::Client;
    if entries.is_empty() || !by_editor || asked.fetch_add(1, Ordering::Relaxed) >= GREP_EDITOR_FILES {
        return Ok(Some(entries));
    }
    Ok(Some(held(cx, searching, file).await?.unwrap_or(entries)))
}
