//! MCP servers, from an editor through the agent to the server and back.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
    model_server::ModelServer,
    sandbox::confines,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
    time::{Duration, Instant},
};

const SERVER: &str = include_str!("mcp_server.sh");
pub(crate) const CANARY: &str = "canary-5d1f0c77";

/// Creates a home with the server script, and a model that answers with these calls (one per
/// answer)
/// and then with this number of texts.
pub(crate) fn stage(calls: &[(&str, &str)], texts: usize) -> (Home, ModelServer) {
    let delta = |delta: Value, reason: Option<&str>| {
        let choice = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        format!("data: {choice}\n\n")
    };
    let call = |(at, (name, arguments)): (usize, &(&str, &str))| {
        let function = json!({ "name": name, "arguments": arguments });
        let call = json!({ "index": 0, "id": format!("c{at}"), "type": "function", "function": function });
        delta(json!({ "tool_calls": [call] }), None) + &delta(json!({}), Some("tool_calls"))
    };
    let mut answers: Vec<_> = calls.iter().enumerate().map(call).collect();
    answers.extend((0..texts).map(|_| delta(json!({ "content": "Done." }), Some("stop"))));
    let server = ModelServer::start(answers);
    let home = Home::new();
    home.settings(&format!(
        "[agent]\ndefault_model = 'openai/test'\n[providers.local]\ndiscover = false\n[providers.openai]\nwire = 'chat'\nbase_url = '{}'\n",
        server.url
    ));
    std::fs::write(home.path().join("server.sh"), SERVER).unwrap();
    (home, server)
}

/// Returns a server of the editor that runs a part of the script.
pub(crate) fn played(home: &Home, name: &str, part: &str, env: &[(&str, &str)]) -> Value {
    let env: Vec<_> = env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let script = home.path().join("server.sh");
    json!({ "name": name, "command": "/bin/sh", "args": [script, part], "env": env })
}

pub(crate) fn start(home: &Home) -> Agent {
    let mut agent = Agent::start_with(home, &[], &[("OPENAI_API_KEY", "key")]);
    let notices = json!({ "session": { "notices": {} } });
    let answer = agent.initialize(notices);
    assert_eq!(answer["agentCapabilities"]["mcpCapabilities"]["http"], true, "{answer}");
    agent
}

pub(crate) fn open(agent: &mut Agent, home: &Home, servers: Value) -> String {
    let params = json!({ "cwd": home.project(), "mcpServers": servers });
    agent.ask("session/new", params).unwrap()["sessionId"].as_str().unwrap().to_owned()
}

pub(crate) fn notices(agent: &Agent) -> String {
    let notices = agent.updates.iter().filter(|update| update["sessionUpdate"] == "notice");
    notices.map(|notice| format!("{}\n", notice["title"].as_str().unwrap())).collect()
}

/// Returns the names of the MCP tools in a request to the model.
pub(crate) fn tools((_, body): &(String, String)) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    let names = body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]);
    names.map(|name| name.as_str().unwrap().to_owned()).filter(|name| name.starts_with("mcp__")).collect()
}

/// Returns the last message to the model about added (`new_tools`) or removed (`removed_tools`)
/// tools.
pub(crate) fn news((_, body): &(String, String), tag: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let text = body["messages"].as_array().unwrap().iter().map(|message| message["content"].to_string());
    let text = text.collect::<String>();
    let Some(begin) = text.rfind(&open) else { return String::new() };
    text[begin..].split(&close).next().unwrap().to_owned()
}

/// Returns the last tool result in a request to the model.
pub(crate) fn last_result((_, body): &(String, String)) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let mut results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    results.next_back().unwrap()["content"].to_string()
}

