//! Explains the policy's decision about a hypothetical call, for `tiller permissions explain`.

use crate::{
    Access, Effect, Lifetime, RuntimeOptions,
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

/// What a hypothetical call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainedAs {
    /// A command that is run.
    Command,
    /// A path that is read or written.
    Path,
    /// A URL that is fetched.
    Url,
}

/// Evaluates the policy's chain for a command, a path or a URL.
///
/// `what` is a URL if it begins with `http://` or `https://` and contains no whitespace. It is a
/// path if it contains no whitespace and either contains a slash or begins with a dot, or if it
/// names something that exists in the directory. The path is read, or written if `write` is set.
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

/// Returns what `what` is explained as.
pub async fn explained_as(system: &dyn System, cwd: &AbsPath, what: &str, write: bool) -> ExplainedAs {
    let is_one_word = !what.contains(char::is_whitespace);
    let is_url = ["http://", "https://"].iter().any(|scheme| what.starts_with(scheme));
    if is_one_word && is_url && !write {
        return ExplainedAs::Url;
    }
    let looks_like_path = is_one_word && (what.contains('/') || what.starts_with('.'));
    let is_path =
        write || looks_like_path || (!what.contains('\0') && system.metadata(&cwd.join(what)).await.is_ok());
    if is_path { ExplainedAs::Path } else { ExplainedAs::Command }
}

async fn asked(system: &dyn System, cwd: &AbsPath, what: &str, write: bool) -> Question<'static> {
    let (tool, effect, access) = match explained_as(system, cwd, what, write).await {
        ExplainedAs::Path if write => ("file_write", Effect::Writes, Access::Write(cwd.join(what))),
        ExplainedAs::Path => ("file_read", Effect::Reads, Access::Read(cwd.join(what))),
        ExplainedAs::Url => ("web_fetch", Effect::Reads, Access::Fetch(what.to_owned())),
        ExplainedAs::Command => {
            let (command, cwd) = (what.to_owned(), cwd.clone());
            (
                "bash",
                Effect::Executes,
                Access::Execute {
                    command,
                    cwd,
                    unconfined: false,
                    reason: None,
                    lifetime: Lifetime::Session,
                },
            )
        }
    };
    Question { tool, effect, accesses: vec![access] }
}
