//! The legacy dialect in the real program, over pipes.

use crate::home::{Home, stderr, stdout};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

/// Returns the output for these lines on stdin, after which stdin is closed.
fn piped(command: &mut Command, lines: &[Value]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn messages(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
}

fn run(params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "agent/run", "params": params})
}

#[test]
fn two_requests_piped_in_stream_and_end_with_done() {
    let home = Home::new();
    let asked = run(json!({"prompt": "say hello", "workspaceRoot": home.project()}));
    let output = piped(&mut home.tiller(&["acp"]), &[initialize(), asked]);
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = messages(&output);
    assert_eq!(printed[0]["result"]["capabilities"], json!({"streaming": true, "fileEditing": true}));
    assert!(printed.iter().any(|message| message["method"] == "agent/stream"), "{printed:?}");
    assert_eq!(printed.last().unwrap(), &json!({"jsonrpc": "2.0", "id": 2, "result": {"done": true}}));
}

#[test]
fn files_changed_by_a_command_are_reported() {
    let home = Home::new();
    for (name, text) in
        [("kept.txt", "same\n"), ("gone.txt", "x\n"), ("sub/old.txt", "old\n"), (".gitignore", "built/\n")]
    {
        home.write(name, text);
    }
    let script = "echo new > sub/new.txt; echo more >> sub/old.txt; rm gone.txt; mkdir built; echo x > built/o; printf '\\377' > raw.bin";
    let asked = run(json!({"prompt": format!("run sh -c \"{script}\""), "workspaceRoot": "."}));
    let output = piped(&mut home.tiller(&["acp", "--yolo"]), &[initialize(), asked]);
    let printed = messages(&output);
    let edits: Vec<_> = printed
        .iter()
        .filter(|message| message["method"] == "workspace/applyEdit")
        .map(|message| {
            let change = &message["params"]["changes"][0];
            (change["uri"].as_str().unwrap().to_owned(), change["newText"].as_str().unwrap().to_owned())
        })
        .collect();
    let reported = |name: &str, text: &str| (format!("file://{}", home.file(name)), text.to_owned());
    assert_eq!(
        edits,
        [reported("sub/new.txt", "new\n"), reported("sub/old.txt", "old\nmore\n")],
        "{printed:?}"
    );
    assert_eq!(printed.last().unwrap()["result"], json!({"done": true}));
}

#[test]
fn a_closed_output_ends_a_silent_run_immediately() {
    let home = Home::new();
    let mut child = home
        .tiller(&["acp", "--yolo"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let asked = run(json!({"prompt": "run sh -c 'touch began; exec sleep 300'"}));
    writeln!(stdin, "{}\n{asked}", initialize()).unwrap();
    lines.next().unwrap().unwrap();
    drop(stdin);
    while home.read("began").is_none() {
        assert!(child.try_wait().unwrap().is_none(), "the end of the input does not end what runs");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert!(child.try_wait().unwrap().is_none(), "the end of the input does not end what runs");
    let begun = Instant::now();
    drop(lines);
    let status = child.wait().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(status.success(), "{status}");
}

#[test]
fn the_legacy_log_variable_enables_our_own_log() {
    let home = Home::new();
    let asked = run(json!({"prompt": "say hello"}));
    for (variable, shown) in [("CODEEP_DEBUG", true), ("OTHER", false)] {
        let mut command = home.tiller(&["acp"]);
        let output = piped(command.env(variable, "1"), &[initialize(), asked.clone()]);
        let log = stderr(&output);
        assert_eq!(log.contains("DEBUG acp::legacy") && log.contains("agent/run"), shown, "{log}");
        assert!(!log.contains("DEBUG agent_client_protocol"), "{log}");
        assert!(messages(&output).len() > 1, "stdout has frames only");
    }
}
