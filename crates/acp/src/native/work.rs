//! A session's work: its tasks and its goal.

use super::{
    entries::{goal_state, task_entries},
    fields::Fields,
    sessions::{open_session, stored_session},
};
use crate::connection::{Connection, Wire, errors};
use agent::{GoalChange, GoalError, SessionEvent};
use agent_client_protocol::Error;
use serde_json::{Value, json};

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
