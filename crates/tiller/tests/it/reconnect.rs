//! `tiller connect` when the server no longer has its connection: the editor sees each text once,
//! and gets the answer of its prompt.

use crate::home::Home;
use crate::team::{Client, Server, prompt, token};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// A wire that can be cut.
struct Wire {
    listener: Option<TcpListener>,
    address: String,
    /// The sockets that it carries; `None` while it is cut.
    sockets: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Wire {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Self { listener: Some(listener), address, sockets: Arc::new(Mutex::new(Some(Vec::new()))) }
    }

    /// Leads to this address from now on.
    fn leads_to(&mut self, server: &str) {
        let listener = self.listener.take().unwrap();
        let (server, carried) = (server.to_owned(), Arc::clone(&self.sockets));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut carried = carried.lock().unwrap();
                let Some(open) = carried.as_mut() else { continue };
                let Ok(server) = TcpStream::connect(&server) else { continue };
                let ends = [(&client, &server), (&server, &client)];
                for (from, to) in ends.map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
                {
                    std::thread::spawn(move || carry(from, to));
                }
                open.extend([client, server]);
            }
        });
    }

    fn cut(&self) {
        for socket in self.sockets.lock().unwrap().take().into_iter().flatten() {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        *self.sockets.lock().unwrap() = Some(Vec::new());
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Returns the text, the statuses of calls and the user's messages of all updates, and the answers
/// to requests, until `fits`.
fn seen(client: &mut Client, fits: impl Fn(&Value) -> bool) -> (String, Vec<Value>) {
    let (mut text, mut answers) = (String::new(), Vec::new());
    loop {
        let message = client.until(|_| true);
        let update = &message["params"]["update"];
        assert!(message["params"].get("_meta").is_none(), "the editor asked for no numbers: {message}");
        assert_ne!(update["sessionUpdate"], "user_message_chunk", "it knows its prompts");
        if update["sessionUpdate"] == "agent_message_chunk" {
            text += update["content"]["text"].as_str().unwrap();
        }
        if message.get("method").is_none() {
            answers.push(message.clone());
        }
        if fits(&message) {
            return (text, answers);
        }
    }
}

fn is_answer(id: u64) -> impl Fn(&Value) -> bool {
    move |message| message["id"] == id && message.get("method").is_none()
}

#[test]
fn an_editor_sees_a_turn_once_and_gets_its_answer_when_its_connection_was_forgotten_in_mid_turn() {
    let home = Home::new();
    let mut wire = Wire::new();
    home.settings(&format!(
        "agent.default_model = 'offline/pilot'\nproviders.local.discover = false\n[serve]\nresume_grace = 1\n\
         hosts = ['{}']\n",
        wire.address
    ));
    let ada = token(&home, "ada", &[]);
    let server = Server::start(&home, &["--listen", "tcp:127.0.0.1:0", "--permission-mode", "prometheus"]);
    wire.leads_to(server.place.strip_prefix("tcp:").unwrap());
    let mut client = Client::dial(&home, &format!("ws://{}/acp", wire.address), &ada);
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = client.request("session/new", project).unwrap()["sessionId"].clone();
    let session = session.as_str().unwrap();
    let line = |name: &str| {
        format!("run sh -c 'echo x >> {name}; while [ ! -e go-{name} ]; do sleep 0.05; done; echo done'")
    };
    let ran = |name: &str| home.read(name).unwrap_or_default();

    // The first answer of a session has a notice about the model.
    client.request("session/prompt", prompt(session, "help")).unwrap();

    // Without a cut.
    home.write("go-a", "");
    let id = client.start("session/prompt", prompt(session, &line("a")));
    let (whole, answers) = seen(&mut client, is_answer(id));
    assert_eq!(answers[0]["result"]["stopReason"], "end_turn");
    assert!(!whole.is_empty());

    // With a cut while the command runs.
    let id = client.start("session/prompt", prompt(session, &line("b")));
    let running = |message: &Value| message["params"]["update"]["status"] == "in_progress";
    let (before, _) = seen(&mut client, running);
    while ran("b").is_empty() {
        std::thread::yield_now();
    }
    wire.cut();
    home.write("go-b", "");
    // The connection is forgotten after a second.
    let cut = Instant::now();
    while cut.elapsed() < Duration::from_secs(2) {
        std::thread::yield_now();
    }
    wire.mend();
    let (after, answers) = seen(&mut client, is_answer(id));
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["result"]["stopReason"], "end_turn", "{answers:?}");
    assert_eq!(format!("{before}{after}").replace("go-b", "go-a").replace(">> b", ">> a"), whole);
    assert_eq!((ran("a"), ran("b")), ("x\n".to_owned(), "x\n".to_owned()), "each command ran once");
}

#[test]
fn a_prompt_of_a_killed_server_is_answered_with_its_loss_and_not_run_again() {
    let home = Home::new();
    let arguments = ["--permission-mode", "prometheus"];
    let server = Server::start(&home, &arguments);
    let mut client = Client::connect(&home, None);
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = client.request("session/new", project).unwrap()["sessionId"].clone();
    let session = session.as_str().unwrap();
    let id = client.start("session/prompt", prompt(session, "run sh -c 'echo x >> ran; sleep 300'"));
    let running = |message: &Value| message["params"]["update"]["status"] == "in_progress";
    seen(&mut client, running);
    // The shell creates the file before it writes to it.
    while home.read("ran").is_none_or(|ran| ran.is_empty()) {
        std::thread::yield_now();
    }
    drop(server);
    let _server = Server::start(&home, &arguments);
    let (_, answers) = seen(&mut client, is_answer(id));
    assert_eq!(answers.len(), 1, "{answers:?}");
    let error = &answers[0]["error"];
    assert_eq!(error["data"]["reason"], "owner_lost");
    assert!(error["message"].as_str().unwrap().contains("the session goes on"), "{error}");
    assert_eq!(home.read("ran").unwrap(), "x\n");
    client.request("session/prompt", prompt(session, "help")).unwrap();
}
