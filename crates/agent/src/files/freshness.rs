//! Tracks which file contents the model has seen, so that no edit is lost between the editor, the
//! disk and the model.

use crate::files::recent::Recent;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};
use system::{AbsPath, Metadata, TextRange};

/// Records, per file, the text that the model last read or wrote.
#[derive(Debug, Default)]
pub struct FileTracker {
    seen: Mutex<Recent<Seen>>,
    /// What the editor and the disk had when they were last compared.
    compared: Mutex<Recent<Compared>>,
    /// The file on disk when its text last equalled the editor's.
    in_step: Mutex<Recent<Stamp>>,
    /// The editor's text after the last write to it.
    held: Mutex<Recent<Fingerprint>>,
    /// The disk's content when a text was written through an editor that had not saved it by the
    /// last check.
    not_saved: Mutex<Recent<Option<Fingerprint>>>,
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

/// The relation of the editor's text to the file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Both have the same text.
    Same,
    /// The editor has changes that are not on disk, or a file that is not on disk.
    Unsaved,
    /// The editor still shows the text that it had in common with the disk, and the file on disk was
    /// changed or removed since.
    Stale,
    /// Both have changed since they had the same text, in different ways.
    Conflict,
}

/// What is known of the editor's text and the disk's from earlier comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    /// Both had this text.
    Same(Fingerprint),
    /// They have differed since they were first compared, when the disk had this content.
    Different(Option<Fingerprint>),
}

/// The parts of a file that the model has seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// The text of the whole file when the model saw it.
    pub whole: Option<Fingerprint>,
    /// Ranges of lines, each with its text when the model saw it.
    pub parts: Vec<(TextRange, Fingerprint)>,
}

/// The hash of a text. It ignores the kind of line ending, because editors show `\n` for files that
/// contain `\r\n`, and line endings at the end of the text, because some editors omit them when a
/// range is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 16]);

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

impl Fingerprint {
    /// Returns the hash of a text.
    pub fn of(text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for line in text.trim_end_matches(['\n', '\r']).split('\n') {
            hasher.update(line.strip_suffix('\r').unwrap_or(line).as_bytes());
            hasher.update(b"\n");
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(hash)
    }
}

impl FileTracker {
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
        locked(&self.not_saved).remove(path);
        locked(&self.held).remove(path);
        locked(&self.compared).remove(path);
        self.lock().remove(path);
    }

    /// Compares what the model saw of a file with its current text (`None`: the file does not
    /// exist).
    pub fn freshness(&self, path: &AbsPath, current: Option<&str>) -> Freshness {
        decide(self.lock().get(path), current)
    }

    /// Compares the editor's text with the disk's (`None`: no such file), and records what later
    /// comparisons need. Two texts that differ stay different until they are the same again.
    pub fn compare(&self, path: &AbsPath, held: &str, on_disk: Option<&str>) -> Standing {
        let (held, on_disk) = (Fingerprint::of(held), on_disk.map(Fingerprint::of));
        let mut compared = locked(&self.compared);
        let known = compared.get(path).copied();
        let standing = standing(known, held, on_disk);
        match (standing, known) {
            (Standing::Same, _) => compared.insert(path.clone(), Compared::Same(held)),
            (_, None) => compared.insert(path.clone(), Compared::Different(on_disk)),
            _ => {}
        }
        standing
    }

    /// Whether a text is the one that the editor and the disk last had in common. If the editor still
    /// has it, the disk's text is the same or a newer one.
    pub(crate) fn is_common(&self, path: &AbsPath, text: &str) -> bool {
        locked(&self.compared).get(path).copied() == Some(Compared::Same(Fingerprint::of(text)))
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

    /// Records a write through an editor that cannot be read. `disk` is the disk's content before
    /// the write if the disk still has it (the write is not saved), otherwise `None` (it is saved).
    pub(crate) fn written_blindly(&self, path: &AbsPath, disk: Option<Option<Fingerprint>>) {
        match disk {
            Some(disk) => locked(&self.not_saved).insert(path.clone(), disk),
            None => locked(&self.not_saved).remove(path),
        }
    }

    /// Returns the files that were written through an editor and not saved by the last check,
    /// sorted.
    pub(crate) fn not_saved(&self) -> Vec<AbsPath> {
        let mut paths: Vec<_> = locked(&self.not_saved).paths().cloned().collect();
        paths.sort();
        paths
    }

    /// Whether the disk still has the content from before the file was written through the editor.
    /// Once it does not, the file counts as saved.
    pub(crate) fn awaits_save(&self, path: &AbsPath, disk: Option<Fingerprint>) -> bool {
        let mut not_saved = locked(&self.not_saved);
        let awaits = not_saved.get(path) == Some(&disk);
        if !awaits {
            not_saved.remove(path);
        }
        awaits
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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Returns the relation of the editor's text to the disk's; a pure function. `known` is from earlier
/// comparisons.
pub(crate) fn standing(known: Option<Compared>, held: Fingerprint, on_disk: Option<Fingerprint>) -> Standing {
    match known {
        _ if on_disk == Some(held) => Standing::Same,
        Some(Compared::Same(common)) if held == common => Standing::Stale,
        Some(Compared::Same(common)) if on_disk == Some(common) => Standing::Unsaved,
        Some(Compared::Different(then)) if on_disk == then => Standing::Unsaved,
        Some(_) => Standing::Conflict,
        None => Standing::Unsaved,
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

    /// The eight cases of `docs/delegation.md`: known or not, the editor's text moved or not, the
    /// disk's text moved or not.
    #[test]
    fn the_editor_and_the_disk() {
        let path = AbsPath::new("/w/a").unwrap();
        for (held, on_disk, known, unknown) in [
            ("a", Some("a"), Standing::Same, Standing::Same),
            ("a", Some("a\r\n"), Standing::Same, Standing::Same),
            ("typed", Some("a"), Standing::Unsaved, Standing::Unsaved),
            ("a", Some("moved"), Standing::Stale, Standing::Conflict),
            ("a", None, Standing::Stale, Standing::Conflict),
            ("typed", Some("moved"), Standing::Conflict, Standing::Conflict),
            ("typed", None, Standing::Conflict, Standing::Conflict),
            ("both", Some("both"), Standing::Same, Standing::Same),
        ] {
            let case = format!("{held} {on_disk:?}");
            let files = FileTracker::default();
            assert_eq!(files.compare(&path, "a", Some("a")), Standing::Same);
            for _ in 0..2 {
                assert_eq!(files.compare(&path, held, on_disk), known, "{case}, again");
            }
            let files = FileTracker::default();
            assert_eq!(files.compare(&path, "its own", Some("a")), Standing::Unsaved);
            for _ in 0..2 {
                assert_eq!(files.compare(&path, held, on_disk), unknown, "{case}, never the same");
            }
        }
        let files = FileTracker::default();
        for _ in 0..2 {
            assert_eq!(files.compare(&path, "not on disk", None), Standing::Unsaved);
        }
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
