//! What the model has seen of which file, so that no edit is lost between the editor, the disk and the model.

use std::{collections::HashMap, sync::Mutex};
use system::{AbsPath, TextRange};

/// Remembers, per file, the text that the model last saw or wrote.
#[derive(Debug, Default)]
pub struct FileTracker {
    seen: Mutex<HashMap<AbsPath, Seen>>,
}

/// What was seen of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// All of it.
    Whole(Fingerprint),
    /// Some lines of it.
    Part(TextRange, Fingerprint),
}

/// A text's hash. Line ends do not count: editors show `\n` for files that hold `\r\n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 16]);

/// How what the model saw compares with what is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The model has seen this very text, or the file does not exist.
    Fresh,
    /// The model has never seen the file.
    Unseen,
    /// The file is not what the model saw.
    Changed,
}

impl Fingerprint {
    /// The hash of a text.
    pub fn of(text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for line in text.split('\n') {
            hasher.update(line.strip_suffix('\r').unwrap_or(line).as_bytes());
            hasher.update(b"\n");
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(hash)
    }
}

impl FileTracker {
    /// The model has seen, or written, all of a file.
    pub fn saw(&self, path: &AbsPath, text: &str) {
        self.remember(path, Seen::Whole(Fingerprint::of(text)));
    }

    /// The model has seen some lines of a file. What it saw of the whole file, if that still holds for these lines, is better and kept.
    pub fn saw_part(&self, path: &AbsPath, range: TextRange, text: &str) {
        self.remember(path, Seen::Part(range, Fingerprint::of(text)));
    }

    /// The file is gone, by our hand.
    pub fn forget(&self, path: &AbsPath) {
        self.lock().remove(path);
    }

    /// Compares what the model saw of a file with its text now (`None`: there is no such file).
    pub fn freshness(&self, path: &AbsPath, current: Option<&str>) -> Freshness {
        decide(self.lock().get(path).copied(), current)
    }

    /// Every file the session has seen or written, sorted.
    pub fn paths(&self) -> Vec<AbsPath> {
        let mut paths: Vec<_> = self.lock().keys().cloned().collect();
        paths.sort();
        paths
    }

    fn remember(&self, path: &AbsPath, seen: Seen) {
        self.lock().insert(path.clone(), seen);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<AbsPath, Seen>> {
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The rule itself, pure.
pub fn decide(seen: Option<Seen>, current: Option<&str>) -> Freshness {
    match (seen, current) {
        (_, None) => Freshness::Fresh,
        (None, Some(_)) => Freshness::Unseen,
        (Some(Seen::Whole(saw)), Some(text)) => same(saw, text),
        (Some(Seen::Part(range, saw)), Some(text)) => same(saw, lines(text, range)),
    }
}

fn same(saw: Fingerprint, text: &str) -> Freshness {
    if saw == Fingerprint::of(text) { Freshness::Fresh } else { Freshness::Changed }
}

/// The lines of a text that lie in a range, with their line ends.
pub fn lines(text: &str, range: TextRange) -> &str {
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
        assert_eq!(files.freshness(&path, Some("changed elsewhere\nc\n")), Freshness::Fresh);
        assert_eq!(files.freshness(&path, Some("a\nd\n")), Freshness::Changed);
        files.forget(&path);
        assert_eq!(files.freshness(&path, Some("a")), Freshness::Unseen);
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
