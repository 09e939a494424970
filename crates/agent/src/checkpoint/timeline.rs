//! The changes of a session's files in the order they were made, with their turns.

use crate::{
    Content, FileChange, RewindError, RewindTarget, Rewound, SessionEvent, SessionId, SessionStore,
    StoreError,
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

/// The changes of files that a log contains.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The number of the last turn.
    last: u64,
    /// Whether that turn is still running.
    open: bool,
    prompts: BTreeMap<u64, String>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// The last turn that had ended at that time.
    ended: u64,
    rewound: Option<Option<u64>>,
    changes: Vec<FileChange>,
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
                self.entries.push(Entry { ended, rewound: None, changes: vec![change] });
            }
            SessionEvent::Rewound(Rewound { to, files }) => {
                self.entries.push(Entry { ended, rewound: Some(to), changes: files });
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
                Checkpoint { turn, prompt: self.prompts.get(&turn).cloned().unwrap_or_default(), files }
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
