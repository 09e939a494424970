//! The native layer and the legacy dialect of the real program, over real pipes.

use crate::{
    agent::Agent,
    home::{Home, stdout},
};
use serde_json::{Value, json};
use std::{
    io::Write,
    process::{Command, Stdio},
};

/// Runs a program to its end with these lines on stdin; returns the lines on stdout.
fn run(mut command: Command, lines: &[Value]) -> Vec<String> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    lines.iter().for_each(|line| writeln!(stdin, "{line}").unwrap());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    stdout(&output).lines().map(str::to_owned).collect()
}

/// Sends a request; returns its answer, and the methods and parameters of the events before it.
fn call(agent: &mut Agent, method: &str, params: Value) -> (Result<Value, Value>, Vec<(String, Value)>) {
    let id = agent.post(method, params);
    let mut events = Vec::new();
    loop {
        let message = agent.receive().expect("an answer, not the end");
        if message["id"] == id && message.get("method").is_none() {
            let answer = match message.get("error") {
                Some(error) => Err(error.clone()),
                None => Ok(message["result"].clone()),
            };
            return (answer, events);
        }
        let method = message["method"].as_str().unwrap().to_owned();
        if method.contains("kosmo") || method.starts_with('_') {
            events.push((method, message["params"].clone()));
        }
    }
}

#[test]
fn the_legacy_smoke_test_prints_the_expected_lines() {
    let home = Home::new();
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"capabilities":{{"streaming":true,"fileEditing":true}},"serverInfo":{{"name":"tiller","version":"{version}"}}}}}}"#
    );
    assert_eq!(run(home.tiller(&["acp"]), &[line]), [expected]);
}

#[test]
fn a_client_of_the_kosmokrator_wire_works_unchanged() {
    let home = Home::new();
    let mut agent = Agent::start_with(&home, &[], &[("OPENAI_API_KEY", "canary-of-a-secret-key")]);
    let (answer, _) = call(&mut agent, "initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(answer.unwrap()["kosmokratorCapabilities"]["toolLifecycle"], true);
    let (answer, _) = call(&mut agent, "session/new", json!({ "cwd": home.project() }));
    let session = answer.unwrap()["sessionId"].as_str().unwrap().to_owned();
    let (answer, events) =
        call(&mut agent, "session/prompt", json!({ "sessionId": session, "prompt": "help" }));
    assert_eq!(answer.unwrap()["stopReason"], "end_turn");
    let names: Vec<_> = events.iter().map(|(method, _)| method.as_str()).collect();
    assert_eq!(names.first(), Some(&"kosmokrator/session_update"));
    assert_eq!(names.last(), Some(&"kosmokrator/session_update"));
    let streamed: String = events
        .iter()
        .filter(|(method, _)| method == "kosmokrator/text_delta")
        .filter_map(|(_, params)| params["delta"].as_str())
        .collect();
    assert_eq!(events.last().unwrap().1["text"], streamed.as_str());
    assert!(events.iter().all(|(_, params)| params["runId"] == "run_1"));

    let set = json!({
        "sessionId": session, "scope": "global", "path": "kosmokrator.tools.default_permission_mode",
        "value": "argus",
    });
    let (answer, events) = call(&mut agent, "kosmokrator/settings/set", set.clone());
    let result = json!({ "path": set["path"], "scope": "global", "configured": true });
    assert_eq!(answer.unwrap(), result);
    assert_eq!((&events[0].1["operation"], &events[0].1["result"]), (&json!("setting_set"), &result));
    let file = home.path().join("home/.config/tiller/config.toml");
    assert!(std::fs::read_to_string(file).unwrap().contains("default_permission_mode = \"argus\""));
    let wrong = json!({ "sessionId": session, "path": "kosmokrator.no.such", "value": 1 });
    assert_eq!(call(&mut agent, "kosmokrator/settings/set", wrong).0.unwrap_err()["code"], -32602);

    let provider =
        json!({ "sessionId": session, "scope": "global", "provider": "openai", "model": "gpt-5.4-mini" });
    let (answer, _) = call(&mut agent, "kosmokrator/providers/configure", provider);
    let answer = answer.unwrap();
    assert_eq!((&answer["model"], &answer["hasApiKey"]), (&json!("openai/gpt-5.4-mini"), &json!(true)));
    let key = json!({ "sessionId": session, "scope": "global", "provider": "anthropic", "apiKey": "another-canary-key" });
    let (stored, events) = call(&mut agent, "kosmokrator/providers/configure", key);
    let stored = stored.unwrap();
    assert_eq!((&stored["hasApiKey"], &stored["source"]), (&json!(true), &json!("stored")));
    // The session's own notice of the changed setting arrives independently.
    let configured = events.iter().find(|(_, params)| params["operation"] == "provider_configured");
    let configured = configured.expect("the change is told").1.clone();

    let (report, _) = call(&mut agent, "_tiller/doctor", json!({}));
    let (export, _) =
        call(&mut agent, "_tiller/sessions/export", json!({ "sessionId": session, "format": "markdown" }));
    let export = export.unwrap();
    assert!(export["text"].as_str().unwrap().contains("## User"), "{export}");
    for message in [report.unwrap(), answer, stored, configured, export] {
        assert!(!message.to_string().contains("canary"), "{message}");
    }
    assert!(agent.hang_up().0.success());
}

#[test]
fn the_report_of_a_running_program_uses_the_current_settings() {
    let home = Home::new();
    home.settings("agent.mdoe = 'plan'\n");
    let mut agent = Agent::start_with(&home, &[], &[]);
    call(&mut agent, "initialize", json!({ "protocolVersion": 1 })).0.unwrap();
    let mut names_the_settings = || {
        let report = call(&mut agent, "_tiller/doctor", json!({})).0.unwrap();
        report["issues"].to_string().contains("config.toml:1")
    };
    assert!(names_the_settings());
    home.settings("agent.mode = 'plan'\n");
    assert!(!names_the_settings());
    home.settings("agent.mdoe = 'plan'\n");
    assert!(names_the_settings());
    assert!(agent.hang_up().0.success());
}
