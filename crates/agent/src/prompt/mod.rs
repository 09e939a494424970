//! What a model receives beside the conversation: system prompt, tools, and facts about its
//! environment.

pub(crate) mod briefing;
mod environment;
mod instructions;
pub(crate) mod listing;
mod profile;
mod read_ahead;
pub(crate) mod skills;

pub(crate) use crate::text::tag::within;
pub use environment::announced_mode;
pub(crate) use environment::{Place, facts};
pub use instructions::UserInstructions;
pub(crate) use instructions::{Instructions, Places};
pub(crate) use profile::{Profile, profile};
pub use read_ahead::ShownProject;
pub(crate) use read_ahead::read_ahead;

use crate::{
    AnyTool, Mode,
    files::checkout::{Checkout, checkout},
    files::repository::repository,
    limits::LOOK_AROUND_WAIT,
    policy,
};
use std::collections::BTreeSet;
use system::{AbsPath, FoundRules, System};

/// A snapshot of the project around a session's directory, taken when a turn begins.
#[derive(Debug, Default)]
pub(crate) struct ProjectSnapshot {
    /// What git has checked out; empty if unknown.
    pub(crate) git: String,
    pub(crate) instructions: Instructions,
    /// The folders below the session's directory whose instructions are among them.
    pub(crate) below: BTreeSet<AbsPath>,
}

/// Takes the snapshot of a session's directory. It reads from disk: the user has not asked for
/// these files, so editors receive no requests for them. Gives up after a timeout. `below` are the
/// folders with files that the session works on, `shared` the directories shared by all programs.
pub(crate) async fn survey(
    system: &dyn System,
    cwd: &AbsPath,
    below: BTreeSet<AbsPath>,
    user: &UserInstructions,
    rules: &FoundRules,
    shared: &[AbsPath],
) -> ProjectSnapshot {
    let look = async {
        let repository = repository(system, cwd, shared).await;
        let git = match &repository {
            Some(root) => checkout(system, root).await.map(|found| in_words(&found)).unwrap_or_default(),
            None => "no repository".to_owned(),
        };
        let root = repository.as_ref().unwrap_or(cwd);
        let places = Places { root, cwd, below: &below, user };
        (git, instructions::read(system, &places, rules).await)
    };
    let (git, instructions) = tokio::time::timeout(LOOK_AROUND_WAIT, look).await.unwrap_or_else(|_| {
        let why = format!("not read: it took longer than {} s", LOOK_AROUND_WAIT.as_secs());
        let unused = vec![("AGENTS.md".to_owned(), why)];
        (String::new(), Instructions { unused, ..Instructions::default() })
    });
    ProjectSnapshot { git, instructions, below }
}

/// Returns what git has checked out, for a model.
fn in_words(checkout: &Checkout) -> String {
    match checkout {
        Checkout::Branch(name) => format!("branch {name}"),
        Checkout::Commit(hash) => format!("detached at {hash}"),
    }
}

/// Whether a tool is listed to scripts, and to stand-ins for a model, in a mode.
pub(crate) fn offered(tool: &dyn AnyTool, mode: Mode) -> bool {
    tool.is_offered() && available(tool, mode)
}

/// Whether a tool exists in a mode.
pub(crate) fn available(tool: &dyn AnyTool, mode: Mode) -> bool {
    policy::exists(&tool.name(), tool.effect(), mode)
}
