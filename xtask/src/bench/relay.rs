//! A minimal agent for tests: it forwards prompts to the model server and text back. It lets the
//! bench's client and model server test each other over their real wire formats.

use super::editor::Editor;
use super::model_server::{Event, ModelServer};
use super::script::{PACED, Script, marker};
use crate::peers::client::Client;
use crate::peers::http::{Request, read_request};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::net::TcpStream;
use std::time::Duration;

/// Connects a client to a thread that relays to `server`.
fn connect(server: &ModelServer) -> Client<Editor> {
    let (from_client, to_agent) = pipe().unwrap();
    let (from_agent, to_client) = pipe().unwrap();
    let address = server.base_url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    std::thread::spawn(move || relay(BufReader::new(from_client), to_client, &address));
    Client::new(from_agent, to_agent, Editor::default())
}

fn relay(from: BufReader<PipeReader>, mut to: PipeWriter, address: &str) {
    for line in from.lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let prompt = message["params"]["prompt"].clone();
        let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
        let body =
            json!({ "model": "bench", "messages": [{ "role": "user", "content": prompt }] }).to_string();
        let length = body.len();
        write!(
            stream.get_mut(),
            "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        for event in stream.lines() {
            let event = event.unwrap();
            if event == "data: [DONE]" {
                break;
            }
            let Some(data) = event.strip_prefix("data: ") else { continue };
            let data: Value = serde_json::from_str(data).unwrap();
            let text = &data["choices"][0]["delta"]["content"];
            if text.is_string() {
                let content = json!({ "type": "text", "text": text });
                let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
                let params = json!({ "sessionId": "s", "update": update });
                writeln!(to, "{}", json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
                    .unwrap();
            }
        }
        let result = json!({ "stopReason": "end_turn" });
        writeln!(to, "{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).unwrap();
    }
}

#[test]
fn text_goes_from_the_model_server_to_the_client_in_order_and_timed() {
    let server = ModelServer::start().unwrap();
    let mut client = connect(&server);
    for script in [Script::One, Script::Paced] {
        let prompt = json!([{ "type": "text", "text": script.word() }]);
        let reply = client.request("session/prompt", &json!({ "sessionId": "s", "prompt": prompt })).unwrap();
        let Event::Answered { received, sent, done } = server.next(Duration::from_secs(10)).unwrap() else {
            panic!("{script:?} hangs");
        };
        let texts: String =
            reply.updates.iter().filter_map(|update| update.update["content"]["text"].as_str()).collect();
        let whole = if script == Script::One { "done".to_owned() } else { (0..PACED).map(marker).collect() };
        assert_eq!(texts, whole);
        // `done` may be recorded after the response arrived, if the server's thread is preempted in
        // between.
        assert!(reply.sent <= received && received <= sent[0] && sent[sent.len() - 1] <= done);
        assert!(reply.updates.iter().zip(&sent).all(|(update, sent)| *sent <= update.at));
    }
}

#[test]
fn the_model_server_understands_what_the_relay_sends() {
    let body =
        json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "bench:hang" }] }] })
            .to_string();
    let text = format!("POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let Request { body, .. } = read_request(&mut text.as_bytes()).unwrap().unwrap();
    assert_eq!(Script::asked_for(&serde_json::from_slice(&body).unwrap()), Some((Script::Hang, 0)));
}
