//! What is kept of a command's output: its beginning and its end.

use super::output::Lost;
use crate::text::{cut, plain::Painted};

/// The first and the last half of the limit, and the amount dropped in between.
pub(super) struct Kept {
    head: Painted,
    tail: Painted,
    /// The size of each half in bytes.
    half: usize,
    lost: Lost,
    gaps: bool,
}

impl Kept {
    /// Keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        let (head, tail) = (Painted::default(), Painted::default());
        Self { head, tail, half: limit / 2, lost: Lost::default(), gaps: false }
    }

    /// Takes more output.
    pub(super) fn push(&mut self, more: &Painted) {
        let mut rest = more.clone();
        if self.tail.text.is_empty() && self.head.text.len() < self.half {
            let at = cut::floor_char_boundary(&rest.text, self.half - self.head.text.len());
            self.head.append(&rest.split_front(at));
            self.head.colours.keep_ends();
        }
        self.tail.append(&rest);
        self.tail.colours.keep_last();
        // Cut rarely, so that the cost of a cut is amortized over all output added since the last
        // one.
        if self.tail.text.len() > self.half * 2 {
            self.cut();
        }
    }

    /// Notes that the system lost output here.
    pub(super) fn gap(&mut self) {
        self.gaps = true;
        let last = if self.tail.text.is_empty() { &self.head } else { &self.tail };
        let breaks = if last.text.is_empty() || last.text.ends_with('\n') { "" } else { "\n" };
        self.push(&Painted::from(format!("{breaks}{}\n", cut::LOST)));
    }

    fn cut(&mut self) {
        let tail = &self.tail.text;
        if tail.len() > self.half {
            let at = cut::ceil_char_boundary(tail, tail.len() - self.half);
            let cut = &tail[..at];
            self.lost.lines += cut.bytes().filter(|byte| *byte == b'\n').count();
            self.lost.bytes += cut.len();
            self.tail.cut_front(at);
        }
    }

    /// Returns the output, how much of its middle was dropped, and whether anything else is
    /// missing.
    pub(super) fn output(mut self) -> (Painted, Lost, bool) {
        self.cut();
        if self.lost.bytes > 0 {
            let note = format!("\n[{} bytes are not kept]\n", self.lost.bytes);
            self.head.append(&Painted::from(note));
        }
        self.head.append(&self.tail);
        (self.head, self.lost, self.gaps)
    }
}
