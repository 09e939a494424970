//! Display terminals for commands that run on the agent's machine: the `_meta` of updates that
//! create, fill and close one. A terminal's id is that of the call.

use agent::ToolCallId;
use agent_client_protocol::v1::schema as acp;
use serde_json::{Value, json};
use system::{AbsPath, ExitStatus};

/// Returns the metadata that creates a terminal.
pub(crate) fn info(call: &ToolCallId, cwd: &AbsPath) -> acp::Meta {
    meta("terminal_info", json!({ "terminal_id": call.as_str(), "cwd": cwd.as_str() }))
}

/// Returns the metadata that appends output.
pub(crate) fn output(call: &ToolCallId, data: String) -> acp::Meta {
    meta("terminal_output", json!({ "terminal_id": call.as_str(), "data": data }))
}

/// Returns the metadata that reports the exit.
pub(crate) fn exit(call: &ToolCallId, status: &ExitStatus) -> acp::Meta {
    let (code, signal) = (status.code, status.signal.as_deref());
    meta("terminal_exit", json!({ "terminal_id": call.as_str(), "exit_code": code, "signal": signal }))
}

fn meta(key: &str, value: Value) -> acp::Meta {
    acp::Meta::from_iter([(key.to_owned(), value)])
}
