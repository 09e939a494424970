//! What is committed to the scrollback, and what is still in the live region.
//!
//! Rows are committed once, in the order of the cells: a cell that is not finished holds back all
//! that follow it. Of an answer that is being written, each finished piece is committed at once: a
//! paragraph, a list item, a line of code. What is committed depends on the events and on the width
//! at that moment, not on how often or when [`Feed::step`] is called. Only colours of code can
//! depend on it: a line waits for them for a moment, then goes without.

use super::{
    cell::{Body, Said},
    rows::{Fold, Paint, answer_line, answer_row, answer_width, started},
};
use crate::{
    highlight::{Block, Highlighter},
    limits::{HIGHLIGHT_WAIT, TAIL_CELLS},
    look::Look,
    markdown::{CodeLine, Rendered, Renderer, Splitter},
    text::row::{Overflow, Row},
    theme::Role,
};
use agent::ToolStatus;
use std::{
    collections::{HashSet, VecDeque},
    hash::{DefaultHasher, Hasher as _},
    time::Duration,
};

/// How far a transcript is committed.
#[derive(Debug, Default)]
pub struct Feed {
    /// The first cell that is not wholly committed.
    next: usize,
    /// The progress in that cell, if it is an answer.
    answer: Option<AnswerFeed>,
    /// The running calls that `plain` has named.
    named: HashSet<usize>,
    /// The cells that are not committed, because the user has seen them.
    left_out: HashSet<usize>,
}

/// The rows of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Rows to commit now, in order.
    pub commit: Vec<Row>,
    /// Rows of the unfinished tail.
    pub tail: Vec<Row>,
    /// Whether lines of code wait for their colours. They are committed without them after
    /// 200 ms, so the next step is due by then.
    pub is_waiting: bool,
}

/// The progress in an answer.
#[derive(Debug, Default)]
struct AnswerFeed {
    splitter: Splitter,
    renderer: Renderer,
    block: Option<Block>,
    /// What is rendered and not committed.
    queue: VecDeque<Queued>,
    /// Whether a row of the answer was committed.
    is_begun: bool,
    /// The bytes that were split into pieces, without white space at their end, and their hash.
    solid: usize,
    hash: DefaultHasher,
}

#[derive(Debug)]
enum Queued {
    Part(Rendered),
    /// A line of code that waits for its colours, since this time.
    Code {
        line: CodeLine,
        number: usize,
        block: Block,
        since: Duration,
    },
    EndOfCode(Block),
}

impl Feed {
    /// Creates a feed for a transcript whose cells up to here need not be committed, for example
    /// because another screen has shown them.
    pub fn from_cell(cell: usize) -> Self {
        Self { next: cell, ..Self::default() }
    }

    /// Leaves a cell out, because the user has seen what it shows.
    pub fn leave_out(&mut self, cell: usize) {
        self.left_out.insert(cell);
    }

    /// Returns the first cell that is not wholly committed.
    pub fn next_cell(&self) -> usize {
        self.next
    }

    /// Returns the rows to commit now, and those of the tail, of which there are at most
    /// `tail_height`.
    pub fn step(&mut self, paint: &Paint<'_>, tail_height: usize) -> Step {
        let mut step = Step::default();
        let cells = paint.transcript.cells();
        while let Some(cell) = cells.get(self.next) {
            if let Body::Answer(said) = &cell.body {
                let has_gap = paint.has_gap_before(self.next);
                let answer = self.answer.get_or_insert_default();
                answer.commit(said, has_gap, paint, &mut step.commit);
                if !said.is_done || !answer.queue.is_empty() {
                    step.is_waiting = !answer.queue.is_empty();
                    break;
                }
                self.answer = None;
            } else if cell.is_settled() {
                if !self.left_out.remove(&self.next) {
                    self.cell(self.next, Fold::Folded, paint, &mut step.commit);
                }
            } else {
                break;
            }
            self.named.remove(&self.next);
            self.next += 1;
        }
        match paint.look.plain {
            true => self.name_running(paint, &mut step.commit),
            false => {
                step.commit.iter_mut().for_each(|row| keep_corner(row, paint.look));
                step.tail = self.tail(paint, tail_height);
            }
        }
        step
    }

    fn cell(&self, at: usize, fold: Fold, paint: &Paint<'_>, out: &mut Vec<Row>) {
        let rows = paint.rows(at, fold);
        if !rows.is_empty() && paint.has_gap_before(at) {
            out.push(Row::empty());
        }
        out.extend(rows);
    }

    fn tail(&self, paint: &Paint<'_>, height: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for at in self.next..paint.transcript.cells().len().min(self.next + TAIL_CELLS) {
            match (&paint.transcript.cells()[at].body, &self.answer) {
                (Body::Answer(said), Some(answer)) if at == self.next => {
                    answer.tail(said, paint.has_gap_before(at), paint, &mut rows);
                }
                // An answer that follows a running call is not committed yet; most of it may not
                // fit.
                _ => self.cell(at, Fold::Folded, paint, &mut rows),
            }
        }
        let above = rows.len().saturating_sub(height);
        if above > 0 && height > 0 {
            rows.drain(..=above);
            let text = format!("  … {} more rows", above + 1);
            rows.insert(0, Row::from(paint.look.span(Role::Dim, &text)));
        }
        rows.truncate(height);
        rows
    }

    /// In `plain`, says once that a call runs.
    fn name_running(&mut self, paint: &Paint<'_>, out: &mut Vec<Row>) {
        let cells = paint.transcript.cells().iter().enumerate().skip(self.next).take(TAIL_CELLS);
        for (at, cell) in cells {
            if let Body::Tool(call) = &cell.body
                && call.status == Some(ToolStatus::InProgress)
                && self.named.insert(at)
            {
                out.push(started(call, paint.look));
            }
        }
    }
}

