//! `task_list`: shows all tasks.

use crate::{
    Access, Description, Effect, Tool, ToolContext, ToolError, ToolOutput, task_tree,
    tools::{args, output},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Shows the task list.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct TaskList {}

#[async_trait]
impl Tool for TaskList {
    const NAME: &'static str = "task_list";
    const DESCRIPTION: &'static str =
        "Shows the session's tasks: ○ pending, ◎ in progress, ● completed, ✗ cancelled, ☠ failed.";
    const EFFECT: Effect = Effect::Reads;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        super::description("Show the plan".to_owned())
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let tree = task_tree(&cx.session.tasks);
        let text = if tree.is_empty() { "No tasks.".to_owned() } else { tree };
        Ok(ToolOutput::text(output::cap(text, &cx.limits)))
    }
}
