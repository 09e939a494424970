//! Invalid input on the wire: its errors, and the survival of the connection.

use crate::{agent::Agent, editor::Editor, home::Home};
use serde_json::{Value, json};
use std::net::TcpListener;

#[test]
fn initialize_answers_with_one_line_and_touches_no_provider() {
    let home = Home::empty();
    let vendor = TcpListener::bind("127.0.0.1:0").unwrap();
    vendor.set_nonblocking(true).unwrap();
    let url = format!("http://{}", vendor.local_addr().unwrap());
    let variables = [
        ("OPENAI_API_KEY", "key"),
        ("OPENAI_BASE_URL", url.as_str()),
        ("ANTHROPIC_API_KEY", "key"),
        ("ANTHROPIC_BASE_URL", url.as_str()),
    ];
    let mut agent = Agent::start_with(&home, &[], &variables);
    let answer =
        agent.initialize(json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true }));
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(answer["agentInfo"]["name"], "tiller");
    assert_eq!(answer["agentInfo"]["version"], env!("CARGO_PKG_VERSION"));
    let methods = answer["authMethods"].as_array().unwrap();
    // Registries look for the type of the default method too.
    let kinds: Vec<_> = methods.iter().map(|method| &method["type"]).collect();
    assert!(
        !kinds.is_empty() && kinds.iter().all(|kind| *kind == "agent" || *kind == "terminal"),
        "{kinds:?}"
    );
    let (status, _) = agent.hang_up();
    assert!(status.success());
    assert_eq!(agent.receive(), None, "one line, and no other");
    assert_eq!(
        vendor.accept().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock,
        "a provider was contacted"
    );
}

/// Sends bytes and checks the error's code and message; then sends a request that works.
fn check(agent: &mut Agent, home: &Home, bytes: &[u8], code: i64, says: &str) {
    agent.raw(bytes);
    let message = agent.receive().unwrap();
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
    assert_eq!(message["error"]["code"], code, "{shown}: {message}");
    let text = message["error"].to_string();
    assert!(text.contains(says), "{shown}: {text}");
    alive(agent, home);
}

fn alive(agent: &mut Agent, home: &Home) {
    let sessions = agent.ask("session/list", json!({ "cwd": home.project() })).unwrap();
    assert!(sessions["sessions"].is_array(), "{sessions}");
}

#[test]
fn bad_lines_get_errors_and_the_connection_lives() {
    let home = Home::new();
    let mut agent = Agent::start(&home, &[]);
    agent.initialize(json!({}));
    let request = |method: &str, params: Value| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": "mine", "method": method, "params": params }))
            .into_bytes()
    };
    check(&mut agent, &home, b"hello\n", -32700, "JSON");
    check(&mut agent, &home, b"{\"jsonrpc\":\"2.0\",\n", -32700, "JSON");
    check(&mut agent, &home, b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]\n", -32600, "batch");
    check(&mut agent, &home, &request("no/such", json!({})), -32601, "no/such");
    check(
        &mut agent,
        &home,
        &request("session/new", json!({ "cwd": "here", "mcpServers": [] })),
        -32602,
        "absolute",
    );
    let unknown = json!({ "sessionId": "nope", "prompt": [{ "type": "text", "text": "x" }] });
    check(&mut agent, &home, &request("session/prompt", unknown), -32002, "nope");
    let load = json!({ "sessionId": "nope", "cwd": home.project(), "mcpServers": [] });
    check(&mut agent, &home, &request("session/load", load), -32002, "nope");
    let mut lossy = request("no/such/\u{fffd}", json!({}));
    let at = lossy.windows(3).position(|bytes| bytes == "\u{fffd}".as_bytes()).unwrap();
    lossy.splice(at..at + 3, [0xff, 0xfe]);
    check(&mut agent, &home, &lossy, -32601, "no/such");
}

#[test]
fn a_line_of_64_mib_is_refused_and_the_connection_lives() {
    let home = Home::new();
    let mut agent = Agent::start(&home, &[]);
    agent.initialize(json!({}));
    let mut line = vec![b'x'; 64 * 1024 * 1024 + 1];
    line.push(b'\n');
    check(&mut agent, &home, &line, -32600, "67108864");
}

#[test]
fn a_session_on_the_pilot_says_so() {
    let home = Home::new();
    let mut editor = Editor::without_anything();
    let (mut agent, session) = Agent::open(&home, &[], &editor);
    assert_eq!(agent.prompt(&session, "help", &mut editor).unwrap(), "end_turn");
    assert!(agent.printed().contains("not a language model"), "{}", agent.printed());
}

#[test]
fn no_invalid_value_causes_an_internal_error() {
    let home = Home::new();
    let (mut agent, session) = Agent::open(&home, &["--events", "off"], &Editor::without_anything());
    let project = home.project();
    let values = [
        json!(7),
        json!(""),
        json!("\""),
        json!("AND OR NOT ( * ^"),
        json!("\u{202e}\u{0}"),
        json!("../../etc/passwd"),
        json!("x".repeat(5000)),
        json!([null]),
        json!({}),
    ];
    let methods: [(&str, &[&str]); 21] = [
        ("session/load", &["sessionId", "mcpServers", "additionalDirectories"]),
        ("session/resume", &["sessionId", "mcpServers"]),
        ("session/fork", &["sessionId", "mcpServers"]),
        ("session/new", &["mcpServers", "additionalDirectories"]),
        ("session/list", &["cursor", "archived"]),
        ("session/close", &["sessionId"]),
        ("session/delete", &["sessionId"]),
        ("session/archive", &["sessionId"]),
        ("session/set_title", &["sessionId", "title"]),
        ("session/set_model", &["modelId"]),
        ("session/set_config_option", &["configId", "value"]),
        ("_tiller/runtime/set", &["model", "provider", "mode"]),
        ("_tiller/sessions/search", &["query"]),
        ("_tiller/sessions/export", &["sessionId", "format"]),
        ("_tiller/sessions/checkpoints", &["sessionId"]),
        ("_tiller/settings/set", &["path", "value"]),
        ("_tiller/providers/configure", &["provider", "model", "baseUrl"]),
        ("_tiller/mcp/schema", &["function"]),
        ("_tiller/integrations/describe", &["function"]),
        ("_tiller/lua/execute", &["path", "runtime"]),
        ("_tiller/trust/take", &["ids"]),
    ];
    for (method, keys) in methods {
        for wrong in keys {
            for value in &values {
                let mut params = json!({ "cwd": project, "configId": "model", "value": "offline/pilot" });
                params["path"] = json!("tiller.agent.mode");
                params["provider"] = json!("openai");
                for (key, good) in
                    [("sessionId", json!(session)), ("title", json!("t")), ("format", json!("json"))]
                {
                    params[key] = good;
                }
                if method == "_tiller/runtime/set" {
                    params["provider"] = json!("offline");
                }
                params[*wrong] = value.clone();
                if let Err(error) = agent.ask(method, params) {
                    let code = error["code"].as_i64().unwrap();
                    assert!(
                        (-32602..=-32600).contains(&code) || code == -32002 || code == -32000,
                        "{method} {wrong} {value}: {error}"
                    );
                }
            }
        }
    }
    alive(&mut agent, &home);
}