#[test]
fn slow_crashing_or_garbage_servers_affect_nothing_else() {
    let (home, model) = stage(&[("mcp__good__echo", r#"{"text":"hi"}"#), ("mcp__good__die", "{}")], 1);
    let mut agent = start(&home);
    let servers = json!([
        played(&home, "slow", "slow", &[]),
        played(&home, "crash", "crash", &[("CANARY", CANARY), ("API_TOKEN", CANARY)]),
        played(&home, "garbage", "garbage", &[]),
        played(&home, "good", "ok", &[]),
        { "type": "sse", "name": "old", "url": "http://127.0.0.1:9/sse", "headers": [] },
    ]);
    let began = Instant::now();
    let session = open(&mut agent, &home, servers);
    assert!(began.elapsed() < Duration::from_millis(300), "session/new took {:?}", began.elapsed());
    let mut editor = Editor { answer: Some("allow_once"), ..Editor::default() };
    assert_eq!(agent.prompt(&session, "go", &mut editor).unwrap(), "end_turn");
    let requests: Vec<_> = model.requests.iter().take(3).collect();
    assert_eq!(tools(&requests[0]), ["mcp__good__echo", "mcp__good__look", "mcp__good__die"]);
    assert!(last_result(&requests[1]).contains("You said it."), "{}", last_result(&requests[1]));
    assert!(last_result(&requests[2]).contains("MCP server 'good'"), "{}", last_result(&requests[2]));
    assert_eq!(editor.verbs(), ["permission", "permission"], "each call of a server asks");
    assert_eq!(agent.statuses(), ["completed", "failed"]);
    let shown = agent.updates.iter().any(|update| {
        update["content"]
            .as_array()
            .is_some_and(|all| all.iter().any(|item| item["content"]["type"] == "image"))
    });
    assert!(shown, "an image stays an image");
    let reported = notices(&agent);
    for part in [
        "'slow' is still starting",
        "'crash' is not running",
        "'garbage'",
        "http://127.0.0.1:9/sse could not be used: the connection was refused",
    ] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    assert!(reported.contains("Stderr: boom [secret]") && !reported.contains(CANARY), "{reported}");
    let (status, took) = agent.hang_up();
    assert!(status.success() && took < Duration::from_secs(5), "{status} {took:?}");
}

#[test]
fn the_editors_servers_belong_to_one_session_and_are_not_stored() {
    let (home, model) = stage(&[("mcp__mine__look", "{}")], 2);
    let mut agent = start(&home);
    let marked = home.file("started");
    let env = [("CANARY", CANARY), ("API_TOKEN", CANARY), ("STARTED", marked.as_str())];
    let first = open(&mut agent, &home, json!([played(&home, "mine", "ok", &env)]));
    let second = open(&mut agent, &home, json!([]));
    let mut editor = Editor { answer: Some("allow_once"), ..Editor::default() };
    agent.prompt(&first, "go", &mut editor).unwrap();
    let requests: Vec<_> = model.requests.iter().take(2).collect();
    assert_eq!(tools(&requests[0]).len(), 3);
    let seen = last_result(&requests[1]);
    assert!(seen.contains(&format!(" {}", CANARY.len())), "the server has what it was given: {seen}");
    assert!(!seen.contains("OPENAI_API_KEY"), "and nothing of ours: {seen}");
    agent.prompt(&second, "go", &mut editor).unwrap();
    assert!(tools(&model.requests.recv().unwrap()).is_empty(), "the other session knows nothing of it");
    assert_eq!(home.read("started").as_deref(), Some("started\n"), "one session, one process");
    agent.hang_up();
    let mut checked = 0;
    let mut directories = vec![home.path()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            checked += 1;
            let bytes = std::fs::read(&path).unwrap();
            let held = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!held, "{} holds the secret", path.display());
        }
    }
    assert!(checked > 2);
}

/// Returns the program of a server of the project, where the sandbox shows it.
fn in_project(home: &Home) -> std::path::PathBuf {
    home.write("server.sh", SERVER);
    home.project().join("server.sh")
}

/// Writes the project's file with its server.
fn project_server(home: &Home, part: &str) {
    let script = in_project(home);
    let server =
        json!({ "command": "/bin/sh", "args": [script, part], "env": { "STARTED": home.file("started") } });
    home.write(".mcp.json", &json!({ "mcpServers": { "proj": server } }).to_string());
}

pub(crate) fn json_of(home: &Home, args: &[&str]) -> (bool, Value) {
    let output = home.run(args);
    let value = serde_json::from_str(&stdout(&output));
    (
        output.status.success(),
        value.unwrap_or_else(|error| panic!("{error}: {} {}", stdout(&output), stderr(&output))),
    )
}

#[test]
fn s04_a_projects_servers_start_only_as_trusted() {
    let (home, _model) = stage(&[], 0);
    project_server(&home, "ok");
    let (fine, list) = json_of(&home, &["mcp", "list", "--json"]);
    assert!(fine && list["servers"][0]["trusted"] == false, "{list}");
    let (fine, refused) = json_of(&home, &["mcp", "tools", "proj", "--json"]);
    assert!(!fine && refused["error"].as_str().unwrap().contains("is not trusted"), "{refused}");
    let (fine, refused) = json_of(&home, &["mcp", "call", "proj.look", "--json"]);
    assert!(!fine && refused["error"].as_str().unwrap().contains("--force"), "{refused}");
    assert_eq!(home.read("started"), None);
    let nothing = home.run(&["mcp", "add", "x"]);
    assert!(stderr(&nothing).contains("--url URL, or its command after `--`"), "{}", stderr(&nothing));
    let unasked = home.run(&["mcp", "trust"]);
    assert!(!unasked.status.success() && stderr(&unasked).contains("--yes"), "{}", stderr(&unasked));
    let printed = stdout(&home.run(&["mcp", "trust", "--yes"]));
    assert!(
        printed.contains("/bin/sh") && printed.contains("STARTED") && printed.contains("is trusted"),
        "{printed}"
    );
    let (fine, status) = json_of(&home, &["mcp", "status", "--json"]);
    assert!(fine && status["servers"][0]["tools"] == 3, "{status}");
    assert_eq!(home.read("started").as_deref(), Some("started\n"));
    // Another command under the same name.
    project_server(&home, "changed");
    let (fine, _) = json_of(&home, &["mcp", "tools", "proj", "--json"]);
    assert!(!fine);
    let (fine, doctor) = json_of(&home, &["mcp", "doctor", "--json"]);
    assert!(
        !fine && doctor["issues"][0].as_str().unwrap().contains("has changed since it was trusted"),
        "{doctor}"
    );
    assert_eq!(home.read("started").as_deref(), Some("started\n"), "it was not started again");
}

#[test]
fn a_projects_server_reaches_what_the_user_allows() {
    if !confines(&Home::new()) {
        return;
    }
    let (home, model) = stage(&[("mcp__proj__look", "{}")], 1);
    let listeners = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let [allowed, other] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
    for listener in listeners {
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                // Unread bytes would reset the connection, and the answer could be lost.
                let request = BufReader::new(client.try_clone().unwrap());
                request.lines().map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
                client.write_all(b"hello\n").unwrap();
            }
        });
    }
    let settings = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
    home.settings(&format!(
        "{settings}[permissions]\nallow = ['mcp__proj__look', 'network(local:{allowed})']\n"
    ));
    let places = format!("127.0.0.1/{allowed} 127.0.0.1/{other} a.invalid/80");
    let server =
        json!({ "command": "/bin/sh", "args": [in_project(&home), "ok"], "env": { "CONNECT": places } });
    home.write(".mcp.json", &json!({ "mcpServers": { "proj": server } }).to_string());
    let trusted = home.run(&["mcp", "trust", "--yes"]);
    assert!(trusted.status.success(), "{}", stderr(&trusted));
    let mut agent = start(&home);
    let session = open(&mut agent, &home, json!([]));
    let mut editor = Editor { answer: Some("reject_once"), ..Editor::default() };
    agent.prompt(&session, "go", &mut editor).unwrap();
    let requests: Vec<_> = model.requests.iter().take(2).collect();
    let said = last_result(&requests[1]);
    assert!(said.contains(&format!("reached:127.0.0.1/{allowed}")), "{said}");
    assert_eq!(said.matches("reached:").count(), 1, "{said}");
    assert_eq!(editor.verbs(), ["permission"], "the name is asked about");
    let titles: Vec<_> = agent.updates.iter().filter_map(|update| update["title"].as_str()).collect();
    assert!(titles.iter().any(|title| title.contains("a.invalid")), "{titles:?}");
}

