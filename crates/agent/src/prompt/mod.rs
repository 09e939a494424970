//! What a model is told beside the conversation: the prompt and the tools that its requests begin
//! with, and where it works.

mod environment;
mod git;
mod instructions;
mod profile;
mod read_ahead;

pub(crate) use environment::{Place, facts};
pub(crate) use instructions::Instructions;
pub(crate) use profile::{Profile, profile};
pub use read_ahead::ShownProject;
pub(crate) use read_ahead::read_ahead;

use crate::{AnyTool, Mode, limits::LOOK_AROUND_WAIT, policy};
use system::{AbsPath, FoundRules, System};

/// What lies around a session's folder, as it was when a turn began.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// What git has checked out; empty where that is not known.
    pub(crate) git: String,
    pub(crate) instructions: Instructions,
}

/// Looks at what lies around a session's folder, from disk: nobody has asked for it, so no editor is
/// bothered with it. What takes too long is given up.
pub(crate) async fn look_around(system: &dyn System, cwd: &AbsPath, rules: &FoundRules) -> Surroundings {
    let look = async {
        let repository = git::repository(system, cwd, &rules.secrets.shared).await;
        let git = match &repository {
            Some(root) => git::checked_out(system, root).await,
            None => git::NONE.to_owned(),
        };
        let root = repository.as_ref().unwrap_or(cwd);
        Surroundings { git, instructions: instructions::read(system, root, cwd, rules).await }
    };
    tokio::time::timeout(LOOK_AROUND_WAIT, look).await.unwrap_or_else(|_| {
        let why = format!("not read: it took longer than {} s", LOOK_AROUND_WAIT.as_secs());
        let instructions = Instructions { unused: vec![("AGENTS.md".to_owned(), why)], ..Default::default() };
        Surroundings { git: String::new(), instructions }
    })
}

/// A text of somebody else's that cannot end the block that it stands in.
pub(crate) fn within(tag: &str, text: &str) -> String {
    text.replace(&format!("</{tag}"), &format!("< /{tag}"))
}

/// Whether scripts are told of a tool in a mode, and stand-ins for a model.
pub(crate) fn offered(tool: &dyn AnyTool, mode: Mode) -> bool {
    tool.is_offered() && available(tool, mode)
}

/// Whether a tool exists in a mode.
pub(crate) fn available(tool: &dyn AnyTool, mode: Mode) -> bool {
    policy::exists(&tool.name(), tool.effect(), mode)
}
