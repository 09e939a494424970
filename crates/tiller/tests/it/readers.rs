//! Readers of standard output and standard error that stall, disconnect, or have no space.

use crate::{
    child::{
        LONG, closed_pipe, end, full_disk, full_pipe, is_running, pid, signal, wait_for_signal_handlers,
    },
    editor::Editor,
    home::{Home, stderr},
    model_server::ModelServer,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, PipeReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
};

const FORMATS: [&str; 3] = ["text", "json", "stream-json"];

/// A streamed answer of 4 MiB, which exceeds the output queue.
fn long_answer() -> String {
    let piece = "x".repeat(8 * 1024);
    let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    let says = format!("data: {}\n\n", chunk(json!({ "content": piece }), Value::Null));
    says.repeat(512) + &format!("data: {}\n\n", chunk(json!({}), json!("stop")))
}

/// Returns a run whose answer is [`long_answer`], and its model server.
fn long_run(home: &Home, format: &str, more: &[&str]) -> (Command, ModelServer) {
    let server = ModelServer::start(vec![long_answer()]);
    home.settings("agent.default_model = 'openai/gpt-4o'\nproviders.openai.wire = 'chat'\n");
    let mut command = home.tiller(&[&["-p", "talk", "-o", format], more].concat());
    command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", &server.url);
    (command, server)
}

/// Commands that print, one of each kind, for a home with the session `id`.
fn printing(id: &str) -> Vec<Vec<&str>> {
    let lines: [&[&str]; 23] = [
        &["demo"],
        &["--help"],
        &["--version"],
        &["help", "sessions"],
        &["models"],
        &["doctor"],
        &["doctor", "--json"],
        &["schema", "native"],
        &["config", "list"],
        &["config", "get", "agent.default_model", "--json"],
        &["sessions", "list"],
        &["sessions", "list", "--jsonl"],
        &["sessions", "show", id],
        &["sessions", "show", id, "--json"],
        &["sessions", "export", id],
        &["sessions", "export", id, "--format", "markdown"],
        &["sessions", "search", "a.txt"],
        &["permissions", "explain", "ls"],
        &["permissions", "log", "--session", id, "--json"],
        &["mcp", "list", "--json"],
        &["integrations", "list"],
        &["trust"],
        &["lua", "run", "-e", "print(1)"],
    ];
    let runs = FORMATS.iter().map(|format| vec!["-p", "show a.txt", "-o", format]);
    lines.iter().map(|line| line.to_vec()).chain(runs).collect()
}

/// Creates a home with one session; returns its id too.
fn with_session() -> (Home, String) {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let run = home.run(&["-p", "run touch b.txt", "--yolo", "-o", "json"]);
    let run: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert!(home.run(&["-p", "show a.txt"]).status.success());
    let id = run["session_id"].as_str().unwrap().to_owned();
    (home, id)
}

#[test]
fn a_closed_pipe_ends_every_command_silently() {
    let (home, id) = with_session();
    for line in printing(&id) {
        let output = home.tiller(&line).stdout(closed_pipe()).output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(141), ""), "{line:?}");
    }
}

#[test]
fn a_full_disk_is_an_exit_code_and_a_message_for_every_command() {
    let (home, id) = with_session();
    for line in printing(&id) {
        let output = home.tiller(&line).stdout(full_disk()).output().unwrap();
        let printed = stderr(&output);
        assert_eq!(output.status.code(), Some(74), "{line:?}: {printed}");
        assert!(
            printed.contains("standard output cannot be written: No space left on device"),
            "{line:?}: {printed}"
        );
    }
}

#[test]
fn a_signal_ends_every_command_whose_reader_stalls() {
    let (home, id) = with_session();
    for line in printing(&id) {
        let (_reader, writer) = full_pipe();
        let mut child = home.tiller(&line).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
        wait_for_signal_handlers(&child);
        signal(&child, "TERM");
        assert_eq!(end(&mut child).code(), Some(143), "{line:?}");
    }
}

