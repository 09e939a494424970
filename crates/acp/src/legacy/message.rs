//! The messages of this dialect. Their members are in the order in which the dialect's own programs
//! write them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message from the client.
#[derive(Debug, Deserialize)]
pub(super) struct Incoming {
    #[serde(default)]
    pub(super) id: Option<Value>,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Value,
}

/// A message to the client.
#[derive(Debug, Serialize)]
pub(super) struct Outgoing<'a, T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

#[derive(Debug, Serialize)]
struct Failure {
    code: i32,
    message: String,
}

impl<'a, T> Outgoing<'a, T> {
    pub(super) fn result(id: Value, result: &'a T) -> Self {
        Self { id: Some(id), result: Some(result), ..Self::empty() }
    }

    pub(super) fn error(id: Value, code: i32, message: String) -> Self {
        Self { id: Some(id), error: Some(Failure { code, message }), ..Self::empty() }
    }

    pub(super) fn notification(method: &'static str, params: &'a T) -> Self {
        Self { method: Some(method), params: Some(params), ..Self::empty() }
    }

    fn empty() -> Self {
        Self { jsonrpc: "2.0", id: None, method: None, params: None, result: None, error: None }
    }
}

/// The response to `initialize`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialized<'a> {
    capabilities: Capabilities,
    server_info: ServerInfo<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities {
    streaming: bool,
    file_editing: bool,
}

#[derive(Debug, Serialize)]
struct ServerInfo<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> Initialized<'a> {
    pub(super) fn new(name: &'a str, version: &'a str) -> Self {
        Self {
            capabilities: Capabilities { streaming: true, file_editing: true },
            server_info: ServerInfo { name, version },
        }
    }
}

/// The parameters of `agent/stream`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StreamParams<'a> {
    pub(super) conversation_id: &'a str,
    pub(super) text: &'a str,
}

/// The parameters of `workspace/applyEdit`.
#[derive(Debug, Serialize)]
pub(super) struct ApplyEdit<'a> {
    pub(super) changes: [FileEdit<'a>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileEdit<'a> {
    pub(super) uri: String,
    pub(super) new_text: &'a str,
}
