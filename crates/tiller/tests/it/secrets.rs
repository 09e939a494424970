//! Secrets are stored in the keyring where there is one, else in a file, and used from both.

use crate::{
    home::{Home, stderr, stdout},
    web::Web,
};
use serde_json::{Value, json};
use std::{
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output, Stdio},
};

const KEY: &str = "canary-key-in-a-keyring";

/// A keyring program that keeps each item in a file, and notes its arguments.
const SECRET_TOOL: &str = "#!/bin/sh
store=\"$HOME/keyring\"
mkdir -p \"$store\"
echo \"$*\" >> \"$store/arguments\"
case \"$1\" in
store) cat > \"$store/$6\" ;;
lookup) [ -e \"$store/$5\" ] && cat \"$store/$5\" || exit 1 ;;
clear) rm -f \"$store/$5\" ;;
esac
";

/// `tiller` in a home whose keyring is the program above.
fn tiller(home: &Home, args: &[&str]) -> Command {
    let directory = home.path().join("bin");
    std::fs::create_dir_all(&directory).unwrap();
    let program = directory.join("secret-tool");
    if !program.exists() {
        std::fs::write(&program, SECRET_TOOL).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = home.tiller(args);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", directory.display()));
    command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
    command
}

fn with_input(mut command: Command, text: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{} {}", stdout(output), stderr(output)))
}

fn items(home: &Home) -> usize {
    let directory = std::fs::read_dir(home.path().join("home/keyring"));
    directory.map_or(0, |entries| entries.flatten().filter(|entry| entry.file_name() != "arguments").count())
}

#[test]
fn a_key_in_the_keyring_is_used_and_is_in_no_file_and_no_argument() {
    let server = Web::start(|_, _| (200, Vec::new(), json!({ "data": [{ "id": "m" }] }).to_string()));
    let home = Home::new();
    home.settings(&format!(
        "providers.local.discover = false\nproviders.custom.work.base_url = '{}'\n",
        server.url("/v1")
    ));
    let set = with_input(tiller(&home, &["secrets", "set", "work", "--json"]), &format!("{KEY}\n"));
    assert_eq!(json_of(&set)["store"], "keyring", "{}", stdout(&set));
    let file = std::fs::read_to_string(home.path().join("home/.local/share/tiller/secrets.json")).unwrap();
    let arguments = std::fs::read_to_string(home.path().join("home/keyring/arguments")).unwrap();
    assert!(!file.contains(KEY) && !arguments.contains(KEY), "{file} {arguments}");
    assert!(tiller(&home, &["providers", "doctor", "work"]).output().unwrap().status.success());
    let asked = server.requests().pop().unwrap();
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));

    let listed = json_of(&tiller(&home, &["secrets", "list", "--json"]).output().unwrap());
    let row = json!({ "name": "provider.work.api_key", "store": "keyring", "used_by": "the models of work" });
    assert_eq!(listed["keys"], json!([row]));
    let status = json_of(&tiller(&home, &["secrets", "status", "--json"]).output().unwrap());
    assert_eq!((&status["default_store"], &status["in_keyring"]), (&json!("keyring"), &json!(1)));

    // A new value takes the place of the old one, and other secrets are not touched.
    let set = with_input(tiller(&home, &["secrets", "set", "mcp.x.env.TOKEN", "--store", "file"]), "plain");
    assert!(stdout(&set).contains("unencrypted"), "{}", stdout(&set));
    assert!(with_input(tiller(&home, &["secrets", "set", "work"]), "another").status.success());
    assert_eq!(items(&home), 1);
    let unset = tiller(&home, &["secrets", "unset", "work", "--json"]).output().unwrap();
    assert_eq!((json_of(&unset)["removed"].clone(), items(&home)), (json!(true), 0));
    let file = std::fs::read_to_string(home.path().join("home/.local/share/tiller/secrets.json")).unwrap();
    assert!(file.contains("plain"), "{file}");
}

#[test]
fn without_the_keyring_its_secrets_are_missing_and_kept() {
    let home = Home::new();
    assert!(with_input(tiller(&home, &["secrets", "set", "openai"]), KEY).status.success());
    // Another process of the user has no desktop session.
    let listed = json_of(&home.run(&["secrets", "list", "--json"]));
    assert_eq!(listed["keys"][0]["store"], "keyring");
    let models = home.run(&["models"]);
    assert!(stderr(&models).contains("provider.openai.api_key is in the keyring"), "{}", stderr(&models));
    assert!(with_input(home.tiller(&["mcp", "secret", "set", "mcp.x.y"]), "v").status.success());
    assert_eq!(json_of(&home.run(&["secrets", "list", "--json"]))["keys"].as_array().unwrap().len(), 2);
    let forced = with_input(home.tiller(&["secrets", "set", "openai", "--store", "keyring", "--json"]), "v");
    assert_eq!(json_of(&forced)["kind"], "not_available");
    let nothing = json_of(&home.run(&["secrets", "unset", "provider.nobody.api_key", "--json"]));
    assert_eq!(nothing["kind"], "not_found");
}

#[test]
fn the_doctor_finds_and_repairs_what_others_can_read() {
    let home = Home::new();
    assert!(with_input(home.tiller(&["secrets", "set", "openai"]), KEY).status.success());
    let file = home.path().join("home/.local/share/tiller/secrets.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let found = json_of(&home.run(&["doctor", "--json"]));
    assert_eq!(found["success"], false);
    assert!(found["next_commands"].to_string().contains("tiller doctor --fix"), "{found}");
    let fixed = home.run(&["doctor", "--fix", "--json"]);
    assert!(fixed.status.success(), "{}", stdout(&fixed));
    assert_eq!(json_of(&fixed)["fixed"].as_array().unwrap().len(), 1);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!stdout(&fixed).contains(KEY));
    // Warnings fail only a strict check; the program of the test is not in PATH.
    assert_eq!(home.run(&["doctor", "--strict"]).status.code(), Some(1));
    let started = json_of(&home.run(&["doctor", "--startup", "--json"]));
    let check = started["checks"].as_array().unwrap().iter().find(|check| check["id"] == "startup").unwrap();
    assert_eq!(check["state"], "ok", "{check}");
}
