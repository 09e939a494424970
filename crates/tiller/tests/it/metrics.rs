//! The metrics of `tiller serve`, and what moves them.

use crate::{
    home::Home,
    team::{Client, Server, prompt},
};
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
};

/// Returns the metrics of a server on a Unix socket.
fn metrics(place: &str) -> String {
    let mut socket = UnixStream::connect(place.strip_prefix("unix:").unwrap()).unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    text
}

/// Returns the value of a metric; nothing if it is not there.
fn value(text: &str, name: &str) -> Option<f64> {
    let of = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(of)
}

#[test]
fn what_sessions_do_moves_the_metrics() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let server = Server::start(&home, &[]);
    let before = metrics(&server.place);
    for name in ["tiller_sessions_open", "tiller_turns_running", "tiller_outbox_bytes"] {
        assert_eq!(value(&before, name), Some(0.0), "{name}");
    }
    assert_eq!(value(&before, "tiller_turn_seconds_count"), None);
    let mut client = Client::connect(&home, None);
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = client.request("session/new", project).unwrap()["sessionId"].clone();
    client.request("session/prompt", prompt(session.as_str().unwrap(), "show a.txt")).unwrap();
    let after = metrics(&server.place);
    for (name, expected) in [
        ("tiller_sessions_open", 1.0),
        ("tiller_turns_running", 0.0),
        ("tiller_connections{transport=\"websocket\"}", 1.0),
        ("tiller_turn_seconds_count", 1.0),
        ("tiller_tool_seconds_count{tool=\"file_read\"}", 1.0),
        ("tiller_model_first_token_seconds_count{model=\"offline/pilot\"}", 2.0),
    ] {
        assert_eq!(value(&after, name), Some(expected), "{name}\n{after}");
    }
    // That of the client, and that of this request.
    assert!(value(&after, "tiller_sockets").is_some_and(|sockets| sockets >= 2.0), "{after}");
    assert!(value(&after, "tiller_append_seconds_count").is_some_and(|appends| appends >= 3.0), "{after}");
    assert!(!after.contains(session.as_str().unwrap()) && !after.contains("a.txt"), "{after}");
}

#[test]
fn a_takeover_moves_the_metrics_of_both_processes() {
    let home = Home::new();
    let first = Server::start(&home, &[]);
    let mut client = Client::connect(&home, None);
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = client.request("session/new", project.clone()).unwrap()["sessionId"].clone();
    client.request("session/prompt", prompt(session.as_str().unwrap(), "help")).unwrap();

    let place = format!("unix:{}", home.path().join("other/serve.sock").display());
    let second = Server::start(&home, &["--listen", &place]);
    let mut other = Client::connect(&home, Some((&second, "")));
    let mut load = project;
    load["sessionId"] = session.clone();
    assert_eq!(other.request("session/load", load.clone()).unwrap_err()["data"]["reason"], "held");
    load["_meta"] = json!({ "tiller": { "takeOver": true } });
    other.request("session/load", load).unwrap();
    assert_eq!(value(&metrics(&second.place), "tiller_takeovers_total"), Some(1.0));
    let fenced = client.request("session/prompt", prompt(session.as_str().unwrap(), "help")).unwrap_err();
    assert_eq!(fenced["data"]["reason"], "fenced", "{fenced}");
    assert_eq!(value(&metrics(&first.place), "tiller_leases_lost_total"), Some(1.0));
    assert_eq!(value(&metrics(&first.place), "tiller_takeovers_total"), None);
}
