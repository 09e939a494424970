//! The cells of a session, which its events add up to.

mod apply;
mod call;

use super::cell::{Body, Cell};
use agent::{CompactionId, MessageId, PlanEntry, SubagentStatus, ToolCallId};
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};
use system::AbsPath;

/// The cells of a session, in order. A cell is added once and never removed or moved.
#[derive(Debug, Default)]
pub struct Transcript {
    cells: Vec<Cell>,
    /// The session's directory, to which paths are shown relative.
    cwd: Option<AbsPath>,
    title: Option<String>,
    /// The model that is asked, once that is known.
    model: Option<String>,
    plan: Vec<PlanEntry>,
    /// The texts of the answer that is being streamed; the last one may be unfinished.
    said: Vec<OpenSaid>,
    /// The cells that may still change, by the ids of events.
    tools: HashMap<ToolCallId, usize>,
    compactions: HashMap<CompactionId, usize>,
    /// The subagents that were requested, with their last status.
    subagents: HashMap<String, SubagentStatus>,
    /// The last objective and status of the goal that was shown.
    goal: Option<String>,
    /// Whether a message of the user came; settings before it are not shown.
    is_begun: bool,
    /// When running calls began, and how long those that ended took.
    started: HashMap<usize, Duration>,
    elapsed: HashMap<usize, Duration>,
    /// The calls whose output may be shortened, oldest first, and the bytes of all.
    outputs: VecDeque<usize>,
    output_bytes: usize,
}

/// A text that was streamed.
#[derive(Debug)]
struct OpenSaid {
    id: MessageId,
    is_answer: bool,
    cell: usize,
    is_open: bool,
}

impl Transcript {
    /// Creates an empty transcript of a session that works in this directory.
    pub fn new(cwd: Option<AbsPath>) -> Self {
        Self { cwd, ..Self::default() }
    }

    /// Returns the cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the session's title, once it has one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the current plan.
    pub fn plan(&self) -> &[PlanEntry] {
        &self.plan
    }

    /// Returns the path relative to the session's directory if it lies below it.
    pub fn shown_path<'a>(&self, path: &'a str) -> &'a str {
        let below = |cwd: &AbsPath| path.strip_prefix(cwd.as_str())?.strip_prefix('/');
        self.cwd.as_ref().and_then(below).filter(|below| !below.is_empty()).unwrap_or(path)
    }

    /// Returns how long the call in a cell has run at a time, or ran. `None` if it did not run
    /// while this transcript was fed.
    pub fn elapsed(&self, cell: usize, now: Duration) -> Option<Duration> {
        let running = || self.started.get(&cell).map(|start| now.saturating_sub(*start));
        self.elapsed.get(&cell).copied().or_else(running)
    }

    /// Returns the last block of code in the answers up to a cell, without its fence.
    pub fn last_code(&self, until: usize) -> Option<String> {
        let cells = self.cells.iter().take(until.saturating_add(1)).rev();
        cells
            .filter_map(|cell| match &cell.body {
                Body::Answer(said) => last_code(&said.text),
                _ => None,
            })
            .next()
    }
}

/// Returns the last fence of a text.
fn last_code(text: &str) -> Option<String> {
    use crate::markdown::{PieceKind, Splitter};
    let mut blocks: Vec<String> = Vec::new();
    for piece in Splitter::default().settled(text, true) {
        match piece.kind {
            PieceKind::CodeStart { .. } => blocks.push(String::new()),
            PieceKind::Code => blocks.last_mut()?.push_str(&text[piece.range]),
            _ => {}
        }
    }
    blocks.pop().map(|block| agent::sanitise(&block))
}
