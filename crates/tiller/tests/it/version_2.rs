//! Version 2 of the protocol, served by the same program.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stdout},
};
use serde_json::{Value, json};
use std::time::Duration;

fn initialize_params(version: u16) -> Value {
    json!({ "protocolVersion": version, "info": { "name": "editor", "version": "1" }, "capabilities": {} })
}

fn of<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

#[test]
fn a_session_is_created_used_and_continued_in_both_versions() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let mut editor = Editor { answer: Some("allow_once"), ..Editor::default() };
    let mut agent = Agent::start(&home, &["--permission-mode", "argus"]);
    assert_eq!(agent.ask("initialize", initialize_params(2)).unwrap()["protocolVersion"], 2);
    let session = agent.new_session(&home);
    let idle = agent.turn(&session, "replace \"one\" with \"two\" in a.txt", &mut editor);
    assert_eq!(idle["stopReason"], "end_turn");
    assert_eq!(home.read("a.txt").unwrap(), "two\n");
    assert_eq!(editor.verbs(), ["permission"]);
    let states: Vec<_> =
        of(&agent.updates, "state_update").iter().map(|state| state["state"].clone()).collect();
    assert_eq!(states, ["running", "requires_action", "running", "idle"]);
    let content = of(&agent.updates, "tool_call_update").into_iter().rev();
    let content = content.flat_map(|update| update["content"].as_array().into_iter().flatten());
    let diff = content.clone().find(|part| part["type"] == "diff").expect("the change is shown");
    assert!(diff["patch"]["text"].as_str().unwrap().contains("\n-one\n+two\n"), "{diff}");

    agent.turn(&session, "run printf hello", &mut editor);
    let output = of(&agent.updates, "terminal_output_chunk");
    assert_eq!(output[0]["data"], "aGVsbG8=");
    let ended = of(&agent.updates, "terminal_update").pop().unwrap();
    assert_eq!(ended["exitStatus"]["exitCode"], 0);
    let (status, time) = agent.hang_up();
    assert!(status.success() && time < Duration::from_secs(1), "{time:?}");

    // Continue the session headless, in version 1, and again in version 2.
    assert!(stdout(&home.run(&["-p", "show a.txt", "--session", &session])).contains("two"));
    let open = json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [] });
    let mut first = Agent::start(&home, &["--protocol", "1"]);
    assert_eq!(first.ask("initialize", initialize_params(2)).unwrap()["protocolVersion"], 1);
    first.ask("session/load", open.clone()).unwrap();
    let printed = |agent: &Agent, kind: &str| {
        let of = of(&agent.updates, kind);
        of.iter().map(|update| update["messageId"].clone()).collect::<Vec<_>>()
    };
    let messages = printed(&first, "user_message_chunk");
    assert_eq!(messages.len(), 3);
    first.hang_up();
    let mut again = Agent::start(&home, &["--protocol", "2"]);
    assert_eq!(again.ask("initialize", json!({ "protocolVersion": 1 })).unwrap_err()["code"], -32022);
    again.ask("initialize", initialize_params(2)).unwrap();
    let mut from_start = open;
    from_start["replayFrom"] = json!({ "type": "start" });
    again.ask("session/resume", from_start).unwrap();
    assert_eq!(printed(&again, "user_message"), messages);
    assert_eq!(again.updates.last().unwrap()["state"], "idle");
}
