//! Restores files to an earlier state, through the session's own system.

use super::{
    Recorder, Timeline,
    timeline::TasksAfter,
    undo::{Contents, Undone, undo},
};
use crate::{
    ContentHash, FileChange, Freshness, RewindError, RewindReport, RewindTarget, Rewound, SessionEvent,
    SessionState, StoreError, ToolContext, ToolError,
    session::Session,
    tools::{
        current_text::{Now, text_now},
        write_through::{self, Change},
    },
};
use system::AbsPath;
use tokio_util::sync::CancellationToken;

/// The planned restoration of a file.
struct Step {
    now: Now,
    to: Option<String>,
    merged: bool,
}

/// What is done about a file.
enum Decision {
    /// It needs no change.
    Unchanged,
    Restore(Step),
    /// It cannot be restored, with the reason.
    Left(String),
}

/// Undoes changes between turns, and records the rewind.
pub(crate) async fn rewind(
    session: &Session,
    state: &SessionState,
    target: RewindTarget,
) -> Result<RewindReport, RewindError> {
    let (report, events) = restore(session, state, target, &CancellationToken::new()).await?;
    session.record(events).await?;
    Ok(report)
}

/// Undoes changes, and returns the events to record: none if nothing changed. Everything is decided
/// before the first file is changed; a file that cannot be restored does not prevent the others
/// from being restored.
pub(crate) async fn restore(
    session: &Session,
    state: &SessionState,
    target: RewindTarget,
    cancel: &CancellationToken,
) -> Result<(RewindReport, Vec<SessionEvent>), RewindError> {
    let timeline = Timeline::read(session.log().store(), session.id()).await?;
    let mut cx = session.own_context(cancel);
    let recorder = Recorder::new(cx.system.clone(), Vec::new());
    cx.system = recorder.clone();
    let (mut report, mut undone) = (RewindReport::default(), Vec::new());
    for (path, changes) in timeline.to_undo(target)? {
        if cancel.is_cancelled() {
            return Err(RewindError::Cancelled);
        }
        match decide(session, state, &cx, &path, &changes).await? {
            Decision::Unchanged => {}
            Decision::Restore(_) => undone.push((path, changes)),
            Decision::Left(reason) => report.left.push((path, reason)),
        }
    }
    session.log().confirm_lease()?;
    for (path, changes) in undone {
        match restore_file(session, state, &cx, &path, &changes).await? {
            Decision::Unchanged => {}
            Decision::Restore(step) if step.merged => report.merged.push(path),
            Decision::Restore(_) => report.restored.push(path),
            Decision::Left(reason) => report.left.push((path, reason)),
        }
    }
    let files = recorder.changes();
    let to = match target {
        RewindTarget::Turn(turn) => Some(turn),
        RewindTarget::Redo => None,
    };
    let tasks = timeline.tasks_after(target);
    report.tasks = match tasks {
        TasksAfter::Unchanged => None,
        TasksAfter::Restored(_) => Some(true),
        TasksAfter::Left => Some(false),
    };
    let mut events = Vec::new();
    if !files.is_empty() || matches!(tasks, TasksAfter::Restored(_)) {
        events.push(SessionEvent::Rewound(Rewound { to, files }));
    }
    if let TasksAfter::Restored(tasks) = tasks {
        events.push(SessionEvent::Tasks(tasks));
    }
    Ok((report, events))
}

/// Decides how to restore a file.
async fn decide(
    session: &Session,
    state: &SessionState,
    cx: &ToolContext,
    path: &AbsPath,
    changes: &[FileChange],
) -> Result<Decision, StoreError> {
    // A link created since must not redirect the write or the removal to another file.
    match cx.system.resolve(path).await {
        Ok(real) if changes.iter().all(|change| change.real == real) => {}
        Ok(real) => return Ok(Decision::Left(format!("the path now leads to {real}"))),
        Err(error) => return Ok(Decision::Left(error.to_string())),
    }
    if let Some(reason) = session.gate().never_writes(state, path, &changes[0].real) {
        return Ok(Decision::Left(reason));
    }
    let now = match text_now(cx, path, path.as_str()).await {
        Ok(now) => now,
        Err(error) => return Ok(Decision::Left(error.to_string())),
    };
    Ok(match undo(changes, now.text.as_deref(), session).await? {
        Undone::Nothing => Decision::Unchanged,
        Undone::To(to, merged) => Decision::Restore(Step { now, to, merged }),
        Undone::Left(reason) => Decision::Left(reason),
    })
}

/// Restores a file, from its text at the moment of the write.
async fn restore_file(
    session: &Session,
    state: &SessionState,
    cx: &ToolContext,
    path: &AbsPath,
    changes: &[FileChange],
) -> Result<Decision, StoreError> {
    let _claim = match write_through::claim(cx, std::slice::from_ref(path)).await {
        Ok(claim) => claim,
        Err(error) => return Ok(Decision::Left(error.to_string())),
    };
    let decision = decide(session, state, cx, path, changes).await?;
    match &decision {
        Decision::Restore(step) => match carry_out(cx, path, step).await {
            Ok(()) => Ok(decision),
            Err(error) => Ok(Decision::Left(error.to_string())),
        },
        _ => Ok(decision),
    }
}

async fn carry_out(cx: &ToolContext, path: &AbsPath, step: &Step) -> Result<(), ToolError> {
    let change = Change {
        path: path.clone(),
        name: path.to_string(),
        now: step.now.clone(),
        after: step.to.clone().unwrap_or_default(),
        freshness: Freshness::Fresh,
    };
    match step.to {
        // The model has not read the file's current content.
        Some(_) => change.write(cx, false).await.map(drop),
        None => change.remove(cx).await,
    }
}

impl Contents for Session {
    async fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.log().store().content(self.id(), hash).await
    }
}
