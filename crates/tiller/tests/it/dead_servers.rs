//! MCP servers that are unreachable or are not MCP servers: the error is readable and says what to
//! do, and stderr has nothing else. Also servers with the older SSE transport.

use crate::{
    agent::Agent,
    home::{Home, stderr, stdout},
    scripts::{run_in_a_turn, turn},
    web::Web,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// Creates a home with these servers in the user's own file.
fn with(servers: Value) -> Home {
    let home = Home::new();
    home.settings(
        "providers.openai.wire = 'chat'\nagent.default_model = 'offline/pilot'\nproviders.local.discover = false\n\
         mcp.permissions_default = 'allow'\n",
    );
    let path = home.path().join("home/.config/tiller/mcp.json");
    std::fs::write(path, json!({ "mcpServers": servers }).to_string()).unwrap();
    home
}

/// Checks that the text has no internal names.
fn is_plain(text: &str) {
    for word in ["rmcp", "reqwest", "::", "Some(", "ErrorKind", "StreamableHttp", "JsonRpc", "Transport"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

fn answering(status: u16, kind: &'static str, body: &'static str) -> Web {
    Web::start(move |_, _| (status, vec![("content-type", kind.to_owned())], body.to_owned()))
}

#[test]
fn an_unreachable_server_is_reported_with_its_url_and_a_remedy() {
    let dead_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}/mcp", silent.local_addr().unwrap());
    let webs = [
        answering(404, "text/plain", "no"),
        answering(401, "text/plain", "no"),
        answering(403, "text/plain", "no"),
        answering(405, "text/plain", "no"),
        answering(500, "text/plain", "no"),
        answering(503, "application/json", "{}"),
        answering(200, "text/html; charset=utf-8", "<html></html>"),
        answering(200, "application/json", "{\"hello\":1}"),
        answering(307, "text/plain", ""),
    ];
    let says = [
        "it answered 404 Not Found: there is no MCP server at this address: correct its `url`",
        "It requires a sign-in: run `tiller mcp login s`",
        "it answered 403 Forbidden: access is denied: check its `headers`",
        "or, if it uses the older HTTP+SSE transport, describe it with `\"type\": \"sse\"`",
        "it answered 500 Internal Server Error: the server failed",
        "it answered 503 Service Unavailable",
        "it answered with a web page (text/html), not with MCP: correct its `url`",
        "its response is not an MCP message",
        "it redirects to another address, and redirects are not followed",
    ];
    let http = |url: &str| json!({ "type": "http", "url": url });
    let mut table: Vec<(Value, String, &str)> = webs
        .iter()
        .zip(says)
        .map(|(web, says)| (http(&web.url("/mcp?key=canary-1")), web.url("/mcp"), says))
        .collect();
    // A number in a URL is not an HTTP status.
    let refused = format!("http://127.0.0.1:{dead_port}/401");
    table.push((
        http(&refused),
        refused.clone(),
        "the connection was refused: nothing listens there. Start it, or correct its `url`.",
    ));
    table.push((
        json!({ "type": "sse", "url": refused }),
        refused.clone(),
        "the connection was refused: nothing listens there.",
    ));
    let nowhere = "http://no-such-host.invalid/mcp".to_owned();
    table.push((http(&nowhere), nowhere.clone(), "its host was not found."));
    table.push((
        json!({ "url": silent_url, "timeout": 0.2 }),
        silent_url.clone(),
        "timed out after 0.2s. Start it, correct its `url`",
    ));
    let plain = webs[0].url("/mcp").replace("http://", "https://");
    table.push((http(&plain), plain.clone(), "it does not use TLS there."));
    let stdio = |line: &str| json!({ "command": "sh", "args": ["-c", line] });
    table.push((
        stdio("echo 'no module' >&2; exit 3"),
        String::new(),
        "exited before responding. Stderr: no module",
    ));
    table.push((stdio("read line; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":1,\"message\":\"not today\"}}'; cat"), String::new(), "it refused to start a session: not today"));
    table.push((json!({ "command": "no-such-program-7" }), String::new(), "no-such-program-7"));
    for (server, address, says) in table {
        let home = with(json!({ "s": server }));
        let output = home.run(&["mcp", "status", "s"]);
        let printed = stdout(&output);
        assert!(
            printed.contains(says) && printed.contains(&address) && printed.contains("MCP server 's'"),
            "{says}: {printed}"
        );
        assert!(!output.status.success() && !printed.contains("canary"), "{printed}");
        is_plain(&printed);
        assert_eq!(stderr(&output), "", "{says}");
        let output = home.run(&["lua", "run", "-e", "app.mcp.s.anything{}"]);
        assert!(stderr(&output).contains(says), "{says}: {}", stderr(&output));
        is_plain(&stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn a_session_reports_an_unreachable_server_once_and_not_on_stderr() {
    let dead_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{dead_port}/mcp");
    let home = with(json!({ "dead": { "url": url } }));
    let output = home.run(&["-p", "say hello"]);
    assert!(output.status.success(), "{}", stderr(&output));
    is_plain(&stderr(&output));
    is_plain(&stdout(&output));
    let printed = run_in_a_turn(&home, "return app.mcp.dead.anything{}");
    assert!(
        printed.contains("MCP server 'dead': it is being restarted: ") && printed.contains(&url),
        "{printed}"
    );
    is_plain(&printed);
}

/// Starts a server with the older transport: an event stream, and messages by POST. The list
/// records
/// its requests.
fn by_events(endpoint: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let (seen, own) = (heard.clone(), origin.clone());
    std::thread::spawn(move || {
        let mut stream: Option<TcpStream> = None;
        while let Ok((mut socket, _)) = listener.accept() {
            let mut reader = BufReader::new(socket.try_clone().unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap_or(0) > 2 {}
            let length = head.lines().find_map(|line| {
                line.to_lowercase().strip_prefix("content-length:").map(|n| n.trim().to_owned())
            });
            let mut body = vec![0; length.and_then(|n| n.parse().ok()).unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            let body = String::from_utf8(body).unwrap();
            seen.lock().unwrap().push(format!("{head}{body}"));
            if head.starts_with("GET ") {
                let hello = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\nevent: endpoint\ndata: {}\n\n",
                    endpoint(&own)
                );
                socket.write_all(hello.as_bytes()).unwrap();
                stream = Some(socket);
                continue;
            }
            socket
                .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 8\r\nconnection: close\r\n\r\nAccepted")
                .unwrap();
            let message: Value = serde_json::from_str(&body).unwrap();
            let result = match message["method"].as_str() {
                Some("initialize") => {
                    json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} }, "serverInfo": { "name": "old", "version": "1" } })
                }
                Some("tools/list") => {
                    json!({ "tools": [{ "name": "old-tool", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } }] })
                }
                Some("tools/call") => json!({ "content": [{ "type": "text", "text": "by events" }] }),
                _ => continue,
            };
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            let event = format!("event: message\r\ndata: {answer}\r\n\r\n");
            // The reader of the stream may have disconnected.
            let _ = stream.as_mut().unwrap().write_all(event.as_bytes());
        }
    });
    (origin, heard)
}

#[test]
fn a_server_with_the_older_transport_is_reached_over_sse() {
    let (origin, heard) = by_events(|_| "/messages?session=1".to_owned());
    let headers = json!({ "X-Key": "canary-2" });
    let home = with(json!({ "old": { "type": "sse", "url": format!("{origin}/sse"), "headers": headers } }));
    let output = home.run(&["mcp", "call", "old.old_tool"]);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("by events\n", ""));
    let asked = std::mem::take(&mut *heard.lock().unwrap());
    assert!(
        asked[0].starts_with("GET /sse ") && asked[1].starts_with("POST /messages?session=1 "),
        "{asked:?}"
    );
    assert!(asked.iter().all(|request| request.to_lowercase().contains("x-key: canary-2")), "{asked:?}");
    // In a session, as a server of the editor; the capabilities announce that such servers are
    // supported.
    let mut agent = Agent::start(&home, &[]);
    let printed = agent.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).unwrap();
    assert_eq!(printed["agentCapabilities"]["mcpCapabilities"]["sse"], true, "{printed}");
    agent.hang_up();
    assert_eq!(run_in_a_turn(&home, "return app.mcp.old.old_tool{}"), "Return value: by events");
}