impl AnswerFeed {
    /// Commits the pieces of an answer that are finished.
    fn commit(&mut self, said: &Said, has_gap: bool, paint: &Paint<'_>, out: &mut Vec<Row>) {
        if said.is_done && !self.is_continued_by(&said.text) {
            self.begin_again(has_gap, paint, out);
        }
        if !self.splitter.is_within(&said.text) {
            return;
        }
        for piece in self.splitter.settled(&said.text, said.is_done) {
            let solid = piece.range.start + said.text[piece.range.clone()].trim_end().len();
            if solid > self.solid {
                self.hash.write(&said.text.as_bytes()[self.solid..solid]);
                self.solid = solid;
            }
            for part in self.renderer.render(&said.text, &piece, answer_width(paint.look), paint.look) {
                self.queue(part, paint.highlighter, paint);
            }
        }
        while let Some(next) = self.queue.pop_front() {
            let part = match next {
                Queued::Part(part) => part,
                Queued::EndOfCode(block) => {
                    block.give_up();
                    Rendered::CodeEnd
                }
                Queued::Code { line, number, block, since } => match block.styles(number) {
                    Some(styles) => Rendered::Row(line.row(&styles, paint.look)),
                    None if paint.now.saturating_sub(since) >= HIGHLIGHT_WAIT => {
                        block.give_up();
                        Rendered::Row(line.row(&[], paint.look))
                    }
                    None => {
                        self.queue.push_front(Queued::Code { line, number, block, since });
                        return;
                    }
                },
            };
            self.is_begun |= push(&part, !self.is_begun, has_gap, paint.look, out);
        }
    }

    fn queue(&mut self, part: Rendered, highlighter: &Highlighter, paint: &Paint<'_>) {
        let queued = match (part, &mut self.block) {
            (part, _) if paint.look.plain => Queued::Part(part),
            (Rendered::CodeStart(language), block) => {
                *block = Some(highlighter.block(&language));
                return;
            }
            (Rendered::Code(line), Some(block)) => {
                let number = block.lines();
                block.push(&line.text);
                Queued::Code { line, number, block: block.clone(), since: paint.now }
            }
            (Rendered::CodeEnd, block) => match block.take() {
                Some(block) => Queued::EndOfCode(block),
                None => return,
            },
            (part, _) => Queued::Part(part),
        };
        self.queue.push_back(queued);
    }

    /// Returns whether a text begins with all that was split into pieces.
    fn is_continued_by(&self, text: &str) -> bool {
        let mut hash = DefaultHasher::new();
        match text.get(..self.solid) {
            Some(same) => {
                hash.write(same.as_bytes());
                hash.finish() == self.hash.finish()
            }
            None => false,
        }
    }

    /// Begins again with an answer whose stored text is not the one that was streamed. What was
    /// committed stays.
    fn begin_again(&mut self, has_gap: bool, paint: &Paint<'_>, out: &mut Vec<Row>) {
        *self = Self { is_begun: self.is_begun, ..Self::default() };
        if self.is_begun {
            let note = paint.look.span(Role::Dim, "(the answer was revised; it begins again)");
            push(&Rendered::Row(Row::from(note)), false, has_gap, paint.look, out);
        }
    }

    /// Adds the rows of what is not committed.
    fn tail(&self, said: &Said, has_gap: bool, paint: &Paint<'_>, out: &mut Vec<Row>) {
        let look = paint.look;
        let mut is_begun = self.is_begun;
        for queued in &self.queue {
            let part = match queued {
                Queued::Part(part) => part.clone(),
                Queued::Code { line, number, block, .. } => {
                    Rendered::Row(line.row(&block.styles(*number).unwrap_or_default(), look))
                }
                Queued::EndOfCode(_) => continue,
            };
            is_begun |= push(&part, !is_begun, has_gap, look, out);
        }
        if said.is_done || !self.splitter.is_within(&said.text) {
            return;
        }
        let mut renderer = self.renderer.clone();
        for piece in self.splitter.unsettled(&said.text) {
            for part in renderer.render(&said.text, &piece, answer_width(look), look) {
                is_begun |= push(&part, !is_begun, has_gap, look, out);
            }
        }
    }
}

/// Adds the rows of a part of an answer; returns whether there are any.
fn push(part: &Rendered, is_first: bool, has_gap: bool, look: &Look, out: &mut Vec<Row>) -> bool {
    let rows = match part {
        _ if look.plain => answer_line(part, is_first, look),
        Rendered::Row(row) => answer_row(row.clone(), is_first, look),
        Rendered::Code(line) => answer_row(line.row(&[], look), is_first, look),
        Rendered::CodeStart(_) | Rendered::CodeEnd => return false,
    };
    if is_first && has_gap {
        out.push(Row::empty());
    }
    out.extend(rows);
    true
}

/// Replaces the corner that panels begin with in a line that the terminal wraps: there it could
/// come to the first column, which is otherwise reserved.
fn keep_corner(row: &mut Row, look: &Look) {
    if row.overflow != Overflow::Logical || look.measure.line(&row.line) <= look.width {
        return;
    }
    for span in row.line.spans.iter_mut().filter(|span| span.content.contains('┌')) {
        span.content = span.content.replace('┌', "╭").into();
    }
}
