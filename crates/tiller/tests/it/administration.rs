//! `tiller serve status` and the other commands of an administrator.

use crate::{
    home::{Home, stderr, stdout},
    postgres::Server as Database,
    team::{Client, Server, prompt, token},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

fn ask(home: &Home, args: &[&str]) -> Value {
    let output = home.run(&[&["serve"], args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}{}", stdout(&output), stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn open_session(client: &mut Client, home: &Home) -> String {
    let project = json!({ "cwd": home.project(), "mcpServers": [] });
    client.request("session/new", project).unwrap()["sessionId"].as_str().unwrap().to_owned()
}

#[test]
fn an_administrator_sees_who_is_there_and_closes_a_connection_that_is_opened_anew() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let ada = token(&home, "ada", &["--expires", "3d"]);
    let listen = ["--listen", "tcp:127.0.0.1:0", "--permission-mode", "argus"];
    let server = Server::start(&home, &listen);
    let mut own = Client::connect(&home, None);
    let mut ada = Client::connect(&home, Some((&server, &ada)));
    let (of_own, of_ada) = (open_session(&mut own, &home), open_session(&mut ada, &home));
    ada.start("session/prompt", prompt(&of_ada, "replace one with two in a.txt"));
    ada.until(|message| message["method"] == "session/request_permission");

    let status = ask(&home, &["status"]);
    assert_eq!(status["draining"], false);
    assert_eq!(status["load"], json!({ "users": 2, "open_sessions": 2, "running_turns": 1 }));
    assert_eq!(status["expiring_tokens"][0]["user"], "ada");
    let listeners = status["listeners"].as_array().unwrap();
    assert!(listeners[0] == json!(server.place()) && listeners[1].as_str().unwrap().starts_with("unix:"));
    let connection = |status: &Value, user: &str| {
        let rows = status["connections"].as_array().unwrap().iter();
        let mut of_user = rows.filter(|row| row["user"] == user).map(|row| row["connection"].clone());
        of_user.next().unwrap().as_str().unwrap().to_owned()
    };
    let before = connection(&status, "ada");
    let text = stdout(&home.run(&["serve", "status"]));
    assert!(text.contains(&before) && text.contains("2 open sessions, 1 running turns"), "{text}");

    let sessions = ask(&home, &["sessions"]);
    let row = |at: usize, name: &str| sessions["sessions"][at][name].clone();
    assert_eq!(
        [row(0, "session_id"), row(0, "user"), row(0, "state")],
        [json!(of_own), json!(null), json!("idle")]
    );
    assert_eq!(
        [row(1, "session_id"), row(1, "user"), row(1, "state"), row(1, "clients")],
        [json!(of_ada), json!("ada"), json!("requires_action"), json!(1)]
    );
    let only = ask(&home, &["sessions", "--user", "ada"]);
    assert_eq!(only["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(ask(&home, &["nodes"])["nodes"][0]["pid"], status["pid"]);

    let session = only["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    let exported = ask(&home, &["export", &session]);
    assert_eq!(exported["user"], "ada");
    assert!(exported["markdown"].as_str().unwrap().contains("replace one with two"), "{exported}");
    let unknown = home.run(&["serve", "export", "01990000-0000-7000-8000-000000000000"]);
    assert_eq!(unknown.status.code(), Some(1), "{}", stderr(&unknown));

    let closed = ask(&home, &["disconnect", "--user", "ada"]);
    assert_eq!(closed["disconnected"][0]["connection"], json!(before));
    // The turn went on without its client; a new connection is asked the same question.
    ada.until(|message| message["method"] == "session/request_permission");
    let after = connection(&ask(&home, &["status"]), "ada");
    assert_ne!(after, before);
    let unknown = home.run(&["serve", "disconnect", &before]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains(&before), "{}", stderr(&unknown));

    // What an administrator did is in the audit, which needs no server.
    drop(server);
    let audit = ask(&home, &["audit", "--since", "1h"]);
    let records: Vec<_> = audit["records"].as_array().unwrap().iter().collect();
    let done: Vec<_> = records.iter().filter(|record| record["what"] == "administered").collect();
    assert_eq!(done[0]["about"], format!("export session={session}"));
    assert_eq!(done[2]["about"], "disconnect user=ada");
    let of_ada = ask(&home, &["audit", "--user", "ada"]);
    let whats: Vec<_> = of_ada["records"].as_array().unwrap().iter().map(|record| &record["what"]).collect();
    assert_eq!(whats, ["authenticated", "authenticated"]);
    let later = ask(&home, &["audit", "--since", "2099-01-01T00:00:00Z"]);
    assert_eq!(later["records"], json!([]));
}

#[test]
fn a_command_without_a_server_ends_with_3_and_a_wrong_line_with_2() {
    let home = Home::new();
    for args in [&["status"][..], &["sessions"], &["nodes"], &["disconnect", "x"]] {
        let output = home.run(&[&["serve"], args].concat());
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert!(stderr(&output).contains("no server listens on"), "{}", stderr(&output));
    }
    let output = home.run(&["serve", "status", "--json"]);
    let failure: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&failure["kind"], &failure["exit_code"]), (&json!("network"), &json!(3)));
    for args in
        [&["status", "--frobnicate"][..], &["disconnect"], &["audit", "--since", "yesterday"], &["--listen"]]
    {
        assert_eq!(home.run(&[&["serve"], args].concat()).status.code(), Some(2), "{args:?}");
    }
    assert_eq!(home.run(&["serve", "--listen", "nowhere"]).status.code(), Some(2));
}

#[test]
fn the_check_reports_every_problem_and_starts_nothing() {
    let home = Home::new();
    token(&home, "ada", &["--expires", "3d"]);
    let checks = |args: &[&str], code: i32| -> Vec<(String, String, String)> {
        let output = home.run(&[&["serve", "check", "--json"], args].concat());
        assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        let rows = answer["checks"].as_array().unwrap().iter();
        rows.map(|row| (text(row, "subject"), text(row, "state"), text(row, "detail"))).collect()
    };
    let fine = checks(&["--listen", "tcp:127.0.0.1:7000"], 0);
    let of = |rows: &[(String, String, String)], subject: &str, state: &str| {
        rows.iter().filter(|row| row.0 == subject && row.1 == state).count()
    };
    assert_eq!(of(&fine, "tokens", "warning"), 1, "a token expires soon: {fine:?}");
    assert_eq!(fine.iter().filter(|row| row.1 == "problem").count(), 0, "{fine:?}");

    let data = home.path().join("home/.local/share/tiller");
    fs::set_permissions(data.join("tokens.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    home.write("cert.pem", "no certificate");
    home.write("key.pem", "no key");
    home.settings(
        "[serve]\nlisten = ['tcp:0.0.0.0:7000']\nbehind_proxy = ['nonsense']\noidc.audience = 'x'\n",
    );
    let store = ["--store", "postgres://nobody@127.0.0.1:1/none"];
    let certificate = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let rows = checks(&[&store[..], &certificate].concat(), 1);
    for subject in ["tokens", "identity provider", "listeners", "certificate", "store"] {
        assert!(of(&rows, subject, "problem") > 0, "{subject}: {rows:?}");
    }
    // Broken settings are one problem among the others.
    home.settings("[serve]\nlisten = 7\n");
    let rows = checks(&[], 1);
    assert!(of(&rows, "settings", "problem") == 1 && of(&rows, "tokens", "problem") == 1, "{rows:?}");
    assert!(!data.join("sessions.db").exists() && !data.join("run").exists());
}

#[test]
fn a_server_over_a_database_takes_its_tokens_and_writes_its_audit_there() {
    let Some(database) = Database::start() else { return };
    let home = Home::new();
    let url = database.url("postgres");
    let store = ["--store", &url];
    let early = home.run(&[&["token", "list"][..], &store].concat());
    assert!(stderr(&early).contains("tiller store migrate"), "{}", stderr(&early));
    assert!(home.run(&[&["store", "migrate"][..], &store].concat()).status.success());
    let ada = token(&home, "ada", &store);
    // Where it listens on TCP, a server needs a token: the one of the database counts.
    let server = Server::start(&home, &[&["--listen", "tcp:127.0.0.1:0"][..], &store].concat());
    let mut client = Client::connect(&home, Some((&server, &ada)));
    open_session(&mut client, &home);
    let status = ask(&home, &["status"]);
    assert!(status["store"].as_str().unwrap().starts_with("postgres://"), "{status}");
    let nodes = ask(&home, &["nodes"]);
    assert_eq!((&nodes["nodes"][0]["pid"], &nodes["nodes"][0]["draining"]), (&status["pid"], &json!(false)));
    let listed = home.run(&[&["token", "list", "--json"][..], &store].concat());
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let row = &listed["tokens"][0];
    assert!(row["user"] == "ada" && row["last_used"].is_string(), "{row}");
    assert!(!home.path().join("home/.local/share/tiller/tokens.toml").exists());

    let id = row["id"].as_str().unwrap();
    assert!(home.run(&[&["token", "revoke", id][..], &store].concat()).status.success());
    drop(client);
    let mut refused =
        home.tiller(&["connect", &server.place().replacen("tcp:", "ws://", 1), "--give-up", "1"]);
    let refused = refused.env("TILLER_TOKEN", &ada).output().unwrap();
    assert!(!refused.status.success());
    let audit = ask(&home, &[&["audit", "--since", "1h"][..], &store].concat());
    let whats: Vec<_> =
        audit["records"].as_array().unwrap().iter().map(|record| record["what"].as_str().unwrap()).collect();
    let first = |what: &str| whats.iter().position(|found| *found == what);
    let order = ["token_created", "authenticated", "token_revoked"].map(first);
    assert!(order.is_sorted() && order.iter().all(Option::is_some), "{whats:?}");
    assert!(!home.path().join("home/.local/share/tiller/audit").exists());
    let check = home.run(&[&["serve", "check", "--json"][..], &store].concat());
    assert!(check.status.success(), "{}", stdout(&check));
}

#[test]
fn a_log_of_objects_has_nothing_else_in_it() {
    let home = Home::new();
    let created: [_; 2] = ["ada", "bob"].map(|user| token(&home, user, &[]));
    assert_ne!(created[0], created[1]);
    let mut server = home
        .tiller(&["serve", "--listen", "tcp:127.0.0.1:0", "--log-format", "json"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap()).unwrap();
    let warning = next();
    assert_eq!(warning["level"], "WARN");
    assert!(warning["message"].as_str().unwrap().contains("serve.user_folders"), "{warning}");
    assert!(next()["message"].as_str().unwrap().starts_with("listening on tcp:127.0.0.1:"));
    server.kill().unwrap();
    server.wait().unwrap();
}
