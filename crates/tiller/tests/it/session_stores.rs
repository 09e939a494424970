//! Stores by their address: a database of a server, and copies of sessions to it and back.

use crate::{
    home::{Home, stderr, stdout},
    postgres::Server,
};
use serde_json::Value;

fn json(home: &Home, args: &[&str], code: i32) -> Value {
    let output = home.run(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}{}", stdout(&output), stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn sessions_go_to_a_server_and_back() {
    let Some(server) = Server::start() else { return };
    let home = Home::new();
    home.write("a.txt", "one\n");
    for prompt in ["replace \"one\" with \"two\" in a.txt", "show a.txt"] {
        assert!(home.run(&["-p", prompt]).status.success());
    }
    let url = server.url("postgres");
    let database = json(&home, &["store", "status", "--store", &url], 1);
    assert!(database["problems"][0].as_str().unwrap().contains("tiller store migrate"), "{database}");
    for (from, to) in [(0, 3), (3, 3)] {
        let migrated = json(&home, &["store", "migrate", "--store", &url], 0);
        assert_eq!((&migrated["from"], &migrated["to"]), (&from.into(), &to.into()));
    }
    assert_eq!(json(&home, &["store", "status", "--store", &url], 0)["schema"], 3);

    let listed = json(&home, &["sessions", "list"], 0);
    let ids: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|row| row["session_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    let own = json(&home, &["store", "status"], 0);
    let file = own["store"].as_str().unwrap();
    let there = ["sessions", "migrate", "--from", file, "--to", &url, "--user", "anna"];
    let planned = json(&home, &[&there[..], &["--dry-run"]].concat(), 0);
    assert_eq!((&planned["copied"], &planned["dry_run"]), (&2.into(), &true.into()));
    assert_eq!(json(&home, &[&there[..], &["--session", ids[0]]].concat(), 0)["copied"], 1);
    let rest = json(&home, &[&there[..], &["--archive"]].concat(), 0);
    assert_eq!((&rest["copied"], &rest["present"]), (&1.into(), &1.into()));
    assert_eq!(json(&home, &["sessions", "list"], 0)["items"].as_array().unwrap().len(), 0, "archived");
    let verified = json(&home, &["store", "verify", "--store", &url], 0);
    assert_eq!((&verified["sessions"], verified["unsound"].as_array().unwrap().len()), (&2.into(), 0));

    let copy = format!("sqlite:{}", home.path().join("copy.db").display());
    let back = json(&home, &["sessions", "migrate", "--from", &url, "--to", &copy, "--user", "anna"], 0);
    assert_eq!(back["copied"], 2);
    let text = home.run(&["sessions", "migrate", "--from", &copy, "--to", file]);
    assert!(
        text.status.success() && stdout(&text).starts_with("0 copied, 2 there already"),
        "{}",
        stdout(&text)
    );
    assert_eq!(json(&home, &["store", "verify", "--store", &copy], 0)["sessions"], 2);

    // A session that went on there differs from then on, and is left alone.
    assert!(home.run(&["-p", "show a.txt", "--session", ids[0]]).status.success());
    let differs = json(&home, &there, 1);
    assert_eq!((&differs["different"], &differs["present"]), (&1.into(), &1.into()), "{differs}");
}

#[test]
fn an_address_of_no_store_is_refused_without_its_password() {
    let home = Home::new();
    for (address, says) in [
        ("/a/sessions.db", "sqlite:FILE"),
        ("sqlite:/nowhere/at/all.db", "does not exist"),
        ("postgres://anna:secret@127.0.0.1:1/none", "cannot be reached"),
    ] {
        let output = home.run(&["store", "verify", "--store", address]);
        let text = stderr(&output);
        assert!(
            !output.status.success() && text.contains(says) && !text.contains("secret"),
            "{address}: {text}"
        );
    }
}
