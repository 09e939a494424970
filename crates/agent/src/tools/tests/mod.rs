//! What the tools say and do, over a system in memory.

mod bash;
mod delegated;
mod edits;
mod files;
mod freshness;
mod patch;
mod search;
mod task;

use super::testing::{Memory, context, path, text};
use serde_json::json;

/// Titles, kinds and effects, as clients and the gate see them; and no schema that could not be sent.
#[test]
fn describes_every_tool() {
    use crate::{Effect, ToolKind};
    let tools = super::builtin();
    let expected = [
        ("file_read", json!({"path": "p"}), "Read p", ToolKind::Read, Effect::Reads),
        ("file_write", json!({"path": "p", "content": ""}), "Write p", ToolKind::Edit, Effect::Writes),
        (
            "file_edit",
            json!({"path": "p", "old_string": "", "new_string": ""}),
            "Edit p",
            ToolKind::Edit,
            Effect::Writes,
        ),
        ("apply_patch", json!({"patch": ""}), "Edit files", ToolKind::Edit, Effect::Writes),
        ("glob", json!({"pattern": "*"}), "Find files", ToolKind::Search, Effect::Reads),
        ("grep", json!({"pattern": "pat"}), "Search pat", ToolKind::Search, Effect::Reads),
        ("bash", json!({"command": "ls"}), "Run ls", ToolKind::Execute, Effect::Executes),
        ("task_create", json!({}), "Plan a task", ToolKind::Think, Effect::Session),
        ("task_update", json!({"id": "x"}), "Change a task of the plan", ToolKind::Think, Effect::Session),
        ("task_list", json!({}), "Look at the plan", ToolKind::Think, Effect::Reads),
        ("task_get", json!({"id": "x"}), "Look at a task of the plan", ToolKind::Think, Effect::Reads),
    ];
    assert_eq!(tools.len(), expected.len());
    for (tool, (name, arguments, title, kind, effect)) in tools.iter().zip(expected) {
        let spec = tool.spec();
        assert_eq!(spec.name, name);
        assert_eq!(spec.parameters["type"], "object", "{name}");
        let call = tool.parse(arguments).unwrap();
        let described = call.describe(&path(""));
        assert_eq!(
            (described.title.as_str(), described.kind, tool.effect()),
            (title, kind, effect),
            "{name}"
        );
        assert!(!call.accesses(&path("")).is_empty(), "{name}");
    }
}
