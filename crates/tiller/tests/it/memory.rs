//! `tiller memory`, and memories in headless runs.

use crate::{
    home::{Home, stderr, stdout},
    model_server::ModelServer,
};
use serde_json::{Value, json};
use std::{io::Write as _, os::unix::fs::PermissionsExt as _, process::Stdio};

/// Runs a command that must succeed, and returns its output.
fn ok(home: &Home, args: &[&str]) -> String {
    let output = home.run(&[&["memory"], args].concat());
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

/// Runs a command that must fail, and returns its message.
fn refused(home: &Home, args: &[&str]) -> String {
    let output = home.run(&[&["memory"], args].concat());
    assert!(!output.status.success(), "{args:?}: {}", stdout(&output));
    stderr(&output)
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn memories_are_added_listed_searched_pinned_and_forgotten() {
    let home = Home::new();
    std::fs::create_dir(home.project().join(".git")).unwrap();
    std::fs::create_dir(home.project().join("src")).unwrap();
    assert_eq!(ok(&home, &["add", "Tabs", "Use tabs."]), "Saved memory #1: Tabs (project/durable)\n");
    let user = ["add", "Tea", "The user likes tea.", "--type", "user", "--class", "priority"];
    assert_eq!(ok(&home, &user), "Saved memory #2: Tea (user/priority)\n");
    let working = ["add", "Now", "The parser is slow.", "--class", "working"];
    ok(&home, &working);
    let listed = ok(&home, &["list"]);
    let titles: Vec<_> = listed.lines().filter_map(|line| line.rsplit("  ").next()).collect();
    assert_eq!(titles, ["Tea", "Tabs", "Now"], "{listed}");
    assert!(listed.lines().nth(2).unwrap().contains(", expires 20"), "{listed}");
    assert_eq!(ok(&home, &["search", "pars"]).lines().count(), 1);
    assert_eq!(ok(&home, &["pin", "#3"]), "Pinned memory #3: Now (project/working)\n");
    let rows = json_lines(&ok(&home, &["list", "--type", "project", "--jsonl"]));
    assert_eq!((&rows[0]["id"], &rows[0]["pinned"]), (&json!(3), &json!(true)), "{rows:?}");
    assert_eq!(rows[1]["content"], "Use tabs.");
    assert_eq!(rows[1]["project"], home.project().to_str().unwrap());
    assert_eq!(ok(&home, &["unpin", "3"]), "Unpinned memory #3: Now (project/working)\n");
    assert!(ok(&home, &["show", "2"]).ends_with("\n\nThe user likes tea.\n"));
    // The directories of a repository are one project; another project sees the user's only.
    let elsewhere = |directory: &std::path::Path| {
        let output = home.tiller(&["memory", "list", "--jsonl"]).current_dir(directory).output().unwrap();
        json_lines(&stdout(&output)).len()
    };
    assert_eq!((elsewhere(&home.project().join("src")), elsewhere(&home.path())), (3, 1));
    assert_eq!(ok(&home, &["forget", "1", "#2"]).lines().count(), 2);
    assert!(refused(&home, &["show", "1"]).contains("there is no memory #1; `tiller memory list --all`"));
    assert!(
        refused(&home, &["add", "now", "x"]).contains("Memory #3: Now (project/working) has the same title")
    );
    let secret = refused(&home, &["add", "Key", "it is sk-0123456789abcdefghijkl"]);
    assert!(secret.contains("looks like a password") && !secret.contains("0123"), "{secret}");
}

#[test]
fn an_editor_changes_a_memory() {
    let home = Home::new();
    ok(&home, &["add", "Tabs", "Use tabs."]);
    let edit = |script: &str| {
        let editor = home.path().join("editor");
        std::fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).unwrap();
        home.tiller(&["memory", "edit", "1"]).env("EDITOR", &editor).output().unwrap()
    };
    assert!(stderr(&edit("true")).contains("Nothing was changed."));
    let changed =
        edit("sed -i 's/Use tabs/Use spaces/; s/type: project/type: decision/; s/never/2999-01-02/' \"$1\"");
    assert_eq!(stdout(&changed), "", "{}", stderr(&changed));
    let says = "expires: 2999-01-02 is not within the next ten years";
    assert!(stderr(&changed).contains(says), "{}", stderr(&changed));
    let changed = edit("sed -i 's/Use tabs/Use spaces/; s/type: project/type: decision/' \"$1\"");
    assert_eq!(stdout(&changed), "Updated memory #1: Tabs (decision/durable)\n", "{}", stderr(&changed));
    let broken = edit("echo 'colour: red' > \"$1\"");
    assert_eq!(broken.status.code(), Some(1));
    let kept = stderr(&broken).split("your text is in ").nth(1).unwrap().trim().to_owned();
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "colour: red\n");
    std::fs::remove_dir_all(std::path::Path::new(&kept).parent().unwrap()).unwrap();
    assert!(stderr(&edit("exit 3")).contains("reported a failure; nothing was changed"));
    let row = json_lines(&ok(&home, &["show", "1", "--json"])).remove(0);
    assert_eq!((&row["content"], &row["type"]), (&json!("Use spaces."), &json!("decision")));
}

