//! What this layer says of itself.

use super::event::VERSION;
use serde_json::{Map, Value, json};

/// What there is.
pub(crate) fn capabilities() -> Value {
    let names = [
        "uiEvents",
        "textDeltas",
        "thinkingDeltas",
        "toolLifecycle",
        "permissions",
        "integrations",
        "mcp",
        "lua",
        "runtimeConfig",
        "sessions",
        "permissionModes",
    ];
    let mut all = Map::from_iter([("protocolVersion".to_owned(), json!(VERSION))]);
    all.extend(names.map(|name| (name.to_owned(), Value::Bool(true))));
    // No tool makes subagents: their events are defined, and nothing is there to be told of.
    all.extend(["subagentTree", "subagentDashboard"].map(|name| (name.to_owned(), Value::Bool(false))));
    Value::Object(all)
}

/// Adds it to the answer of `initialize`: below `_meta`, and where the KosmoKrator wire has it, for
/// its wrappers look there whatever they say of themselves.
pub(crate) fn announce(answer: &mut Value) {
    let capabilities = capabilities();
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("kosmokratorCapabilities".to_owned(), capabilities.clone());
    }
    let meta = &mut answer["_meta"];
    if let (Some(tiller), Value::Object(capabilities)) = (meta["tiller"].as_object_mut(), &capabilities) {
        tiller.extend(capabilities.clone());
    }
    meta["kosmokrator"] = capabilities;
}
