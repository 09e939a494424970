//! Plays one session as each known client, and compares every update and every permission request,
//! one per line, with `tests/golden`.
//!
//! After an intended change of the output, regenerate the files with `TILLER_RENEW=1 cargo nextest
//! run -p acp golden`.

use crate::stage::stage;
use acp::{
    client_facts::{Client, KNOWN, Name, Terminal},
    testing::{Answer, ClientName, Editor, EditorScript, TerminalScript},
};
use agent::fake::Reply;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};
use system::fake::Script;

/// The command's output: colours, and a progress bar.
const PRINTED: &str = "\u{1b}[32mok\u{1b}[0m\r\n 50%\r100%\n";

#[tokio::test(start_paused = true)]
async fn each_known_clients_view_of_a_turn_matches_its_golden_file() {
    let mut wrong = Vec::new();
    for client in KNOWN {
        let shown = shown(client).await;
        if !is_kept(client, &shown) {
            wrong.push(client.title);
        }
    }
    assert!(wrong.is_empty(), "other messages than in tests/golden for {wrong:?}; see the top of this file");
}

/// Returns the lines for a session of two turns, the second of which is cancelled.
async fn shown(client: &Client) -> String {
    let capabilities: Value = serde_json::from_str(client.capabilities).unwrap();
    let flag = |path: &str| capabilities.pointer(path) == Some(&json!(true));
    let script = EditorScript::default()
        .offering(flag("/fs/readTextFile"), flag("/fs/writeTextFile"), flag("/terminal"))
        .named(client_name(client))
        .start_terminal(Arc::new(|_| TerminalScript::exits(PRINTED, 0)));
    // The terminals of a client without a name or without a known form are probed. This editor's do
    // not pass, so the user is asked again, about this machine.
    let is_known = !client.names.is_empty() && client.facts.terminal != Terminal::Unknown;
    let is_probed = flag("/terminal") && !is_known;
    let asked = if is_probed { 3 } else { 2 };
    let script = script.permissions((0..asked).map(|_| Answer::Select("allow_once")));
    let edit = json!({"path": "/w/a.txt", "old_string": "two", "new_string": "2"});
    let tasks = json!({"tasks": [{"subject": "Edit"}, {"subject": "Run"}]});
    let replies = [
        Reply::calls(&[("task_create", tasks), ("file_read", json!({"path": "a.txt", "offset": 2}))]),
        Reply::calls(&[("file_edit", edit)]),
        Reply::calls(&[("bash", json!({"command": "make"}))]),
        Reply::text("Done."),
        Reply::Hang(vec![agent::ModelEvent::Text("And".to_owned())]),
    ];
    let stage = stage(script, replies);
    stage.disk.on_command("make", |_| Script::exits(0).prints(PRINTED));
    let editor = &stage.editor;
    let mut introduction = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    if let ClientName::As(name, version) = client_name(client) {
        introduction["clientInfo"] = json!({"name": name, "version": version});
    }
    editor.ok("initialize", introduction).await;
    let new = editor.ok("session/new", json!({"cwd": "/w", "mcpServers": []})).await;
    let session = new["sessionId"].as_str().unwrap();
    editor.prompt(session, "Do it").await.unwrap();
    let again = editor.prompt(session, "Go on");
    let cancel = async {
        editor.until(|editor| editor.text().ends_with("And")).await;
        editor.notify("session/cancel", json!({"sessionId": session}));
    };
    let (ended, ()) = futures::join!(again, cancel);
    assert_eq!(ended.unwrap()["stopReason"], "cancelled");
    let lines = lines(editor, session);
    stage.editor.close().await.unwrap();
    lines
}

fn client_name(client: &Client) -> ClientName {
    match client.names {
        [Name::Is(name), ..] => ClientName::As(name, client.version),
        // A name that the row matches.
        [Name::Starts(start), ..] => ClientName::As(start, client.version),
        [] => ClientName::Not,
    }
}

/// Returns one line per update or permission request. Polls of a running command's output are
/// omitted.
fn lines(editor: &Editor, session: &str) -> String {
    let mut lines = String::new();
    for message in editor.log() {
        let (kind, mut shown) = match message["method"].as_str() {
            Some("session/update") => {
                let update = message["params"]["update"].clone();
                (update["sessionUpdate"].as_str().unwrap().to_owned(), update)
            }
            Some("session/request_permission") => ("?".to_owned(), message["params"].clone()),
            _ => continue,
        };
        let shown = shown.as_object_mut().unwrap();
        shown.retain(|key, _| key != "sessionUpdate" && key != "sessionId");
        match kind.as_str() {
            "available_commands_update" => shown.clear(),
            // Without counts from the model, this is an estimate based on the length of its input.
            "usage_update" if shown["used"] != 15 => shown["used"] = json!("ESTIMATE"),
            _ => {}
        }
        lines.push_str(&format!("{kind} {}\n", sorted(Value::Object(shown.clone()))));
    }
    let mut lines = lines.replace(session, "SESSION");
    // Task ids are random.
    while let Some(at) = lines.find("○ ").map(|at| at + "○ ".len()) {
        let id = lines[at..at + 8].to_owned();
        lines = lines.replace(&format!("○ {id}"), "TASK").replace(&id, "TASK");
    }
    lines
}

/// Sorts the members of objects by name.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> =
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Returns whether the output equals the client's file; regenerates the file first if the variable
/// is set.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "files of the test itself, and what is wrong with them"
)]
fn is_kept(client: &Client, shown: &str) -> bool {
    let letters = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name = client.title.split(" (").next().unwrap_or_default().chars().map(letters).collect::<String>();
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("TILLER_RENEW").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, shown).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    for (at, (kept, shown)) in kept.lines().zip(shown.lines()).enumerate().filter(|(_, (a, b))| a != b) {
        println!("{name}.txt:{}\n  kept:  {kept}\n  shown: {shown}", at + 1);
    }
    kept == shown
}
