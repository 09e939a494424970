//! The editor and headless runs share one session store.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
};
use serde_json::{Value, json};

const EDIT: &str = "replace \"one\" with \"two\" in a.txt";

#[test]
fn both_interfaces_make_the_same_change_and_continue_each_others_sessions() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let run: Value = serde_json::from_slice(&home.run(&["-p", EDIT, "-o", "json"]).stdout).unwrap();
    let headless = run["session_id"].as_str().unwrap();
    let changed = home.read("a.txt").unwrap();
    assert_eq!(changed, "two\n");

    home.write("a.txt", "one\n");
    let mut editor = Editor::with_everything();
    let (mut agent, session) = Agent::open(&home, &[], &editor);
    assert_eq!(agent.prompt(&session, EDIT, &mut editor).unwrap(), "end_turn");
    assert_eq!(home.read("a.txt").unwrap(), changed);

    // The editor continues the headless session …
    agent.updates.clear();
    let load = json!({ "sessionId": headless, "cwd": home.project(), "mcpServers": [] });
    agent.call("session/load", load, &mut editor).unwrap();
    assert!(agent.updates.iter().any(|update| update["sessionUpdate"] == "user_message_chunk"));
    assert_eq!(agent.statuses().last().map(String::as_str), Some("completed"));
    assert_eq!(agent.prompt(headless, "show a.txt", &mut editor).unwrap(), "end_turn");
    agent.hang_up();

    // … and a headless run continues the editor's.
    let on = home.run(&["-p", "show a.txt", "--session", &session]);
    assert!(on.status.success() && stdout(&on).contains("two"), "{}{}", stdout(&on), stderr(&on));
    let shown = stdout(&home.run(&["sessions", "show", &session]));
    assert!(shown.contains(EDIT) && shown.contains("> show a.txt"), "{shown}");
    let last: Value = serde_json::from_slice(&home.run(&["-p", "help", "-c", "-o", "json"]).stdout).unwrap();
    assert_eq!(last["session_id"], session.as_str());
    let listed = |more: &[&str]| {
        let args = [&["sessions", "list", "--jsonl"], more].concat();
        stdout(&home.run(&args)).lines().count()
    };
    assert_eq!(listed(&[]), 2);
    for (command, left) in [("archive", 1), ("unarchive", 2)] {
        assert!(home.run(&["sessions", command, &session]).status.success());
        assert_eq!((listed(&[]), listed(&["--archived"])), (left, 2), "{command}");
    }
}

#[test]
fn sessions_move_with_their_project() {
    let home = Home::new();
    let path = |name: &str| home.file(name);
    let run = |args: &[&str]| -> Value { serde_json::from_slice(&home.run(args).stdout).unwrap() };
    home.write("old/a.txt", "one\n");
    home.write("old/sub/b.txt", "one\n");
    let (old, sub, new) = (path("old"), path("old/sub"), path("new place"));
    let first = run(&["-p", "help", "--cwd", &old, "-o", "json"])["session_id"].clone();
    let second = run(&["-p", "help", "--cwd", &sub, "-o", "json"])["session_id"].clone();
    std::fs::rename(&old, &new).unwrap();

    let none = run(&["-p", "help", "-c", "--cwd", &new, "-o", "json"]);
    assert_eq!(none["kind"], "not_found", "{none}");
    let command = format!("tiller sessions move {old} '{new}'");
    assert!(none["next_commands"].as_array().unwrap().contains(&json!(command)), "{none}");
    let gone = run(&["-p", "help", "--session", first.as_str().unwrap(), "--cwd", &new, "-o", "json"]);
    assert!(gone["error"].as_str().unwrap().contains("does not exist any more"), "{gone}");
    let command = format!("tiller sessions move {} '{new}'", first.as_str().unwrap());
    assert_eq!(gone["next_commands"], json!([command]));

    let moved = run(&["sessions", "move", &old, &new, "--json"]);
    let mut places: Vec<_> =
        moved["moved"].as_array().unwrap().iter().map(|one| (&one["id"], &one["to"])).collect();
    places.sort_by_key(|(id, _)| id.to_string());
    let new_sub = json!(path("new place/sub"));
    assert_eq!(places, [(&first, &json!(new)), (&second, &new_sub)]);
    let on = run(&["-p", "help", "-c", "--cwd", &new, "-o", "json"]);
    assert_eq!(on["session_id"], first);
    let back = run(&["sessions", "move", first.as_str().unwrap(), &path("."), "--json"]);
    assert_eq!(back["success"], true, "{back}");
    let none = run(&["sessions", "move", &path("nowhere"), &new, "--json"]);
    assert_eq!((&none["success"], &none["kind"]), (&json!(false), &json!("not_found")));
}

