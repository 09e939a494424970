//! File descriptors: ended turns leak none, and running out of them is an error that the process
//! survives.

use crate::{agent::Agent, editor::Editor, home::Home};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};

const SESSIONS: usize = 20;

fn local() -> Home {
    let home = Home::new();
    home.settings(
        "[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n[client]\nterminal = 'local'\n[tools]\ndefault_permission_mode = 'prometheus'\n",
    );
    home.write("a.txt", "one\n");
    home
}

fn open_descriptors(agent: &Agent) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", agent.pid())).unwrap().count()
}

/// Limits the process to this number of descriptors; returns the previous limit.
fn limit(agent: &Agent, most: u64) -> u64 {
    let pid = Pid::from_raw(agent.pid().try_into().unwrap());
    let maximum = getrlimit(Resource::Nofile).maximum;
    prlimit(pid, Resource::Nofile, Rlimit { current: Some(most), maximum }).unwrap().current.unwrap()
}

#[test]
fn idle_sessions_hold_no_descriptors() {
    let home = local();
    let (mut agent, first) = Agent::open(&home, &[], &Editor::without_anything());
    let mut editor = Editor::without_anything();
    let mut turns = |agent: &mut Agent, session: &str| {
        for line in ["show a.txt", "run echo hello"] {
            assert_eq!(agent.prompt(session, line, &mut editor).unwrap(), "end_turn");
        }
    };
    turns(&mut agent, &first);
    // The rooms of the last sessions are kept.
    let mut some = |agent: &mut Agent, sessions: usize| {
        for _ in 0..sessions {
            let session = agent.new_session(&home);
            turns(agent, &session);
        }
        open_descriptors(agent)
    };
    let before = some(&mut agent, 5);
    let after = some(&mut agent, SESSIONS);
    assert!(after <= before + 2, "{before} with a few sessions, {after} with {SESSIONS} more");
}

#[test]
fn a_process_out_of_descriptors_answers_every_prompt_and_recovers() {
    let home = local();
    let (mut agent, first) = Agent::open(&home, &[], &Editor::without_anything());
    let mut editor = Editor::without_anything();
    assert_eq!(agent.prompt(&first, "run echo before", &mut editor).unwrap(), "end_turn");
    let sessions: Vec<String> = (0..SESSIONS).map(|_| agent.new_session(&home)).collect();
    let had = limit(&agent, open_descriptors(&agent) as u64);
    let ids: Vec<u64> = sessions
        .iter()
        .map(|session| {
            let content = json!([{ "type": "text", "text": "run echo hello" }]);
            agent.post("session/prompt", json!({ "sessionId": session, "prompt": content }))
        })
        .collect();
    let mut answered = Vec::new();
    while answered.len() < SESSIONS {
        let message = agent.receive().expect("an answer to each prompt");
        if let Some(id) = message["id"].as_u64().filter(|id| ids.contains(id)) {
            assert!(
                message["result"]["stopReason"] == "end_turn" || message["error"].is_object(),
                "{message}"
            );
            answered.push(id);
        } else {
            agent
                .updates
                .extend(Some(message["params"]["update"].clone()).filter(|update| !update.is_null()));
        }
    }
    let failed = |update: &&Value| update["status"] == "failed";
    let reported = agent.updates.iter().rfind(failed).expect("a command that could not start").to_string();
    assert!(reported.contains("open files") || reported.contains("os error 24"), "{reported}");
    limit(&agent, had);
    assert_eq!(agent.prompt(&sessions[0], "run echo again", &mut editor).unwrap(), "end_turn");
    let last = agent.updates.iter().rfind(|update| update["status"] == "completed").unwrap().to_string();
    assert!(last.contains("again"), "{last}");
}
