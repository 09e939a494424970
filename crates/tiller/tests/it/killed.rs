//! The state after a kill: no process remains, and no file remains permanently.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr},
    sandbox::confines,
};
use serde_json::json;
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The number of kill points for each kind of child process, and the last point after the request
/// that starts the process.
const POINTS: u32 = 8;
const LAST: Duration = Duration::from_millis(60);

/// The timeout for something to appear or disappear.
const WAIT: Duration = Duration::from_secs(20);

/// Returns the command lines of processes that contain this unique number.
fn holding(number: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(number) && !line.contains("tiller")).collect()
}

/// Yields until the condition holds; returns `false` after a timeout.
fn until(holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > WAIT {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Waits for a kill point: by the clock, or until the child process appears.
fn wait_for(point: u32, number: &str) {
    let began = Instant::now();
    // The points are denser at the beginning.
    let moment = LAST.mul_f64((f64::from(point) / f64::from(POINTS)).powi(2));
    match point % 2 {
        0 => drop(until(|| began.elapsed() >= moment)),
        _ => assert!(until(|| !holding(number).is_empty()), "it never ran"),
    }
}

/// Fails if such a process remains after a while. A process that is just being started appears a
/// moment later, so one check is not enough.
fn expect_none(number: &str, what: &str) {
    let none = || (0..10).all(|_| holding(number).is_empty());
    assert!(until(none), "{what}: {:?}", holding(number));
}

/// Requests a session or a turn that starts this command line.
fn ask_for(kind: &str, home: &Home, agent: &mut Agent, line: &str) {
    if kind == "server" {
        let server = json!({ "name": "s", "command": "/bin/sh", "args": ["-c", line], "env": [] });
        agent.post("session/new", json!({ "cwd": home.project(), "mcpServers": [server] }));
        return;
    }
    let session = agent.new_session(home);
    let text = match kind {
        "hook" => "run true".to_owned(),
        _ => format!("run sh -c '{line}'"),
    };
    let prompt = json!([{ "type": "text", "text": text }]);
    agent.post("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
}

#[test]
fn no_child_process_outlives_a_kill_at_any_moment() {
    for kind in ["command", "hook", "server"] {
        for point in 0..POINTS {
            let home = Home::new();
            let number = format!("5{point}{}.{}", kind.len(), std::process::id());
            let line = format!("setsid sleep {number} & sleep {number} & exec sleep {number}");
            if kind == "hook" {
                home.settings(&format!(
                    "[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n[hooks.slow]\non = 'before_tool'\ncommand = ['sh', '-c', '{line}']\n"
                ));
            }
            let mut agent = Agent::start(&home, &["--yolo"]);
            agent.initialize(json!({}));
            ask_for(kind, &home, &mut agent, &line);
            wait_for(point, &number);
            drop(agent);
            expect_none(&number, &format!("{kind}, {point}"));
        }
    }
}

/// The editor and its terminal keep running: the launcher in the terminal must end the command.
#[test]
fn a_command_in_the_editors_terminal_ends_with_the_agent() {
    for point in 0..POINTS {
        let home = Home::new();
        if !confines(&home) {
            return;
        }
        let number = format!("5{point}90.{}", std::process::id());
        let mut editor = Editor::with_everything();
        let (mut agent, session) = Agent::open(&home, &[], &editor);
        let text = format!("run `sleep {number} & exec sleep {number}`");
        let prompt = json!([{ "type": "text", "text": text }]);
        agent.post("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
        let create = loop {
            let message = agent.receive().unwrap();
            if message["method"] == "terminal/create" {
                break message;
            }
            agent.serve(&message, &mut editor);
        };
        let words = create["params"]["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        let mut launcher = Command::new(create["params"]["command"].as_str().unwrap());
        let mut launcher = launcher.args(words).stdin(Stdio::piped()).spawn().unwrap();
        let answer = json!({ "terminalId": "t1" });
        agent.send(&json!({ "jsonrpc": "2.0", "id": create["id"], "result": answer }));
        wait_for(point, &number);
        drop(agent);
        expect_none(&number, &format!("{point}"));
        assert!(until_ended(&mut launcher), "the launcher stays");
    }
}

fn until_ended(child: &mut Child) -> bool {
    let began = Instant::now();
    while began.elapsed() < WAIT {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_killed_agent_leaves_no_configuration_files_in_the_project() {
    let home = Home::new();
    home.write("a.txt", "a\n");
    let number = format!("5999.{}", std::process::id());
    for (line, left) in [
        (format!("exec sleep {number}"), vec!["a.txt"]),
        (
            format!("mkdir .vscode .cursor; touch .vscode/x; exec sleep {number}"),
            // Empty directories are in the places of what commands create.
            vec![".cursor", ".vscode", ".vscode.not-trusted", "a.txt"],
        ),
    ] {
        let editor = Editor::without_anything();
        let (mut agent, session) = Agent::open(&home, &["--yolo"], &editor);
        let prompt = json!([{ "type": "text", "text": format!("run sh -c '{line}'") }]);
        agent.post("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
        assert!(until(|| holding(&number).iter().any(|line| line.starts_with("sleep"))), "it never ran");
        drop(agent);
        assert!(
            until(|| holding(&number).is_empty() && names(&home.project()) == left),
            "{:?}",
            names(&home.project())
        );
        assert!(!home.project().join(".vscode/x").exists());
    }
}

#[test]
fn temporary_sessions_of_a_killed_run_are_removed_at_the_next_start() {
    let home = Home::new();
    let temporary = home.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    fs::create_dir(temporary.join("tiller-mine")).unwrap();
    let tiller = |args: &[&str]| {
        let mut command = home.tiller(args);
        command.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let number = format!("5998.{}", std::process::id());
    let mut killed = tiller(&["-p", &format!("run sleep {number}"), "--yolo", "--no-session"]);
    assert!(until(|| !holding(&number).is_empty()), "it never ran");
    assert_eq!(names(&temporary).len(), 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(names(&temporary).len(), 2, "there is nothing to remove");
    let next = tiller(&["-p", "hello"]).wait_with_output().unwrap();
    assert!(next.status.success(), "{}", stderr(&next));
    assert!(until(|| names(&temporary) == ["tiller-mine"]), "{:?}", names(&temporary));
}
