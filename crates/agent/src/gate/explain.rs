//! What the chain would say of a call that nobody makes: for `tiller permissions explain`.

use crate::{
    Access, Effect, RuntimeOptions,
    gate::hypothesis::{self, Question},
};
use std::{sync::Arc, time::Duration};
use system::{AbsPath, System};

/// One rule of the chain and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rule.
    pub rule: String,
    /// What it says, in words; the last step is the decision.
    pub says: String,
}

/// Walks the chain for a command, or for a path: `what` holds a slash or begins with a dot, without a
/// space, or names something that exists in the folder. A path is read, or written when `write` is
/// set.
pub async fn explain(
    options: &RuntimeOptions,
    system: Arc<dyn System>,
    cwd: &AbsPath,
    what: &str,
    write: bool,
) -> Vec<Step> {
    let steps =
        hypothesis::explain(options, system.as_ref(), cwd, asked(system.as_ref(), cwd, what, write).await)
            .await;
    steps.into_iter().map(|(rule, says)| Step { rule: rule.to_owned(), says }).collect()
}

/// How long one decision takes, from the text of the call to the verdict and without the looks at the disk: the median of `times`.
pub async fn decision_time(
    options: &RuntimeOptions,
    system: Arc<dyn System>,
    cwd: &AbsPath,
    what: &str,
    write: bool,
    times: usize,
) -> Duration {
    let question = asked(system.as_ref(), cwd, what, write).await;
    hypothesis::decision_time(options, system.as_ref(), cwd, question, times).await
}

/// Whether `what` is explained as a path and not as a command.
pub async fn explained_as_path(system: &dyn System, cwd: &AbsPath, what: &str, write: bool) -> bool {
    let looks_like_path =
        !what.contains(char::is_whitespace) && (what.contains('/') || what.starts_with('.'));
    write || looks_like_path || (!what.contains('\0') && system.metadata(&cwd.join(what)).await.is_ok())
}

async fn asked(system: &dyn System, cwd: &AbsPath, what: &str, write: bool) -> Question<'static> {
    if explained_as_path(system, cwd, what, write).await {
        let path = cwd.join(what);
        match write {
            true => {
                Question { tool: "file_write", effect: Effect::Writes, accesses: vec![Access::Write(path)] }
            }
            false => {
                Question { tool: "file_read", effect: Effect::Reads, accesses: vec![Access::Read(path)] }
            }
        }
    } else {
        let access =
            Access::Execute { command: what.to_owned(), cwd: cwd.clone(), unconfined: false, reason: None };
        Question { tool: "bash", effect: Effect::Executes, accesses: vec![access] }
    }
}
