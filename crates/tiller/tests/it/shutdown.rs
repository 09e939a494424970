//! The end of the process: a closed connection, signals, limits.

use crate::{
    agent::Agent,
    child::{LONG, is_running, pid, signal},
    editor::Editor,
    home::{Home, stderr},
};
use serde_json::json;
use std::{
    process::{Command, Stdio},
    time::Duration,
};

#[test]
fn disconnecting_in_the_middle_of_a_turn_ends_the_process_and_keeps_the_session() {
    let home = Home::new();
    let editor = Editor::without_anything();
    let (mut agent, session) = Agent::open(&home, &["--yolo"], &editor);
    agent.post(
        "session/prompt",
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": LONG }] }),
    );
    let pid = pid(&home);
    assert!(is_running(&pid));
    let (status, took) = agent.hang_up();
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(!is_running(&pid), "the command outlived the agent");

    let mut agent = Agent::start(&home, &[]);
    agent.initialize(json!({}));
    let load = json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [] });
    agent.ask("session/load", load).unwrap();
    let replayed = agent.updates.iter().any(|update| update.to_string().contains("sleep 300"));
    assert!(replayed, "{:?}", agent.updates);
}

#[test]
fn cancelling_kills_the_command_and_ends_the_turn() {
    let home = Home::new();
    let mut editor = Editor::without_anything();
    let (mut agent, session) = Agent::open(&home, &["--yolo"], &editor);
    agent.post(
        "session/prompt",
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": LONG }] }),
    );
    let pid = pid(&home);
    agent.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }));
    let answer = loop {
        let message = agent.receive().unwrap();
        if message.get("result").is_some() {
            break message;
        }
        agent.serve(&message, &mut editor);
    };
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    assert!(!is_running(&pid));
}

/// An editor that keeps its end of the pipe open still gets the response of its prompt.
#[test]
fn a_signal_answers_the_prompt_and_releases_the_terminal() {
    for (name, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let home = Home::new();
        let editor = Editor::with_everything();
        let (mut agent, session) = Agent::open(&home, &["--yolo"], &editor);
        let prompt = json!([{ "type": "text", "text": LONG }]);
        let id = agent.post("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
        // Serves until the agent waits for a terminal whose command does not end.
        loop {
            let message = agent.receive().unwrap();
            let answer = match message["method"].as_str() {
                Some("terminal/create") => json!({ "terminalId": "t1" }),
                Some("session/request_permission") => {
                    json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } })
                }
                Some("terminal/wait_for_exit") => break,
                _ => continue,
            };
            agent.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer }));
        }
        let pid = agent.pid().to_string();
        let start = std::time::Instant::now();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
        let (rest, status) = agent.rest();
        assert_eq!(status.code(), Some(code), "{name}");
        assert!(start.elapsed() < Duration::from_secs(3), "{name}: {:?}", start.elapsed());
        let answer = rest.iter().find(|message| message["id"] == id && message.get("method").is_none());
        let answer = answer.unwrap_or_else(|| panic!("{name}: the prompt was not answered: {rest:?}"));
        assert_eq!(answer["result"]["stopReason"], "cancelled", "{name}");
        let released = rest.iter().filter(|message| message["method"] == "terminal/release").count();
        assert_eq!(released, 1, "{name}: {rest:?}");
        // The events are stored.
        let mut again = Agent::start(&home, &[]);
        again.initialize(json!({}));
        let load = json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [] });
        again.ask("session/load", load).unwrap();
        assert!(again.updates.iter().any(|update| update.to_string().contains("sleep 300")), "{name}");
    }
}

/// The shell's `trap` ignores SIGHUP as `nohup` does.
#[test]
fn sighup_ignored_at_the_start_stays_ignored() {
    let home = Home::new();
    let mut child = Command::new("sh");
    let line = "trap '' HUP; exec \"$0\" -p \"$1\" --yolo -o json";
    let tiller = home.tiller(&[]);
    child.args(["-c", line]).arg(tiller.get_program()).arg(LONG).current_dir(home.project());
    child.env_clear().envs(tiller.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = child.stdout(Stdio::piped()).spawn().unwrap();
    let pid = pid(&home);
    signal(&child, "HUP");
    signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    assert!(!is_running(&pid));
}

#[test]
fn signals_cancel_the_turn_and_set_the_exit_code() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let home = Home::new();
        let child =
            home.tiller(&["-p", LONG, "--yolo", "-o", "json"]).stdout(Stdio::piped()).spawn().unwrap();
        let pid = pid(&home);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}");
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["stop_reason"], "cancelled", "{result}");
        assert!(!is_running(&pid), "{name}");
    }
}

#[test]
fn limits_end_a_run_with_their_own_code() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let turns = home.run(&["-p", "show a.txt then show a.txt", "-t", "1"]);
    assert_eq!(turns.status.code(), Some(2), "{}", stderr(&turns));
    assert!(stderr(&turns).contains("--max-turns"));
    let time = home.run(&["-p", LONG, "--yolo", "--timeout", "1"]);
    assert_eq!(time.status.code(), Some(2), "{}", stderr(&time));
    assert!(stderr(&time).contains("--timeout"));
    let sleeps = |entry: std::fs::DirEntry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == home.project())
    };
    assert!(!std::fs::read_dir("/proc").unwrap().flatten().any(sleeps), "the command outlived the run");
}
