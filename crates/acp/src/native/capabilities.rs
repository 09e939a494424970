//! Advertises the native layer.

use super::event::VERSION;
use serde_json::{Map, Value, json};

/// Returns the capabilities of the layer.
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
        "memories",
        "subagentTree",
        "subagentDashboard",
        "tasks",
        "goals",
        "shells",
    ];
    let mut all = Map::from_iter([("protocolVersion".to_owned(), json!(VERSION))]);
    all.extend(names.map(|name| (name.to_owned(), Value::Bool(true))));
    Value::Object(all)
}

/// Adds the capabilities to the response to `initialize`: below `_meta`, and at the KosmoKrator
/// wire's place, because that wire's wrappers look there regardless of what they declare.
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