#[test]
fn an_export_is_imported_elsewhere() {
    let home = Home::new();
    ok(&home, &["add", "Tabs", "Use tabs.\n---\nNever spaces.", "--pin"]);
    ok(&home, &["add", "Tea", "The user likes tea.", "--type", "user", "--expires-days", "30"]);
    let exported = ok(&home, &["export"]);
    let other = Home::new();
    let import = |args: &[&str]| {
        let mut child = other
            .tiller(&[&["memory", "import", "-"], args].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(exported.as_bytes()).unwrap();
        stdout(&child.wait_with_output().unwrap())
    };
    assert!(import(&["--here"]).ends_with("2 saved, 0 were there already\n"));
    assert!(import(&["--here"]).ends_with("0 saved, 2 were there already\n"));
    let same = |text: &str, home: &Home| text.replace(home.project().to_str().unwrap(), "PROJECT");
    assert_eq!(same(&ok(&other, &["export"]), &other), same(&exported, &home));
    assert!(
        import(&[]).ends_with("1 saved, 1 were there already\n"),
        "the project of the export is another one"
    );
}

#[test]
fn a_project_is_trusted_after_its_memories_were_shown() {
    let home = Home::new();
    ok(&home, &["add", "Tabs", "Use tabs."]);
    ok(&home, &["add", "Tea", "The user likes tea.", "--type", "user"]);
    let sent = |home: &Home| ok(home, &["list", "--prompt"]);
    assert!(sent(&home).contains("Tea") && !sent(&home).contains("Tabs"), "{}", sent(&home));
    assert!(refused(&home, &["trust"]).contains("there is no terminal to ask on; review what is shown"));
    assert!(!sent(&home).contains("Tabs"));
    let shown = ok(&home, &["trust", "--yes"]);
    assert!(
        shown.contains("Use tabs.") && !shown.contains("Tea") && shown.contains("is trusted with memories")
    );
    assert!(sent(&home).contains("# Memories\n") && sent(&home).contains("Use tabs."));
    let listed = stdout(&home.run(&["trust", "--list"]));
    assert_eq!(listed, format!("trusted   {}\n  trusted   memories\n", home.project().display()));
    assert!(ok(&home, &["trust", "--revoke"]).ends_with("is not trusted with memories any more\n"));
    assert!(!sent(&home).contains("Tabs"));
    // The trust of other items is none in memories.
    home.write(".tiller/config.toml", "[agent]\nsystem_prompt = 'x'\n");
    assert!(home.run(&["trust", "--yes"]).status.success());
    assert!(!sent(&home).contains("Tabs"));
    home.settings("[context]\nmemories = false\n");
    assert_eq!(sent(&home), "");
}

#[test]
fn a_run_is_sent_exactly_what_the_list_shows() {
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'");
    ok(&home, &["add", "Tabs", "Use tabs in \"all\" files."]);
    ok(&home, &["add", "Tea", "The user likes tea.", "--type", "user"]);
    ok(&home, &["trust", "--yes"]);
    let shown = ok(&home, &["list", "--prompt", "say something"]);
    let says = r#"{"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let server = ModelServer::start(vec![format!("data: {says}\n\ndata: [DONE]\n\n")]);
    let mut command = home.tiller(&["-p", "say something", "-m", "openai/test"]);
    let output = command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", &server.url).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (_, body) = server.requests.recv().unwrap();
    assert!(body.contains(Value::from(shown.trim_end()).to_string().trim_matches('"')), "{shown}\n{body}");
    let rows = json_lines(&ok(&home, &["list", "--jsonl"]));
    assert!(rows.iter().all(|row| row["surfaced_at"].is_string()), "{rows:?}");
}
