//! `tiller sessions rewind`: restores files on this machine to their state after a turn.

use super::silent;
use crate::{
    answer::{Answer, Console, Failure, Kind, Page},
    exit::Exit,
};
use agent::{Checkpoint, OpenSession, RewindReport, RewindTarget, Runtime, SessionId};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;
use system::{AbsPath, System};

/// A turn that changed files.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TurnRow {
    /// The number of the turn, from 1.
    turn: u64,
    /// The first line of its prompt.
    prompt: String,
    /// The files that it changed.
    files: Vec<String>,
}

/// What a rewind did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Rewound {
    /// The id of the session.
    id: String,
    /// Files that have their earlier content again.
    restored: Vec<String>,
    /// Files that were merged, so that they keep what others changed in other lines.
    merged: Vec<String>,
    /// Files that were left as they are.
    left: Vec<LeftFile>,
    /// Whether the tasks were restored; null if they needed no change.
    tasks: Option<bool>,
}

/// A file that a rewind left as it is.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftFile {
    /// Its path.
    path: String,
    /// Why it was left.
    reason: String,
}

impl Rewound {
    fn of(id: &SessionId, report: &RewindReport) -> Self {
        Self {
            id: id.to_string(),
            restored: paths(&report.restored),
            merged: paths(&report.merged),
            left: report
                .left
                .iter()
                .map(|(path, reason)| LeftFile { path: path.to_string(), reason: reason.clone() })
                .collect(),
            tasks: report.tasks,
        }
    }
}

/// Restores files, or lists the turns if there is no target. It fails if a file was left as it is.
pub(super) async fn run(
    console: &Console,
    runtime: &Arc<Runtime>,
    system: Arc<dyn System>,
    id: &SessionId,
    target: Option<RewindTarget>,
) -> Result<Exit> {
    let Some(target) = target else {
        let page = Page { items: runtime.checkpoints(id).await?, next: None };
        return console.page(page, row, line);
    };
    // The report covers everything that the session would print meanwhile.
    let session = runtime.open(id, OpenSession::default(), |_| silent::surface(system)).await?;
    let report = session.rewind(target).await;
    session.close().await;
    let report = report?;
    let answer = Answer::new(Rewound::of(id, &report), report.to_string());
    if report.left.is_empty() {
        return console.print(answer);
    }
    let what = format!("{} files were left as they are", report.left.len());
    console.print(answer.failed(Failure::new(Kind::Internal, what)))
}

fn row(checkpoint: &Checkpoint) -> TurnRow {
    let Checkpoint { turn, prompt, files } = checkpoint;
    TurnRow { turn: *turn, prompt: agent::one_line(prompt), files: paths(files) }
}

fn line(checkpoint: &Checkpoint) -> String {
    let files = paths(&checkpoint.files).join("\n    ");
    let prompt = agent::one_line(&checkpoint.prompt);
    format!("{}  {prompt}\n    {files}\n", checkpoint.turn)
}

fn paths(paths: &[AbsPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}
