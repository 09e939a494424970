//! Tracks which file contents the model has seen, so that no edit is lost between the editor, the
//! disk and the model.

use crate::files::{
    editor::EditorFiles,
    fingerprint::{Fingerprint, locked},
    recent::Recent,
};
use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::SystemTime,
};
use system::{AbsPath, Metadata, TextRange};

/// Records, per file, the text that the model last read or wrote.
#[derive(Debug, Default)]
pub struct FileTracker {
    seen: Mutex<Recent<Seen>>,
    /// The file on disk when its text last equalled the editor's.
    in_step: Mutex<Recent<Stamp>>,
    /// The editor's text after the last write to it.
    held: Mutex<Recent<Fingerprint>>,
    /// What the sessions of the process know of editors' texts and files on disk.
    editor: Arc<EditorFiles>,
}

/// The state of a file on disk, as far as its metadata shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
}

impl From<Metadata> for Stamp {
    fn from(metadata: Metadata) -> Self {
        Self { size: metadata.size, modified: metadata.modified }
    }
}

/// The parts of a file that the model has seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// The text of the whole file when the model saw it.
    pub whole: Option<Fingerprint>,
    /// Ranges of lines, each with its text when the model saw it.
    pub parts: Vec<(TextRange, Fingerprint)>,
}

/// The relation of what the model saw to the current text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The model has seen exactly this text, or the file does not exist.
    Fresh,
    /// The model has never seen the file.
    Unseen,
    /// The lines that the model has seen are unchanged; it has not seen the others.
    Partial,
    /// The file differs from what the model saw.
    Changed,
}

impl FileTracker {
    /// Creates a record for one session.
    pub(crate) fn new(editor: Arc<EditorFiles>) -> Self {
        Self { editor, ..Self::default() }
    }

    /// Returns what is known of the editor's texts.
    pub(crate) fn editor(&self) -> &EditorFiles {
        &self.editor
    }

    /// Records that the model has seen or written a whole file.
    pub fn saw(&self, path: &AbsPath, text: &str) {
        let seen = Seen { whole: Some(Fingerprint::of(text)), parts: Vec::new() };
        locked(&self.in_step).remove(path);
        self.lock().insert(path.clone(), seen);
    }

    /// Records that the model has seen some lines of a file. Parts add up: a file that was read in
    /// several pages, all of them unchanged, is fresh. A record of the whole file is kept, and
    /// still holds if the file has that content.
    pub fn saw_part(&self, path: &AbsPath, range: TextRange, text: &str) {
        let mut files = self.lock();
        let parts = &mut files.entry(path).parts;
        parts.retain(|(old, _)| !covers(range, *old));
        parts.push((range, Fingerprint::of(text)));
    }

    /// Records that a file was changed and that all the model saw of it before is outdated. The
    /// file stays in [`FileTracker::paths`].
    pub fn touched(&self, path: &AbsPath) {
        locked(&self.in_step).remove(path);
        self.lock().insert(path.clone(), Seen::default());
    }

    /// Records that the user or the model named a file. The file may be open in the editor, so
    /// searches query the editor for it. The record of what the model saw is unchanged.
    pub fn named(&self, path: &AbsPath) {
        self.lock().entry(path);
    }

    /// Forgets a file that the agent removed.
    pub fn forget(&self, path: &AbsPath) {
        self.editor.forget(path);
        locked(&self.held).remove(path);
        self.lock().remove(path);
    }

    /// Compares what the model saw of a file with its current text (`None`: the file does not
    /// exist).
    pub fn freshness(&self, path: &AbsPath, current: Option<&str>) -> Freshness {
        decide(self.lock().get(path), current)
    }

    /// Records that the editor and the disk have the same text, as far as known, for as long as the
    /// file on disk has this stamp.
    pub(crate) fn in_step(&self, path: &AbsPath, disk: Option<Stamp>) {
        match disk {
            Some(stamp) => locked(&self.in_step).insert(path.clone(), stamp),
            None => locked(&self.in_step).remove(path),
        }
    }

    /// Whether the file on disk still has the stamp it had when its text equalled the editor's.
    pub(crate) fn is_in_step(&self, path: &AbsPath, now: Option<Stamp>) -> bool {
        now.is_some() && locked(&self.in_step).get(path).copied() == now
    }

    /// Records the editor's text after a write, whether or not the model knows all of it.
    pub(crate) fn holds(&self, path: &AbsPath, text: &str) {
        locked(&self.held).insert(path.clone(), Fingerprint::of(text));
    }

    /// Whether a text on disk equals the editor's text after the last write to it.
    pub(crate) fn is_held(&self, path: &AbsPath, disk: &str) -> bool {
        locked(&self.held).get(path) == Some(&Fingerprint::of(disk))
    }

    /// Whether a text on disk equals what the model has seen of the file.
    pub(crate) fn is_seen(&self, path: &AbsPath, disk: &str) -> bool {
        matches!(self.freshness(path, Some(disk)), Freshness::Fresh | Freshness::Partial)
    }

