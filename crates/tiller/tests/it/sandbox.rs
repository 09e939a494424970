//! Local commands are confined, and so are those in the editor's terminal.

use crate::{
    agent::Agent,
    editor::{Editor, Joins},
    home::{Home, stderr, stdout},
};

/// Runs a command line headless in Guardian; returns its output for the model.
pub(crate) fn run(home: &Home, line: &str, variables: &[(&str, &str)]) -> String {
    let mut command = home.tiller(&["-p", &format!("run `{line}`"), "-o", "json"]);
    // The homes of tests are in the temporary directory, which commands may write to.
    let temp = home.path().join("temp");
    std::fs::create_dir_all(&temp).unwrap();
    let output = command.env("TMPDIR", temp).envs(variables.iter().copied()).output().unwrap();
    let answer: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    answer["tool_calls"][0]["output"].as_str().unwrap().to_owned()
}

/// Whether this machine can confine commands.
pub(crate) fn confines(home: &Home) -> bool {
    run(home, "mkdir made", &[]).contains("Exit code: 0")
}

#[test]
fn s36_a_build_command_runs_confined_without_approval_or_not_at_all() {
    let home = Home::new();
    // The test's home is in the shared temporary directory; confined commands see a private one, so
    // their writes there stay private.
    let outside = format!("/var/tmp/tiller-test-escaped-{}", std::process::id());
    let lines = format!("#!/bin/sh\necho built > out\necho x > \"$HOME/escaped\"\necho x > {outside}\n");
    home.write("build.sh", &lines);
    let script = home.project().join("build.sh");
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(script, mode).unwrap();
    let result = run(&home, "./build.sh", &[]);
    if confines(&home) {
        assert!(result.contains("Read-only") && result.contains("outside_sandbox"), "{result}");
        assert_eq!(home.read("out").as_deref(), Some("built\n"));
    } else {
        assert!(result.contains("was denied"), "nobody could answer: {result}");
        assert_eq!(home.read("out"), None);
    }
    assert_eq!(home.read("../home/escaped"), None);
    assert!(std::fs::metadata(outside).is_err());
}

#[test]
fn the_place_of_a_commands_temporary_files_is_said() {
    let home = Home::new();
    if !confines(&home) {
        return;
    }
    assert!(!run(&home, "mkdir made_2", &[]).contains("files of the session"));
    let result = run(&home, "echo hi > $TMPDIR/note.txt", &[]);
    let (_, place) = result.split_once("find them in ").unwrap_or_else(|| panic!("{result}"));
    let place = place.split(".)").next().unwrap();
    assert_eq!(std::fs::read_to_string(format!("{place}/note.txt")).unwrap(), "hi\n");
    assert!(!home.path().join("temp/note.txt").exists());
}

#[test]
fn s26_a_canary_key_does_not_reach_a_command() {
    let home = Home::new();
    let variables = [("CANARY_API_KEY", "canary-1"), ("MY_TOKEN", "canary-2"), ("PLAIN", "plain-3")];
    home.settings(
        "[agent]\ndefault_model = 'offline/pilot'\n[tools]\ndefault_permission_mode = 'prometheus'\n",
    );
    let result = run(&home, "env", &variables);
    assert!(result.contains("plain-3") && !result.contains("canary"), "{result}");
    home.settings(
        "[agent]\ndefault_model = 'offline/pilot'\n[tools]\ndefault_permission_mode = 'prometheus'\n[sandbox]\nkeep_variables = ['MY_TOKEN']\n",
    );
    let result = run(&home, "env", &variables);
    assert!(result.contains("canary-2") && !result.contains("canary-1"), "{result}");
}

/// Runs a line in the editor's terminal; returns the editor with its log, and all updates as text.
fn in_terminal(home: &Home, joins: Joins, line: &str) -> (Editor, String) {
    let mut editor = Editor { joins, ..Editor::with_everything() };
    let (mut agent, session) = Agent::open(home, &[], &editor);
    agent.prompt(&session, &format!("run `{line}`"), &mut editor).unwrap();
    let result: String = agent.updates.iter().map(|update| update.to_string()).collect();
    (editor, result)
}

