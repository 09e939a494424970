//! `task_update`: changes a task's status, texts and dependencies on other tasks.

use crate::{
    Access, Description, Effect, Task, TaskStatus, Tool, ToolContext, ToolError, ToolOutput, task,
    tools::args,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Changes a task.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct TaskUpdate {
    id: String,
    #[serde(default)]
    status: Option<TaskStatus>,
    #[serde(default, deserialize_with = "args::optional")]
    subject: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    active_form: Option<String>,
    #[serde(default, deserialize_with = "args::list")]
    add_blocked_by: Vec<String>,
    #[serde(default, deserialize_with = "args::list")]
    add_blocks: Vec<String>,
}

#[async_trait]
impl Tool for TaskUpdate {
    const NAME: &'static str = "task_update";
    const DESCRIPTION: &'static str = "Changes a task: set `in_progress` when you begin it and `completed` when it is done. A task whose parts are all done is done too.";
    const EFFECT: Effect = Effect::Session;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The task"},
                "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled", "failed"]},
                "subject": {"type": "string"},
                "description": {"type": "string"},
                "active_form": {"type": "string"},
                "add_blocked_by": {"type": "array", "items": {"type": "string"}, "description": "Tasks that must be done first"},
                "add_blocks": {"type": "array", "items": {"type": "string"}, "description": "Tasks that must wait for this one"}
            },
            "required": ["id"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        super::description(match (self.status, &self.subject) {
            (Some(TaskStatus::InProgress), _) => "Begin a task of the plan".to_owned(),
            (Some(TaskStatus::Completed), _) => "Complete a task of the plan".to_owned(),
            (Some(TaskStatus::Cancelled), _) => "Drop a task of the plan".to_owned(),
            (Some(TaskStatus::Failed), _) => "Give up a task of the plan".to_owned(),
            (_, Some(subject)) => format!("Change a task of the plan: {subject}"),
            _ => "Change a task of the plan".to_owned(),
        })
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mut tasks = cx.session.tasks.to_vec();
        self.apply(&mut tasks)?;
        task::complete_parents(&mut tasks);
        let subject = tasks.iter().find(|task| task.id == self.id).map_or("", |task| task.subject.as_str());
        let said = format!("Updated task {}: {subject}", self.id);
        super::changed(cx, &said, tasks)
    }
}

impl TaskUpdate {
    fn apply(&self, tasks: &mut [Task]) -> Result<(), ToolError> {
        let task = find(tasks, &self.id)?;
        if let Some(status) = self.status {
            task.status = status;
        }
        for (field, new) in [
            (&mut task.subject, &self.subject),
            (&mut task.description, &self.description),
            (&mut task.active_form, &self.active_form),
        ] {
            if let Some(new) = new {
                field.clone_from(new);
            }
        }
        for blocker in &self.add_blocked_by {
            block(tasks, &self.id, blocker)?;
        }
        for blocked in &self.add_blocks {
            block(tasks, blocked, &self.id)?;
        }
        Ok(())
    }
}

fn find<'a>(tasks: &'a mut [Task], id: &str) -> Result<&'a mut Task, ToolError> {
    tasks.iter_mut().find(|task| task.id == id).ok_or_else(|| super::unknown(id))
}

/// Makes one task wait for another.
fn block(tasks: &mut [Task], id: &str, blocker: &str) -> Result<(), ToolError> {
    find(tasks, blocker)?;
    if task::waits_for(tasks, blocker, id) {
        return Err(ToolError::message(format!(
            "Task '{id}' cannot wait for '{blocker}': '{blocker}' already waits for '{id}'."
        )));
    }
    let task = find(tasks, id)?;
    if !task.blocked_by.iter().any(|known| known == blocker) {
        task.blocked_by.push(blocker.to_owned());
    }
    Ok(())
}
