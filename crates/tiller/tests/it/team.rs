//! `tiller serve` with several clients: what one user sees of another, and a turn whose client is
//! killed.

use crate::home::{Home, stderr};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

const WAIT: Duration = Duration::from_secs(120);

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) place: String,
}

impl Server {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_with(home, &[&["--model", "offline/pilot"], args].concat(), &[])
    }

    /// Starts a server with these environment variables, and the model of the settings.
    pub(crate) fn start_with(home: &Home, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = home.tiller(&[&["serve"], args].concat());
        command.envs(environment.iter().copied());
        if let Some(log) = std::env::var_os("TILLER_LOG") {
            command.env("TILLER_LOG", log);
        }
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let place = lines.find_map(|line| Some(line.strip_prefix("listening on ")?.to_owned()));
        // The rest is the log, which is shown if the test fails.
        std::thread::spawn(move || lines.for_each(|line| drop(writeln!(std::io::stderr(), "{line}"))));
        Self { child, place: place.expect("it prints where it listens") }
    }

    /// Returns where it listens.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }
}

impl Server {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the server has ended.
    pub(crate) fn wait(&mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An editor behind `tiller connect`.
pub(crate) struct Client {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    next_id: u64,
}

impl Client {
    /// Connects over the user's own socket, or to a server with a token; without one if it is
    /// empty.
    pub(crate) fn connect(home: &Home, over: Option<(&Server, &str)>) -> Self {
        match over {
            Some((server, token)) => Self::dial(home, &server.place.replacen("tcp:", "ws://", 1), token),
            None => Self::start_process(home.tiller(&["connect"]), json!({})),
        }
    }

    /// Connects an editor that gives access to its files.
    pub(crate) fn editor(home: &Home, server: &Server, token: &str) -> Self {
        let mut command = home.tiller(&["connect", &server.place.replacen("tcp:", "ws://", 1)]);
        command.env("TILLER_TOKEN", token);
        Self::start_process(command, json!({ "fs": { "readTextFile": true, "writeTextFile": true } }))
    }

    /// Connects to an address with a token; without one if it is empty.
    pub(crate) fn dial(home: &Home, url: &str, token: &str) -> Self {
        let mut command = home.tiller(&["connect", url]);
        if !token.is_empty() {
            command.env("TILLER_TOKEN", token);
        }
        Self::start_process(command, json!({}))
    }

    fn start_process(mut command: Command, capabilities: Value) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take().unwrap();
        let mut client = Self { child, stdin, lines, next_id: 0 };
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        client.request("initialize", params).unwrap();
        client
    }

    pub(crate) fn send(&mut self, message: Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    pub(crate) fn start(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params }));
        self.next_id
    }

    /// Sends a request and waits for its result or its error.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.start(method, params);
        let mut answer = self.until(|message| message["id"] == id && message.get("method").is_none());
        match answer.get_mut("error") {
            Some(error) => Err(error.take()),
            None => Ok(answer["result"].take()),
        }
    }

    /// Waits for a message.
    pub(crate) fn until(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let message = self.lines.recv_timeout(WAIT).expect("the message arrives");
            if fits(&message) {
                return message;
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn token(home: &Home, user: &str, more: &[&str]) -> String {
    let created = home.run(&[&["token", "create", user, "--user", user, "--json"], more].concat());
    let created: Value =
        serde_json::from_slice(&created.stdout).unwrap_or_else(|_| panic!("{}", stderr(&created)));
    created["token"].as_str().unwrap().to_owned()
}

pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

#[test]
fn the_sessions_of_one_user_do_not_exist_for_another() {
    let home = Home::new();
    let (ada, bob) = (token(&home, "ada", &[]), token(&home, "bob", &[]));
    let server = Server::start(&home, &["--listen", "tcp:127.0.0.1:0"]);
    let mut ada = Client::connect(&home, Some((&server, &ada)));
    let mut bob = Client::connect(&home, Some((&server, &bob)));
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = ada.request("session/new", project.clone()).unwrap()["sessionId"].clone();
    let session = session.as_str().unwrap().to_owned();
    ada.request("session/prompt", prompt(&session, "help")).unwrap();
    let sessions = |client: &mut Client| {
        let listed = client.request("session/list", json!({})).unwrap();
        listed["sessions"].as_array().unwrap().len()
    };
    assert_eq!((sessions(&mut ada), sessions(&mut bob)), (1, 0));
    let limit = std::env::var("TILLER_ISOLATION_MS").ok();
    let limit = limit.map(|limit| Duration::from_millis(limit.parse().unwrap()));
    // Each answer is that for a session that was never created.
    let unknown = "01990000-0000-7000-8000-000000000000";
    for (method, more) in [
        ("session/load", project.clone()),
        ("session/resume", project.clone()),
        ("session/fork", project.clone()),
        ("session/prompt", json!({ "prompt": [{ "type": "text", "text": "help" }] })),
        ("session/set_mode", json!({ "modeId": "plan" })),
        ("session/set_title", json!({ "title": "x" })),
        ("session/status", json!({})),
        ("session/close", json!({})),
        ("session/archive", json!({})),
        ("session/delete", json!({})),
        ("_tiller/sessions/export", json!({})),
        ("_tiller/sessions/checkpoints", json!({})),
        ("_tiller/permissions/log", json!({})),
        ("_tiller/usage/get", json!({})),
        ("_tiller/goal/get", json!({})),
        ("_tiller/shells/list", json!({})),
        ("_tiller/subagents/list", json!({})),
    ] {
        let mut answer = |id: &str| {
            let mut params = more.clone();
            params["sessionId"] = id.into();
            let answer = bob.request(method, params);
            format!("{answer:?}").replace(id, "ID")
        };
        assert_eq!(answer(&session), answer(unknown), "{method}");
        // With a limit in milliseconds, the time of the answer says no more than its words.
        let Some(limit) = &limit else { continue };
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..51 {
            for (id, times) in [&session, unknown].into_iter().zip(&mut times) {
                let begun = Instant::now();
                answer(id);
                times.push(begun.elapsed());
            }
        }
        let [existing, never] = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        println!("{method}: {existing:?} for a session of another user, {never:?} for none");
        assert!(existing.abs_diff(never) < *limit, "{method}: {existing:?}, {never:?}");
    }
    assert_eq!(sessions(&mut ada), 1);
    assert!(ada.request("session/prompt", prompt(&session, "help")).is_ok());
}

#[test]
fn a_token_that_only_reads_can_neither_prompt_nor_change_settings() {
    let home = Home::new();
    let reader = token(&home, "ada", &["--scopes", "connect,session:read"]);
    let user = token(&home, "ada", &[]);
    let server = Server::start(&home, &["--listen", "tcp:127.0.0.1:0"]);
    let mut user = Client::connect(&home, Some((&server, &user)));
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = user.request("session/new", project.clone()).unwrap()["sessionId"].clone();
    let session = session.as_str().unwrap();
    user.request("session/prompt", prompt(session, "help")).unwrap();
    let mut reader = Client::connect(&home, Some((&server, &reader)));
    let mut load = project.clone();
    load["sessionId"] = session.into();
    reader.request("session/load", load).unwrap();
    let refused = reader.request("session/prompt", prompt(session, "help")).unwrap_err();
    assert_eq!(refused["data"]["reason"], "forbidden");
    assert!(refused["message"].as_str().unwrap().contains("session:write"), "{refused}");
    assert!(reader.request("session/new", project).is_err());
    let set = json!({ "sessionId": session, "scope": "global", "path": "agent.mode", "value": "plan" });
    let refused = reader.request("_tiller/settings/set", set.clone()).unwrap_err();
    assert_eq!(refused["data"]["reason"], "forbidden");
    user.request("_tiller/settings/set", set).unwrap();
}

#[test]
fn a_question_waits_for_another_client_when_the_first_is_killed() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let _server = Server::start(&home, &["--permission-mode", "argus"]);
    let mut first = Client::connect(&home, None);
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = first.request("session/new", project.clone()).unwrap()["sessionId"].clone();
    first.start("session/prompt", prompt(session.as_str().unwrap(), "replace one with two in a.txt"));
    first.until(|message| message["method"] == "session/request_permission");
    drop(first);
    let mut second = Client::connect(&home, None);
    let mut load = project;
    load["sessionId"] = session;
    // The question follows the answer: the client then knows the call that it is about.
    second.request("session/load", load).unwrap();
    let question = second.until(|message| message["method"] == "session/request_permission");
    assert_eq!(home.read("a.txt").unwrap(), "one\n");
    let options = question["params"]["options"].as_array().unwrap();
    let id = options.iter().find(|option| option["kind"] == "allow_once").unwrap()["optionId"].clone();
    let answer = json!({ "outcome": { "outcome": "selected", "optionId": id } });
    second.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    second.until(|message| {
        let update = &message["params"]["update"];
        update["sessionUpdate"] == "tool_call_update" && update["status"] == "completed"
    });
    assert_eq!(home.read("a.txt").unwrap(), "two\n");
}

#[test]
fn an_editor_sees_a_pause_when_the_server_is_killed_and_started_again() {
    let home = Home::new();
    let server = Server::start(&home, &["--permission-mode", "argus"]);
    let mut client = Client::connect(&home, None);
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = client.request("session/new", project).unwrap()["sessionId"].clone();
    let session = session.as_str().unwrap();
    client.request("session/prompt", prompt(session, "help")).unwrap();
    let open = client.start("session/prompt", prompt(session, "create a.txt with x"));
    client.until(|message| message["method"] == "session/request_permission");
    drop(server);
    let _server = Server::start(&home, &["--permission-mode", "argus"]);
    let answer = client.until(|message| message["id"] == open && message.get("method").is_none());
    assert_eq!(answer["error"]["data"]["reason"], "owner_lost");
    // Neither the editor nor its user opens anything again.
    client.request("session/prompt", prompt(session, "help")).unwrap();
    let listed = client.request("session/list", json!({})).unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}
