//! The background commands of a session.

use super::{fields::Fields, sessions::open_session};
use crate::connection::{Connection, Wire, errors};
use agent::ShellUpdate;
use agent_client_protocol::Error;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// A background command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShellEntry {
    /// `sh_1`, or `out_1` if it was started outside the sandbox.
    pub(crate) id: String,
    /// On one line.
    pub(crate) command: String,
    /// The call that started it.
    pub(crate) tool_call_id: String,
    /// `running` or `ended`.
    pub(crate) status: &'static str,
    /// `exit 0`, the name of a signal, `stopped` or `timed out`; null while it runs.
    pub(crate) end: Option<String>,
    /// Whether it exited with the code 0; null while it runs.
    pub(crate) success: Option<bool>,
    /// Seconds since its start, or between its start and its end.
    pub(crate) seconds: u64,
    /// Whether it keeps running when the session closes.
    pub(crate) keeps: bool,
}

/// Converts a background command.
pub(crate) fn shell_entry(shell: &ShellUpdate) -> ShellEntry {
    ShellEntry {
        id: shell.id.clone(),
        command: shell.command.clone(),
        tool_call_id: shell.call.to_string(),
        status: if shell.end.is_some() { "ended" } else { "running" },
        end: shell.end.as_ref().map(|end| end.how.clone()),
        success: shell.end.as_ref().map(|end| end.success),
        seconds: shell.seconds,
        keeps: shell.keeps,
    }
}

/// Handles a request about background commands; `None` if the name is unknown.
pub(super) async fn serve<W: Wire>(
    name: &str,
    fields: &Fields,
    connection: &Connection<W>,
) -> Option<Result<Value, Error>> {
    Some(match name {
        "shells/list" => list(fields, connection),
        "shells/stop" => stop(fields, connection).await,
        "shells/output" => output(fields, connection),
        _ => return None,
    })
}

fn list<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    Ok(listed(&open_session(fields, connection)?.shells()))
}

async fn stop<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let handle = open_session(fields, connection)?;
    let stopped = handle.stop_shell(&fields.text("id")?).await.map_err(errors::invalid_params)?;
    Ok(listed(&stopped))
}

fn output<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let handle = open_session(fields, connection)?;
    let (shell, output) = handle.shell_output(&fields.text("id")?).map_err(errors::invalid_params)?;
    Ok(json!({ "shell": shell_entry(&shell), "output": output }))
}

fn listed(shells: &[ShellUpdate]) -> Value {
    json!({ "shells": shells.iter().map(shell_entry).collect::<Vec<_>>() })
}
