//! Faults of MCP servers in the real binary, where a real process, a real network or the whole
//! program is needed. The others are tested in the `mcp` crate.

use crate::{
    editor::Editor,
    home::{stderr, stdout},
    mcp::{CANARY, json_of, last_result, notices, open, played, stage, start, tools},
    web::{Response, Web},
};
use serde_json::{Value, json};
use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

/// Answers one JSON-RPC message per request, as an MCP server over HTTP.
pub(crate) fn over_http(body: &str, tools: &Value) -> Response {
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "web", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": tools }),
        Some("tools/call") => json!({ "content": [{ "type": "text", "text": "called" }] }),
        _ => return (202, Vec::new(), String::new()),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    (200, vec![("content-type", "application/json".to_owned())], answer.to_string())
}

#[test]
fn f100_a_flood_on_a_servers_stderr_blocks_nothing() {
    let (home, model) = stage(&[("mcp__loud__echo", "{}")], 1);
    let mut agent = start(&home);
    let session = open(&mut agent, &home, json!([played(&home, "loud", "flood", &[])]));
    let mut editor = Editor { answer: Some("allow_once"), ..Editor::default() };
    assert_eq!(agent.prompt(&session, "go", &mut editor).unwrap(), "end_turn");
    let requests: Vec<_> = model.requests.iter().take(2).collect();
    assert!(last_result(&requests[1]).contains("You said it."), "{}", last_result(&requests[1]));
    // Only where `/proc` exists.
    let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", agent.pid())) else { return };
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 150 * 1024, "30 MB of standard error, and {peak} kB of memory");
}

#[test]
fn f107_a_redirect_to_another_origin_is_not_followed_and_gets_no_header() {
    let (home, _model) = stage(&[], 0);
    let other = Web::start(|request, _| over_http(&request.body, &json!([])));
    let elsewhere = other.url("/mcp");
    let redirecting = Web::start(move |_, _| (307, vec![("location", elsewhere.clone())], String::new()));
    let url = redirecting.url("/mcp");
    let header = format!("Authorization=Bearer {CANARY}");
    let added = home.run(&["mcp", "add", "web", "--url", &url, "--header", &header]);
    assert!(added.status.success(), "{}", stderr(&added));
    let (fine, printed) = json_of(&home, &["mcp", "tools", "web", "--json"]);
    assert!(!fine && !printed.to_string().contains(CANARY), "{printed}");
    let asked = redirecting.requests();
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("POST", "/mcp"));
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert!(other.requests().is_empty(), "{:?}", other.requests());
}

#[test]
fn four_servers_at_once_slow_crashing_garbage_and_good() {
    let (home, model) = stage(&[("mcp__good__look", "{}")], 1);
    let mut agent = start(&home);
    let servers = ["slow", "crash", "garbage", "ok"].map(|part| played(&home, part, part, &[]));
    let mut servers = json!(servers);
    servers[3]["name"] = json!("good");
    let began = Instant::now();
    let session = open(&mut agent, &home, servers);
    let took = began.elapsed();
    assert!(took < Duration::from_millis(300), "session/new took {took:?}");
    let mut editor = Editor { answer: Some("allow_once"), ..Editor::default() };
    let began = Instant::now();
    assert_eq!(agent.prompt(&session, "go", &mut editor).unwrap(), "end_turn");
    // A turn waits for starting servers once, for 3 s at the most.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let requests: Vec<_> = model.requests.iter().take(2).collect();
    assert_eq!(tools(&requests[0]), ["mcp__good__echo", "mcp__good__look", "mcp__good__die"]);
    assert_eq!(agent.statuses(), ["completed"]);
    let reported = notices(&agent);
    for (server, part) in [
        ("slow", "is still starting"),
        ("crash", "exited before responding"),
        ("garbage", "that are not messages"),
    ] {
        let line =
            reported.lines().find(|line| line.contains(&format!("'{server}' is")) && line.contains(part));
        assert!(line.is_some(), "{server}: {reported}");
    }
}

