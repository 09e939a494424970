//! The editor and headless runs share one session store.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
};
use serde_json::{Value, json};

const EDIT: &str = "replace \"one\" with \"two\" in a.txt";

#[test]
fn both_interfaces_make_the_same_change_and_continue_each_others_sessions() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let run: Value = serde_json::from_slice(&home.run(&["-p", EDIT, "-o", "json"]).stdout).unwrap();
    let headless = run["session_id"].as_str().unwrap();
    let changed = home.read("a.txt").unwrap();
    assert_eq!(changed, "two\n");

    home.write("a.txt", "one\n");
    let mut editor = Editor::with_everything();
    let (mut agent, session) = Agent::open(&home, &[], &editor);
    assert_eq!(agent.prompt(&session, EDIT, &mut editor).unwrap(), "end_turn");
    assert_eq!(home.read("a.txt").unwrap(), changed);

    // The editor continues the headless session …
    agent.updates.clear();
    let load = json!({ "sessionId": headless, "cwd": home.project(), "mcpServers": [] });
    agent.call("session/load", load, &mut editor).unwrap();
    assert!(agent.updates.iter().any(|update| update["sessionUpdate"] == "user_message_chunk"));
    assert_eq!(agent.statuses().last().map(String::as_str), Some("completed"));
    assert_eq!(agent.prompt(headless, "show a.txt", &mut editor).unwrap(), "end_turn");
    agent.hang_up();

    // … and a headless run continues the editor's.
    let on = home.run(&["-p", "show a.txt", "--session", &session]);
    assert!(on.status.success() && stdout(&on).contains("two"), "{}{}", stdout(&on), stderr(&on));
    let shown = stdout(&home.run(&["sessions", "show", &session]));
    assert!(shown.contains(EDIT) && shown.contains("> show a.txt"), "{shown}");
    let last: Value = serde_json::from_slice(&home.run(&["-p", "help", "-c", "-o", "json"]).stdout).unwrap();
    assert_eq!(last["session_id"], session.as_str());
    let listed = |more: &[&str]| {
        let args = [&["sessions", "list", "--jsonl"], more].concat();
        stdout(&home.run(&args)).lines().count()
    };
    assert_eq!(listed(&[]), 2);
    for (command, left) in [("archive", 1), ("unarchive", 2)] {
        assert!(home.run(&["sessions", command, &session]).status.success());
        assert_eq!((listed(&[]), listed(&["--archived"])), (left, 2), "{command}");
    }
}