    /// Returns every file that the session has read, written or named, sorted.
    pub fn paths(&self) -> Vec<AbsPath> {
        let mut paths: Vec<_> = self.lock().paths().cloned().collect();
        paths.sort();
        paths
    }

    fn lock(&self) -> MutexGuard<'_, Recent<Seen>> {
        locked(&self.seen)
    }
}

/// Decides on freshness; a pure function.
pub(crate) fn decide(seen: Option<&Seen>, current: Option<&str>) -> Freshness {
    let Some(text) = current else { return Freshness::Fresh };
    let Some(Seen { whole, parts }) = seen else { return Freshness::Unseen };
    if parts.iter().any(|(range, saw)| *saw != Fingerprint::of(lines(text, *range))) {
        return Freshness::Changed;
    }
    if whole.is_some_and(|whole| whole == Fingerprint::of(text)) {
        return Freshness::Fresh;
    }
    if !parts.is_empty() && cover_all(parts.iter().map(|(range, _)| *range).collect(), text.lines().count()) {
        return Freshness::Fresh;
    }
    match (whole, parts.is_empty()) {
        (None, true) => Freshness::Unseen,
        (None, false) => Freshness::Partial,
        (Some(_), _) => Freshness::Changed,
    }
}

fn cover_all(mut ranges: Vec<TextRange>, lines: usize) -> bool {
    ranges.sort_by_key(|range| range.line);
    let seen = ranges.iter().fold(0, |seen, range| match range.line <= seen + 1 {
        true => seen.max(end(*range)),
        false => seen,
    });
    seen >= lines
}

fn covers(new: TextRange, old: TextRange) -> bool {
    new.line <= old.line && end(old) <= end(new)
}

/// Returns the last line of a range.
fn end(range: TextRange) -> usize {
    range.line.saturating_add(range.limit).saturating_sub(1)
}

/// Returns the lines of a text in a range, with their line endings.
pub(crate) fn lines(text: &str, range: TextRange) -> &str {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let Some(start) = starts.by_ref().nth(range.line.saturating_sub(1)) else { return "" };
    let end = match range.limit {
        0 => start,
        limit => starts.nth(limit - 1).unwrap_or(text.len()),
    };
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decides_by_what_was_seen() {
        let path = AbsPath::new("/w/a").unwrap();
        let files = FileTracker::default();
        assert_eq!(files.freshness(&path, None), Freshness::Fresh);
        assert_eq!(files.freshness(&path, Some("x")), Freshness::Unseen);
        files.saw(&path, "a\r\nb\r\n");
        assert_eq!(files.freshness(&path, Some("a\nb\n")), Freshness::Fresh);
        assert_eq!(files.freshness(&path, Some("a\nc\n")), Freshness::Changed);
        files.saw_part(&path, TextRange { line: 2, limit: 1 }, "c\n");
        assert_eq!(
            files.freshness(&path, Some("a\nb\n")),
            Freshness::Changed,
            "the part is newer than the whole"
        );
        assert_eq!(files.freshness(&path, Some("changed elsewhere\nc\n")), Freshness::Changed);
        assert_eq!(files.freshness(&path, Some("a\nd\n")), Freshness::Changed);
        files.touched(&path);
        assert_eq!(files.freshness(&path, Some("a")), Freshness::Unseen);
        assert_eq!(files.paths(), std::slice::from_ref(&path));
        files.forget(&path);
        assert_eq!(files.freshness(&path, Some("a")), Freshness::Unseen);
    }

    #[test]
    fn parts_add_up() {
        let path = AbsPath::new("/w/a").unwrap();
        let files = FileTracker::default();
        files.saw_part(&path, TextRange { line: 3, limit: 2 }, "c\nd");
        assert_eq!(files.freshness(&path, Some("a\nb\nc\nd\n")), Freshness::Partial);
        assert_eq!(files.freshness(&path, Some("a\nb\nc\nx\n")), Freshness::Changed);
        files.saw_part(&path, TextRange { line: 1, limit: 2 }, "a\nb\n");
        assert_eq!(files.freshness(&path, Some("a\nb\nc\nd\n")), Freshness::Fresh);
        assert_eq!(files.freshness(&path, Some("a\nb\nc\nd\ne\n")), Freshness::Partial);
        files.saw_part(&path, TextRange { line: 1, limit: 5 }, "a\nb\nc\nd\ne");
        assert_eq!(files.freshness(&path, Some("a\nb\nc\nd\ne\n")), Freshness::Fresh);
    }

    #[test]
    fn takes_lines_of_a_range() {
        let text = "one\ntwo\nthree";
        for (line, limit, expected) in
            [(1, 1, "one\n"), (2, 9, "two\nthree"), (3, 1, "three"), (4, 1, ""), (1, 0, ""), (1, 3, text)]
        {
            assert_eq!(lines(text, TextRange { line, limit }), expected, "{line}+{limit}");
        }
    }
}
