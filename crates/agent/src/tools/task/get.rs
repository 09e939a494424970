//! `task_get`: shows all details of one task.

use crate::{
    Access, Description, Effect, Task, Tool, ToolContext, ToolError, ToolOutput,
    tools::{args, output},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::fmt::Write as _;
use system::AbsPath;

/// Shows one task.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct TaskGet {
    id: String,
}

#[async_trait]
impl Tool for TaskGet {
    const NAME: &'static str = "task_get";
    const DESCRIPTION: &'static str = "Shows one task with its description, parts and what it waits for.";
    const EFFECT: Effect = Effect::Reads;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {"id": {"type": "string", "description": "The task"}},
            "required": ["id"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        super::description("Show a task of the plan".to_owned())
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let tasks = &cx.session.tasks;
        let task = tasks.iter().find(|task| task.id == self.id).ok_or_else(|| super::unknown(&self.id))?;
        Ok(ToolOutput::text(output::cap(details(tasks, task), &cx.limits)))
    }
}

fn details(tasks: &[Task], task: &Task) -> String {
    let ids = |wanted: &dyn Fn(&Task) -> bool| {
        let ids: Vec<_> = tasks.iter().filter(|task| wanted(task)).map(|task| task.id.as_str()).collect();
        ids.join(", ")
    };
    let mut text = format!("{} {} {}", task.status.icon(), task.id, task.subject);
    for (label, value) in [
        ("Description", task.description.clone()),
        ("Active form", task.active_form.clone()),
        ("Part of", task.parent.clone().unwrap_or_default()),
        ("Parts", ids(&|other| other.parent.as_deref() == Some(&task.id))),
        ("Blocked by", task.blocked_by.join(", ")),
        ("Blocks", ids(&|other| other.blocked_by.contains(&task.id))),
    ] {
        if !value.is_empty() {
            let _ = write!(text, "\n{label}: {value}");
        }
    }
    text
}