#[test]
fn p13_granted_or_revoked_trust_applies_in_open_sessions() {
    let (home, model) = stage(&[], 3);
    project_server(&home, "ok");
    let mut agent = start(&home);
    let session = open(&mut agent, &home, json!([]));
    let mut reported = |tag: &str| {
        agent.prompt(&session, "go", &mut Editor::default()).unwrap();
        let request = model.requests.recv().unwrap();
        assert_eq!(tools(&request), [""; 0], "what is listed stays as it was");
        news(&request, tag).matches("mcp__proj__").count()
    };
    assert_eq!(reported("new_tools"), 0);
    assert!(home.run(&["mcp", "trust", "proj", "--yes"]).status.success());
    assert_eq!(reported("new_tools"), 3);
    assert!(home.run(&["trust", "--revoke=proj"]).status.success());
    assert_eq!(reported("removed_tools"), 3);
}

#[test]
fn p13_trust_in_one_server_covers_no_other_and_survives_additions() {
    let (home, _model) = stage(&[], 0);
    let script = in_project(&home);
    let server = |part: &str| json!({ "command": "/bin/sh", "args": [script, part] });
    let describe = |servers: Value| home.write(".mcp.json", &json!({ "mcpServers": servers }).to_string());
    let trusted = || {
        let (_, list) = json_of(&home, &["mcp", "list", "--json"]);
        let mut rows: Vec<_> = list["servers"].as_array().unwrap().clone();
        rows.sort_by_key(|row| row["name"].to_string());
        rows.iter()
            .map(|row| (row["name"].as_str().unwrap().to_owned(), row["trusted"] == true))
            .collect::<Vec<_>>()
    };
    let rows =
        |rows: &[(&str, bool)]| rows.iter().map(|(name, is)| ((*name).to_owned(), *is)).collect::<Vec<_>>();
    describe(json!({ "a": server("ok"), "b": server("ok") }));
    assert!(home.run(&["mcp", "trust", "a", "--yes"]).status.success());
    assert_eq!(trusted(), rows(&[("a", true), ("b", false)]));
    // A server that is added later, in this file and in another one, and one with the name of a
    // trusted
    // one.
    describe(json!({ "a": server("ok"), "b": server("ok"), "c": server("ok") }));
    home.write(".cursor/mcp.json", &json!({ "mcpServers": { "a": server("evil") } }).to_string());
    assert_eq!(json_of(&home, &["mcp", "status", "a", "--json"]).1["servers"][0]["tools"], 3);
    std::fs::remove_dir_all(home.project().join(".cursor")).unwrap();
    assert!(home.run(&["trust", "--yes"]).status.success());
    assert_eq!(trusted(), rows(&[("a", true), ("b", true), ("c", true)]));
    // A change of a server revokes the trust of that server only. A damaged or missing file affects
    // only its own servers.
    describe(json!({ "a": server("ok"), "b": server("evil"), "c": server("ok") }));
    assert_eq!(trusted(), rows(&[("a", true), ("b", false), ("c", true)]));
    std::fs::create_dir_all(home.project().join(".vscode/mcp.json")).unwrap();
    assert_eq!(trusted(), rows(&[("a", true), ("b", false), ("c", true)]));
    assert!(stdout(&home.run(&["trust", "--revoke=a"])).contains("not trusted any more"));
    assert_eq!(trusted(), rows(&[("a", false), ("b", false), ("c", true)]));
}