#[test]
fn a_command_in_the_editors_terminal_is_confined_without_approval() {
    for joins in [Joins::Not, Joins::Unquoted, Joins::Quoted] {
        let home = Home::new();
        if !confines(&home) {
            return;
        }
        home.write("Makefile", "all:\n\techo made > out; echo x > /var/tmp/../escaped-$$PPID; env\n");
        home.write(".env", "A_TOKEN=canary-of-the-project\n");
        let (editor, result) = in_terminal(&home, joins, "make all; cat .env; exit 3");
        assert_eq!(editor.verbs(), ["terminal"], "{:?}", editor.log);
        assert_eq!(home.read("out").as_deref(), Some("made\n"));
        assert!(result.contains("Read-only") && result.contains("exit code 3"), "{result}");
        assert!(!result.contains("canary-of-the"), "{result}");
    }
}

#[test]
fn the_launcher_confines_in_an_editor_that_joins_words_at_any_path() {
    for (name, joins) in [
        (None, Joins::Unquoted),
        (Some(("vscode-acp-client", "0.2.0")), Joins::Unquoted),
        (None, Joins::Quoted),
    ] {
        let home = Home::new().with_program_in("it's my $programs");
        if !confines(&home) {
            return;
        }
        let mut editor = Editor { joins, name, ..Editor::with_everything() };
        let (mut agent, session) = Agent::open(&home, &[], &editor);
        agent.prompt(&session, "run `echo made > out; cat`", &mut editor).unwrap();
        assert_eq!(home.read("out").as_deref(), Some("made\n"), "{joins:?}");
        let asked: Vec<_> = editor.verbs().into_iter().filter(|verb| *verb != "probe").collect();
        assert_eq!(asked, ["terminal"], "{joins:?}: nothing is asked of the user: {:?}", editor.log);
    }
}

#[test]
fn an_unproven_confinement_in_a_terminal_asks_and_runs_once() {
    let home = Home::new();
    let confined = confines(&home);
    let (editor, _) = in_terminal(&home, Joins::AndRunsNothing, "echo once >> ran");
    let expected: &[&str] = match confined {
        // First the launcher is tried, then the plain command with a permission request. No way to
        // pass it
        // is safe in this terminal, so it runs locally.
        true => &["terminal", "permission", "probe", "probe"],
        false => &["permission", "probe", "probe"],
    };
    assert_eq!(editor.verbs(), expected, "{:?}", editor.log);
    assert_eq!(home.read("ran").as_deref(), Some("once\n"));
}

#[test]
fn with_the_sandbox_off_a_build_command_asks() {
    let home = Home::new();
    home.settings("[agent]\ndefault_model = 'offline/pilot'\n[sandbox]\nlevel = 'off'\n");
    let result = run(&home, "touch made", &[]);
    assert!(result.contains("was denied") && result.contains("sandbox off"), "{result}");
    assert_eq!(home.read("made"), None);
}

#[test]
fn doctor_reports_the_sandbox_and_no_key() {
    let home = Home::new();
    let mut command = home.tiller(&["doctor", "--json"]);
    let output = command.env("OPENAI_API_KEY", "canary-key").output().unwrap();
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["sandbox"]["level"], "workspace-write");
    // An incomplete sandbox is not an error: it is reported, and permission requests take its
    // place.
    assert_eq!((&report["success"], output.status.code()), (&true.into(), Some(0)), "{report}");
    let result = report["issues"].to_string().contains("all but read-only commands need approval");
    assert_ne!(report["sandbox"]["holds"], result, "{report}");
    assert_eq!(report["providers"][0]["key"], true);
    assert!(!stdout(&output).contains("canary"));
    assert!(stdout(&home.run(&["providers", "list"])).contains("missing"));
}

