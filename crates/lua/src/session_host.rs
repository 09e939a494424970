//! Carries out the calls of a script in an agent's turn: to the session's tools, through the
//! session's permission gate.

use crate::{Native, ScriptHost};
use agent::{AnyTool, Callee, Effect, NestedCallError, NestedCalls, ToolResult};
use async_trait::async_trait;
use serde_json::Value;
use std::sync::Arc;

pub(crate) struct SessionHost(pub(crate) NestedCalls);

#[async_trait]
impl ScriptHost for SessionHost {
    async fn native(&self) -> Native {
        self.0.tools().await.map_or(Native::NoTurn, Native::Tools)
    }

    async fn call_native(&self, name: &str, arguments: Value) -> Result<ToolResult, String> {
        let called = self.0.call(Callee::Named(name.to_owned()), arguments).await;
        called.map_err(refusal)
    }

    async fn call(&self, tool: Arc<dyn AnyTool>, arguments: Value) -> Result<ToolResult, String> {
        let reads = tool.effect() == Effect::Reads;
        self.0.call(Callee::Tool(tool), arguments).await.map_err(|error| match &error {
            NestedCallError::NeedsApproval(name) => {
                integration_refusal(name, reads).unwrap_or_else(|| refusal(error))
            }
            _ => refusal(error),
        })
    }
}

/// Returns the message when a function of an integration would need the user's approval; `None` for
/// other tools. `reads` is whether the function only reads.
pub fn integration_refusal(tool: &str, reads: bool) -> Option<String> {
    let (integration, _) = tool.strip_prefix("integration__")?.split_once("__")?;
    let operation = if reads { "read" } else { "write" };
    Some(format!(
        "Integration '{integration}' {operation} requires approval. Ask the user to change the permission in /settings → Integrations"
    ))
}

/// Formats a refusal. Models are familiar with these texts.
fn refusal(error: NestedCallError) -> String {
    match error {
        NestedCallError::Unknown(name) => {
            format!("Unknown native tool: {name}. Use lua_list_docs to discover available tools.")
        }
        NestedCallError::NotInMode { name, mode } => {
            format!("Native tool '{name}' is not available in {} mode.", mode.label())
        }
        NestedCallError::Modifies { name, mode } => format!(
            "Native tool '{name}' was blocked in {} mode because it appears to modify state.",
            mode.label()
        ),
        NestedCallError::NeedsApproval(name) => format!(
            "Native tool '{name}' requires approval and cannot prompt from inside execute_lua. Call the tool directly, adjust permissions, or \
             switch permission mode intentionally."
        ),
        NestedCallError::Denied(reason) => reason,
        NestedCallError::Cancelled => "The call was cancelled.".to_owned(),
        NestedCallError::Unavailable => {
            "app.tools is not available here: this run was itself called from a script.".to_owned()
        }
    }
}