#[test]
fn a_run_with_a_stalled_reader_is_ended_by_signals_and_by_its_timeout() {
    for format in FORMATS {
        for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
            let home = Home::new();
            let (mut run, server) = long_run(&home, format, &[]);
            let (_reader, writer) = full_pipe();
            let mut child = run.stdout(writer).stderr(Stdio::null()).spawn().unwrap();
            server.requests.recv().unwrap();
            signal(&child, name);
            assert_eq!(end(&mut child).code(), Some(code), "{format} {name}");
        }
        let home = Home::new();
        let (mut run, _server) = long_run(&home, format, &["--timeout", "1"]);
        let (_reader, writer) = full_pipe();
        let mut child = run.stdout(writer).stderr(Stdio::null()).spawn().unwrap();
        assert_eq!(end(&mut child).code(), Some(2), "{format} --timeout");
    }
}

#[test]
fn a_late_reader_gets_all_output() {
    for format in FORMATS {
        let home = Home::new();
        let (mut run, server) = long_run(&home, format, &[]);
        let (mut reader, writer) = full_pipe();
        let mut child = run.stdout(writer).spawn().unwrap();
        // The command still holds the writing end, which would keep the pipe open.
        run.stdout(Stdio::null());
        server.requests.recv().unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert!(end(&mut child).success(), "{format}");
        let printed = text.matches('x').count();
        // `stream-json` has the answer in pieces, and once more as a whole.
        let times = if format == "stream-json" { 2 } else { 1 };
        assert!(printed >= times * 4 * 1024 * 1024, "{format}: {printed}");
    }
}

#[test]
fn a_reader_that_leaves_in_the_middle_ends_the_run() {
    for format in ["text", "stream-json"] {
        let home = Home::new();
        let (mut run, _server) = long_run(&home, format, &[]);
        let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut some = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        assert_eq!(end(&mut child).code(), Some(141), "{format}");
        let mut printed = String::new();
        child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
        assert_eq!(printed, "", "{format}");
    }
}

/// Also with a standard error that cannot be written.
#[test]
fn unread_standard_error_blocks_nothing() {
    let home = Home::new();
    let denied = "run install -m 600 /dev/null made && test -f /etc/none.pem";
    for line in [&["-p", denied][..], &["-p", "x", "-m", "nobody/x"], &["no-such-command"], &["models"]] {
        let ends = home.run(line).status.code();
        let (_reader, writer) = full_pipe();
        for stderr in [Stdio::from(writer), closed_pipe().into(), full_disk()] {
            let mut child = home.tiller(line).stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
            assert_eq!(end(&mut child).code(), ends, "{line:?}");
        }
    }
}

#[test]
fn an_agent_whose_editor_does_not_read_ends_on_a_signal() {
    let home = Home::new();
    let (_reader, writer) = full_pipe();
    let mut command = home.tiller(&["acp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(writer).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": Editor::default().introduction() });
    stdin.write_all(format!("{hello}\n").as_bytes()).unwrap();
    wait_for_signal_handlers(&child);
    signal(&child, "TERM");
    assert_eq!(end(&mut child).code(), Some(143));
}

#[test]
fn an_agent_whose_editor_stops_reading_in_the_middle_of_an_answer_ends_on_a_signal() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let home = Home::new();
        let server = ModelServer::start(vec![long_answer()]);
        home.settings("agent.default_model = 'openai/gpt-4o'\nproviders.openai.wire = 'chat'\n");
        let variables = [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", server.url.as_str())];
        let mut agent = Wire::start_with(&home, &variables);
        agent.ask(1, "initialize", &json!({ "protocolVersion": 1 }));
        let session = agent.ask(2, "session/new", &json!({ "cwd": home.project(), "mcpServers": [] }));
        let prompt = json!([{ "type": "text", "text": "talk" }]);
        agent.say(3, "session/prompt", &json!({ "sessionId": session["sessionId"], "prompt": prompt }));
        server.requests.recv().unwrap();
        signal(&agent.child, name);
        assert_eq!(end(&mut agent.child).code(), Some(code), "{name}");
    }
}

