//! The changes of files that subagents make. They belong to the root session: its log has them, as
//! the changes of its own calls, and the call that requested the subagents shows them.

use super::{Node, Swarm};
use crate::{
    Content, Diff, FileChange, Location, SessionEvent, Snapshot, StoreError, ToolCallId, ToolCallUpdate,
    ToolContent, ToolKind, ToolResult, ToolStatus,
    limits::{SUBAGENT_DIFF_BYTES, SUBAGENT_LIVE_DIFF_BYTES},
    tool::titles,
};
use std::collections::HashMap;

/// The changes below the calls of the root session whose subagents are at work, in order.
#[derive(Default)]
pub(super) struct CallChanges(HashMap<ToolCallId, Vec<Below>>);

/// A change, or several of one file that follow each other.
struct Below {
    /// The subagent that the call itself requested: it made the change, or one of its own did.
    top: String,
    change: FileChange,
}

/// The changes below one call as clients are shown them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ShownChanges {
    /// The changed files, each with the first line that changed.
    pub(super) locations: Vec<Location>,
    /// The diffs, and a line about those that are left out.
    pub(super) content: Vec<ToolContent>,
}

impl CallChanges {
    pub(super) fn add(&mut self, call: ToolCallId, top: &str, changes: impl IntoIterator<Item = FileChange>) {
        let known = self.0.entry(call).or_default();
        for change in changes {
            match known.iter_mut().rfind(|known| known.change.path == change.path) {
                Some(known) if known.top == top => known.change.after = change.after,
                _ => known.push(Below { top: top.to_owned(), change }),
            }
        }
    }

    /// Returns the changes below a call, one for each file; with `top`, those of that subagent.
    fn of(&self, call: &ToolCallId, top: Option<&str>) -> Vec<FileChange> {
        let mut files: Vec<FileChange> = Vec::new();
        let below = self.0.get(call).into_iter().flatten();
        for Below { change, .. } in below.filter(|below| top.is_none_or(|top| below.top == top)) {
            match files.iter_mut().find(|known| known.path == change.path) {
                Some(known) => known.after.clone_from(&change.after),
                None => files.push(change.clone()),
            }
        }
        files.retain(|change| change.before != change.after);
        files
    }

    /// Takes the changes of one subagent of a call.
    pub(super) fn take_of(&mut self, call: &ToolCallId, top: &str) -> ShownChanges {
        let shown = ShownChanges::of(&self.of(call, Some(top)), SUBAGENT_DIFF_BYTES);
        self.forget(call, top);
        shown
    }

    /// Takes all changes below a call.
    pub(super) fn take(&mut self, call: &ToolCallId) -> ShownChanges {
        let shown = ShownChanges::of(&self.of(call, None), SUBAGENT_DIFF_BYTES);
        self.0.remove(call);
        shown
    }

    /// Returns the changes below a call that still waits for its subagents.
    pub(super) fn live(&self, call: &ToolCallId) -> ShownChanges {
        ShownChanges::of(&self.of(call, None), SUBAGENT_LIVE_DIFF_BYTES)
    }

    fn forget(&mut self, call: &ToolCallId, top: &str) {
        if let Some(known) = self.0.get_mut(call) {
            known.retain(|below| below.top != top);
            if known.is_empty() {
                self.0.remove(call);
            }
        }
    }
}

