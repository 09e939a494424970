//! A session's work: its tasks and its goal.

use super::{
    fields::Fields,
    sessions::{open_session, stored_session},
};
use crate::connection::{Connection, Wire, errors};
use agent::{Goal, GoalChange, GoalError, SessionEvent, Task};
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

/// The goal that a session works on by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct GoalState {
    pub(crate) id: String,
    pub(crate) objective: String,
    /// `active`, `paused`, `blocked`, `budget_limited` or `complete`.
    pub(crate) status: &'static str,
    /// Why it has this status, if there is more to say.
    pub(crate) reason: Option<String>,
    /// The tokens that it may use; null for no limit.
    pub(crate) token_budget: Option<u64>,
    /// Output, and input that was not read from the provider's cache.
    pub(crate) tokens_used: u64,
    pub(crate) time_used_seconds: u64,
}

/// Converts a goal.
pub(crate) fn goal_state(goal: &Goal) -> GoalState {
    GoalState {
        id: goal.id.clone(),
        objective: goal.objective.clone(),
        status: goal.status.id(),
        reason: goal.reason.clone(),
        token_budget: goal.token_budget,
        tokens_used: goal.tokens_used,
        time_used_seconds: goal.seconds_used,
    }
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
        "goal/get" => get_goal(fields, connection).await,
        "goal/set" => set_goal(fields, connection).await,
        _ => return None,
    })
}

async fn get_goal<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let id = stored_session(fields, connection).await?;
    let mut goal = None;
    let mut each = |event: &SessionEvent| agent::apply_to_goal(&mut goal, event);
    connection.runtime.replay(&id, &mut each).await.map_err(|error| errors::store(&error))?;
    Ok(json!({ "goal": goal.as_ref().map(goal_state) }))
}

async fn set_goal<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let handle = open_session(fields, connection)?;
    let goal = handle.change_goal(goal_change(fields)?).await.map_err(|error| match error {
        GoalError::Store(error) => errors::store(&error),
        error => errors::invalid_params(error.to_string()),
    })?;
    Ok(json!({ "goal": goal.as_ref().map(goal_state) }))
}

/// Decodes a change of the goal: an objective, or a status.
fn goal_change(fields: &Fields) -> Result<GoalChange, Error> {
    let token_budget = match fields.has("tokenBudget") {
        true => Some(fields.count("tokenBudget", 0, 0, u64::MAX)?),
        false => None,
    };
    match (fields.optional("objective")?, fields.optional("status")?.as_deref()) {
        (Some(objective), None) => Ok(GoalChange::Set { objective, token_budget }),
        (None, Some("active")) => Ok(GoalChange::Resume { token_budget }),
        (None, Some("paused")) => Ok(GoalChange::Pause),
        (None, Some("cleared")) => Ok(GoalChange::Clear),
        _ => Err(errors::invalid_params("send either objective, or status: active, paused or cleared")),
    }
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