#[test]
fn s28_a_server_of_the_editor_is_shown_in_full_without_secret_values() {
    let (home, _model) = stage(&[], 1);
    let mut agent = start(&home);
    let server = played(&home, "mine", "ok", &[("API_TOKEN", CANARY), ("PLAIN", "value-of-it")]);
    let session = open(&mut agent, &home, json!([server]));
    agent.prompt(&session, "go", &mut Editor::default()).unwrap();
    let reported = notices(&agent);
    let line = reported.lines().find(|line| line.contains("'mine' of the editor")).unwrap();
    for part in ["/bin/sh", "server.sh ok", "API_TOKEN", "PLAIN"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!reported.contains(CANARY) && !reported.contains("value-of-it"), "{reported}");
}

#[test]
fn s01_an_untrusted_project_with_variables_and_servers_starts_nothing() {
    let (home, _model) = stage(&[], 1);
    let marked = home.file("pwned");
    let touch = json!({ "command": "touch", "args": [marked] });
    for file in [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"] {
        home.write(file, &json!({ "mcpServers": { "x": touch }, "servers": { "x": touch } }).to_string());
    }
    home.write(".env", "TILLER_HOME=./.tiller-home\nTILLER_MCP_ALLOWED_ENV=HOME\n");
    home.write(".envrc", &format!("touch {marked}\n"));
    let mut agent = start(&home);
    let session = open(&mut agent, &home, json!([]));
    agent.prompt(&session, "go", &mut Editor::default()).unwrap();
    for args in [&["mcp", "list"][..], &["mcp", "status"], &["mcp", "doctor"], &["mcp", "tools"]] {
        home.run(args);
    }
    let reported = notices(&agent);
    assert!(reported.contains("MCP servers of the project are not started (x)"), "{reported}");
    assert_eq!(home.read("pwned"), None);
    assert!(!Path::new(&home.file(".tiller-home")).exists());
}

#[test]
fn s26_a_secret_echoed_by_a_server_is_redacted() {
    let (home, model) = stage(&[("mcp__mine__echo", "{}")], 1);
    let set = |key: &str| {
        let mut set = home.tiller(&["mcp", "secret", "set", key]).stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut set.stdin.take().unwrap(), CANARY.as_bytes()).unwrap();
        assert!(set.wait().unwrap().success());
    };
    set("mcp.mine.canary");
    let script = home.path().join("server.sh");
    let script = script.to_str().unwrap();
    let env = "CANARY=@secret:mcp.mine.canary";
    assert!(
        home.run(&["mcp", "add", "mine", "--env", env, "--", "/bin/sh", script, "leak"]).status.success()
    );
    let mut printed = String::new();
    let mut run = |args: &[&str]| {
        let mut command = home.tiller(args);
        let output = command.env("OPENAI_API_KEY", "key").env("TILLER_LOG", "trace").output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        printed += &stdout(&output);
        printed += &stderr(&output);
        stdout(&output)
    };
    run(&["-p", "go", "--yolo", "-o", "stream-json"]);
    run(&["mcp", "call", "mine.echo", "--json"]);
    let listed = run(&["sessions", "list", "--jsonl"]);
    let listed: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let id = listed["session_id"].as_str().unwrap();
    run(&["sessions", "show", id, "--json"]);
    run(&["sessions", "export", id]);
    run(&["sessions", "export", id, "--format", "markdown"]);
    assert!(printed.contains("The secret is [secret]"), "it did come by: {printed}");
    assert!(!printed.contains(CANARY), "{printed}");
    let requests: Vec<_> = model.requests.iter().take(2).collect();
    assert!(!requests.iter().any(|(_, body)| body.contains(CANARY)), "the model is not told either");
    let mut directories = vec![home.path()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.file_name().unwrap() != "secrets.json" {
                let bytes = std::fs::read(&path).unwrap();
                let held = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
                assert!(!held, "{} holds the secret", path.display());
            }
        }
    }
}
