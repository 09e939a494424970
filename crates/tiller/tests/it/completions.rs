//! `tiller completions` and `tiller __complete`: scripts that shells parse and that complete.

use crate::home::{Home, stderr, stdout};
use std::process::Command;

/// Whether a shell is installed.
fn has(shell: &str) -> bool {
    Command::new(shell).args(["-c", "exit 0"]).output().is_ok_and(|output| output.status.success())
}

/// Writes a shell's script into the project.
fn script(home: &Home, shell: &str) -> String {
    let output = home.run(&["completions", shell]);
    assert!(output.status.success(), "{shell}: {}", stderr(&output));
    home.write(&format!("script.{shell}"), &stdout(&output));
    home.file(&format!("script.{shell}"))
}

/// The completions that bash offers for a line.
fn bash(home: &Home, line: &str) -> Vec<String> {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    if line.ends_with(' ') {
        words.push(String::new());
    }
    // bash splits words at `=` and `:`; what is tested finds its word in the line.
    let test = r#"
        source "$1"; line=$2; shift 2
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE=$line; COMP_POINT=${#line}
        _tiller_values "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let program = home.tiller(&[]).get_program().to_owned();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", test, "bash", &script(home, "bash"), line]).args(&words);
    let directory = std::path::Path::new(&program).parent().unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    bash.env_clear().env("PATH", path).env("HOME", home.path().join("home")).current_dir(home.project());
    let output = bash.output().unwrap();
    assert_eq!(stderr(&output), "", "{line}");
    stdout(&output).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_shell_has_a_script_and_parses_it() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish", "nushell"] {
        let file = script(&home, shell);
        assert!(std::fs::read_to_string(&file).unwrap().contains("sessions"), "{shell}");
        if matches!(shell, "bash" | "zsh" | "fish") && has(shell) {
            let parsed = Command::new(shell).arg("-n").arg(&file).output().unwrap();
            assert!(parsed.status.success() && parsed.stderr.is_empty(), "{shell}: {}", stderr(&parsed));
        }
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    if !has("bash") {
        return;
    }
    let home = Home::new();
    home.write(".mcp.json", r#"{"mcpServers": {"alpha": {"command": "true"}, "beta": {"command": "true"}}}"#);
    for (line, offered, not_offered) in [
        ("tiller sess", &["sessions"][..], &["mcp"][..]),
        ("tiller sessions ", &["list", "show"], &[]),
        ("tiller install ", &["zed", "emacs"], &[]),
        ("tiller completions ", &["bash", "nushell"], &[]),
        ("tiller -p x --model off", &["offline/pilot"], &["anthropic"]),
        ("tiller -p x --model=off", &["offline/pilot"], &[]),
        ("tiller -p x -m ", &["offline/pilot"], &[]),
        ("tiller config get agent.def", &["agent.default_model"], &["agent.mode"]),
        ("tiller config set agent.mode ", &["plan"], &["agent.mode"]),
        ("tiller --quiet mcp tools a", &["alpha"], &["beta"]),
        ("tiller integrations schema clickup.create_t", &["clickup.create_task"], &[]),
        ("tiller integrations configure cl", &["clickup"], &["github"]),
    ] {
        let found = bash(&home, line);
        for word in offered {
            assert!(found.iter().any(|found| found.trim() == *word), "{line}: {found:?}");
        }
        for word in not_offered {
            assert!(!found.iter().any(|found| found.trim() == *word), "{line}: {found:?}");
        }
    }
}

#[test]
fn sessions_are_completed_with_their_titles_and_no_file_is_made_for_them() {
    let home = Home::new();
    assert_eq!(stdout(&home.run(&["__complete", "sessions", ""])), "");
    assert!(!home.path().join("home/.local/share/tiller/sessions.db").exists());
    assert!(home.run(&["-p", "help"]).status.success());
    let listed = stdout(&home.run(&["__complete", "sessions", ""]));
    let (id, title) = listed.trim_end().split_once('\t').unwrap();
    assert_eq!(title, "help", "{listed}");
    assert_eq!(stdout(&home.run(&["__complete", "sessions", &id[..9]])), listed);
    assert_eq!(stdout(&home.run(&["__complete", "sessions", "x"])), "");
    if has("bash") {
        assert_eq!(bash(&home, "tiller sessions show "), [id]);
    }
}

#[test]
fn fish_completes_values_where_it_is_installed() {
    if !has("fish") {
        return;
    }
    let home = Home::new();
    let file = script(&home, "fish");
    let complete = |line: &str| {
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", "source $argv[1]; complete -C $argv[2]", &file, line]);
        let directory = std::path::Path::new(env!("CARGO_BIN_EXE_tiller")).parent().unwrap();
        let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
        fish.env_clear().env("PATH", path).env("HOME", home.path().join("home")).current_dir(home.project());
        stdout(&fish.output().unwrap())
    };
    for (line, word) in [
        ("tiller sess", "sessions"),
        ("tiller acp --model off", "offline/pilot"),
        ("tiller config set agent.mode ", "plan"),
        ("tiller config get agent.def", "agent.default_model"),
    ] {
        assert!(complete(line).contains(word), "{line}: {}", complete(line));
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let home = Home::new();
    let output = home.run(&["man", "--out", "man"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(home.read("man/tiller-sessions-show.1").unwrap().contains("tiller\\-sessions\\-show"));
    assert!(stdout(&home.run(&["man", "sessions", "list"])).contains(".TH "));
    assert!(stderr(&home.run(&["man", "frobnicate"])).contains("no command `frobnicate`"));
}