impl ShownChanges {
    /// Shows changes of files, with diffs of so many bytes.
    fn of(changes: &[FileChange], limit: usize) -> Self {
        let mut content = Vec::new();
        let (mut left, mut left_out) = (limit, 0);
        for change in changes {
            match diff(change).filter(|diff| size(diff) <= left) {
                Some(diff) => {
                    left -= size(&diff);
                    content.push(ToolContent::Diff(diff));
                }
                None => left_out += 1,
            }
        }
        let place = |change: &FileChange| Location { path: change.path.clone(), line: None };
        let files: Vec<_> = changes.iter().map(place).collect();
        let locations = titles::changed_lines(&files, &content);
        if left_out > 0 {
            let noun = if left_out == 1 { "file" } else { "files" };
            let text = format!("[{left_out} changed {noun} without a diff here]");
            content.push(ToolContent::Content(Content::text(text)));
        }
        Self { locations, content }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// Returns the content and the locations of a call with this text.
    pub(super) fn with_text(self, text: String) -> (Vec<ToolContent>, Vec<Location>) {
        let text = ToolContent::Content(Content::text(text));
        (std::iter::once(text).chain(self.content).collect(), self.locations)
    }
}

/// Returns the diff of a change; `None` if a content is not text, or was not kept.
fn diff(change: &FileChange) -> Option<Diff> {
    let (old_text, new_text) = (side(change.before.as_ref())?, side(change.after.as_ref())?);
    Some(Diff { path: change.path.clone(), old_text, new_text })
}

/// Returns one side of a diff: `None` if it cannot be shown, `Some(None)` if there is no file.
fn side(snapshot: Option<&Snapshot>) -> Option<Option<String>> {
    let Some(snapshot) = snapshot else { return Some(None) };
    let bytes = snapshot.bytes.as_ref()?;
    Some(Some(String::from_utf8(bytes.to_vec()).ok()?))
}

fn size(diff: &Diff) -> usize {
    [&diff.old_text, &diff.new_text].into_iter().flatten().map(String::len).sum()
}

impl Swarm {
    /// Records in the root session the changes that a subagent made, and shows them.
    async fn keep_changes(&self, agent: &str, changes: Vec<FileChange>) -> Result<(), StoreError> {
        let of_agent = |change: &FileChange| {
            SessionEvent::FileChanged(FileChange { agent: Some(agent.to_owned()), ..change.clone() })
        };
        self.root.log.record(changes.iter().map(of_agent).collect()).await?;
        {
            let mut registry = self.registry();
            if let Some((call, top)) = registry.root_call(agent) {
                registry.changes.add(call, &top, changes);
            }
        }
        self.changed.notify_one();
        Ok(())
    }

    /// Shows what a subagent changed if the call that requested it has ended: in a call of its own,
    /// because a call that has ended does not change any more.
    pub(super) async fn show_late_changes(&self, id: &str) {
        let Some((call, changes)) = self.registry().late_changes(id) else { return };
        let files = changes.locations.len();
        let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        let text = format!("Subagent '{id}' changed {files}.");
        let update = ToolCallUpdate::of(ToolCallId(format!("{call}/{id}")), "subagent");
        let mut announced = update.clone().status(ToolStatus::Pending);
        announced.display.title = Some(format!("[{id}] Changed {files}"));
        announced.display.kind = Some(ToolKind::Edit);
        announced.display.locations = Some(changes.locations.clone());
        let (content, _) = changes.with_text(text.clone());
        let mut ended = update.status(ToolStatus::Completed).content(content);
        ended.result = Some(ToolResult::ok(text));
        let events = [announced, ended].map(SessionEvent::ToolCall).to_vec();
        if let Err(error) = self.root.log.record(events).await {
            tracing::warn!(agent = id, %error, "the changes of a subagent could not be shown");
        }
    }
}

/// Records the changes of files that a session made in its root session. Returns those that are its
/// own to record.
pub(super) async fn keep(node: &Node, changes: Vec<FileChange>) -> Result<Vec<FileChange>, StoreError> {
    let Some(own) = node.own() else { return Ok(changes) };
    let worktree = {
        let registry = node.swarm().registry();
        registry.get(&own.id).and_then(|agent| agent.state.place.worktree.clone())
    };
    // A worktree is removed when its subagent ends; its branch has the changes.
    let (isolated, shared): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| {
        worktree.as_ref().is_some_and(|worktree| change.path.starts_with(&worktree.folder))
    });
    if !shared.is_empty() {
        node.swarm().keep_changes(&own.id, shared).await?;
    }
    Ok(isolated)
}
