//! The editing actions of readline.

use super::kill_ring::Side;
use super::undo::Change;
use super::{Composer, Fragment, Outcome};
use crate::keys::Action;
use std::ops::Range;

impl Composer {
    /// Performs an action that edits the draft or moves in it.
    pub(super) fn edit(&mut self, action: Action) -> Outcome {
        let (draft, at) = (&self.draft, self.draft.cursor());
        match action {
            Action::Left => self.move_to(draft.previous(at)),
            Action::Right => self.move_to(draft.next(at)),
            Action::WordLeft => self.move_to(draft.word_before(at)),
            Action::WordRight => self.move_to(draft.word_after(at)),
            Action::LineStart => self.move_to(draft.line_start(at)),
            Action::LineEnd => self.move_to(draft.line_end(at)),
            Action::DeleteBack => self.delete(draft.previous(at)..at),
            Action::Delete => self.delete(at..draft.next(at)),
            Action::KillWordBack => self.kill(draft.long_word_before(at)..at, Side::Before),
            Action::KillWord => self.kill(at..draft.word_after(at), Side::After),
            Action::KillLineEnd => {
                self.kill(at..line_end(draft.line_end(at), at, draft.next(at)), Side::After)
            }
            Action::KillLineStart => {
                self.kill(line_start(draft.line_start(at), at, draft.previous(at))..at, Side::Before)
            }
            Action::Yank => {
                let last = self.kills.last();
                self.yank(at..at, last);
            }
            Action::YankOlder => {
                let Some(range) = self.yanked.clone() else { return Outcome::Changed };
                let older = self.kills.older();
                self.yank(range, older);
            }
            Action::Undo => self.undo(),
            _ => return Outcome::Ignored,
        }
        Outcome::Changed
    }

    fn move_to(&mut self, at: usize) {
        self.undo.end_step();
        self.draft.move_to(at);
        self.completions = None;
    }

    fn delete(&mut self, range: Range<usize>) {
        let token = self.draft.token_at(range.start).is_some();
        let change = if token { Change::Whole } else { Change::Deleted };
        self.change(change, |draft| drop(draft.cut(range)));
    }

    fn kill(&mut self, range: Range<usize>, side: Side) {
        let mut cut = Fragment::default();
        self.change(Change::Whole, |draft| cut = draft.cut(range));
        self.kills.push(cut, side);
    }

    fn yank(&mut self, range: Range<usize>, what: Option<Fragment>) {
        let Some(what) = what else { return };
        let start = range.start;
        self.change(Change::Whole, |draft| draft.replace(range, what));
        self.yanked = Some(start..self.draft.cursor());
    }

    fn undo(&mut self) {
        if let Some(draft) = self.undo.back() {
            self.draft = draft;
            self.recall = None;
            self.completions = None;
        }
    }
}

/// At the end of a line, its line break is cut.
fn line_end(end: usize, at: usize, next: usize) -> usize {
    if end == at { next } else { end }
}

/// At the beginning of a line, the line break before it is cut.
fn line_start(start: usize, at: usize, previous: usize) -> usize {
    if start == at { previous } else { start }
}
