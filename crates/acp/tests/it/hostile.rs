//! Tests with clients that violate the protocol, one call at a time: the turn settles, nothing runs
//! twice, nothing is left open.
//!
//! The scripted editor itself objects to terminals that are not released exactly once, updates
//! after the response to the prompt, calls that were not advertised, and relative paths; the tests
//! do not repeat these checks.

use crate::stage::{Stage, stage};
use acp::testing::{Editor, EditorScript, Fault, TerminalScript};
use agent::fake::Reply;
use serde_json::{Value, json};
use std::time::Duration;
use system::fake::Script;

/// The commands of the turn. Each must run at most once, on either machine.
const LINES: [&str; 2] = ["one", "two"];

/// Faults in which a call gets no response, or an error.
fn refusals() -> Vec<Fault> {
    vec![
        Fault::Silence,
        Fault::Error(-32601, "Method not found"),
        Fault::Error(-32603, "no"),
        Fault::Error(-32002, "Resource not found"),
        Fault::Error(-32602, "Invalid params"),
        Fault::Done(-32603, "it was done all the same"),
    ]
}

/// Faults in which a call gets a malformed, late or duplicate response.
fn malformed_responses() -> Vec<Fault> {
    vec![
        Fault::Result(json!({})),
        Fault::Result(Value::Null),
        Fault::Result(json!("text")),
        Fault::Result(
            json!({"output": 1, "content": [], "terminalId": null, "exitCode": "x", "outcome": "?"}),
        ),
        Fault::Late(Duration::from_secs(45)),
        Fault::Twice,
    ]
}

/// A read, an edit, a write and two commands. One terminal's output buffer shifts and shrinks; the
/// other's exit status is empty.
fn turn() -> Vec<Reply> {
    let call = |name, arguments| Reply::calls(&[(name, arguments)]);
    vec![
        call("file_read", json!({"path": "a.txt"})),
        call("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"})),
        call("file_write", json!({"path": "new.txt", "content": "text\n"})),
        call("bash", json!({"command": LINES[0]})),
        call("bash", json!({"command": LINES[1]})),
        Reply::text("done"),
    ]
}

fn editor(reuses_ids: bool) -> EditorScript {
    let ring = [("abcdef", false), ("defghi", true), ("hi", true), ("", true), ("xyz", true)];
    let shifting = TerminalScript {
        polls: ring.map(|(text, truncated)| (text.to_owned(), truncated)).to_vec(),
        exit: Some(json!({"exitCode": 0})),
        ignores_kill: false,
    };
    let silent = TerminalScript {
        polls: Vec::new(),
        exit: Some(json!({"exitCode": null, "signal": null})),
        ignores_kill: true,
    };
    EditorScript::full()
        .allowing()
        .reuses_ids(reuses_ids)
        .command(LINES[0], shifting)
        .command(LINES[1], silent)
}

/// Returns how often a command ran, in the editor and locally.
fn runs(stage: &Stage, line: &str) -> usize {
    let here = stage.disk.calls().iter().filter(|c| c.operation == "spawn" && c.subject == line).count();
    stage.editor.ran().iter().filter(|ran| *ran == line).count() + here
}

/// Returns the number of the agent's requests to the editor.
fn asked(editor: &Editor) -> usize {
    let methods = editor.methods();
    let asks = |method: &&String| {
        ["fs/", "terminal/"].iter().any(|family| method.starts_with(family))
            || *method == "session/request_permission"
    };
    methods.iter().filter(asks).count()
}

