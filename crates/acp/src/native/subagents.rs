//! The requests about a session's subagents: list, show, cancel.

use super::{fields::Fields, requests::service_error, services::NativeServices, tree};
use crate::connection::errors;
use agent::{Runtime, SessionHandle, SessionId, SubagentState};
use agent_client_protocol::Error;
use serde_json::{Value, json};

/// Returns the subagents of a stored session, as a tree and as statistics.
pub(super) async fn list(runtime: &Runtime, session: &SessionId) -> Result<Value, Error> {
    let swarm = runtime.subagents(session).await.map_err(|error| errors::store(&error))?;
    Ok(json!({
        "tree": tree::tree(&swarm.agents, swarm.at),
        "stats": tree::stats(&swarm),
        "summary": tree::summary(&swarm),
    }))
}

/// Returns a subagent: its statistics, its result, and what it did, as Markdown.
pub(super) async fn get(
    runtime: &Runtime,
    services: &dyn NativeServices,
    session: &SessionId,
    fields: &Fields,
) -> Result<Value, Error> {
    let id = fields.text("id")?;
    let swarm = runtime.subagents(session).await.map_err(|error| errors::store(&error))?;
    let found = swarm.agents.iter().find(|agent| agent.id == id);
    let agent = found.ok_or_else(|| unknown(&id, &swarm.agents))?;
    let transcript = match &agent.place.session {
        Some(own) => Some(services.export(own, "markdown").await.map_err(service_error)?),
        None => None,
    };
    Ok(json!({
        "stats": tree::stats_of(agent, swarm.at),
        "session": agent.place.session.as_ref().map(SessionId::as_str),
        "branch": agent.place.worktree.as_ref().map(|worktree| worktree.branch.as_str()),
        "result": agent.result,
        "transcript": transcript,
    }))
}

/// Cancels a subagent, or all.
pub(super) fn cancel(handle: &SessionHandle, fields: &Fields) -> Result<Value, Error> {
    let id = fields.optional("id")?;
    Ok(json!({ "cancelled": handle.cancel_subagent(id.as_deref()) }))
}

fn unknown(id: &str, agents: &[SubagentState]) -> Error {
    let ids: Vec<_> = agents.iter().map(|agent| agent.id.as_str()).collect();
    let hint = match ids.is_empty() {
        true => "the session has none".to_owned(),
        false => format!("it has {}", ids.join(", ")),
    };
    errors::invalid_params(format!("Unknown subagent: {id}; {hint}"))
}
