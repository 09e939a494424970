//! Terminals that the client shows for commands that run here: the `_meta` of updates that make, fill and end one. Their ids are those of the calls.

use agent::ToolCallId;
use agent_client_protocol::v1::schema as acp;
use serde_json::{Value, json};
use system::{AbsPath, ExitStatus};

/// Makes a terminal.
pub(crate) fn info(call: &ToolCallId, cwd: &AbsPath) -> acp::Meta {
    meta("terminal_info", json!({ "terminal_id": call.as_str(), "cwd": cwd.as_str() }))
}

/// Adds output.
pub(crate) fn output(call: &ToolCallId, data: String) -> acp::Meta {
    meta("terminal_output", json!({ "terminal_id": call.as_str(), "data": data }))
}

/// Ends it.
pub(crate) fn exit(call: &ToolCallId, status: &ExitStatus) -> acp::Meta {
    let (code, signal) = (status.code, status.signal.as_deref());
    meta("terminal_exit", json!({ "terminal_id": call.as_str(), "exit_code": code, "signal": signal }))
}

fn meta(key: &str, value: Value) -> acp::Meta {
    acp::Meta::from_iter([(key.to_owned(), value)])
}
