//! A session's work: its tasks.

use super::{fields::Fields, sessions::stored_session};
use crate::connection::{Connection, Wire, errors};
use agent::{SessionEvent, Task};
use agent_client_protocol::Error;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// A task of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskEntry {
    /// Eight hexadecimal digits.
    pub(crate) id: String,
    pub(crate) subject: String,
    /// May be empty.
    pub(crate) description: String,
    /// The wording to show while the task is in progress; may be empty.
    pub(crate) active_form: String,
    /// `pending`, `in_progress`, `completed`, `cancelled` or `failed`.
    pub(crate) status: &'static str,
    /// The task that it is part of.
    pub(crate) parent_id: Option<String>,
    /// The tasks that must be completed first.
    pub(crate) blocked_by: Vec<String>,
}

/// Converts tasks, in the order they were created.
pub(crate) fn task_entries(tasks: &[Task]) -> Vec<TaskEntry> {
    let entry = |task: &Task| TaskEntry {
        id: task.id.clone(),
        subject: task.subject.clone(),
        description: task.description.clone(),
        active_form: task.active_form.clone(),
        status: task.status.id(),
        parent_id: task.parent.clone(),
        blocked_by: task.blocked_by.clone(),
    };
    tasks.iter().map(entry).collect()
}

/// Handles a request about a session's work; `None` if the name is unknown.
pub(super) async fn serve<W: Wire>(
    name: &str,
    fields: &Fields,
    connection: &Connection<W>,
) -> Option<Result<Value, Error>> {
    Some(match name {
        "tasks/list" => list_tasks(fields, connection).await,
        _ => return None,
    })
}

async fn list_tasks<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let id = stored_session(fields, connection).await?;
    let mut last = Vec::new();
    let mut each = |event: &SessionEvent| {
        if let SessionEvent::Tasks(tasks) = event {
            last.clone_from(tasks);
        }
    };
    connection.runtime.replay(&id, &mut each).await.map_err(|error| errors::store(&error))?;
    Ok(json!({ "tasks": task_entries(&last) }))
}
