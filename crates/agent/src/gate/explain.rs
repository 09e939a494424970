//! Explains the policy's decision about a hypothetical call, for `tiller permissions explain`.

use crate::{
    Access, Effect, RuntimeOptions,
    gate::hypothesis::{self, Question},
};
use std::sync::Arc;
use system::{AbsPath, System};

/// One rule of the policy's chain and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The name of the rule.
    pub rule: String,
    /// The rule's outcome in words; the last step is the decision.
    pub says: String,
}

/// Evaluates the policy's chain for a command or a path.
///
/// `what` is a path if it contains no whitespace and either contains a slash or begins with a dot,
/// or if it names something that exists in the directory. The path is read, or written if `write`
/// is set.
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

/// Whether `what` is explained as a path rather than as a command.
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
        let access = Access::Execute {
            command: what.to_owned(),
            cwd: cwd.clone(),
            unconfined: false,
            reason: None,
            keeps: false,
        };
        Question { tool: "bash", effect: Effect::Executes, accesses: vec![access] }
    }
}
