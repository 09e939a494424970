//! `tiller settings` and `tiller config`: what they show, and that a file changes as asked or not at
//! all.

use crate::home::{Home, stderr, stdout};
use serde_json::{Value, json};
use std::{io::Write as _, path::PathBuf, process::Stdio};

fn user_file(home: &Home) -> PathBuf {
    home.path().join("home/.config/tiller/config.toml")
}

/// Runs a command that succeeds, and returns its JSON.
fn done(home: &Home, args: &[&str]) -> Value {
    let output = home.run(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {} {}", stdout(&output), stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command that fails, and returns its JSON.
fn failed(home: &Home, args: &[&str]) -> Value {
    let output = home.run(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{args:?}: {}", stdout(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["v"], &json["success"], &json["exit_code"]), (&json!(1), &json!(false), &json!(1)));
    json
}

fn applied(home: &Home, text: &str) -> (bool, Value) {
    let mut command = home.tiller(&["settings", "apply", "--stdin-json", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_new_file_names_its_schema_and_comments_of_an_old_one_stay() {
    let home = Home::empty();
    done(&home, &["settings", "set", "agent.mode", "plan"]);
    let text = std::fs::read_to_string(user_file(&home)).unwrap();
    assert_eq!(text, "#:schema ./settings.schema.json\n\n[agent]\nmode = \"plan\"\n");
    let schema = std::fs::read(user_file(&home).with_file_name("settings.schema.json")).unwrap();
    assert_eq!(schema, home.run(&["config", "schema"]).stdout);

    home.settings("# mine\n[tools] # all\n# why\ndenied_tools = ['bash'] # so\n\n[agent]\nmode = 'ask'\n");
    done(&home, &["settings", "set", "tools.denied_tools", "web_fetch", "web_search"]);
    done(&home, &["settings", "set", "kosmokrator.tools.bash.timeout", "300"]);
    done(&home, &["settings", "unset", "agent.mode"]);
    let text = std::fs::read_to_string(user_file(&home)).unwrap();
    assert_eq!(
        text,
        "# mine\n[tools] # all\n# why\ndenied_tools = [\"web_fetch\", \"web_search\"] # so\n\n\
         [tools.bash]\ntimeout = 300\n\n[agent]\n"
    );
}

#[test]
fn a_setting_is_shown_with_the_layer_that_decides() {
    let home = Home::new();
    home.settings("[agent]\nmode = 'plan'\n[tools]\ndenied_tools = ['bash']\n");
    home.write(".tiller/config.toml", "[agent]\nmode = 'ask'\n[tools]\ndenied_tools = ['web_fetch']\n");
    let mode = done(&home, &["settings", "get", "agent.mode"]);
    assert_eq!((&mode["setting"]["value"], &mode["setting"]["layer"]), (&json!("ask"), &json!("project")));
    assert_eq!(mode["setting"]["line"], 2);
    assert_eq!(mode["setting"]["origins"].as_array().unwrap().len(), 2);
    let own = done(&home, &["settings", "get", "agent.mode", "--global"]);
    assert_eq!(own["setting"]["value"], "plan");
    let tools = done(&home, &["settings", "get", "tools.denied_tools"]);
    assert_eq!(tools["setting"]["value"], json!(["bash", "web_fetch"]), "layers add up");
    let text = stdout(&home.run(&["settings", "get", "agent.mode", "--show-origin"]));
    assert!(text.starts_with("agent.mode = \"ask\"\n  default  \"edit\""), "{text}");
    assert!(text.contains("config.toml:2"), "{text}");

    let mut command = home.tiller(&["settings", "get", "agent.mode", "--json"]);
    let output = command.env("TILLER_MODE", "edit").output().unwrap();
    let mode: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&mode["setting"]["value"], &mode["setting"]["layer"]),
        (&json!("edit"), &json!("environment"))
    );
    assert_eq!(mode["setting"]["origins"][2]["variable"], "TILLER_MODE");

    let all = done(&home, &["settings", "list"]);
    assert!(all["settings"].as_array().unwrap().len() > 50, "every setting is listed");
    assert_eq!(all["categories"][0]["id"], "agent");
    let shown = stdout(&home.run(&["config", "show"]));
    assert!(shown.contains("[agent]\nmode = \"ask\"  # user /"), "{shown}");
}

#[test]
fn a_value_that_does_not_apply_is_written_with_a_note() {
    let home = Home::new();
    home.write(".tiller/config.toml", "[agent]\nmode = 'ask'\n");
    let set = done(&home, &["settings", "set", "agent.mode", "plan"]);
    assert_eq!((&set["written_value"], &set["effective_setting"]["value"]), (&json!("plan"), &json!("ask")));
    assert!(set["note"].as_str().unwrap().contains(".tiller/config.toml:2"), "{set}");
}

#[test]
fn a_trial_and_a_wrong_value_write_nothing() {
    let home = Home::new();
    let before = std::fs::read(user_file(&home)).unwrap();
    let trial = done(&home, &["settings", "set", "agent.mode", "plan", "--dry-run"]);
    assert_eq!((&trial["dry_run"], &trial["effective_setting"]["value"]), (&json!(true), &json!("plan")));
    done(&home, &["settings", "unset", "agent.default_model", "--dry-run"]);
    for (args, kind, error) in [
        (&["settings", "set", "agent.mode", "fast"][..], "config", "agent.mode: unknown mode \"fast\""),
        (&["settings", "set", "agent.mod", "plan"], "not_found", "did you mean \"agent.mode\"?"),
        (&["settings", "set", "tools.bash.timeout", "soon"], "config", "tools.bash.timeout: takes"),
        (&["settings", "set", "agent.mode", "plan", "ask"], "usage", "takes one value, not 2"),
        (&["settings", "set", "hooks.x.on", "stop"], "config", "the hook \"x\" has no \"command\""),
        (&["settings", "get", "x"], "not_found", "unknown setting"),
        (&["settings", "list", "nothing"], "not_found", "no setting begins with"),
        (&["settings", "examples", "nothing"], "not_found", "no examples about"),
        (&["settings", "edit"], "usage", "an editor needs a terminal"),
    ] {
        let json = failed(&home, args);
        assert_eq!(json["kind"], kind, "{args:?}: {json}");
        assert!(json["error"].as_str().unwrap().contains(error), "{args:?}: {json}");
    }
    assert_eq!(std::fs::read(user_file(&home)).unwrap(), before);
}

#[test]
fn several_settings_are_applied_together_or_not_at_all() {
    let home = Home::new();
    let before = std::fs::read(user_file(&home)).unwrap();
    let (success, json) =
        applied(&home, r#"{"agent.mode": "plan", "agent.mod": 1, "tools.denied_tools": "x"}"#);
    assert!(!success);
    assert_eq!(
        (json["applied"].as_array().unwrap().len(), json["rejected"].as_array().unwrap().len()),
        (0, 2)
    );
    assert_eq!(std::fs::read(user_file(&home)).unwrap(), before);

    // Two settings that are valid only together.
    let hook = r#"{"hooks.x.on": "stop", "hooks.x.command": ["true"], "agent.default_model": null}"#;
    let (success, json) = applied(&home, hook);
    assert!(success, "{json}");
    assert_eq!(json["applied"].as_array().unwrap().len(), 3);
    let text = std::fs::read_to_string(user_file(&home)).unwrap();
    assert!(text.contains("[hooks.x]") && !text.contains("default_model"), "{text}");
    let (success, json) = applied(&home, "[1]");
    assert_eq!((success, &json["kind"]), (false, &json!("usage")), "{json}");
}

#[test]
fn the_users_change_of_a_projects_file_is_trusted_and_others_are_not() {
    let home = Home::new();
    home.write(".tiller/config.toml", "[agent]\nsystem_prompt = 'theirs'\n");
    let listed = stdout(&home.run(&["settings", "list", "agent"]));
    assert!(listed.contains("note: ") && listed.contains("agent.system_prompt is ignored"), "{listed}");
    let home = Home::new();
    let set = done(&home, &["settings", "set", "--project", "agent.system_prompt", "Be brief."]);
    assert_eq!((&set["scope"], &set["effective_setting"]["value"]), (&json!("project"), &json!("Be brief.")));
}

#[test]
fn the_choices_and_the_paths_are_listed() {
    let home = Home::new();
    let options = done(&home, &["settings", "options", "agent.mode"]);
    assert_eq!(options["options"][0], json!({ "value": "edit", "default": true, "current": true }));
    assert_eq!(options["open"], false);
    let tools = done(&home, &["settings", "options", "tools.denied_tools"]);
    assert!(tools["options"].to_string().contains("\"bash\""), "{tools}");
    let paths = done(&home, &["config", "paths"]);
    assert_eq!(paths["paths"][0]["exists"], true);
    let doctor = done(&home, &["settings", "doctor"]);
    assert!(!doctor["checks"].to_string().contains("\"disk\""), "{doctor}");
}
