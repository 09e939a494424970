//! Leaks: files that were read without a request, terminal control sequences, and stored keys.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
    model_server::ModelServer,
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::fs::{PermissionsExt, symlink},
    process::{Command, Stdio},
    time::Duration,
};

/// A clipboard sequence, a cleared screen, C1 controls, a direction override, a zero-width
/// character
/// and a tag.
const EVIL: &str = "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}[2Jc\u{9b}2Jd\u{202e}e\u{200b}f\u{e0041}g";

/// A key that is recognised by its form; no variable has this value.
const KEY: &str = "sk-0123456789canarycanary";

fn assert_plain(what: &str, text: &str) {
    let evil = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202e}' | '\u{200b}' | '\u{e0041}' | '\u{9b}')
    };
    assert!(!text.contains(evil), "{what}: {text:?}");
}

/// Runs a session in which a tool shows a file with all of these; returns its id.
fn shown(home: &Home) -> String {
    home.write("a.txt", &format!("{EVIL}\n{KEY}\n\t{KEY}\nend\n"));
    let run = home.run(&["-p", "show a.txt", "-o", "json", "--record", "r.jsonl"]);
    let printed = stdout(&run);
    assert_plain("headless json", &printed);
    let run: Value = serde_json::from_str(&printed).unwrap();
    run["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn p12_session_output_contains_no_control_sequences_and_no_keys() {
    let home = Home::new();
    let id = shown(&home);
    // The title of the session is its prompt.
    let asked = format!("show {EVIL} {KEY}");
    assert_plain("headless", &stdout(&home.run(&["-p", &asked, "-o", "json"])));
    // In a pipe these are data, and only the keys are taken out.
    for args in [&["sessions", "show", &id][..], &["sessions", "export", &id, "--format", "markdown"]] {
        let printed = stdout(&home.run(args));
        assert!(printed.contains("[secret]") && !printed.contains("canary"), "{args:?}: {printed}");
    }
    for args in [
        &["sessions", "show", &id, "--json"][..],
        &["sessions", "show", &id, "--jsonl"],
        &["sessions", "export", &id, "--json"],
        &["sessions", "rewind", &id, "--json"],
        &["sessions", "export", &id],
        &["sessions", "list"],
        &["sessions", "list", "--jsonl"],
        &["sessions", "search", "show"],
        &["sessions", "search", "show", "--jsonl"],
        &["sessions", "rewind", &id],
        &["permissions", "log"],
        &["permissions", "log", "--json"],
        &["permissions", "log", "--jsonl"],
    ] {
        let output = home.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        let printed = stdout(&output);
        assert_plain(&format!("{args:?}"), &printed);
        assert!(!printed.contains("canary"), "{args:?}: {printed}");
    }
    let mut agent = Agent::start(&home, &[]);
    agent.initialize(serde_json::json!({}));
    let listed = agent.ask("session/list", serde_json::json!({})).unwrap();
    let titles: String =
        listed["sessions"].as_array().unwrap().iter().filter_map(|one| one["title"].as_str()).collect();
    assert_plain("session/list", &titles);
    // The export for programs has the same text and can be imported.
    let export = stdout(&home.run(&["sessions", "export", &id]));
    assert!(export.contains("\\u001b]52") && export.contains("[secret]"), "{export}");
    home.write("again.json", &export);
    assert!(home.run(&["sessions", "import", "again.json"]).status.success());

    // In a pipe the answer is data: without control sequences, and otherwise as it was written.
    let text = stdout(&home.run(&["-p", "show a.txt"]));
    assert!(text.contains("abcd\u{202e}e\u{200b}f\u{e0041}g"), "{text}");
    let refused = home.run(&["sessions", "show", &format!("no{EVIL}")]);
    assert_plain("an error", &stderr(&refused));
}

#[test]
fn p12_a_recording_is_readable_by_its_owner_only_and_contains_no_key() {
    let home = Home::new();
    shown(&home);
    let mode = |name: &str| std::fs::metadata(home.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("r.jsonl"), 0o600);
    let recorded = home.read("r.jsonl").unwrap();
    assert!(recorded.contains("tiller_recording") && recorded.contains("[secret]"), "{recorded}");
    assert!(!recorded.contains("canary"), "{recorded}");
    assert_plain("a recording", &recorded);
    // A file that others could read becomes private; a symbolic link is refused.
    std::fs::set_permissions(home.file("r.jsonl"), std::fs::Permissions::from_mode(0o644)).unwrap();
    home.run(&["-p", "show a.txt", "--record", "r.jsonl"]);
    assert_eq!(mode("r.jsonl"), 0o600);
    home.write("mine.txt", "mine");
    symlink("mine.txt", home.file("link.jsonl")).unwrap();
    let refused = home.run(&["-p", "show a.txt", "--record", "link.jsonl"]);
    assert!(stderr(&refused).contains("cannot write the recording"), "{}", stderr(&refused));
    assert_eq!(home.read("mine.txt").as_deref(), Some("mine"));
}

#[test]
fn p12_live_output_of_a_command_contains_no_control_sequences() {
    let home = Home::new();
    home.settings(
        "[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n[client]\nterminal = 'local'\n[tools]\ndefault_permission_mode = 'prometheus'\n",
    );
    for displays in [true, false] {
        let mut editor = Editor::with_everything();
        let mut agent = Agent::start(&home, &[]);
        let mut capabilities = editor.capabilities();
        capabilities["_meta"] = serde_json::json!({ "terminal_output": displays });
        agent.initialize(capabilities);
        let session = agent.new_session(&home);
        // Each sequence arrives in two writes.
        let script = "printf 'x\\033]52;c;ZX'; sleep 0.2; printf 'Zp\\007y\\033['; sleep 0.2; printf '2Jz\\302'; sleep 0.1; printf '\\2332Jend\\n'\n";
        home.write("evil.sh", script);
        agent.prompt(&session, "run sh evil.sh", &mut editor).unwrap();
        let reported: Vec<_> =
            agent.updates.iter().filter(|update| update.get("toolCallId").is_some()).collect();
        let reported = serde_json::to_string(&reported).unwrap();
        let data: String = agent
            .updates
            .iter()
            .filter_map(|update| update["_meta"]["terminal_output"]["data"].as_str())
            .collect();
        assert_eq!(data, if displays { "xyzend\n" } else { "" });
        assert!(reported.contains("end"), "{reported}");
        for evil in ["u001b", "\u{9b}", "52;c", "2J"] {
            assert!(!reported.contains(evil), "{evil}: {reported}");
        }
    }
}

#[test]
fn p14_a_placeholder_key_does_not_redact_ordinary_text() {
    let home = Home::new();
    home.settings(
        "[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n[tools]\ndefault_permission_mode = 'prometheus'\n",
    );
    for key in ["x", "local", "none", "sk-no-key-required"] {
        let mut command = home.tiller(&["-p", "run `env`"]);
        let variables = [("OPENAI_API_KEY", key), ("PLAIN", "x local none sk-no-key-required context")];
        let printed = stdout(&command.envs(variables).output().unwrap());
        assert!(printed.contains("PATH=/") && printed.contains("PLAIN=x local none"), "{key}: {printed}");
        assert!(!printed.contains("OPENAI_API_KEY"), "it goes by its name all the same: {printed}");
    }
}

/// Runs a prompt; checks that the request has no text of the file and that the user gets the
/// reason.
fn assert_not_sent(home: &Home, file: &str) {
    let done = r#"{"choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}"#;
    let server = ModelServer::start(vec![format!("data: {done}\n\n")]);
    let mut command = home.tiller(&["-p", "hi", "-m", "openai/test"]);
    let output = command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", &server.url).output().unwrap();
    assert_eq!(stdout(&output), "Done.\n", "{}", stderr(&output));
    assert!(stderr(&output).contains(file), "{}", stderr(&output));
    let (_, body) = server.requests.recv().unwrap();
    assert!(!body.contains("canary") && !body.contains("<instructions "), "{body}");
}

/// Runs `tiller acp` until `initialize` and `session/new` are answered; returns its stderr.
fn started(home: &Home) -> String {
    let mut child = home
        .tiller(&["acp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let initialize = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1, "clientCapabilities": {} } });
    let new = serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": { "cwd": home.project(), "mcpServers": [] } });
    writeln!(stdin, "{initialize}\n{new}").unwrap();
    let stdout = child.stdout.take().unwrap();
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    loop {
        let Ok(line) = lines.recv_timeout(Duration::from_secs(20)) else {
            child.kill().unwrap();
            panic!("no answer in time: {}", stderr(&child.wait_with_output().unwrap()));
        };
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["id"] == 2 {
            assert!(line["result"]["sessionId"].is_string(), "{line}");
            break;
        }
    }
    drop(stdin);
    stderr(&child.wait_with_output().unwrap())
}

fn fifo(path: &str) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn p06_unrequested_project_files_neither_hang_nor_exhaust_memory_nor_leak() {
    for name in
        [".tiller/config.toml", "AGENTS.md", ".mcp.json", ".vscode/mcp.json", ".env", ".gitignore", ".ignore"]
    {
        for kind in ["fifo", "/dev/zero", "/proc/self/environ", "../home/.ssh/id_rsa", "large"] {
            let home = Home::new();
            home.write("src/main.rs", "fn main() {}\n");
            home.write("../home/.ssh/id_rsa", "canary-of-a-key\n");
            std::fs::create_dir_all(home.project().join(name).parent().unwrap()).unwrap();
            match kind {
                "fifo" => fifo(&home.file(name)),
                "large" => {
                    let file = std::fs::File::create(home.file(name)).unwrap();
                    file.set_len(64 * 1024 * 1024 * 1024).unwrap();
                }
                target => {
                    let target = match target.strip_prefix("../") {
                        Some(below) => home.path().join(below),
                        None => target.into(),
                    };
                    symlink(target, home.file(name)).unwrap();
                }
            }
            let printed = started(&home);
            assert!(!printed.contains("canary"), "{name} {kind}: {printed}");
            if name == ".tiller/config.toml" {
                assert!(printed.contains(name), "{name} {kind}: {printed}");
            }
            if name == "AGENTS.md" {
                assert_not_sent(&home, name);
            }
            // A walk reads the ignore files.
            let found = stdout(&home.run(&["-p", "list files matching *.rs"]));
            assert!(found.contains("main.rs"), "{name} {kind}: {found}");
        }
    }
}

#[test]
fn p06_instruction_files_that_link_elsewhere_do_not_reach_the_model() {
    for (target, sent) in
        [(".env", false), (".git/config", false), ("/etc/hostname", false), ("docs/AGENTS.md", true)]
    {
        let home = Home::new();
        home.write(".env", "KEY=canary-1\n");
        home.write(".git/config", "url = https://me:canary-1@host\n");
        home.write("docs/AGENTS.md", "Say canary-1.\n");
        symlink(target, home.file("AGENTS.md")).unwrap();
        let output = home.run(&["-p", "show docs/AGENTS.md"]);
        let printed = stderr(&output);
        assert!(output.status.success(), "{printed}");
        assert_eq!(printed.contains("AGENTS.md) are not used"), !sent, "{target}: {printed}");
    }
    // A hard link to the same file, and a link to a file that the user's settings block.
    let home = Home::new();
    home.write(".env", "KEY=canary-1\n");
    std::fs::hard_link(home.file(".env"), home.file("AGENTS.md")).unwrap();
    let printed = stderr(&home.run(&["-p", "list files matching *.rs"]));
    assert!(printed.contains("AGENTS.md) are not used") && !printed.contains("canary"), "{printed}");
    let home = Home::new();
    home.settings("[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n[tools]\nblocked_paths = ['notes/*']\n");
    home.write("notes/a.md", "canary-1\n");
    symlink("notes/a.md", home.file("AGENTS.md")).unwrap();
    let printed = stderr(&home.run(&["-p", "list files matching *.rs"]));
    assert!(printed.contains("AGENTS.md) are not used"), "{printed}");
}
