//! A prompt with an id is sent again to the next process, after the first was killed.

use crate::{agent::Agent, home::Home};
use serde_json::{Value, json};
use std::fs;

fn prompt(session: &str, id: &str, text: &str) -> Value {
    json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": text }],
        "_meta": { "tiller": { "promptId": id } },
    })
}

#[test]
fn a_prompt_sent_again_after_a_kill_gets_its_stored_end_and_runs_nothing_again() {
    let home = Home::new();
    let mut agent = Agent::start(&home, &["--yolo"]);
    agent.initialize(json!({}));
    let session = agent.new_session(&home);
    let ended =
        agent.ask("session/prompt", prompt(&session, "ended", "run sh -c 'echo one >> ran'")).unwrap();
    assert_eq!(ended["stopReason"], "end_turn");
    agent.post("session/prompt", prompt(&session, "cut", "run sh -c 'echo two >> ran; sleep 300'"));
    let ran = || fs::read_to_string(home.file("ran")).unwrap_or_default();
    while ran() != "one\ntwo\n" {
        std::thread::yield_now();
    }
    agent.kill();

    let mut agent = Agent::start(&home, &["--yolo"]);
    agent.initialize(json!({}));
    let load = json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [] });
    agent.ask("session/load", load).unwrap();
    let again =
        agent.ask("session/prompt", prompt(&session, "ended", "run sh -c 'echo one >> ran'")).unwrap();
    assert_eq!(again, ended, "with the tokens of its turn");
    let cut = agent.ask("session/prompt", prompt(&session, "cut", "run sh -c 'echo two >> ran; sleep 300'"));
    let cut = cut.unwrap_err();
    assert_eq!((&cut["code"], &cut["data"]["reason"]), (&json!(-32603), &json!("owner_lost")), "{cut}");
    assert!(cut["message"].as_str().unwrap().contains("the session goes on"), "{cut}");
    let next =
        agent.ask("session/prompt", prompt(&session, "next", "run sh -c 'echo three >> ran'")).unwrap();
    assert_eq!(next["stopReason"], "end_turn");
    assert_eq!(ran(), "one\ntwo\nthree\n", "each command ran once");
}
