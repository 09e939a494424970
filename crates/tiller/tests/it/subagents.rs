//! The changes of subagents, as the user of a whole process finds them.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stdout},
    interface::model::Model,
};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

fn edit() -> Value {
    json!({ "path": "a.txt", "old_string": "one", "new_string": "two" })
}

#[test]
fn a_run_names_the_files_that_its_subagents_changed() {
    let model = Model::start();
    let home = model.home();
    home.write("a.txt", "one\n");
    let mut run = home.tiller(&["-p", "have it changed", "--yolo", "-o", "json"]);
    let run = run.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    model.next().call("subagent", &json!({ "task": "change it", "type": "general", "mode": "await" }));
    model.next().call("file_edit", &edit());
    model.next().say("It is changed.");
    model.next().say("Done.");
    let result: Value = serde_json::from_str(&stdout(&run.wait_with_output().unwrap())).unwrap();
    assert_eq!(result["files_changed"], json!([home.file("a.txt")]), "{result}");
    let id = result["session_id"].as_str().unwrap();
    let undone = home.run(&["sessions", "rewind", id, "--to", "0", "--json"]);
    assert!(undone.status.success(), "{}", stdout(&undone));
    assert_eq!(home.read("a.txt").as_deref(), Some("one\n"));
}

fn git(home: &Home, args: &[&str]) -> String {
    let author = ["-c", "user.name=A", "-c", "user.email=a@localhost"];
    let ran = Command::new("git").current_dir(home.project()).args(author).args(args).output().unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
    stdout(&ran)
}

#[test]
fn a_cancelled_isolated_subagent_leaves_its_branch() {
    let model = Model::start();
    let home = model.home();
    home.write("a.txt", "one\n");
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "first"]] {
        git(&home, args);
    }
    let mut editor = Editor::without_anything();
    let (mut agent, session) = Agent::open(&home, &["--yolo"], &editor);
    let prompt = json!([{ "type": "text", "text": "have it changed" }]);
    let turn = agent.post("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
    let alone = json!({ "task": "change it", "type": "general", "mode": "await", "isolation": "worktree" });
    model.next().call("subagent", &alone);
    model.next().call("file_edit", &edit());
    let _never_answered = model.next();
    agent.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }));
    loop {
        let message = agent.receive().expect("the answer of the prompt");
        if message["id"] == turn && message.get("method").is_none() {
            assert_eq!(message["result"]["stopReason"], "cancelled", "{message}");
            break;
        }
        agent.serve(&message, &mut editor);
    }
    assert_eq!(home.read("a.txt").as_deref(), Some("one\n"));
    let branch = git(&home, &["branch", "--list", "--format=%(refname:short)", "tiller/*"]);
    let branch = branch.trim();
    assert!(!branch.is_empty() && !branch.contains('\n'), "{branch:?}");
    agent.hang_up();
    let work = format!("{branch}:a.txt");
    assert_eq!(git(&home, &["show", &work]), "two\n");
    let shown: String = agent.updates.iter().map(Value::to_string).collect();
    assert!(shown.contains(branch), "{shown}");
}
