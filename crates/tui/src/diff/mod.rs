//! Changes of a file as numbered lines.

mod rows;
#[cfg(test)]
mod tests;

use crate::limits::{DIFF_CONTEXT, DIFF_FILE_BYTES, DIFF_LINE_BYTES, DIFF_LINES};
use imara_diff::{Algorithm, Diff, InternedInput};

/// A change of a file, without the parts that stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The file, absolute.
    pub path: String,
    /// Whether the file is new or removed, or neither.
    pub fate: Fate,
    /// Lines that are added.
    pub added: usize,
    /// Lines that are removed.
    pub removed: usize,
    /// The changed lines, with a few unchanged ones around them.
    pub lines: Vec<DiffLine>,
    /// Lines that are not kept, because there are too many.
    pub left_out: usize,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Fate {
    Created,
    Changed,
    Removed,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Whether it is added, removed or unchanged.
    pub change: Change,
    /// Its number, from 1: of the new text, for a removed line of the old one.
    pub number: usize,
    /// Its text, as it is in the file, without the line break; the beginning of a long one.
    pub text: String,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Change {
    Added,
    Removed,
    Unchanged,
}

impl FileDiff {
    /// Compares the texts of a change.
    pub fn of(change: &agent::Diff) -> Self {
        let (old, new) =
            (change.old_text.as_deref().unwrap_or_default(), change.new_text.as_deref().unwrap_or_default());
        let fate = match (&change.old_text, &change.new_text) {
            (None, _) => Fate::Created,
            (_, None) => Fate::Removed,
            _ => Fate::Changed,
        };
        let mut diff = Self {
            path: change.path.as_str().to_owned(),
            fate,
            added: 0,
            removed: 0,
            lines: Vec::new(),
            left_out: 0,
        };
        if old.len().max(new.len()) > DIFF_FILE_BYTES {
            (diff.added, diff.removed) = (new.lines().count(), old.lines().count());
            diff.left_out = diff.added + diff.removed;
        } else {
            diff.compare(old, new);
        }
        diff
    }

    /// Returns its numbers of lines: `+3 −1`.
    pub fn counts(&self) -> String {
        format!("+{} −{}", self.added, self.removed)
    }

    /// Returns its lines as text: `+added`, `-removed`, ` unchanged`.
    pub fn unified(&self) -> String {
        let mut out = self.path.clone();
        for line in &self.lines {
            out.push_str(match line.change {
                Change::Added => "\n+",
                Change::Removed => "\n-",
                Change::Unchanged => "\n ",
            });
            out.push_str(&line.text);
        }
        out
    }

    fn compare(&mut self, old: &str, new: &str) {
        let input = InternedInput::new(old, new);
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        let line = |tokens: &[imara_diff::Token], at: u32| input.interner[tokens[at as usize]];
        let total = u32::try_from(input.after.len()).unwrap_or(u32::MAX);
        let hunks: Vec<_> = diff.hunks().collect();
        // The next unchanged line of the new text that is not shown yet.
        let mut next = 0;
        for (at, hunk) in hunks.iter().enumerate() {
            for number in hunk.after.start.saturating_sub(DIFF_CONTEXT).max(next)..hunk.after.start {
                self.push(Change::Unchanged, number, line(&input.after, number));
            }
            for number in hunk.before.clone() {
                self.push(Change::Removed, number, line(&input.before, number));
            }
            for number in hunk.after.clone() {
                self.push(Change::Added, number, line(&input.after, number));
            }
            let until = hunks.get(at + 1).map_or(total, |next| next.after.start);
            next = (hunk.after.end + DIFF_CONTEXT).min(until);
            for number in hunk.after.end..next {
                self.push(Change::Unchanged, number, line(&input.after, number));
            }
            self.added += hunk.after.len();
            self.removed += hunk.before.len();
        }
    }

    fn push(&mut self, change: Change, number: u32, text: &str) {
        if self.lines.len() >= DIFF_LINES {
            self.left_out += 1;
            return;
        }
        let text = text.trim_end_matches(['\n', '\r']);
        let kept = agent::floor_char_boundary(text, DIFF_LINE_BYTES);
        let mut kept_text = text[..kept].to_owned();
        if kept < text.len() {
            kept_text.push('…');
        }
        self.lines.push(DiffLine { change, number: number as usize + 1, text: kept_text });
    }
}
