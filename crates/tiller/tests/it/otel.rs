//! Traces of a real server, received by a collector.

use crate::{
    home::Home,
    team::{Client, Server},
};
use rustix::process::Signal;
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

const TRACE: [u8; 16] = *b"\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c";
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Starts a collector; returns its URL, and the path and body of each request.
fn collector() -> (String, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut lines = Vec::new();
            while lines.last().is_none_or(|line: &String| line != "\r\n") {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap() == 0 {
                    break;
                }
                lines.push(line);
            }
            let length = lines
                .iter()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            let path = lines[0].split(' ').nth(1).unwrap().to_owned();
            if sender.send((path, body)).is_err() {
                return;
            }
        }
    });
    (url, received)
}

/// Runs a turn with a tool call in the client's trace; returns what the collector received.
fn traces(settings: &str) -> Vec<u8> {
    let (url, received) = collector();
    let home = Home::new();
    home.settings(&format!("serve.otel.endpoint = '{url}/'\n{settings}"));
    let mut server = Server::start(&home, &[]);
    let mut client = Client::connect(&home, None);
    let opened = client.request("session/new", json!({ "cwd": home.project(), "mcpServers": [] })).unwrap();
    let session = opened["sessionId"].as_str().unwrap();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "search for needle" }],
        "_meta": { "traceparent": TRACEPARENT } });
    client.request("session/prompt", prompt).unwrap();
    server.signal(Signal::TERM);
    server.wait();
    let mut all = Vec::new();
    while let Ok((path, body)) = received.recv_timeout(Duration::from_millis(500)) {
        assert_eq!(path, "/v1/traces");
        all.extend(body);
    }
    assert!(has(&all, session.as_bytes()));
    all
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_turn_is_part_of_its_clients_trace_and_shows_its_requests_and_calls() {
    let traces = traces("");
    for name in [
        "session/prompt",
        "invoke_agent tiller",
        "chat pilot",
        "execute_tool grep",
        "gen_ai.conversation.id",
        "gen_ai.provider.name",
        "gen_ai.usage.input_tokens",
        "service.name",
    ] {
        assert!(has(&traces, name.as_bytes()), "{name}");
    }
    // Each span has the trace id; spans of other traces have none.
    let spans = traces.windows(TRACE.len()).filter(|window| *window == TRACE).count();
    assert!(spans >= 5, "{spans} spans");
    assert!(!has(&traces, b"needle") && !has(&traces, b"gen_ai.input.messages"));
}

#[test]
fn contents_are_exported_only_where_the_settings_say_so() {
    let traces = traces("serve.otel.content = true\n");
    assert!(has(&traces, b"gen_ai.input.messages") && has(&traces, b"needle"));
    assert!(has(&traces, b"gen_ai.tool.call.arguments"));
}
