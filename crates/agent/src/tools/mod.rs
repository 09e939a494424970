//! The built-in tools, one per file.

mod args;
mod ask;
mod bash;
pub(crate) mod call_tool;
mod cancel;
pub mod command;
pub(crate) mod current_text;
mod edit;
mod file_edit;
mod file_read;
mod file_write;
mod goal;
mod kept;
mod memory;
mod nearest;
mod not_text;
pub(crate) mod output;
mod own_temp;
mod patch;
mod path;
mod read_back;
mod recall;
mod replacements;
pub(crate) mod respell;
mod search;
mod sessions;
mod shell;
mod small_profile;
mod subagent;
mod task;
pub(crate) mod two_machines;
mod unsaved;
pub(crate) mod write_through;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use output::{cap, fit, keep_whole, within};
pub(crate) use patch::patch_of_command;
pub use read_back::{ReadBack, read_back, same_text};
pub use replacements::{Replaced, edited};
pub use small_profile::small_profile;

use crate::{AnyTool, Typed};
use std::sync::Arc;

/// Returns the tools offered in a session, in the order in which models receive them. Includes the
/// tools that ask the user only if the client takes questions, and those for memories only if the
/// settings turn memories on. `apart` is whether the session's files are on another machine than
/// this program.
pub(crate) fn offered(takes_questions: bool, memories: bool, apart: bool) -> Vec<Arc<dyn AnyTool>> {
    let mut tools = builtin();
    if apart {
        let without: Arc<dyn AnyTool> = Typed::<subagent::WithoutWorktrees>::new();
        let of_subagents = |tool: &&mut Arc<dyn AnyTool>| tool.name() == without.name();
        tools.iter_mut().filter(of_subagents).for_each(|tool| *tool = without.clone());
    }
    tools.retain(|tool| memories || !tool.name().starts_with("memory_"));
    if takes_questions {
        tools.extend([Typed::<ask::AskUser>::new(), Typed::<ask::AskChoice>::new()]);
    }
    tools
}

/// Returns the built-in tools that every session has, in the order in which models receive them.
pub fn builtin() -> Vec<Arc<dyn AnyTool>> {
    vec![
        Typed::<file_read::FileRead>::new(),
        Typed::<file_write::FileWrite>::new(),
        Typed::<file_edit::FileEdit>::new(),
        Typed::<patch::ApplyPatch>::new(),
        Typed::<search::Glob>::new(),
        Typed::<search::Grep>::new(),
        Typed::<bash::Bash>::new(),
        Typed::<shell::Shell>::new(),
        Typed::<subagent::Subagent>::new(),
        Typed::<task::UpdatePlan>::new(),
        Typed::<goal::UpdateGoal>::new(),
        Typed::<shell::ShellStart>::new(),
        Typed::<shell::ShellWrite>::new(),
        Typed::<shell::ShellRead>::new(),
        Typed::<shell::ShellKill>::new(),
        Typed::<task::TaskCreate>::new(),
        Typed::<task::TaskUpdate>::new(),
        Typed::<task::TaskList>::new(),
        Typed::<task::TaskGet>::new(),
        Typed::<memory::MemorySave>::new(),
        Typed::<memory::MemorySearch>::new(),
        Typed::<memory::MemoryForget>::new(),
        Typed::<sessions::SessionSearch>::new(),
        Typed::<sessions::SessionRead>::new(),
        Typed::<goal::CreateGoal>::new(),
        Typed::<goal::GetGoal>::new(),
    ]
}
