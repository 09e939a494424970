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
    Description, SessionEvent, Task, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::{TASK_TITLE_CHARS, TASKS_BYTES},
    task, task_tree,
    text::cut,
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
/// event with the new list.
fn changed(cx: &ToolContext, said: &str, tasks: Vec<Task>) -> Result<ToolOutput, ToolError> {
    let text = format!("{said}\n{}", task_tree(&tasks));
    with_tasks(ToolOutput::text(output::cap(text, &cx.limits)), tasks)
}

/// Adds the event with the new list to an output.
fn with_tasks(mut output: ToolOutput, tasks: Vec<Task>) -> Result<ToolOutput, ToolError> {
    if task::bytes(&tasks) > TASKS_BYTES {
        return Err(ToolError::message(format!(
            "Not changed: the texts of all tasks together are limited to {TASKS_BYTES} bytes. Shorten them, \
             or drop finished tasks with update_plan."
        )));
    }
    output.events.push(SessionEvent::Tasks(tasks));
    Ok(output)
}
