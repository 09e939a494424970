//! A model server whose answers a test writes piece by piece, so that it decides what has been
//! streamed at each moment.

use crate::{home::Home, model_server::read_request};
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

/// How long a test waits for a request. Each is far quicker; this only ends a hang.
const PATIENCE: Duration = Duration::from_secs(30);

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// The server.
pub(crate) struct Model {
    /// Its address: host and port.
    pub(crate) address: String,
    requests: Receiver<Answer>,
}

/// A request to the model, and its answer so far. Dropping it ends the stream.
pub(crate) struct Answer {
    /// The body of the request.
    pub(crate) request: Value,
    stream: TcpStream,
}

impl Model {
    /// Starts a server with the models `large`, which takes images, and `blind`, which does not.
    pub(crate) fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    /// Starts a server like [`Model::start`] at an address.
    pub(crate) fn at(address: &str) -> Self {
        Self::on(TcpListener::bind(address).unwrap())
    }

    /// Starts a server like [`Model::start`] on a port.
    pub(crate) fn on(listener: TcpListener) -> Self {
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let Ok((first, body)) = read_request(&stream) else { continue };
                if !first.contains("/chat/completions") {
                    // The client may have gone.
                    let _ = stream.write_all(&listed(first.split(' ').nth(1).unwrap_or_default()));
                    continue;
                }
                let request = serde_json::from_slice(&body).unwrap_or_default();
                if stream.write_all(HEAD).is_ok() && sender.send(Answer { request, stream }).is_err() {
                    return;
                }
            }
        });
        Self { address, requests }
    }

    /// Makes the server's model the default one of a home.
    pub(crate) fn settings(&self) -> String {
        format!(
            "agent.default_model = 'fake/large'\n[providers]\nlocal.discover = false\n\
             custom.fake.base_url = 'http://{}/v1'\n",
            self.address
        )
    }

    /// Returns a home whose default model is this server's.
    pub(crate) fn home(&self) -> Home {
        let home = Home::new();
        home.settings(&self.settings());
        home
    }

    /// Waits for the next request to the model.
    pub(crate) fn next(&self) -> Answer {
        self.requests.recv_timeout(PATIENCE).expect("the model was not asked")
    }

    /// Whether no request has come that was not taken.
    pub(crate) fn is_idle(&self) -> bool {
        self.requests.try_recv().is_err()
    }
}

impl Answer {
    /// Streams a piece of text.
    pub(crate) fn text(&mut self, text: &str) {
        self.event(&json!({ "content": text }), None);
    }

    /// Calls a tool, and ends the answer.
    pub(crate) fn call(mut self, tool: &str, arguments: &Value) {
        let function = json!({ "name": tool, "arguments": arguments.to_string() });
        self.event(&json!({ "tool_calls": [{ "index": 0, "id": "call-1", "function": function }] }), None);
        self.event(&json!({}), Some("tool_calls"));
    }

    /// Ends the answer.
    pub(crate) fn end(mut self) {
        self.event(&json!({}), Some("stop"));
    }

    /// Answers with a text.
    pub(crate) fn say(mut self, text: &str) {
        self.text(text);
        self.end();
    }

    /// Refuses the request: its credentials, so that the provider has failed, or its content.
    pub(crate) fn refuse(mut self, kind: &str, why: &str) {
        let error = json!({ "error": { "type": kind, "message": why } });
        self.stream.write_all(format!("data: {error}\n\n").as_bytes()).expect("the client reads");
    }

    /// Waits until the client has given the request up.
    pub(crate) fn abandoned(mut self) {
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(self.stream.read(&mut [0; 1]).unwrap_or_default(), 0, "the client went on");
    }

    /// Returns the parts of the last message of the user.
    pub(crate) fn parts(&self) -> Vec<Value> {
        let mut messages = self.request["messages"].as_array().unwrap().iter().rev();
        let said = messages.find(|message| message["role"] == "user");
        let content = &said.unwrap_or_else(|| panic!("no message of the user: {}", self.request))["content"];
        match content.as_array() {
            Some(parts) => parts.clone(),
            None => vec![json!({ "type": "text", "text": content })],
        }
    }

    /// Returns the last text that the user wrote.
    pub(crate) fn prompt(&self) -> String {
        let parts = self.parts();
        let text = parts.iter().rev().find_map(|part| part["text"].as_str());
        text.unwrap_or_default().to_owned()
    }

    fn event(&mut self, delta: &Value, reason: Option<&str>) {
        let choice = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        self.stream.write_all(format!("data: {choice}\n\n").as_bytes()).expect("the client reads");
    }
}

fn listed(path: &str) -> Vec<u8> {
    let models = json!([{ "id": "large", "type": "vlm" }, { "id": "blind" }]);
    let list = json!({ "object": "list", "data": models }).to_string();
    let (status, body) = if path.ends_with("/models") { ("200 OK", list) } else { ("404 -", String::new()) };
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
