//! Commands that run locally although the editor has terminals, and their display in the editor.

use crate::{agent::Agent, editor::Editor, home::Home};
use serde_json::{Value, json};

fn local() -> Home {
    let home = Home::new();
    home.settings(
        "[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n[client]\nterminal = 'local'\n",
    );
    home
}

/// Runs a line, in an editor with or without display terminals; returns the agent with its updates.
fn run(home: &Home, displays: bool, line: &str) -> Agent {
    let mut editor = Editor::with_everything();
    let mut agent = Agent::start(home, &[]);
    let mut capabilities = editor.capabilities();
    capabilities["_meta"] = json!({ "terminal_output": displays });
    agent.initialize(capabilities);
    let session = agent.new_session(home);
    assert_eq!(agent.prompt(&session, &format!("run {line}"), &mut editor).unwrap(), "end_turn");
    assert_eq!(editor.created, 0, "it does not run in the editor");
    agent
}

fn meta<'a>(agent: &'a Agent, key: &'a str) -> impl Iterator<Item = &'a Value> {
    agent.updates.iter().filter_map(move |update| update["_meta"].get(key))
}

fn shown(agent: &Agent) -> String {
    meta(agent, "terminal_output").map(|output| output["data"].as_str().unwrap()).collect()
}

#[test]
fn output_is_shown_in_a_display_terminal_once_and_whole() {
    let home = local();
    let agent = run(&home, true, "sh -c 'echo one; echo two >&2; exit 3'");
    let info: Vec<_> = meta(&agent, "terminal_info").collect();
    assert_eq!(info.len(), 1);
    assert_eq!(info[0]["cwd"], home.project().to_str().unwrap());
    assert_eq!(shown(&agent), "one\ntwo\n");
    let exit = meta(&agent, "terminal_exit").next().unwrap();
    assert_eq!(exit, &json!({ "terminal_id": info[0]["terminal_id"], "exit_code": 3, "signal": null }));
    let last = agent.updates.iter().rfind(|update| update["status"] == "failed").unwrap();
    let terminal = json!([{ "type": "terminal", "terminalId": info[0]["terminal_id"] }]);
    assert_eq!(last["content"], terminal);
}

#[test]
fn long_output_costs_little_more_than_its_bytes() {
    let home = local();
    let all: String = (1..=35_000).map(|line| format!("{line}\n")).collect();
    let agent = run(&home, true, "seq 1 35000");
    assert!(shown(&agent).ends_with("35000\n"));
    let bytes = |agent: &Agent| -> usize {
        let of_the_call = agent.updates.iter().filter(|update| update.get("toolCallId").is_some());
        of_the_call.map(|update| update.to_string().len() + 120).sum()
    };
    assert!(bytes(&agent) * 10 <= all.len() * 13, "{} bytes in a terminal", bytes(&agent));
    let agent = run(&home, false, "seq 1 35000");
    assert_eq!(meta(&agent, "terminal_info").count(), 0, "nobody asked for it");
    let last = agent.updates.iter().rfind(|update| update["status"] == "completed").unwrap();
    assert!(last["content"][0]["content"]["text"].as_str().unwrap().ends_with("35000\nExit code: 0"));
    assert!(bytes(&agent) <= 65_000, "{} bytes as text", bytes(&agent));
}
