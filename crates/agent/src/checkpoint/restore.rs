//! Making files again what they were, through the session's own system.

use super::{
    Recorder, Timeline,
    undo::{Contents, Undone, undo},
};
use crate::{
    ContentHash, FileChange, Freshness, RewindError, RewindReport, RewindTarget, Rewound, SessionEvent,
    SessionState, StoreError, ToolContext, ToolError,
    session::Session,
    tools::write_through::{Change, text_now},
};
use system::{AbsPath, SystemError};
use tokio_util::sync::CancellationToken;

/// What is to become of a file.
struct Step {
    path: AbsPath,
    now: Option<String>,
    to: Option<String>,
    merged: bool,
}

/// Takes changes back between turns, and records it.
pub(crate) async fn rewind(
    session: &Session,
    state: &SessionState,
    target: RewindTarget,
) -> Result<RewindReport, RewindError> {
    let (report, rewound) = restore(session, state, target, &CancellationToken::new()).await?;
    if let Some(rewound) = rewound {
        session.record(vec![SessionEvent::Rewound(rewound)]).await?;
    }
    Ok(report)
}

/// Takes changes back, and returns what is to be recorded of it, if any file changed. Everything is decided before the first file is touched; one
/// that cannot be restored does not keep the others from it.
pub(crate) async fn restore(
    session: &Session,
    state: &SessionState,
    target: RewindTarget,
    cancel: &CancellationToken,
) -> Result<(RewindReport, Option<Rewound>), RewindError> {
    let timeline = Timeline::read(session.log().store(), session.id()).await?;
    let mut cx = session.own_context(cancel);
    let recorder = Recorder::new(cx.system.clone(), Vec::new());
    cx.system = recorder.clone();
    let (mut report, mut steps) = (RewindReport::default(), Vec::new());
    for (path, changes) in timeline.to_undo(target)? {
        if cancel.is_cancelled() {
            return Err(RewindError::Cancelled);
        }
        match decide(session, state, &cx, &path, &changes).await? {
            Ok(Some(step)) => steps.push(step),
            Ok(None) => {}
            Err(reason) => report.left.push((path, reason)),
        }
    }
    for step in steps {
        match carry_out(&cx, &step).await {
            Ok(()) if step.merged => report.merged.push(step.path),
            Ok(()) => report.restored.push(step.path),
            Err(error) => report.left.push((step.path, error.to_string())),
        }
    }
    let files = recorder.changes();
    let to = match target {
        RewindTarget::Turn(turn) => Some(turn),
        RewindTarget::Redo => None,
    };
    Ok((report, (!files.is_empty()).then_some(Rewound { to, files })))
}

/// What is to become of a file, if anything; or why it is left alone.
async fn decide(
    session: &Session,
    state: &SessionState,
    cx: &ToolContext,
    path: &AbsPath,
    changes: &[FileChange],
) -> Result<Result<Option<Step>, String>, StoreError> {
    // A link that has come to stand in the way must not lead the restored text, or the removal, elsewhere.
    match cx.system.resolve(path).await {
        Ok(real) if changes.iter().all(|change| change.real == real) => {}
        Ok(real) => return Ok(Err(format!("the path leads to {real} now"))),
        Err(error) => return Ok(Err(error.to_string())),
    }
    if let Some(reason) = session.gate().never_writes(state, path, &changes[0].real) {
        return Ok(Err(reason));
    }
    let now = match text_now(cx, path, path.as_str()).await {
        Ok(now) => now.text,
        Err(error) => return Ok(Err(error.to_string())),
    };
    Ok(match undo(changes, now.as_deref(), session).await? {
        Undone::Nothing => Ok(None),
        Undone::To(to, merged) => Ok(Some(Step { path: path.clone(), now, to, merged })),
        Undone::Left(reason) => Err(reason),
    })
}

async fn carry_out(cx: &ToolContext, step: &Step) -> Result<(), ToolError> {
    let Some(text) = &step.to else {
        match cx.system.remove(&step.path).await {
            // A buffer that was never saved has nothing on disk to remove.
            Ok(()) | Err(SystemError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        cx.files.forget(&step.path);
        return Ok(());
    };
    let change = Change {
        path: step.path.clone(),
        name: step.path.to_string(),
        before: step.now.clone(),
        after: text.clone(),
        freshness: Freshness::Fresh,
        unsaved: false,
    };
    // The model has not seen what is there now.
    change.write(cx, false).await.map(drop)
}

impl Contents for Session {
    async fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.log().store().content(self.id(), hash).await
    }
}