#[test]
fn sessions_are_listed_where_their_project_is_now() {
    let home = Home::new();
    let run = |args: &[&str]| -> Value { serde_json::from_slice(&home.run(args).stdout).unwrap() };
    let git = |folder: &str, args: &[&str]| {
        let ran = std::process::Command::new("git").current_dir(folder).args(args).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {ran:?}");
    };
    let work = |name: &str| {
        home.write(&format!("{name}/a.txt"), "one\n");
        home.file(name)
    };
    let (renamed, copied, cloned, other) = (work("renamed"), work("copied"), work("cloned"), work("other"));
    for folder in [&copied, &cloned, &other] {
        git(folder, &["init", "-q"]);
        git(folder, &["add", "."]);
        let author = ["-c", "user.name=A", "-c", "user.email=a@localhost"];
        git(folder, &[&author[..], &["commit", "-qm", folder]].concat());
    }
    git(&cloned, &["remote", "add", "origin", "https://me:secret@host.example/a/b.git"]);
    let begin = |folder: &str| run(&["-p", "help", "--cwd", folder, "-o", "json"])["session_id"].clone();
    let ids = [&renamed, &copied, &cloned, &other].map(|folder| begin(folder));
    let to = |name: &str| home.file(&format!("now/{name}"));
    std::fs::create_dir(home.file("now")).unwrap();
    std::fs::rename(&renamed, to("renamed")).unwrap();
    let ran = std::process::Command::new("cp").args(["-r", &copied, &to("copied")]).status();
    assert!(ran.unwrap().success());
    git(&home.file("now"), &["clone", "-q", &cloned, "cloned"]);
    git(&to("cloned"), &["remote", "set-url", "origin", "git@host.example:a/b"]);
    for folder in [&copied, &cloned, &other] {
        std::fs::remove_dir_all(folder).unwrap();
    }
    work("now/other");
    for (name, old, id) in
        [("renamed", &renamed, &ids[0]), ("copied", &copied, &ids[1]), ("cloned", &cloned, &ids[2])]
    {
        let now = to(name);
        let listed = run(&["sessions", "list", "--cwd", &now, "--json"]);
        assert_eq!(listed["items"][0]["session_id"], *id, "{name}: {listed}");
        let gone = run(&["-p", "help", "-c", "--cwd", &now, "-o", "json"]);
        assert!(gone["error"].as_str().unwrap().contains("does not exist any more"), "{gone}");
        let [command] = gone["next_commands"].as_array().unwrap().as_slice() else { panic!("{gone}") };
        assert_eq!(*command, json!(format!("tiller sessions move {old} {now}")));
        // A session of the folder itself comes first.
        let new = begin(&now);
        assert_eq!(run(&["-p", "help", "-c", "--cwd", &now, "-o", "json"])["session_id"], new, "{name}");
        run(&["sessions", "move", old, &now, "--json"]);
        let listed = run(&["sessions", "list", "--cwd", &now, "--json"]);
        assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{name}: {listed}");
    }
    let listed = run(&["sessions", "list", "--cwd", &to("other"), "--json"]);
    assert_eq!(listed["items"], json!([]), "{listed}");
}

#[test]
fn an_editor_rebinds_a_session_to_its_folder() {
    let home = Home::new();
    home.write("old/a.txt", "one\n");
    let (old, new) = (home.file("old"), home.file("new"));
    let ran = home.run(&["-p", "help", "--cwd", &old, "-o", "json"]);
    let id = serde_json::from_slice::<Value>(&ran.stdout).unwrap()["session_id"].clone();
    std::fs::rename(&old, &new).unwrap();
    let mut editor = Editor::with_everything();
    let (mut agent, _) = Agent::open(&home, &[], &editor);
    for method in ["session/load", "session/resume"] {
        let given = json!({ "sessionId": id, "cwd": new, "mcpServers": [] });
        if method == "session/load" {
            let refused = agent.call(method, given.clone(), &mut editor).unwrap_err();
            assert!(refused.to_string().contains("rebind"), "{refused}");
        }
        let mut given = given;
        given["_meta"] = json!({ "tiller": { "rebind": true } });
        agent.call(method, given, &mut editor).unwrap();
        agent.call("session/close", json!({ "sessionId": id }), &mut editor).unwrap();
    }
    agent.hang_up();
    let listed: Value =
        serde_json::from_slice(&home.run(&["sessions", "list", "--cwd", &new, "--json"]).stdout).unwrap();
    assert_eq!(listed["items"][0]["session_id"], id, "{listed}");
}

#[test]
fn a_link_and_its_target_are_one_project() {
    let home = Home::new();
    home.write("real/a.txt", "one\n");
    let (real, link) = (home.file("real"), home.file("link"));
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut editor = Editor::with_everything();
    let (mut agent, _) = Agent::open(&home, &[], &editor);
    let made = agent.call("session/new", json!({ "cwd": link, "mcpServers": [] }), &mut editor).unwrap();
    let id = made["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(agent.prompt(&id, EDIT, &mut editor).unwrap(), "end_turn");
    for cwd in [&real, &link] {
        let listed = agent.call("session/list", json!({ "cwd": cwd }), &mut editor).unwrap();
        assert_eq!(listed["sessions"][0]["sessionId"], id.as_str(), "{cwd}: {listed}");
    }
    agent.call("session/close", json!({ "sessionId": id }), &mut editor).unwrap();
    let load = json!({ "sessionId": id, "cwd": real, "mcpServers": [] });
    agent.call("session/load", load, &mut editor).unwrap();
    agent.hang_up();
    let on = home.run(&["-p", "help", "-c", "--cwd", &real, "-o", "json"]);
    assert_eq!(serde_json::from_slice::<Value>(&on.stdout).unwrap()["session_id"], id.as_str());
}
