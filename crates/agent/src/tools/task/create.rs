//! `task_create`: creates one task or several.

use crate::{
    Access, Description, Effect, Task, TaskStatus, Tool, ToolContext, ToolError, ToolOutput, limits::TASKS,
    tools::args,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Adds tasks to the list.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct TaskCreate {
    #[serde(flatten)]
    one: NewTask,
    /// A list, or a list as JSON in a string.
    #[serde(default)]
    tasks: Value,
}

#[derive(Debug, Default, serde::Deserialize)]
struct NewTask {
    #[serde(default, deserialize_with = "args::optional")]
    subject: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    description: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    active_form: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    parent_id: Option<String>,
}

#[async_trait]
impl Tool for TaskCreate {
    const NAME: &'static str = "task_create";
    const DESCRIPTION: &'static str = "Adds a task to the session's list, or several with `tasks`. Use it to plan work of three or more steps.";
    const EFFECT: Effect = Effect::Session;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "subject": {"type": "string", "description": "What is to be done, in a few words"},
                "description": {"type": "string", "description": "More about it"},
                "active_form": {"type": "string", "description": "What it reads like while it is done: \"Running tests\""},
                "parent_id": {"type": "string", "description": "The task it is part of"},
                "tasks": {"type": "string", "description": "Several tasks instead: a JSON array of objects with the fields above"}
            }
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let title = match (batch(&self.tasks), &self.one.subject) {
            (Ok(Some(tasks)), _) => format!("Plan {} tasks", tasks.len()),
            (_, Some(subject)) => format!("Plan: {subject}"),
            _ => "Plan a task".to_owned(),
        };
        super::description(title)
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let batch = batch(&self.tasks)?;
        let mut tasks = cx.session.tasks.to_vec();
        let news = batch.as_deref().unwrap_or(std::slice::from_ref(&self.one));
        // All tasks are validated before the first is added.
        let added = added(&tasks, news)?;
        let said = match (&batch, added.as_slice()) {
            (None, [task]) => format!("Created task {}: {}", task.id, task.subject),
            _ => {
                let ids: Vec<_> = added.iter().map(|task| task.id.as_str()).collect();
                format!("Created {} tasks ({})", ids.len(), ids.join(", "))
            }
        };
        tasks.extend(added);
        super::changed(cx, &said, tasks)
    }
}

/// Parses the tasks of a batch; `None` if the call contains no batch.
fn batch(given: &Value) -> Result<Option<Vec<NewTask>>, ToolError> {
    let list = match given {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => serde_json::from_str(text),
        other => serde_json::from_value(other.clone()),
    };
    match list {
        Ok(list) => Ok(Some(list).filter(|list: &Vec<_>| !list.is_empty())),
        Err(error) => Err(ToolError::message(format!(
            "tasks must be a JSON array of objects with subject, description, active_form, parent_id: {error}"
        ))),
    }
}

fn added(tasks: &[Task], news: &[NewTask]) -> Result<Vec<Task>, ToolError> {
    if tasks.len() + news.len() > TASKS {
        return Err(ToolError::message(format!("A session holds at most {TASKS} tasks.")));
    }
    let mut added: Vec<Task> = Vec::with_capacity(news.len());
    for new in news {
        let Some(subject) = new.subject.clone() else {
            return Err(ToolError::message("subject cannot be empty."));
        };
        if let Some(parent) = new.parent_id.as_ref().filter(|id| !tasks.iter().any(|task| task.id == **id)) {
            return Err(super::unknown(parent));
        }
        added.push(Task {
            id: fresh_id(|id| tasks.iter().chain(&added).any(|task| task.id == id)),
            subject,
            description: new.description.clone().unwrap_or_default(),
            active_form: new.active_form.clone().unwrap_or_default(),
            parent: new.parent_id.clone(),
            status: TaskStatus::Pending,
            blocked_by: Vec::new(),
        });
    }
    Ok(added)
}

/// Returns an unused task id: eight hexadecimal digits, from the random end of a UUID.
pub(super) fn fresh_id(taken: impl Fn(&str) -> bool) -> String {
    loop {
        let id = uuid::Uuid::now_v7().simple().to_string().split_off(24);
        if !taken(&id) {
            return id;
        }
    }
}