#[test]
fn messages_are_posted_to_the_streams_own_origin_only() {
    let other = Web::start(|_, _| (202, Vec::new(), String::new()));
    let elsewhere = other.url("/take");
    let (origin, _) = by_events(move |_| elsewhere.clone());
    let home = with(
        json!({ "old": { "type": "sse", "url": format!("{origin}/sse"), "headers": { "X-Key": "canary-3" } } }),
    );
    let output = home.run(&["mcp", "status", "old"]);
    assert!(stdout(&output).contains("its endpoint for messages has another origin"), "{}", stdout(&output));
    assert!(other.requests().is_empty());
}

#[test]
fn progress_of_a_call_reaches_the_editor_while_it_runs() {
    let server = r#"
        while read -r line; do
            id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
            token=$(printf %s "$line" | sed -n 's/.*"progressToken":\([0-9]*\).*/\1/p')
            reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
            case $line in
            *'"method":"initialize"'*) reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}' ;;
            *'"method":"tools/list"'*) reply '{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}' ;;
            *'"method":"tools/call"'*)
                printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":3,"total":4,"message":"nearly"}}\n' "$token"
                sleep 1
                reply '{"content":[{"type":"text","text":"worked"}]}' ;;
            esac
        done"#;
    let home = with(json!({ "s": { "command": "sh", "args": ["-c", server] } }));
    let output = home.run(&["mcp", "call", "s.work"]);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("worked\n", "3 of 4: nearly\n"));
    let (printed, updates) = turn(&home, "return app.mcp.s.work{}");
    assert_eq!(printed, "Return value: worked");
    let mut texts = updates.iter().filter_map(|update| update["content"][0]["content"]["text"].as_str());
    assert!(texts.any(|text| text == "3 of 4: nearly"), "{updates:#?}");
}