#[test]
fn permissions_are_explained_and_logged() {
    let home = Home::new();
    let explained = |what: &[&str]| stdout(&home.run(&[&["permissions", "explain"], what].concat()));
    assert!(
        explained(&["make && mkfs x"]).contains("is never run. (The user can allow this exact line"),
        "{}",
        explained(&["make && mkfs x"])
    );
    assert!(explained(&["ls -la"]).contains("decision           allow (Guardian)"));
    assert!(explained(&["git push ./r"]).contains("decision           ask (Publishing): Run `git push ./r`"));
    let push = explained(&["git push"]);
    assert!(push.contains("the push is asked about") || push.contains("ask (Publishing)"), "{push}");
    assert!(explained(&["src/.env"]).starts_with("subject            read the file src/.env\n"));
    assert!(explained(&["./.env"]).contains("decision           deny (BlockedPath)"));
    assert!(explained(&["--write", "./.mcp.json"]).contains("decision           ask (ProtectedPath)"));
    home.write("a.txt", "a\n");
    assert!(home.run(&["-p", "show a.txt"]).status.success());
    let log = stdout(&home.run(&["permissions", "log"]));
    assert!(log.contains("allowed") && log.contains("SafeTools") && log.contains("a.txt"), "{log}");
    let line = stdout(&home.run(&["permissions", "log", "--jsonl"]));
    let line: serde_json::Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(line["rule"], "SafeTools");
}

