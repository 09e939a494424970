//! `tiller sessions` on stored sessions: export, import, search, delete, rewind.

use crate::home::{Home, stderr, stdout};
use serde_json::Value;

const EDIT: &str = "replace \"one\" with \"two\" in a.txt";

/// Creates a session that changed `a.txt`; returns its id.
fn edited(home: &Home) -> String {
    home.write("a.txt", "one\n");
    let run: Value = serde_json::from_slice(&home.run(&["-p", EDIT, "-o", "json"]).stdout).unwrap();
    run["session_id"].as_str().unwrap().to_owned()
}

fn lines(home: &Home, args: &[&str]) -> Vec<Value> {
    let output = home.run(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_export_is_imported_completely_except_files() {
    let home = Home::new();
    let id = edited(&home);
    let exported = home.run(&["sessions", "export", &id]);
    assert!(exported.status.success(), "{}", stderr(&exported));
    home.write("session.json", &stdout(&exported));
    let head: Value = serde_json::from_str(stdout(&exported).lines().next().unwrap()).unwrap();
    assert_eq!((&head["tiller_session"], head["session_id"].as_str()), (&Value::from(1), Some(id.as_str())));

    let shown = stdout(&home.run(&["sessions", "show", &id]));
    // Beside the original it gets a new id; on another machine or after a deletion it keeps its
    // own.
    let copy = stdout(&home.run(&["sessions", "import", "session.json"])).trim().to_owned();
    assert_ne!(copy, id);
    assert_eq!(stdout(&home.run(&["sessions", "show", &copy])), shown);
    let deleted = home.run(&["sessions", "delete", &id, "--yes"]);
    assert!(deleted.status.success(), "{}", stderr(&deleted));
    assert!(stderr(&home.run(&["sessions", "delete", &id, "--yes"])).contains("no session"));
    assert_eq!(stdout(&home.run(&["sessions", "import", "session.json"])).trim(), id);
    assert_eq!(stdout(&home.run(&["sessions", "show", &id])), shown);
    assert_eq!(lines(&home, &["sessions", "list", "--jsonl"]).len(), 2);

    // An imported file must not determine which files are restored on this machine.
    home.write("a.txt", "two\n");
    let rewound = home.run(&["sessions", "rewind", &id, "--to", "0"]);
    assert!(stdout(&rewound).contains("There was nothing to restore"), "{}", stdout(&rewound));
    assert_eq!(home.read("a.txt").as_deref(), Some("two\n"));
    assert!(home.run(&["-p", "show a.txt", "--session", &id]).status.success(), "and it goes on");

    for (text, expected) in [
        ("", "empty"),
        ("{}\n", "not an export"),
        ("{\"tiller_session\":9}\n", "version 9"),
        (&format!("{head}\n{{\"format\":1,\"event\":{{\"kind\":\"unheard\"}}}}\n"), "line 2"),
    ] {
        home.write("bad.json", text);
        let refused = home.run(&["sessions", "import", "bad.json"]);
        assert!(
            !refused.status.success() && stderr(&refused).contains(expected),
            "{expected}: {}",
            stderr(&refused)
        );
    }
    assert_eq!(lines(&home, &["sessions", "list", "--jsonl"]).len(), 2);
}

/// Runs a command that prints one object.
fn object(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    let object: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&object["v"], &object["success"]), (&Value::from(1), &Value::Bool(true)), "{args:?}");
    object
}

#[test]
fn a_fork_has_the_whole_history_and_goes_on_alone() {
    let home = Home::new();
    let id = edited(&home);
    let forked = object(&home, &["sessions", "fork", &id, "--json"]);
    let copy = forked["id"].as_str().unwrap();
    assert_eq!(forked["done"], "forked");
    assert_ne!(copy, id);
    let shown = stdout(&home.run(&["sessions", "show", &id]));
    assert_eq!(stdout(&home.run(&["sessions", "show", copy])), shown);
    assert!(home.run(&["-p", "show a.txt", "--session", copy]).status.success());
    assert_eq!(stdout(&home.run(&["sessions", "show", &id])), shown, "the original is as it was");
    let plain = stdout(&home.run(&["sessions", "fork", &id]));
    assert!(home.run(&["sessions", "show", plain.trim()]).status.success(), "{plain:?} is an id");
}

