//! The tools for the session's task list.

mod create;
mod get;
mod list;
mod plan;
mod update;

pub(super) use create::TaskCreate;
pub(super) use get::TaskGet;
pub(super) use list::TaskList;
pub(super) use plan::UpdatePlan;
pub(super) use update::TaskUpdate;

use super::output;
use crate::{
    Description, SessionEvent, Task, ToolContext, ToolError, ToolKind, ToolOutput, limits::TASK_TITLE_CHARS,
    task, text::cut,
};

/// Returns a call's description. Users see the change in the plan, so the call itself is shown as
/// thinking.
fn description(title: String) -> Description {
    let title = cut::cut(crate::one_line(&title).as_str(), TASK_TITLE_CHARS).into_owned();
    Description { title, kind: ToolKind::Think, locations: Vec::new() }
}

fn unknown(id: &str) -> ToolError {
    ToolError::message(format!("Task '{id}' not found. Use task_list to see the ids."))
}

/// Returns the output of a change to the list: a line about the change, the current tree, and the
/// new plan for the client.
fn changed(cx: &ToolContext, said: &str, tasks: &[Task]) -> ToolOutput {
    let text = format!("{said}\n{}", task::tree(tasks));
    with_plan(ToolOutput::text(output::cap(text, &cx.limits)), tasks)
}

/// Adds an event with the current plan for the client to an output.
fn with_plan(mut output: ToolOutput, tasks: &[Task]) -> ToolOutput {
    output.events.push(SessionEvent::Plan(task::plan(tasks)));
    output
}
