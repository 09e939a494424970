//! The background commands of a session.

use super::{entries::shell_entry, fields::Fields, sessions::open_session};
use crate::connection::{Connection, Wire, errors};
use agent::ShellUpdate;
use agent_client_protocol::Error;
use serde_json::{Value, json};

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
