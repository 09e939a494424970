//! Headless runs: `tiller -p`.

use crate::{
    home::{Home, stderr, stdout},
    model_server::ModelServer,
};
use serde_json::Value;
use std::{io::Write, process::Stdio};

#[test]
fn the_same_run_in_three_formats() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let text = home.run(&["-p", "show a.txt"]);
    assert!(text.status.success(), "{}", stderr(&text));
    assert!(
        stdout(&text).contains("one") && stdout(&text).contains("not a language model"),
        "{}",
        stdout(&text)
    );

    let json: Value = serde_json::from_slice(&home.run(&["-p", "-o", "json", "show a.txt"]).stdout).unwrap();
    assert_eq!((&json["type"], &json["stop_reason"]), (&"result".into(), &"end_turn".into()));
    assert_eq!(json["tool_calls"][0]["name"], "file_read");
    assert_eq!(json["tool_calls"][0]["success"], true);
    assert_eq!(json["errors"].as_array().unwrap().len(), 0);

    let stream = stdout(&home.run(&["-p", "show a.txt", "-o", "stream-json"]));
    let lines: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for kind in ["user_message", "text_delta", "tool_call", "tool_result", "stream_end"] {
        assert!(lines.iter().any(|line| line["type"] == kind), "{kind}: {stream}");
    }
    assert_eq!(lines.last().unwrap()["type"], "result");
    assert!(lines.iter().all(|line| line["timestamp"].is_u64()));
}

#[test]
fn the_prompt_may_come_from_stdin() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let mut child = home.tiller(&["-p", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"show a.txt\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output).contains("one"), "{}", stdout(&output));
}

#[test]
fn calls_that_need_approval_are_denied_and_the_flag_is_named() {
    let home = Home::new();
    home.settings("[agent]\ndefault_model = 'offline/pilot'\n[sandbox]\nlevel = 'off'\n");
    let denied =
        home.run(&["-p", "run install -m 600 /dev/null made && test -f /etc/none.pem", "-o", "json"]);
    let json: Value = serde_json::from_slice(&denied.stdout).unwrap();
    assert_eq!(home.read("made"), None);
    assert_eq!(json["tool_calls"][0]["success"], false, "{json}");
    let error = json["errors"][0].as_str().unwrap();
    assert!(error.contains("--yolo") && error.contains("tools.default_permission_mode"), "{error}");
    assert!(stderr(&denied).contains("--yolo"));
    let reported = json["tool_calls"][0]["output"].as_str().unwrap();
    assert!(reported.contains("--yolo"), "the model is told the way out: {reported}");

    home.run(&["-p", "run install -m 600 /dev/null made && test -f /etc/none.pem", "--yolo"]);
    assert_eq!(home.read("made").as_deref(), Some(""));
}

#[test]
fn a_run_without_a_session_leaves_no_files() {
    let home = Home::new();
    assert!(home.run(&["-p", "help", "--no-session"]).status.success());
    assert_eq!(stdout(&home.run(&["sessions", "list"])), "");
    assert!(home.run(&["-p", "help"]).status.success());
    assert_eq!(stdout(&home.run(&["sessions", "list", "--jsonl"])).lines().count(), 1);
}

#[test]
fn a_failure_is_one_json_object_too() {
    let output = Home::new().run(&["-p", "x", "-m", "nobody/x", "-o", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["type"], &json["exit_code"]), (&"error".into(), &1.into()), "{json}");
}

#[test]
fn an_empty_answer_is_an_error() {
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let empty = format!("data: {end}\n\ndata: [DONE]\n\n");
    let server = ModelServer::start(vec![empty.clone(), empty]);
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'");
    let mut command = home.tiller(&["-p", "say something", "-m", "openai/test"]);
    let output = command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", &server.url).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("the model's answer was empty twice"), "{}", stderr(&output));
    assert_eq!(server.requests.iter().count(), 2, "it is asked once more");
}
