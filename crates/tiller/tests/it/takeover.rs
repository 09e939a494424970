//! Two processes and one session.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr},
};
use serde_json::{Value, json};

#[test]
fn a_second_process_names_the_holder_and_can_take_the_session_over() {
    let home = Home::new();
    let mut editor = Editor::without_anything();
    let (mut first, session) = Agent::open(&home, &["--yolo"], &editor);
    assert_eq!(first.prompt(&session, "run echo 1 >> ran", &mut editor).unwrap(), "end_turn");

    let mut second = Agent::start(&home, &["--yolo"]);
    second.initialize(json!({}));
    for method in ["session/load", "session/resume"] {
        let params = json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [] });
        let error = second.ask(method, params).unwrap_err();
        assert_eq!(error["data"]["reason"], "held", "{error}");
        let holder = &error["data"]["holder"];
        assert_eq!(holder["pid"], first.pid());
        assert!(holder["since"].as_str().unwrap().ends_with('Z'), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains(holder["host"].as_str().unwrap()) && message.contains("take it over"),
            "{message}"
        );
    }
    let cli = home.run(&["-p", "hello", "--session", &session]);
    assert!(!cli.status.success());
    assert!(stderr(&cli).contains(&format!("process {}", first.pid())), "{}", stderr(&cli));
    assert!(stderr(&cli).contains("--take-over"), "{}", stderr(&cli));

    let meta = json!({ "tiller": { "takeOver": true } });
    let load = json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [], "_meta": meta });
    second.ask("session/load", load).unwrap();
    assert_eq!(second.prompt(&session, "run echo 2 >> ran", &mut editor).unwrap(), "end_turn");
    // The process that lost the session runs nothing more and reports the reason.
    let error: Value = first.prompt(&session, "run echo 3 >> ran", &mut editor).unwrap_err();
    assert_eq!(error["data"]["reason"], "fenced", "{error}");
    assert_eq!(home.read("ran").unwrap(), "1\n2\n");

    let cli = home.run(&["-p", "run echo 4 >> ran", "--yolo", "--session", &session, "--take-over"]);
    assert!(cli.status.success(), "{}", stderr(&cli));
    assert_eq!(home.read("ran").unwrap(), "1\n2\n4\n");
    assert!(second.prompt(&session, "run echo 5 >> ran", &mut editor).is_err());
    // The run has ended and released the session: an ordinary load succeeds and continues from
    // there.
    let load = json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [] });
    first.updates.clear();
    first.ask("session/load", load).unwrap();
    let prompts =
        first.updates.iter().filter(|update| update["sessionUpdate"] == "user_message_chunk").count();
    assert_eq!(prompts, 3, "what was refused was never said");
    assert_eq!(first.prompt(&session, "run echo 6 >> ran", &mut editor).unwrap(), "end_turn");
    assert_eq!(home.read("ran").unwrap(), "1\n2\n4\n6\n");
}

#[test]
fn a_takeover_in_the_middle_of_a_turn_stops_it_before_its_next_command() {
    let home = Home::new();
    let mut editor = Editor::without_anything();
    let (mut first, session) = Agent::open(&home, &["--yolo"], &editor);
    // Waits between its two commands for a file that the test writes.
    let wait = "run sh -c 'echo 1 >> ran; until [ -e go ]; do sleep 0.01; done' then run echo 2 >> ran";
    let content = json!([{ "type": "text", "text": wait }]);
    let id = first.post("session/prompt", json!({ "sessionId": session, "prompt": content }));
    while home.read("ran").is_none() {
        std::thread::yield_now();
    }
    let mut second = Agent::start(&home, &["--yolo"]);
    second.initialize(json!({}));
    let meta = json!({ "tiller": { "takeOver": true } });
    let resume = json!({ "sessionId": session, "cwd": home.project(), "_meta": meta });
    second.ask("session/resume", resume).unwrap();
    home.write("go", "");
    let answer = loop {
        let message = first.receive().unwrap();
        if message["id"] == id {
            break message;
        }
        first.serve(&message, &mut editor);
    };
    assert_eq!(answer["error"]["data"]["reason"], "fenced", "{answer}");
    assert_eq!(home.read("ran").unwrap(), "1\n", "the second command never ran");
}