/// Plays the turn with a fault at one call; returns whether that call was reached.
async fn play(number: usize, fault: Fault, reuses_ids: bool) -> bool {
    let name = format!("{fault:?} at call {number}");
    let stage = stage(editor(reuses_ids).fault_at(number, fault), turn());
    for line in LINES {
        stage.disk.on_command(line, |_| Script::exits(0).prints("here"));
    }
    let session = stage.editor.session("/w").await;
    let answer = tokio::time::timeout(Duration::from_secs(7_200), stage.editor.prompt(&session, "go"));
    let answer = answer.await.unwrap_or_else(|_| panic!("{name}: the prompt never settled"));
    let reason = answer.unwrap_or_else(|error| panic!("{name}: {error}"))["stopReason"].clone();
    assert!(reason == "end_turn" || reason == "cancelled", "{name}: {reason}");
    for line in LINES {
        assert!(runs(&stage, line) <= 1, "{name}: {line} ran {} times", runs(&stage, line));
    }
    let unsettled = |editor: &Editor| {
        let updates = editor.updates("tool_call_update");
        let last =
            |id: &Value| updates.iter().rev().find(|u| u["toolCallId"] == *id && u["status"].is_string());
        let calls = editor.updates("tool_call");
        let open = |call: &Value| {
            !matches!(
                last(&call["toolCallId"]).and_then(|u| u["status"].as_str()),
                Some("completed" | "failed")
            )
        };
        calls.into_iter().filter(open).collect::<Vec<_>>()
    };
    let open = unsettled(&stage.editor);
    assert!(open.is_empty(), "{name}: calls left open: {open:?}");
    // A terminal that the client creates too late is released when its response arrives.
    stage.editor.until(|editor| editor.open_terminals() == 0).await;
    let reached = asked(&stage.editor) >= number;
    if !reached {
        let ends: Vec<_> = stage
            .editor
            .updates("tool_call_update")
            .iter()
            .filter_map(|u| u["status"].as_str().map(str::to_owned))
            .collect();
        let failed = ends.iter().filter(|status| *status == "failed").count();
        assert_eq!(failed, 1, "{name}: only the command whose end nobody knows fails: {ends:?}");
        assert_eq!(LINES.map(|line| runs(&stage, line)), [1, 1], "{name}");
    }
    stage.editor.close().await.expect("the connection ends in order");
    reached
}

/// Plays the turn with each fault at every call.
async fn at_every_call(faults: Vec<Fault>) {
    for fault in faults {
        let mut number = 1;
        while play(number, fault.clone(), number.is_multiple_of(2)).await {
            number += 1;
        }
        assert!(number > 12, "{fault:?}: only {number} calls were made");
        println!("faults: {fault:?}: {} operations", number - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_at_every_call_fails_at_most_one_call() {
    at_every_call(refusals()).await;
}

#[tokio::test(start_paused = true)]
async fn every_malformed_response_at_every_call_fails_at_most_one_call() {
    at_every_call(malformed_responses()).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_delays_each_call_by_its_timeout() {
    for method in [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
    ] {
        let stage = stage(editor(false).fault(method, Fault::Silence), turn());
        for line in LINES {
            stage.disk.on_command(line, |_| Script::exits(0).prints("here"));
        }
        let session = stage.editor.session("/w").await;
        assert_eq!(stage.editor.prompt(&session, "go").await.unwrap()["stopReason"], "end_turn", "{method}");
        for line in LINES {
            assert!(runs(&stage, line) <= 1, "{method}");
        }
        stage.editor.close().await.unwrap();
    }
}

/// Plays the turn with one call never answered, and cancels it; returns whether that call was
/// reached.
async fn cancel_at(number: usize) -> bool {
    let stage = stage(editor(number.is_multiple_of(2)).fault_at(number, Fault::Silence), turn());
    for line in LINES {
        stage.disk.on_command(line, |_| Script::exits(0).prints("here"));
    }
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    let answer = tokio::spawn(stage.editor.start("session/prompt", prompt).1);
    stage.editor.until(|editor| answer.is_finished() || asked(editor) >= number).await;
    let reached = asked(&stage.editor) >= number;
    let begun = tokio::time::Instant::now();
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    let reason = answer.await.unwrap().unwrap()["stopReason"].clone();
    assert!(begun.elapsed() < Duration::from_secs(10), "call {number}: {:?}", begun.elapsed());
    // Nothing waits for the last release, so the turn may have ended by then.
    let released = stage.editor.calls("terminal/release").len() == LINES.len();
    assert!(reason == "cancelled" || (reason == "end_turn" && released), "call {number}: {reason}");
    if stage.model.requests().len() < turn().len() {
        // Run the remaining replies of the model.
        assert_eq!(stage.editor.prompt(&session, "again").await.unwrap()["stopReason"], "end_turn");
    }
    for line in LINES {
        assert!(runs(&stage, line) <= 1, "call {number}: {line} ran {} times", runs(&stage, line));
    }
    stage.editor.until(|editor| editor.open_terminals() == 0).await;
    stage.editor.close().await.expect("the connection ends in order");
    reached
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_any_call_is_unanswered_ends_the_turn_and_the_next_prompt_works() {
    let mut number = 1;
    while cancel_at(number).await {
        number += 1;
    }
    assert!(number > 12, "only {number} calls were made");
    println!("faults: unanswered and cancelled: {} operations", number - 1);
}
