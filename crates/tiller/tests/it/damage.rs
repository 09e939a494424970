//! The session database is damaged, deleted or inaccessible.

use crate::home::{Home, stderr, stdout};
use serde_json::Value;
use std::{fs, os::unix::fs::FileExt as _, path::PathBuf};

const PAGE: usize = 4096;

fn data(home: &Home) -> PathBuf {
    home.path().join("home/.local/share/tiller")
}

fn file(home: &Home) -> PathBuf {
    data(home).join("sessions.db")
}

/// Runs a prompt and returns the session's id.
fn prompted(home: &Home, prompt: &str) -> String {
    let output = home.run(&["-p", prompt, "-o", "json"]);
    let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    run["session_id"].as_str().unwrap().to_owned()
}

/// Runs a prompt so long that its end fills pages of its own; returns the session's id.
fn long_prompt(home: &Home) -> String {
    prompted(home, &format!("say {}{}", "alpha ".repeat(500), STORY.repeat(800)))
}

/// Text that occurs only in the end of the long prompt.
const STORY: &str = "a long story. ";

/// Zeroes the pages with the end of the long prompt.
fn damage(home: &Home) {
    // Checkpoints the write-ahead log into the database file.
    assert!(home.run(&["sessions", "repair"]).status.success());
    let bytes = fs::read(file(home)).unwrap();
    let open = fs::OpenOptions::new().write(true).open(file(home)).unwrap();
    let mut hit = 0;
    for (number, page) in bytes.chunks(PAGE).enumerate() {
        if page.windows(2 * STORY.len()).any(|part| part == STORY.repeat(2).as_bytes()) {
            open.write_all_at(&[0; PAGE], (number * PAGE) as u64).unwrap();
            hit += 1;
        }
    }
    assert!(hit > 1);
}

fn json(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {}", stderr(&output)))
}

#[test]
fn a_damaged_page_loses_only_its_sessions_and_doctor_and_repair_report_it() {
    let home = Home::new();
    let first = long_prompt(&home);
    let second = prompted(&home, "say beta");
    damage(&home);

    let doctor = home.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let issues = report["issues"].to_string();
    assert!(issues.contains("tiller sessions repair") && issues.contains("sessions"), "{issues}");
    let before = fs::read(file(&home)).unwrap();
    let planned = home.run(&["sessions", "repair", "--check"]);
    assert!(!planned.status.success() && stdout(&planned).contains("sets the damaged one aside"));
    assert!(fs::read(file(&home)).unwrap() == before, "a check changes nothing");

    let repaired = json(&home, &["sessions", "repair", "--json"]);
    assert_eq!(repaired["done"], "salvaged", "{repaired}");
    assert_eq!(repaired["cut"][0]["session_id"], *first, "{repaired}");
    let aside = repaired["set_aside"][0].as_str().unwrap();
    assert!(fs::metadata(aside).is_ok_and(|file| file.len() > 0), "{aside}");

    let report = json(&home, &["doctor", "--json"]);
    assert_eq!(report["sessions"]["set_aside"][0].as_str(), Some(aside));
    assert_eq!(report["sessions"]["cut"][0]["session_id"], *first);
    assert!(!report["issues"].to_string().contains("repair"), "{report}");
    let text = stdout(&home.run(&["doctor"]));
    assert!(text.contains(aside) && text.contains(&first), "{text}");
    assert!(stdout(&home.run(&["sessions", "show", &second])).contains("say beta"));
    assert!(home.run(&["-p", "go on", "--session", &first]).status.success(), "what is left of it goes on");
    let again = json(&home, &["sessions", "repair", "--json"]);
    assert_eq!((&again["done"], &again["problems"]), (&Value::from("nothing"), &Value::Array(Vec::new())));
}

#[test]
fn a_damaged_page_is_salvaged_automatically() {
    let home = Home::new();
    let first = long_prompt(&home);
    let second = prompted(&home, "say beta");
    damage(&home);
    let shown = home.run(&["sessions", "show", &first]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    let reported = stderr(&shown);
    assert!(
        reported.contains("was damaged")
            && reported.contains("sessions.db.damaged-")
            && reported.contains(&first),
        "{reported}"
    );
    assert!(stdout(&home.run(&["sessions", "show", &second])).contains("say beta"));
}

#[test]
fn an_empty_database_file_is_reported() {
    let home = Home::new();
    prompted(&home, "say alpha");
    fs::write(file(&home), "").unwrap();
    let listed = home.run(&["sessions", "list"]);
    assert!(listed.status.success(), "{}", stderr(&listed));
    assert!(
        stderr(&listed).contains("0 bytes") && stderr(&listed).contains("sessions.db"),
        "{}",
        stderr(&listed)
    );
    fs::write(file(&home), "").unwrap();
    assert!(stdout(&home.run(&["doctor"])).contains("0 bytes"));
}

#[test]
fn a_store_whose_creation_was_interrupted_is_created_without_a_warning() {
    let home = Home::new();
    prompted(&home, "say alpha");
    fs::write(file(&home), "").unwrap();
    // SQLite has a rollback journal only until the store's write-ahead log is switched on.
    let _ = fs::remove_file(file(&home).with_extension("db-wal"));
    fs::write(file(&home).with_extension("db-journal"), [0; 512]).unwrap();
    let checked = home.run(&["doctor"]);
    assert!(!stdout(&checked).contains("0 bytes"), "{}", stdout(&checked));
    let listed = home.run(&["sessions", "list"]);
    assert!(listed.status.success() && !stderr(&listed).contains("warning"), "{}", stderr(&listed));
}

#[test]
fn a_store_that_cannot_be_opened_is_named_with_a_remedy() {
    let home = Home::new();
    fs::create_dir_all(data(&home).parent().unwrap()).unwrap();
    fs::write(data(&home), "in the way").unwrap();
    let output = home.run(&["-p", "hello"]);
    let reported = stderr(&output);
    assert!(!output.status.success() && reported.contains(data(&home).to_str().unwrap()), "{reported}");
    assert_eq!(reported.matches("the session store failed").count(), 1, "{reported}");
    fs::remove_file(data(&home)).unwrap();
    assert!(home.run(&["-p", "hello"]).status.success());
}

#[test]
fn unreadable_stored_keys_fail_only_where_they_are_needed() {
    for (name, spoil) in [
        ("malformed", (|path| fs::write(path, "{ no json").unwrap()) as fn(PathBuf)),
        ("unreadable", |path| fs::create_dir_all(path).unwrap()),
    ] {
        let home = Home::new();
        fs::create_dir_all(data(&home)).unwrap();
        spoil(data(&home).join("secrets.json"));
        let output = home.run(&["-p", "hello"]);
        let reported = stderr(&output);
        assert!(output.status.success(), "{name}: {reported}");
        assert!(reported.contains("secrets.json") && reported.contains("tiller setup"), "{name}: {reported}");
        assert!(stdout(&home.run(&["doctor"])).contains("secrets.json"), "{name}");
    }
}
