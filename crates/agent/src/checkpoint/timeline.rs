//! The changes of a session's files in the order they were made, with their turns.

use crate::{
    Content, FileChange, RewindError, RewindTarget, Rewound, SessionEvent, SessionId, SessionStore,
    StoreError, Task,
    limits::{EVENTS_PAGE, TITLE_CHARS},
    text::sanitise::label,
};
use std::collections::BTreeMap;
use system::AbsPath;

/// A turn that changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The turn's number, from 1.
    pub turn: u64,
    /// The first line of its prompt.
    pub prompt: String,
    /// The files it changed, sorted.
    pub files: Vec<AbsPath>,
}

/// What a rewind does with the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TasksAfter {
    /// They are already as they should be.
    Unchanged,
    /// They become these.
    Restored(Vec<Task>),
    /// They have changed since the rewind that is undone, and stay.
    Left,
}

/// The changes of files and tasks that a log contains.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The number of the last turn.
    last: u64,
    /// Whether that turn is still running.
    open: bool,
    prompts: BTreeMap<u64, String>,
    entries: Vec<Entry>,
    /// The lists of tasks, each with the number of turns that had ended when it was recorded.
    tasks: Vec<(u64, Vec<Task>)>,
    /// Whether the last event was a rewind.
    after_rewind: bool,
}

#[derive(Debug)]
struct Entry {
    /// The last turn that had ended at that time.
    ended: u64,
    rewound: Option<Option<u64>>,
    changes: Vec<FileChange>,
    /// The number of lists of tasks before it.
    tasks: usize,
    /// Whether it is a rewind that restored the tasks: the list follows it.
    restored_tasks: bool,
}

impl Timeline {
    /// Reads the timeline from a session's log.
    pub(crate) async fn read(store: &dyn SessionStore, id: &SessionId) -> Result<Self, StoreError> {
        let (mut timeline, mut after) = (Self::default(), 0);
        loop {
            let page = store.events(id, after, EVENTS_PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(timeline) };
            after = *last;
            page.into_iter().for_each(|(_, event)| timeline.apply(event));
        }
    }

    fn apply(&mut self, event: SessionEvent) {
        let ended = if self.open { self.last - 1 } else { self.last };
        let after_rewind = std::mem::take(&mut self.after_rewind);
        match event {
            SessionEvent::TurnStarted { .. } => {
                self.last += 1;
                self.open = true;
            }
            SessionEvent::TurnEnded { .. } => self.open = false,
            SessionEvent::UserMessage { content, .. } if self.open => {
                self.prompts.entry(self.last).or_insert_with(|| first_line(&content));
            }
            SessionEvent::FileChanged(change) => {
                let tasks = self.tasks.len();
                let rewound = None;
                let changes = vec![change];
                self.entries.push(Entry { ended, rewound, changes, tasks, restored_tasks: false });
            }
            SessionEvent::Rewound(Rewound { to, files }) => {
                let tasks = self.tasks.len();
                let (rewound, changes) = (Some(to), files);
                self.entries.push(Entry { ended, rewound, changes, tasks, restored_tasks: false });
                self.after_rewind = true;
            }
            SessionEvent::Tasks(tasks) => {
                if let Some(rewind) = self.entries.last_mut().filter(|_| after_rewind) {
                    rewind.restored_tasks = true;
                }
                self.tasks.push((ended, tasks));
            }
            _ => {}
        }
    }

    /// Returns the turns in which tools changed files, in order.
    pub(crate) fn checkpoints(&self) -> Vec<Checkpoint> {
        let mut files: BTreeMap<u64, Vec<AbsPath>> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.rewound.is_none()) {
            let turn = files.entry(entry.ended + 1).or_default();
            turn.extend(entry.changes.iter().map(|change| change.path.clone()));
        }
        files
            .into_iter()
            .map(|(turn, mut files)| {
                files.sort();
                files.dedup();
                // A turn that tries another one again has the prompt of that one.
                let prompt = self.prompts.range(..=turn).next_back().map(|(_, prompt)| prompt.clone());
                Checkpoint { turn, prompt: prompt.unwrap_or_default(), files }
            })
            .collect()
    }

    /// Returns the changes to undo, by file, each file's in order.
    ///
    /// # Errors
    /// If the target turn does not exist, or there is no rewind to redo.
    pub(super) fn to_undo(
        &self,
        target: RewindTarget,
    ) -> Result<BTreeMap<AbsPath, Vec<FileChange>>, RewindError> {
        let entries: Vec<&Entry> = match target {
            RewindTarget::Turn(turn) if turn > self.last => {
                return Err(RewindError::NoTurn { turn, last: self.last });
            }
            RewindTarget::Turn(turn) => self.entries.iter().filter(|entry| entry.ended >= turn).collect(),
            RewindTarget::Redo => vec![self.last_rewind().ok_or(RewindError::NothingToRedo)?],
        };
        let mut files: BTreeMap<AbsPath, Vec<FileChange>> = BTreeMap::new();
        for change in entries.into_iter().flat_map(|entry| &entry.changes) {
            files.entry(change.path.clone()).or_default().push(change.clone());
        }
        Ok(files)
    }

    /// Decides what a rewind does with the tasks. The target exists.
    pub(super) fn tasks_after(&self, target: RewindTarget) -> TasksAfter {
        let now = self.tasks_at(self.tasks.len());
        let then = match target {
            RewindTarget::Turn(turn) => {
                self.tasks_at(self.tasks.iter().filter(|(ended, _)| *ended < turn).count())
            }
            RewindTarget::Redo => match self.last_rewind() {
                // A rewind that restored the tasks recorded the list that follows it.
                Some(rewind) if rewind.restored_tasks => match self.tasks_at(rewind.tasks + 1) == now {
                    true => self.tasks_at(rewind.tasks),
                    false => return TasksAfter::Left,
                },
                Some(_) | None => now,
            },
        };
        if then == now { TasksAfter::Unchanged } else { TasksAfter::Restored(then.to_vec()) }
    }

    /// Returns the list after that many changes of it.
    fn tasks_at(&self, changes: usize) -> &[Task] {
        let last = changes.min(self.tasks.len()).checked_sub(1);
        last.map_or(&[], |last| self.tasks[last].1.as_slice())
    }

    /// Returns the last rewind that no redo has undone.
    fn last_rewind(&self) -> Option<&Entry> {
        let mut standing = Vec::new();
        for entry in &self.entries {
            match entry.rewound {
                Some(Some(_)) => standing.push(entry),
                Some(None) => drop(standing.pop()),
                None => {}
            }
        }
        standing.pop()
    }
}

fn first_line(content: &[Content]) -> String {
    let text = content.iter().find_map(|content| match content {
        Content::Text(text) => {
            text.lines().map(|line| label(line, TITLE_CHARS)).find(|line| !line.is_empty())
        }
        _ => None,
    });
    text.unwrap_or_default()
}