/// `tiller acp` with both ends of its pipes, one line at a time.
struct Wire {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<PipeReader>,
}

impl Wire {
    fn start(home: &Home) -> Self {
        Self::start_with(home, &[])
    }

    fn start_with(home: &Home, variables: &[(&str, &str)]) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = home.tiller(&["acp", "--yolo"]);
        command.envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(writer).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        Self { child, stdin, stdout: BufReader::new(reader) }
    }

    fn say(&mut self, id: u64, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Sends a request and returns its result.
    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.say(id, method, params);
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "no answer to {method}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    /// Closes only the output, and waits for the exit of the process.
    fn close_output(mut self) -> Option<i32> {
        drop(self.stdout);
        end(&mut self.child).code()
    }
}

/// Before and after `initialize`; the input stays open.
#[test]
fn an_idle_agent_ends_when_its_editor_closes_the_output() {
    let home = Home::new();
    assert_eq!(Wire::start(&home).close_output(), Some(0));
    for version in [1, 2] {
        let mut agent = Wire::start(&home);
        agent.ask(1, "initialize", &json!({ "protocolVersion": version }));
        assert_eq!(agent.close_output(), Some(0), "{version}");
    }
}

#[test]
fn an_idle_gateway_ends_when_its_client_closes_the_output() {
    let home = Home::new();
    let server = ["sh", "-c", "cd ${project}; echo $$ > pid; exec sleep 300"];
    assert!(home.run(&[&["mcp", "add", "quiet", "--"][..], &server].concat()).status.success());
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = {
        let mut command = home.tiller(&["mcp", "serve", "--upstream", "quiet"]);
        command.stdin(Stdio::piped()).stdout(writer).spawn().unwrap()
    };
    let pid = pid(&home);
    drop(reader);
    assert_eq!(end(&mut child).code(), Some(0));
    assert!(!is_running(&pid), "the server outlived the gateway");
}

#[test]
fn an_agent_in_the_middle_of_a_turn_ends_when_its_editor_closes_the_output() {
    let home = Home::new();
    let mut agent = Wire::start(&home);
    agent.ask(1, "initialize", &json!({ "protocolVersion": 1 }));
    let session = agent.ask(2, "session/new", &json!({ "cwd": home.project(), "mcpServers": [] }));
    let prompt = json!([{ "type": "text", "text": LONG }]);
    agent.say(3, "session/prompt", &json!({ "sessionId": session["sessionId"], "prompt": prompt }));
    let pid = pid(&home);
    assert_eq!(agent.close_output(), Some(0));
    assert!(!is_running(&pid), "the command outlived the agent");
}

#[test]
fn an_agent_whose_output_device_is_full_ends_with_a_message() {
    let home = Home::new();
    let mut command = home.tiller(&["acp"]);
    command.stdin(Stdio::piped()).stdout(full_disk()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } });
    stdin.write_all(format!("{hello}\n").as_bytes()).unwrap();
    assert_eq!(end(&mut child).code(), Some(74));
    let mut printed = String::new();
    child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(printed.contains("standard output cannot be written: No space left on device"), "{printed}");
}

#[test]
fn a_file_size_limit_is_an_error_and_not_a_crash() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    for (line, code, says) in [
        (vec!["--help"], 74, "standard output cannot be written: File too large"),
        (vec!["schema", "native"], 74, "standard output cannot be written: File too large"),
        (vec!["doctor"], 74, "standard output cannot be written: File too large"),
        // The session database cannot be written either.
        (vec!["sessions", "list"], 1, ""),
        (vec!["-p", "show a.txt"], 1, ""),
    ] {
        let tiller = home.tiller(&line);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""]).arg(tiller.get_program()).args(&line);
        command.current_dir(home.project()).env_clear();
        command.envs(tiller.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let out = std::fs::File::create(home.path().join("out")).unwrap();
        let output = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).output().unwrap();
        let printed = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{line:?}: {printed}");
        assert!(printed.contains(says) && printed.contains("tiller: "), "{line:?}: {printed}");
    }
}
