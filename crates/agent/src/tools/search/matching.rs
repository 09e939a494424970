//! Searches one file and collects its matches with their context lines.

use crate::{
    limits::{BINARY_PROBE_BYTES, GREP_LINE_CHARS},
    text::cut,
};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use std::{borrow::Cow, io};

/// The parameters of a search.
pub(super) struct Searching {
    pub(super) matcher: RegexMatcher,
    pub(super) multiline: bool,
    /// The numbers of context lines before and after each match.
    pub(super) before: usize,
    pub(super) after: usize,
    /// The maximum number of matches to search for in one file.
    pub(super) most: usize,
}

/// A line of a file in a search result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// The 1-based line number; 0 for a break.
    pub(super) number: u64,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A match begins in the line.
    Match,
    /// Context before a match.
    Before,
    /// Context after a match, or the continuation of a match.
    After,
    /// Lines are omitted here.
    Break,
}

impl Entry {
    /// Formats the line: `path:1:text` for a match, `path-1-text` for context.
    pub(super) fn line(&self, name: &str) -> String {
        match self.kind {
            Kind::Match => format!("{name}:{}:{}", self.number, self.text),
            Kind::Before | Kind::After => format!("{name}-{}-{}", self.number, self.text),
            Kind::Break => "--".to_owned(),
        }
    }
}

impl Searching {
    /// Searches a file's contents. Binary files have no entries.
    pub(super) fn entries(&self, bytes: &[u8]) -> Vec<Entry> {
        if bytes[..bytes.len().min(BINARY_PROBE_BYTES)].contains(&0) {
            return Vec::new();
        }
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let bytes = unified(bytes);
        let mut taken = Entries::default();
        if let Err(error) = self.searcher().search_slice(&self.matcher, &bytes, &mut taken) {
            tracing::debug!(%error, "search gave up on a file");
        }
        taken.0
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .multi_line(self.multiline)
            .before_context(self.before)
            .after_context(self.after)
            .binary_detection(BinaryDetection::quit(0))
            .max_matches(Some(self.most as u64))
            .build()
    }
}

/// A sink that collects the searcher's results.
#[derive(Default)]
struct Entries(Vec<Entry>);

impl Entries {
    fn push(&mut self, kind: Kind, number: Option<u64>, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.strip_suffix('\n').unwrap_or(&line);
        let text = cut::cut(line, GREP_LINE_CHARS).into_owned();
        self.0.push(Entry { kind, number: number.unwrap_or(0), text });
    }
}

impl Sink for &mut Entries {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number();
        for (at, line) in found.lines().enumerate() {
            let kind = if at == 0 { Kind::Match } else { Kind::After };
            self.push(kind, first.map(|first| first + at as u64), line);
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let kind = match context.kind() {
            SinkContextKind::Before => Kind::Before,
            SinkContextKind::After | SinkContextKind::Other => Kind::After,
        };
        self.push(kind, context.line_number(), context.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.0.push(Entry { kind: Kind::Break, number: 0, text: String::new() });
        Ok(true)
    }
}

/// Replaces every `\r\n` with `\n`: an editor shows `\n` where the disk has `\r\n`, and `$` must
/// mean the same for both.
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