#[test]
fn s27_a_tool_with_a_changed_definition_is_omitted_until_approved() {
    let (home, model) = stage(&[], 3);
    let script = home.path().join("server.sh");
    let script = script.to_str().unwrap();
    let part = home.path().join("part");
    std::fs::write(&part, "ok").unwrap();
    let line = format!("exec /bin/sh {script} $(cat {})", part.display());
    assert!(home.run(&["mcp", "add", "mine", "--", "/bin/sh", "-c", &line]).status.success());
    let ask = || {
        let mut command = home.tiller(&["-p", "go"]);
        command.env("OPENAI_API_KEY", "key").output().unwrap()
    };
    assert!(ask().status.success());
    assert_eq!(tools(&model.requests.recv().unwrap()).len(), 3);
    std::fs::write(&part, "changed").unwrap();
    for expected in [2, 3] {
        assert!(ask().status.success());
        let reported = tools(&model.requests.recv().unwrap());
        assert_eq!(reported.len(), expected, "{reported:?}");
        assert!(home.run(&["mcp", "trust", "mine"]).status.success());
    }
}

#[test]
fn s26_a_referenced_secret_reaches_only_its_server() {
    let (home, _model) = stage(&[], 0);
    let mut set = home
        .tiller(&["mcp", "secret", "set", "mcp.mine.canary"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    Write::write_all(&mut set.stdin.take().unwrap(), format!("{CANARY}\n").as_bytes()).unwrap();
    assert!(set.wait_with_output().unwrap().status.success());
    let script = home.path().join("server.sh");
    let script = script.to_str().unwrap();
    for (name, part) in [("mine", "ok"), ("bad", "crash")] {
        let env = "CANARY=@secret:mcp.mine.canary";
        let added = home.run(&["mcp", "add", name, "--env", env, "--", "/bin/sh", script, part]);
        assert!(added.status.success(), "{}", stderr(&added));
    }
    let mut printed = String::new();
    for (args, fine) in [
        (&["mcp", "call", "mine.look"][..], true),
        (&["mcp", "call", "mcp__mine__look", "--json", "--arg", "text=x"], true),
        (&["mcp", "status"], false),
        (&["mcp", "tools", "bad", "--json"], false),
        (&["mcp", "list", "--json"], true),
        (&["mcp", "export"], true),
        (&["mcp", "secret", "list"], true),
        (&["mcp", "call", "mine.nothing"], false),
        (&["mcp", "remove", "none"], false),
        (&["mcp", "disable", "bad"], true),
        (&["mcp", "status"], true),
        (&["mcp", "remove", "bad"], true),
    ] {
        let output = home.tiller(args).env("TILLER_LOG", "trace").output().unwrap();
        assert_eq!(output.status.success(), fine, "{args:?}: {} {}", stdout(&output), stderr(&output));
        printed += &(stdout(&output) + &stderr(&output));
    }
    assert!(printed.contains(&CANARY.len().to_string()) && printed.contains("boom [secret]"), "{printed}");
    assert!(!printed.contains(CANARY), "{printed}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(home.path().join("home/.local/share/tiller/secrets.json")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}