/// Between the decision and the write a hook replaces the directory by a symbolic link. No
/// permission is requested, so only the pinned path detects it.
#[test]
fn s09_a_directory_replaced_by_a_link_after_the_decision_is_not_followed() {
    let home = Home::new();
    let outside = home.path().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::create_dir_all(home.project().join("out")).unwrap();
    home.settings(&format!(
        "[agent]\ndefault_model = 'offline/pilot'\n[hooks.swap]\non = 'before_tool'\ntools = ['file_write']\ncommand = ['sh', '-c', 'mv out old && ln -s {} out']\n",
        outside.display()
    ));
    let result = stdout(&home.run(&["-p", "create out/a.txt with \"x\"", "-o", "json"]));
    assert!(result.contains("leads to another file than when permission was decided"), "{result}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn s08_a_link_to_a_secret_file_is_not_read_searched_or_attached() {
    let home = Home::new();
    home.write(".env", "CANARY=1\n");
    std::fs::hard_link(home.file(".env"), home.file("ok.txt")).unwrap();
    for prompt in ["show ok.txt", "search CANARY"] {
        let result = stdout(&home.run(&["-p", prompt, "-o", "json"]));
        assert!(!result.contains("CANARY=1"), "{prompt}: {result}");
    }
    assert!(stdout(&home.run(&["-p", "show ok.txt"])).contains("blocked by policy"));
}

#[test]
fn s26_a_secret_is_redacted_by_value_from_commands_logs_and_exports() {
    let home = Home::new();
    home.settings(
        "[agent]\ndefault_model = 'offline/pilot'\n[tools]\ndefault_permission_mode = 'prometheus'\n[providers.openai]\napi_key_env = 'PLAIN'\n",
    );
    let variables = [
        ("PLAIN", "canary-of-a-provider"),
        ("CANARY_TOKEN", "canary-by-name-1"),
        ("COPY", "x=canary-by-name-1"),
        ("OTHER", "ghp_0123456789canary0123456789canary"),
        ("DATABASE", "postgres://me:canary-pw@host/db"),
        ("HARMLESS", "plain-3"),
    ];
    let result = run(&home, "env", &variables);
    assert!(result.contains("plain-3") && !result.contains("canary"), "{result}");

    // Tool output is visible to the model and the user; logs and exports of it are redacted.
    home.write(
        "a.txt",
        "canary-by-name-1 and canary-of-a-provider and ghp_0123456789canary0123456789canary\n",
    );
    let mut command = home.tiller(&["-p", "show a.txt"]);
    let output = command.env("TILLER_LOG", "trace").envs(variables).output().unwrap();
    assert!(stdout(&output).contains("canary-by-name-1"));
    assert!(!stderr(&output).contains("canary"), "{}", stderr(&output));
    let export = |args: &[&str]| stdout(&home.tiller(args).envs(variables).output().unwrap());
    let list = export(&["sessions", "list", "--jsonl"]);
    let id: serde_json::Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
    let id = id["session_id"].as_str().unwrap();
    for args in [&["sessions", "show", id][..], &["sessions", "show", id, "--json"], &["permissions", "log"]]
    {
        let result = export(args);
        assert!(result.contains("a.txt") && !result.contains("canary"), "{args:?}: {result}");
    }
}

#[test]
fn the_decision_about_a_host_is_explained() {
    let home = Home::new();
    home.settings("[permissions]\nallow = ['network(group:npm)']\ndeny = ['network(domain:evil.org)']\n");
    let explained = |host: &str| stdout(&home.run(&["permissions", "explain", host]));
    for (host, says) in [
        ("registry.npmjs.org", "allow (network(group:npm))"),
        ("registry.npmjs.org:22", "ask; the rule network(host:registry.npmjs.org:22) would allow it"),
        ("pypi.org", "ask; the rule network(group:pypi) would allow it"),
        ("a.evil.org", "deny: the setting permissions.deny has 'network(domain:evil.org)'"),
    ] {
        let output = explained(host);
        assert!(output.contains(says), "{host}: {output}");
    }
    home.settings("[sandbox]\nnetwork = 'off'\n");
    assert!(explained("pypi.org").contains("deny: the setting sandbox.network is off"));
    home.settings("[permissions]\nallow = ['network(group:nmp)']\n");
    let output = home.run(&["permissions", "explain", "pypi.org"]);
    assert!(stderr(&output).contains("did you mean \"npm\"?"), "{}", stderr(&output));
}

#[test]
fn a_host_for_all_sessions_is_added_to_the_settings() {
    let home = Home::new();
    if !confines(&home) {
        return;
    }
    home.settings("[agent]\ndefault_model = 'offline/pilot'\n[permissions]\nallow = ['bash(make)'] # mine\n");
    let mut editor = Editor { answer: Some("allow_for_user"), ..Editor::default() };
    for _ in 0..2 {
        let (mut agent, session) = Agent::open(&home, &[], &editor);
        agent.prompt(&session, "run `curl -s -m 5 http://a.invalid/`", &mut editor).unwrap();
    }
    assert_eq!(editor.log, ["permission"], "the second session does not ask");
    let settings = home.read("../home/.config/tiller/config.toml").unwrap_or_default();
    assert!(settings.contains("allow = ['bash(make)', \"network(host:a.invalid)\"] # mine"), "{settings}");
}

#[test]
fn the_sandbox_is_part_of_a_sessions_configuration() {
    let home = Home::new();
    let described = |editor: &Editor, level: &str| {
        home.settings(&format!("[agent]\ndefault_model = 'offline/pilot'\n[sandbox]\nlevel = '{level}'\n"));
        let mut agent = Agent::start(&home, &[]);
        agent.initialize(editor.capabilities());
        let params = serde_json::json!({ "cwd": home.project(), "mcpServers": [] });
        let answer = agent.ask("session/new", params).unwrap();
        let options = answer["configOptions"].as_array().unwrap().clone();
        let permissions = options.into_iter().find(|option| option["id"] == "permission_mode").unwrap();
        permissions["description"].as_str().unwrap().to_owned()
    };
    assert!(
        described(&Editor::default(), "workspace-write")
            .contains("sandbox: workspace-write, asks about hosts")
    );
    assert!(described(&Editor::default(), "off").contains("on this machine (sandbox off)"));
    assert!(
        described(&Editor::with_everything(), "read-only").contains("editor's terminal (sandbox: read-only")
    );
}
