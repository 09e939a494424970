//! What was cut, to be inserted again.

use super::fragment::Fragment;
use crate::limits::KILLS;
use std::collections::VecDeque;

/// What was cut, the newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KillRing {
    kills: VecDeque<Fragment>,
    /// Whether the last action cut something too, so that cuts add up.
    adding: bool,
    /// How far back the last insertion was taken from.
    back: usize,
}

/// The side of the cursor that a text was cut from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// From before the cursor.
    Before,
    /// From after it.
    After,
}

impl KillRing {
    /// Keeps what was cut; it is added to the last cut if nothing happened in between.
    pub(super) fn push(&mut self, cut: Fragment, side: Side) {
        if cut.is_empty() {
            return;
        }
        match self.kills.back_mut().filter(|_| self.adding) {
            Some(last) => {
                let at = if side == Side::Before { 0 } else { last.text.len() };
                last.replace(at..at, cut);
            }
            None => {
                self.kills.push_back(cut);
                if self.kills.len() > KILLS {
                    self.kills.pop_front();
                }
            }
        }
        self.adding = true;
    }

    /// Ends the run of cuts; the next one is kept by itself.
    pub(super) fn end_run(&mut self) {
        self.adding = false;
    }

    /// Returns what was cut last.
    pub(super) fn last(&mut self) -> Option<Fragment> {
        self.back = 0;
        self.kills.back().cloned()
    }

    /// Returns what was cut before what was returned last, and after the oldest the newest.
    pub(super) fn older(&mut self) -> Option<Fragment> {
        self.back = (self.back + 1) % self.kills.len().max(1);
        self.kills.iter().rev().nth(self.back).cloned()
    }
}
