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
    let migrated = json(&home, &["store", "migrate", "--store", &url], 0);
    assert_eq!(migrated["from"], 0);
    let newest = migrated["to"].clone();
    let again = json(&home, &["store", "migrate", "--store", &url], 0);
    assert_eq!((&again["from"], &again["to"]), (&newest, &newest));
    assert_eq!(json(&home, &["store", "status", "--store", &url], 0)["schema"], newest);

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
fn the_file_of_a_machine_is_migrated_or_confirmed() {
    let home = Home::new();
    let created = json(&home, &["store", "migrate"], 0);
    let schema = created["to"].as_i64().unwrap();
    assert_eq!((&created["from"], schema >= 11), (&0.into(), true), "{created}");
    let confirmed = json(&home, &["store", "migrate"], 0);
    assert_eq!((&confirmed["from"], &confirmed["to"]), (&schema.into(), &schema.into()));
    assert_eq!(json(&home, &["store", "status"], 0)["schema"], schema);
    let text = home.run(&["store", "migrate", "--store", "sqlite:own.db"]);
    assert_eq!(stdout(&text), format!("sqlite:own.db: created the tables, schema {schema}\n"));
    let text = home.run(&["store", "migrate", "--store", "sqlite:own.db"]);
    assert_eq!(stdout(&text), format!("sqlite:own.db: schema {schema} is up to date\n"));
}

#[test]
fn an_address_and_its_password_come_from_files() {
    let Some(server) = Server::start() else { return };
    let home = Home::new();
    let url = server.url("postgres");
    home.write("address", &format!("{url}\n"));
    home.write("nothing", "hello\n");
    home.write("passwords", "*:*:*:*:secret\n");
    assert_eq!(json(&home, &["store", "migrate", "--store-file", "address"], 0)["from"], 0);
    let created = json(&home, &["token", "create", "t", "--user", "ada", "--store-file", "address"], 0);
    assert!(created["token"].as_str().unwrap().starts_with("tlr_"), "{created}");
    let listed = json(&home, &["token", "list", "--store", &url], 0);
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 1, "{listed}");
    let failed = |args: &[&str], code: i32, says: &str| {
        let output = home.run(args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(says) && !text.contains("secret"), "{args:?}: {text}");
    };
    failed(&["store", "status", "--store-file", "nothing"], 1, "no address of a session store");
    failed(&["store", "status", "--store-file", "missing"], 1, "missing");
    failed(&["store", "status", "--store-file", "address", "--store", "sqlite:x"], 1, "cannot be used with");
    failed(&["serve", "--migrate"], 2, "--store");
    let migrate = ["sessions", "migrate", "--from"];
    failed(&[&migrate[..], &["sqlite:x", "--to-file", "nothing"]].concat(), 1, "--to-file");
    failed(&[&migrate[..], &["sqlite:x"]].concat(), 1, "--to");
    failed(&[&migrate[..], &["sqlite:x", "--to-file", "address"]].concat(), 1, "x");
    let copied = json(&home, &["sessions", "migrate", "--from-file", "address", "--to", "sqlite:copy.db"], 0);
    assert_eq!(copied["copied"], 0, "{copied}");
    // A file that others can read is not used, and the refusal has the command that mends it.
    let open = format!("{url}?passfile=passwords");
    failed(&["store", "status", "--store", &open], 1, "chmod 600");
    let path = home.project().join("passwords");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert!(json(&home, &["store", "status", "--store", &open], 0)["schema"].as_i64().is_some());
    let mut by_variable = home.tiller(&["store", "status", "--store", &url]);
    assert!(by_variable.env("PGPASSFILE", "passwords").output().unwrap().status.success());
    let mut missing = home.tiller(&["store", "status", "--store", &url]);
    let missing = missing.env("PGPASSFILE", "none").output().unwrap();
    assert!(!missing.status.success() && stderr(&missing).contains("none"), "{}", stderr(&missing));
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
