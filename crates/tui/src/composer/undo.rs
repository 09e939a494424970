//! The states of a draft that undo returns to.

use super::draft::Draft;
use crate::limits::{UNDO_BYTES, UNDO_STEPS};
use std::collections::VecDeque;

/// The states of a draft that undo returns to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Undo {
    steps: VecDeque<Draft>,
    bytes: usize,
    /// What the last change was, if the next one may join it.
    last: Option<Change>,
}

/// A kind of change. Consecutive typing and consecutive deleting are one step for each word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// A character was typed.
    Typed,
    /// A character was deleted.
    Deleted,
    /// Anything else, each a step of its own: a paste, a cut, a completion.
    Whole,
}

impl Undo {
    /// Keeps a state before a change, unless the change belongs to the last step.
    pub(super) fn before(&mut self, draft: &Draft, change: Change) {
        if change != Change::Whole && self.last == Some(change) {
            return;
        }
        self.last = Some(change);
        self.bytes += draft.content().size();
        self.steps.push_back(draft.clone());
        while self.steps.len() > 1 && (self.steps.len() > UNDO_STEPS || self.bytes > UNDO_BYTES) {
            if let Some(oldest) = self.steps.pop_front() {
                self.bytes -= oldest.content().size();
            }
        }
    }

    /// Ends the current step; the next change begins one.
    pub(super) fn end_step(&mut self) {
        self.last = None;
    }

    /// Returns the state before the last step.
    pub(super) fn back(&mut self) -> Option<Draft> {
        self.last = None;
        let draft = self.steps.pop_back()?;
        self.bytes -= draft.content().size();
        Some(draft)
    }
}
