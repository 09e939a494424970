//! Texts and effects of the tools, over an in-memory system.

mod bash;
mod delegated;
mod edits;
mod files;
mod freshness;
mod interleaving;
mod memories;
mod patch;
mod search;
mod sessions;
mod shells;
mod task;

use super::testing::{Memory, context, path, text};
use serde_json::json;

/// Checks titles, kinds and effects as clients and the gate see them, and that every schema can be
/// sent.
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
        ("shell", json!({"action": "stop", "id": "sh_1"}), "Stop sh_1", ToolKind::Execute, Effect::Executes),
        ("subagent", json!({"task": "t"}), "Subagent (explore): t", ToolKind::Execute, Effect::Delegates),
        ("update_plan", json!({"plan": []}), "Change the plan", ToolKind::Think, Effect::Session),
        ("update_goal", json!({"status": "complete"}), "Complete the goal", ToolKind::Think, Effect::Session),
        ("shell_start", json!({"command": "ls"}), "Run ls", ToolKind::Execute, Effect::Executes),
        (
            "shell_write",
            json!({"session_id": "sh_1", "input": "y"}),
            "Tell sh_1: y",
            ToolKind::Execute,
            Effect::Executes,
        ),
        (
            "shell_read",
            json!({"session_id": "sh_1"}),
            "Read the output of sh_1",
            ToolKind::Execute,
            Effect::Executes,
        ),
        ("shell_kill", json!({"session_id": "sh_1"}), "Stop sh_1", ToolKind::Execute, Effect::Executes),
        ("task_create", json!({}), "Plan a task", ToolKind::Think, Effect::Session),
        ("task_update", json!({"id": "x"}), "Change a task of the plan", ToolKind::Think, Effect::Session),
        ("task_list", json!({}), "Show the plan", ToolKind::Think, Effect::Reads),
        ("task_get", json!({"id": "x"}), "Show a task of the plan", ToolKind::Think, Effect::Reads),
        (
            "memory_save",
            json!({"type": "user", "title": "Tea", "content": "x"}),
            "Save memory for every project: Tea",
            ToolKind::Edit,
            Effect::Writes,
        ),
        ("memory_search", json!({"query": "tea"}), "Search memories: tea", ToolKind::Read, Effect::Reads),
        ("memory_forget", json!({"id": 3}), "Forget memory #3", ToolKind::Edit, Effect::Writes),
        ("session_search", json!({}), "List earlier sessions", ToolKind::Search, Effect::Reads),
        (
            "session_read",
            json!({"session_id": "abcdefgh"}),
            "Read session abcdefgh",
            ToolKind::Read,
            Effect::Reads,
        ),
        ("create_goal", json!({"objective": "x"}), "Set a goal: x", ToolKind::Think, Effect::Session),
        ("get_goal", json!({}), "Show the goal", ToolKind::Think, Effect::Reads),
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

/// The listed tools are part of every request of every session.
#[test]
fn few_tools_are_listed_and_they_are_short() {
    let sent = |spec: &crate::ToolSpec| json!({"name": spec.name, "description": spec.description, "parameters": spec.parameters});
    let bytes =
        |specs: &[crate::ToolSpec]| json!(specs.iter().map(sent).collect::<Vec<_>>()).to_string().len();
    let listed: Vec<_> = super::offered(true, true, false)
        .iter()
        .filter(|tool| tool.is_offered())
        .map(|tool| tool.spec())
        .collect();
    let names: Vec<_> = listed.iter().map(|spec| spec.name.as_str()).collect();
    let expected = [
        "file_read",
        "file_write",
        "file_edit",
        "apply_patch",
        "glob",
        "grep",
        "bash",
        "shell",
        "subagent",
        "update_plan",
        "update_goal",
        "memory_save",
        "memory_search",
        "ask_user",
    ];
    // `execute_lua`, from its own crate, and one tool for MCP servers come on top.
    assert_eq!(names, expected);
    // The limit for all tools together is ten kilobytes.
    assert!(bytes(&listed) <= 8_800, "{} bytes of tools", bytes(&listed));
    let small = super::small_profile();
    assert_eq!(small.len(), 6);
    assert!(bytes(&small) <= 1_500, "{} bytes of tools in the small profile", bytes(&small));
}

/// The small profile describes a subset of the same tools' arguments.
#[test]
fn the_small_profile_names_arguments_that_its_tools_have() {
    let tools = super::builtin();
    for spec in super::small_profile() {
        let tool = tools.iter().find(|tool| tool.name() == spec.name).expect("a built-in tool").spec();
        for name in spec.parameters["properties"].as_object().unwrap().keys() {
            assert!(tool.parameters["properties"].get(name).is_some(), "{} has no {name}", spec.name);
        }
        // The small profile may omit alternatives and then require more arguments.
        let required = |spec: &crate::ToolSpec| spec.parameters["required"].as_array().unwrap().clone();
        assert!(required(&tool).iter().all(|name| required(&spec).contains(name)), "{}", spec.name);
    }
}

/// The contract's tool names can be called whether or not they are listed.
#[test]
fn the_names_of_the_contract_can_be_called() {
    let tools = super::offered(true, true, false);
    for name in [
        "task_create",
        "task_update",
        "task_list",
        "task_get",
        "create_goal",
        "get_goal",
        "ask_choice",
        "shell_start",
        "shell_write",
        "shell_read",
        "shell_kill",
        "session_search",
        "session_read",
    ] {
        let tool = tools.iter().find(|tool| tool.is_called(name)).unwrap_or_else(|| panic!("{name}"));
        assert!(!tool.is_offered(), "{name}");
    }
}

#[test]
fn worktrees_are_offered_only_beside_the_files() {
    for (apart, offers) in [(false, true), (true, false)] {
        let tools = super::offered(true, true, apart);
        let named = tools.iter().filter(|tool| tool.name() == "subagent").collect::<Vec<_>>();
        let [tool] = named.as_slice() else { panic!("{} tools", named.len()) };
        let spec = tool.spec();
        assert_eq!(spec.parameters["properties"].get("isolation").is_some(), offers);
        assert!(spec.parameters["properties"].get("resume").is_some());
    }
}
