//! `tiller install`: entries in the settings of editors.

use crate::home::{Home, stderr, stdout};
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

const ZED: &str = "// mine\n{\n  \"theme\": \"One Dark\", // at night\n  \"agent_servers\": {\n    \"Other\": { \"command\": \"other\" },\n  },\n}\n";

fn zed(home: &Home) -> PathBuf {
    home.path().join("home/.config/zed/settings.json")
}

fn put(path: &PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn json(home: &Home, args: &[&str]) -> Value {
    let output = home.run(&[args, &["--json"]].concat());
    let answer: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(answer["success"], output.status.success(), "{answer}");
    answer
}

#[test]
fn the_entry_is_added_once_and_removed_again_and_everything_else_stays() {
    let home = Home::empty();
    put(&zed(&home), ZED);
    fs::set_permissions(zed(&home), fs::Permissions::from_mode(0o640)).unwrap();
    let answer = json(&home, &["install", "zed"]);
    assert_eq!((&answer["changed"], &answer["editor"]), (&true.into(), &"zed".into()), "{answer}");
    let text = fs::read_to_string(zed(&home)).unwrap();
    let program = env!("CARGO_BIN_EXE_tiller");
    let added = format!(
        "    \"Tiller\": {{\n      \"type\": \"custom\",\n      \"command\": \"{program}\",\n      \"args\": [\"acp\"],\n    }},\n"
    );
    assert_eq!(text.replace(&added, ""), ZED, "{text}");
    assert_eq!(zed(&home).metadata().unwrap().permissions().mode() & 0o777, 0o640);

    let again = json(&home, &["install", "zed"]);
    assert_eq!((&again["changed"], &again["diff"]), (&false.into(), &Value::Null), "{again}");
    let list = json(&home, &["install", "--list"]);
    assert_eq!(list["editors"][0]["command"], program, "{list}");
    assert_eq!(list["editors"][0]["command_exists"], true, "{list}");

    // The copy is that of the first version, and private: settings can hold keys.
    let backup = home.path().join("home/.config/zed/settings.json.tiller-backup");
    assert_eq!(answer["backup"], backup.to_str().unwrap());
    assert_eq!(backup.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let removed = json(&home, &["install", "zed", "--remove"]);
    assert_eq!((&removed["changed"], &removed["command"]), (&true.into(), &Value::Null));
    assert_eq!(fs::read_to_string(zed(&home)).unwrap(), ZED);
    assert_eq!(fs::read_to_string(&backup).unwrap(), ZED);
    assert_eq!(json(&home, &["install", "zed", "--remove"])["changed"], false);
}

#[test]
fn a_missing_file_is_created_and_a_link_is_followed() {
    let home = Home::empty();
    let answer = json(&home, &["install", "jetbrains"]);
    assert_eq!((&answer["changed"], &answer["backup"]), (&true.into(), &Value::Null), "{answer}");
    let file = home.path().join("home/.jetbrains/acp.json");
    let written: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(written["agent_servers"]["Tiller"]["args"][0], "acp");

    let dotfiles = home.path().join("dotfiles.json");
    fs::write(&dotfiles, "{}\n").unwrap();
    fs::create_dir_all(zed(&home).parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&dotfiles, zed(&home)).unwrap();
    json(&home, &["install", "zed", "--name", "Two"]);
    assert!(fs::read_to_string(&dotfiles).unwrap().contains("\"Two\""));
    assert!(zed(&home).symlink_metadata().unwrap().is_symlink());
}

#[test]
fn nothing_is_written_with_dry_run_or_print_or_when_the_file_cannot_be_parsed() {
    let home = Home::empty();
    put(&zed(&home), ZED);
    let shown = home.run(&["install", "zed", "--dry-run"]);
    assert!(stdout(&shown).contains("+    \"Tiller\": {"), "{}", stdout(&shown));
    let block = home.run(&["install", "zed", "--print"]);
    let printed: Value = serde_json::from_str(&stdout(&block)).unwrap();
    assert_eq!(printed["agent_servers"]["Tiller"]["type"], "custom");
    assert_eq!(fs::read_to_string(zed(&home)).unwrap(), ZED);

    let broken = "{ \"theme\": \"x\"\n  \"agent_servers\": {} }";
    put(&zed(&home), broken);
    let answer = json(&home, &["install", "zed"]);
    assert_eq!(answer["changed"], false);
    assert!(answer["reason"].as_str().unwrap().contains("line 1"), "{answer}");
    assert!(answer["block"].as_str().unwrap().contains("agent_servers"), "{answer}");
    assert_eq!(fs::read_to_string(zed(&home)).unwrap(), broken);
    let listed = home.run(&["install", "--list"]);
    assert!(stdout(&listed).contains("unreadable"), "{}", stdout(&listed));
}

#[test]
fn programs_in_lua_and_lisp_are_printed_and_never_edited() {
    let home = Home::empty();
    let init = home.path().join("home/.config/nvim/init.lua");
    put(&init, "-- mine\n");
    let lua = home.run(&["install", "neovim"]);
    assert!(stdout(&lua).contains("codecompanion") && stdout(&lua).contains("init.lua"), "{}", stdout(&lua));
    assert_eq!(fs::read_to_string(&init).unwrap(), "-- mine\n");
    let lisp = json(&home, &["install", "emacs"]);
    assert_eq!(lisp["changed"], false);
    assert!(lisp["block"].as_str().unwrap().starts_with("(with-eval-after-load"), "{lisp}");
}

#[test]
fn the_settings_of_a_project_are_edited_where_the_editor_reads_agents_from_them() {
    let home = Home::empty();
    let answer = json(&home, &["install", "vscode", "--project"]);
    assert_eq!(answer["file"], home.file(".vscode/settings.json"));
    assert!(home.read(".vscode/settings.json").unwrap().contains("acp.agents"));
    let refused = home.run(&["install", "zed", "--project"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("user's settings only"), "{}", stderr(&refused));
    let nothing = home.run(&["install"]);
    assert!(stderr(&nothing).contains("zed, jetbrains"), "{}", stderr(&nothing));
    assert!(stderr(&nothing).contains("tiller install --list"), "{}", stderr(&nothing));
}
