//! `update_plan`: replaces the whole task list.

use super::create::fresh_id;
use crate::{
    Access, Description, Effect, Task, TaskStatus, Tool, ToolContext, ToolError, ToolOutput, limits::TASKS,
    tools::args,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use system::AbsPath;

/// Replaces the task list.
#[derive(Debug, Deserialize)]
pub(in crate::tools) struct UpdatePlan {
    /// A list, or a list as JSON in a string.
    #[serde(alias = "todos", alias = "steps")]
    plan: Value,
}

#[derive(Debug)]
struct Step {
    text: String,
    status: TaskStatus,
}

#[async_trait]
impl Tool for UpdatePlan {
    const NAME: &'static str = "update_plan";
    const DESCRIPTION: &'static str = "Sets the plan that the user sees, whole: every step with its status. For work of three or more steps; keep one step in_progress.";
    const EFFECT: Effect = Effect::Session;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "plan": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "step": {"type": "string"},
                            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}
                        },
                        "required": ["step", "status"]
                    }
                }
            },
            "required": ["plan"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        super::description(match steps(&self.plan) {
            Ok(steps) if !steps.is_empty() => {
                let done = steps.iter().filter(|step| step.status.is_final()).count();
                format!("Plan: {done} of {} steps done", steps.len())
            }
            _ => "Change the plan".to_owned(),
        })
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let steps = steps(&self.plan)?;
        if steps.len() > TASKS {
            return Err(ToolError::message(format!("A plan has at most {TASKS} steps.")));
        }
        let tasks = replaced(&cx.session.tasks, steps);
        let done = tasks.iter().filter(|task| task.status.is_final()).count();
        let said = match tasks.len() {
            0 => "The plan is empty.".to_owned(),
            all => format!("Plan updated: {done} of {all} steps done."),
        };
        super::with_tasks(ToolOutput::text(said), tasks)
    }
}

/// Returns the list for the given steps. A task of the old list with the same subject is kept as
/// the same task.
fn replaced(tasks: &[Task], steps: Vec<Step>) -> Vec<Task> {
    let mut old: Vec<_> = tasks.to_vec();
    let mut new: Vec<Task> = Vec::with_capacity(steps.len());
    for Step { text, status } in steps {
        let known = old.iter().position(|task| task.subject == text).map(|at| old.remove(at));
        new.push(match known {
            Some(task) => Task { status, ..task },
            None => Task {
                id: fresh_id(|id| tasks.iter().chain(&new).any(|task| task.id == id)),
                subject: text,
                description: String::new(),
                active_form: String::new(),
                parent: None,
                status,
                blocked_by: Vec::new(),
            },
        });
    }
    // Parents and blockers that are no longer in the list are dropped.
    let ids: Vec<_> = new.iter().map(|task| task.id.clone()).collect();
    for task in &mut new {
        task.parent = task.parent.take().filter(|parent| ids.contains(parent));
        task.blocked_by.retain(|blocker| ids.contains(blocker));
    }
    new
}

/// Parses the steps: objects or plain strings, in a list or in a string of JSON.
fn steps(given: &Value) -> Result<Vec<Step>, ToolError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        Text(String),
        Whole {
            #[serde(alias = "content", alias = "text", alias = "title", alias = "description")]
            step: String,
            #[serde(default)]
            status: Option<TaskStatus>,
        },
    }
    let list: Result<Vec<Given>, _> = match given {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => serde_json::from_str(text),
        list => serde_json::from_value(list.clone()),
    };
    let list = list.map_err(|_| {
        ToolError::message(
            "plan must be a list of {\"step\", \"status\"}, status one of pending, in_progress, completed.",
        )
    })?;
    let steps = list.into_iter().map(|given| match given {
        Given::Text(text) => Step { text, status: TaskStatus::Pending },
        Given::Whole { step, status } => Step { text: step, status: status.unwrap_or(TaskStatus::Pending) },
    });
    let steps: Vec<_> = steps.map(|step| Step { text: step.text.trim().to_owned(), ..step }).collect();
    match steps.iter().any(|step| step.text.is_empty()) {
        true => Err(ToolError::message("A step of the plan is empty; say what is to be done.")),
        false => Ok(steps),
    }
}