#[test]
fn the_events_of_a_session_and_its_decisions_come_in_pages() {
    let home = Home::new();
    let id = edited(&home);
    for command in [&["sessions", "show", &id][..], &["permissions", "log", "--session", &id]] {
        let run = |more: &[&str]| home.run(&[command, more].concat());
        let whole: Vec<Value> =
            stdout(&run(&["--jsonl"])).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!whole.is_empty(), "{command:?}");
        let (mut seen, mut after) = (Vec::new(), None::<String>);
        loop {
            let mut args = [command, &["--json", "--limit", "1"]].concat();
            args.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
            let page = object(&home, &args);
            seen.extend(page["items"].as_array().unwrap().clone());
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, whole, "{command:?}");
        // Lines have no cursor, so a note has it.
        let cut = run(&["--jsonl", "--limit", "1"]);
        assert_eq!(stdout(&cut).lines().count(), 1, "{command:?}");
        assert_eq!(stderr(&cut).contains("--after 1 continues"), whole.len() > 1, "{}", stderr(&cut));
    }
}

#[test]
fn an_export_and_a_rewind_are_objects_too() {
    let home = Home::new();
    let id = edited(&home);
    let exported = object(&home, &["sessions", "export", &id, "--format", "markdown", "--json"]);
    let text = stdout(&home.run(&["sessions", "export", &id, "--format", "markdown"]));
    assert_eq!(
        (&exported["format"], exported["content"].as_str()),
        (&"markdown".into(), Some(text.as_str()))
    );
    let turns = object(&home, &["sessions", "rewind", &id, "--json"]);
    assert_eq!(turns["items"][0]["files"][0], home.file("a.txt"), "{turns}");
    let rewound = object(&home, &["sessions", "rewind", &id, "--to", "0", "--json"]);
    assert_eq!(rewound["restored"][0], home.file("a.txt"), "{rewound}");
    assert_eq!(home.read("a.txt").unwrap(), "one\n");
    let refused = home.run(&["sessions", "rewind", &id, "--to", "9", "--json"]);
    let refused: Value = serde_json::from_str(&stdout(&refused)).unwrap();
    assert_eq!(refused["kind"], "not_found", "{refused}");
}

#[test]
fn every_command_calls_the_id_of_a_session_session_id() {
    let home = Home::new();
    let id = edited(&home);
    let go_on = ["-p", "show a.txt", "--session", &id, "-o", "stream-json"];
    let commands: [(&[&str], usize); 6] = [
        (&["-p", "show a.txt", "--session", &id, "-o", "json"], 1),
        (&go_on, 2),
        (&["sessions", "list", "--jsonl"], usize::MAX),
        (&["sessions", "search", "replace", "--jsonl"], usize::MAX),
        (&["sessions", "export", &id], 1),
        (&["permissions", "log", "--jsonl"], usize::MAX),
    ];
    for (args, named) in commands {
        let lines = lines(&home, args);
        let with_id: Vec<_> = lines.iter().filter(|line| line["session_id"] == id.as_str()).collect();
        assert_eq!(with_id.len(), named.min(lines.len()), "{args:?}: {lines:?}");
        assert!(!lines.is_empty(), "{args:?}");
        for line in &lines {
            // The id has no other key, at any depth.
            let text = line.to_string();
            let times = text.matches(&format!("\"{id}\"")).count();
            assert_eq!(times, text.matches(&format!("\"session_id\":\"{id}\"")).count(), "{args:?}: {text}");
        }
    }
    // Exports of older versions name it `id`.
    let exported = stdout(&home.run(&["sessions", "export", &id]));
    home.write("old.json", &exported.replacen("\"session_id\":", "\"id\":", 1));
    assert!(home.run(&["sessions", "delete", &id, "--yes"]).status.success());
    assert_eq!(stdout(&home.run(&["sessions", "import", "old.json"])).trim(), id);
}

#[test]
fn a_markdown_export_names_the_author_of_each_message() {
    let home = Home::new();
    let id = edited(&home);
    let document = stdout(&home.run(&["sessions", "export", &id, "--format", "markdown"]));
    for part in ["# replace", "## User\n\n> replace", "### Tool: ", "```text\n", "## offline/pilot"] {
        assert!(document.contains(part), "{part}: {document}");
    }
}

