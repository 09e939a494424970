//! Many prompts over many sessions with random cancels: each gets exactly one response, no command
//! outlives its turn, and memory stays flat.
//!
//! 200 prompts over 20 sessions by default; `TILLER_SOAK=2000` sends that many over 50 sessions.

use crate::{agent::Agent, editor::Editor, home::Home};
use serde_json::json;
use std::{collections::HashMap, process::Command};

#[test]
fn every_prompt_of_many_sessions_is_answered_once() {
    let asked: Option<usize> = std::env::var("TILLER_SOAK").ok().map(|text| text.parse().unwrap());
    let (prompts, sessions) = asked.map_or((200, 20), |prompts| (prompts, 50));
    let home = Home::new();
    let (mut agent, first) = Agent::open(&home, &["--yolo"], &Editor::without_anything());
    let mut ids = vec![first];
    ids.extend((1..sessions).map(|_| agent.new_session(&home)));
    let (mut seed, mut cancelled, mut early) = (11_u64, 0, None);
    let mut random = |limit: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % limit
    };
    let rounds = prompts / sessions;
    for round in 0..rounds {
        // The open prompts, and whether each must be cancelled to end.
        let mut open: HashMap<u64, bool> = HashMap::new();
        for session in &ids {
            let (text, endless) = match random(4) {
                0 => (format!("hello {round}"), false),
                1 => (format!("run echo {round}"), false),
                2 => ("list files in .".to_owned(), false),
                _ => (format!("run {}", endless_command()), true),
            };
            let content = json!([{ "type": "text", "text": text }]);
            let id = agent.post("session/prompt", json!({ "sessionId": session, "prompt": content }));
            open.insert(id, endless);
            let (method, params) = match random(2) {
                0 => ("session/cancel", json!({ "sessionId": session })),
                _ => ("$/cancel_request", json!({ "requestId": id })),
            };
            if endless || random(4) == 0 {
                agent.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
            }
        }
        while !open.is_empty() {
            let message = agent.receive().expect("the agent lives");
            let Some(id) = message["id"].as_u64() else { continue };
            let endless = open.remove(&id).unwrap_or_else(|| panic!("answered twice: {message}"));
            let reason = message["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{message}"));
            assert!(reason == "cancelled" || !endless, "{message}");
            cancelled += usize::from(reason == "cancelled");
        }
        if round == rounds / 4 {
            early = Some(memory(&agent));
        }
    }
    assert_eq!(commands(), Vec::<String>::new(), "commands outlived their turns");
    let (early, late) = (early.unwrap(), memory(&agent));
    println!(
        "{} prompts, {cancelled} cancelled, {early} KiB after a quarter, {late} KiB at the end",
        rounds * sessions
    );
    assert!(late < early * 3 / 2 + 16 * 1024, "{early} KiB after a quarter, {late} KiB at the end");
    for session in &ids {
        agent.ask("session/close", json!({ "sessionId": session })).unwrap();
    }
    assert_eq!(
        agent.ask("session/list", json!({})).unwrap()["sessions"].as_array().map(Vec::len),
        Some(ids.len().min(50))
    );
    let (status, _) = agent.hang_up();
    assert!(status.success(), "{status}");
}

/// Resident memory in KiB.
fn memory(agent: &Agent) -> u64 {
    ps(&["-o", "rss=", "-p", &agent.pid().to_string()]).trim().parse().unwrap()
}

/// A command that ends only when killed, distinct from those of other tests.
fn endless_command() -> String {
    format!("sleep 3000{}", std::process::id())
}

/// Such commands that still run, under any parent process.
fn commands() -> Vec<String> {
    let all = ps(&["-eo", "stat=,args="]);
    let ours = |line: &&str| line.contains(&endless_command()) && !line.starts_with('Z');
    all.lines().filter(ours).map(str::to_owned).collect()
}

fn ps(args: &[&str]) -> String {
    String::from_utf8(Command::new("ps").args(args).output().unwrap().stdout).unwrap()
}
