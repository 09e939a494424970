//! What people get who type a command wrongly: the text, the JSON object and the exit code.
//!
//! The answers are in `golden/misuses.txt`. To renew it, run
//! `TILLER_RENEW=1 cargo nextest run -p tiller misuse`.

use crate::home::{Home, stderr, stdout};
use serde_json::Value;
use std::fmt::Write as _;

/// Mistakes that people make.
const MISUSES: &[&[&str]] = &[
    // Words that are no command.
    &["seting"],
    &["sesions", "list"],
    &["settings:st", "agent.mode", "plan"],
    &["fix:typo"],
    &["sessions", "lst"],
    &["codex:login"],
    &["gateway:telegram:start"],
    &["mcp", "enabel", "x"],
    // Flags that do not exist, or not there.
    &["--modle", "x/y", "-p", "hello"],
    &["-p", "hello", "--permision-mode", "guardian"],
    &["sessions", "list", "--output", "json"],
    &["doctor", "--yes"],
    &["-p", "hello", "-i"],
    &["sessions", "list", "--archived", "--archived"],
    // Values that are missing or wrong.
    &["-p", "hello", "-m"],
    &["-p", "hello", "-m", "nobody/none"],
    &["-p", "hello", "--mode", "fast"],
    &["-p", "hello", "--permission-mode", "maybe"],
    &["-p", "hello", "--timeout", "soon"],
    &["-p", "hello", "-t", "0"],
    &["-p", "hello", "-o", "xml"],
    &["-p", "hello", "--session", "nope1234"],
    &["-p", "hello", "--image", "absent.png"],
    &["-p", "hello", "--add-dir", "absent"],
    &["-p", "hello", "--allow", "bash("],
    &["-p", "hello", "--output-schema", "absent.json"],
    &["-p", "hello", "--system-prompt", "@absent.md"],
    &["--cwd", "absent", "doctor"],
    &["--config", "absent.toml", "doctor"],
    &["--color", "sometimes", "models"],
    &["sessions", "list", "--after", "x"],
    &["sessions", "list", "--limit", "0"],
    // Things that do not exist.
    &["sessions", "show", "nope"],
    &["sessions", "import", "absent.json"],
    &["memory", "show", "7"],
    &["memory", "forget", "seven"],
    &["permissions", "log"],
    &["skills", "show", "absent"],
    &["providers", "models", "absent"],
    &["settings", "get", "agent.modle"],
    &["settings", "set", "agent.mode", "fast"],
    &["settings", "set", "agent.mode"],
    &["mcp", "call", "absent.tool"],
    &["mcp:absent", "tool"],
    &["integrations", "fields", "absent"],
    &["install", "notepad"],
    &["completions", "tcsh"],
    &["help", "frobnicate"],
    &["schema", "cli", "frobnicate"],
    &["lua", "run"],
    &["lua", "run", "absent.lua"],
    // What would be dangerous, or needs a person.
    &["setup", "--api-key", "sk-secret"],
    &["sessions", "rename", "nope"],
    &["auth", "login", "absent"],
    &["-p"],
    &["-i", "--timeout", "5"],
    &[],
];

#[test]
fn a_misuse_says_what_is_wrong_and_what_to_type() {
    let home = Home::new();
    let shown = |text: &str| {
        let text = text.replace(&home.path().to_string_lossy().into_owned(), "~HOME");
        match text.split_once("\"duration_ms\":") {
            Some((before, after)) => {
                format!("{before}\"duration_ms\":0{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            None => text,
        }
    };
    let (mut all, mut wrong) = (String::new(), String::new());
    for args in MISUSES {
        let human = home.run(args);
        let as_json: Vec<_> = ["--json"].iter().chain(args.iter()).copied().collect();
        let program = home.run(&as_json);
        let line = format!("tiller {}", args.join(" "));
        let text = stderr(&human);
        let _ = writeln!(all, "$ {}\n{}{}", line.trim_end(), shown(&text), shown(&stdout(&program)));
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                let _ = writeln!(wrong, "{line}: {what}\n{}\n{text}{}", stdout(&human), stdout(&program));
            }
        };
        expect(human.status.code() == Some(1), "the exit code is not 1");
        expect(program.status.code() == Some(1), "the exit code with --json is not 1");
        expect(stdout(&human).is_empty(), "the error is printed as a result");
        expect(text.starts_with("tiller: "), "the error does not name the program");
        for internal in ["Caused by", "panicked", "Error {", "WARN", "unwrap"] {
            expect(!text.contains(internal), "the error shows what is inside");
        }
        // One object, of which `docs/schema/cli/error.json` is the schema.
        let object: Value = serde_json::from_str(&stdout(&program)).unwrap_or_default();
        expect(object["success"] == false, "there is not one JSON object");
        expect(object["kind"] != "internal", "the mistake of a user counts as one of the program");
    }
    assert!(wrong.is_empty(), "{wrong}");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/misuses.txt");
    if std::env::var_os("TILLER_RENEW").is_some() {
        std::fs::write(file, &all).unwrap();
    }
    let known = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        known == all,
        "golden/misuses.txt is out of date; run: TILLER_RENEW=1 cargo nextest run -p tiller misuse\n{all}"
    );
}