#[test]
fn messages_are_found_by_search() {
    let home = Home::new();
    let id = edited(&home);
    let hits = lines(&home, &["sessions", "search", "REPLACE", "a.txt", "--jsonl"]);
    assert!(hits.iter().all(|hit| hit["session_id"] == id.as_str()) && !hits.is_empty(), "{hits:?}");
    assert!(hits.iter().any(|hit| hit["excerpt"].as_str().unwrap().ends_with("in a.txt")), "{hits:?}");
    assert_eq!(lines(&home, &["sessions", "search", "unheard", "--jsonl"]), Vec::<Value>::new());
    let elsewhere = ["sessions", "search", "replace", "--jsonl", "--cwd", "/"];
    assert_eq!(lines(&home, &elsewhere), Vec::<Value>::new());
    assert!(stdout(&home.run(&["sessions", "search", "two"])).contains(&id));
}

#[test]
fn files_are_rewound_and_redone_from_the_command_line() {
    let home = Home::new();
    let id = edited(&home);
    home.write("mine.txt", "mine\n");
    let rewind = |args: &[&str]| home.run(&[&["sessions", "rewind", id.as_str()], args].concat());
    let listed = stdout(&rewind(&[]));
    assert!(listed.starts_with("1  replace") && listed.contains(&home.file("a.txt")), "{listed}");
    let done = rewind(&["--to", "0"]);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    assert_eq!(home.read("a.txt").as_deref(), Some("one\n"));
    assert!(rewind(&["--redo"]).status.success());
    assert_eq!(home.read("a.txt").as_deref(), Some("two\n"));
    home.write("a.txt", "three\n");
    let conflict = rewind(&["--to", "0"]);
    assert_eq!(conflict.status.code(), Some(1));
    assert!(stdout(&conflict).contains("same lines"), "{}", stdout(&conflict));
    assert_eq!(home.read("a.txt").as_deref(), Some("three\n"));
    assert!(stderr(&rewind(&["--to", "9"])).contains("no turn 9"));
    assert_eq!(home.read("mine.txt").as_deref(), Some("mine\n"));
}

#[test]
fn a_list_is_read_page_by_page_and_its_lines_are_the_items_of_its_pages() {
    let home = Home::new();
    for _ in 0..3 {
        edited(&home);
    }
    for command in [&["sessions", "list"][..], &["sessions", "search", "replace"]] {
        let (mut items, mut after) = (Vec::new(), None::<String>);
        loop {
            let mut args = [command, &["--limit", "2", "--json"]].concat();
            if let Some(cursor) = &after {
                args.extend(["--after", cursor.as_str()]);
            }
            let page = lines(&home, &args).remove(0);
            assert_eq!((&page["v"], &page["success"]), (&1.into(), &true.into()), "{page}");
            assert!(page["items"].as_array().unwrap().len() <= 2, "{page}");
            items.extend(page["items"].as_array().unwrap().clone());
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                break;
            }
        }
        let all = lines(&home, &[command, &["--limit", "100", "--jsonl"]].concat());
        assert!(all.len() >= 3, "{all:?}");
        assert_eq!(items, all, "{command:?}");
        let refused = home.run(&[command, &["--after", "x", "--jsonl"]].concat());
        let failure: Value = serde_json::from_slice(&refused.stdout).unwrap();
        assert_eq!((refused.status.code(), &failure["kind"]), (Some(1), &"usage".into()), "{failure}");
    }
}

#[test]
fn a_session_is_renamed_and_deleted_only_with_a_confirmation() {
    let home = Home::new();
    let id = edited(&home);
    let answer = lines(&home, &["sessions", "rename", &id[..8], "A new title", "--json"]).remove(0);
    assert_eq!((&answer["id"], &answer["title"]), (&id.as_str().into(), &"A new title".into()));
    assert_eq!(lines(&home, &["sessions", "list", "--jsonl"])[0]["title"], "A new title");
    let refused = home.run(&["sessions", "delete", &id]);
    assert!(refused.status.code() == Some(1) && stderr(&refused).contains("--yes"), "{}", stderr(&refused));
    let answer = lines(&home, &["sessions", "delete", &id, "--yes", "--json"]).remove(0);
    assert_eq!((&answer["id"], &answer["done"]), (&id.as_str().into(), &"deleted".into()));
    let gone = home.run(&["sessions", "rename", &id, "x", "--json"]);
    let failure: Value = serde_json::from_slice(&gone.stdout).unwrap();
    assert_eq!(failure["kind"], "not_found", "{failure}");
}
