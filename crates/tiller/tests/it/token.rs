//! `tiller token`: what is printed, what is stored, and what a server would make of it.

use crate::home::{Home, stderr, stdout};
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Output};

fn file(home: &Home) -> PathBuf {
    home.path().join("home/.local/share/tiller/tokens.toml")
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{} {}", stdout(output), stderr(output)))
}

#[test]
fn a_token_is_printed_once_and_alone_and_only_its_digest_is_stored() {
    let home = Home::empty();
    let created = home.run(&["token", "create", "laptop", "--user", "ada"]);
    assert!(created.status.success(), "{}", stderr(&created));
    let token = stdout(&created).trim_end_matches('\n').to_owned();
    assert!(token.starts_with("tlr_") && token.len() == 47, "{token:?}");
    let note = stderr(&created);
    assert!(note.contains("is not shown again") && !note.contains(&token), "{note}");

    let stored = fs::read_to_string(file(&home)).unwrap();
    assert!(!stored.contains(&token[4..]), "{stored}");
    assert_eq!(fs::metadata(file(&home)).unwrap().permissions().mode() & 0o777, 0o600);

    let listed = home.run(&["token", "list", "--json"]);
    let answer = json_of(&listed);
    let row = &answer["tokens"][0];
    assert_eq!(
        (&row["name"], &row["user"], &row["state"]),
        (&"laptop".into(), &"ada".into(), &"valid".into())
    );
    assert_eq!(
        row["scopes"],
        serde_json::json!([
            "connect",
            "session:create",
            "session:read",
            "session:write",
            "session:approve",
            "session:delete"
        ])
    );
    for output in [&listed, &home.run(&["token", "list"])] {
        assert!(!stdout(output).contains(&token[4..]) && !stderr(output).contains(&token[4..]));
    }
}

#[test]
fn a_program_gets_the_token_in_the_object_and_revokes_it_by_its_id() {
    let home = Home::empty();
    let line = ["token", "create", "ci", "--user", "build", "--scopes", "connect,session:read"];
    let created = json_of(&home.run(&[&line[..], &["--expires", "never", "--json"]].concat()));
    assert_eq!(created["token"].as_str().unwrap().len(), 47);
    assert_eq!(created["scopes"], serde_json::json!(["connect", "session:read"]));
    assert!(created["expires"].is_null());
    let id = created["id"].as_str().unwrap();
    let revoked = json_of(&home.run(&["token", "revoke", id, "--stop", "--json"]));
    assert_eq!((&revoked["state"], &revoked["stops_turns"]), (&"revoked".into(), &true.into()));
    let listed = json_of(&home.run(&["token", "list", "--json"]));
    assert_eq!(listed["tokens"][0]["state"], "revoked");
    // Both are in the audit, by the id of the token.
    let directory = fs::read_dir(home.path().join("home/.local/share/tiller/audit")).unwrap();
    let files: Vec<_> = directory.map(|entry| entry.unwrap().path()).collect();
    let audit: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let records: Vec<_> = lines.iter().map(|line| (&line["what"], &line["about"])).collect();
    assert_eq!(records, [(&"token_created".into(), &id.into()), (&"token_revoked".into(), &id.into())]);
    assert!(!audit.contains(&created["token"].as_str().unwrap()[4..]));

    let unknown = home.run(&["token", "revoke", "tok_absent", "--json"]);
    assert_eq!((unknown.status.code(), &json_of(&unknown)["kind"]), (Some(1), &"not_found".into()));
}

#[test]
fn what_no_token_can_have_is_refused_and_nothing_is_stored() {
    let home = Home::empty();
    for (args, says) in [
        (&["laptop"][..], "--user"),
        (&["laptop", "--user", "ada", "--scopes", "session:all"], "session:approve"),
        (&["laptop", "--user", "ada", "--expires", "soon"], "such as 90d"),
        (&["laptop", "--user", "a b"], "the user"),
        (&["", "--user", "ada"], "the name"),
    ] {
        let output = home.run(&[&["token", "create"], args].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains(says), "{args:?}: {}", stderr(&output));
    }
    assert!(!file(&home).exists());
}

#[test]
fn a_file_that_others_can_read_is_refused_with_the_command_that_mends_it() {
    let home = Home::empty();
    assert!(home.run(&["token", "create", "one", "--user", "ada"]).status.success());
    fs::set_permissions(file(&home), fs::Permissions::from_mode(0o644)).unwrap();
    for args in [&["token", "list"][..], &["token", "create", "two", "--user", "ada"]] {
        let output = home.run(args);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("try: chmod 600 "), "{}", stderr(&output));
    }
    fs::set_permissions(file(&home), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(json_of(&home.run(&["token", "list", "--json"]))["tokens"].as_array().unwrap().len(), 1);
}

#[test]
fn commands_that_run_at_the_same_time_lose_no_token() {
    let home = Home::empty();
    let names: Vec<_> = (0..8).map(|number| format!("token{number}")).collect();
    let spawn =
        |name: &String| home.tiller(&["token", "create", name, "--user", "ada", "-q"]).spawn().unwrap();
    let children: Vec<_> = names.iter().map(spawn).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let listed = json_of(&home.run(&["token", "list", "--json"]));
    assert_eq!(listed["tokens"].as_array().unwrap().len(), names.len());
}
