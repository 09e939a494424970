//! The arguments of the command line.

use crate::home::{Home, stderr, stdout};

/// Runs with these arguments; checks the exit code and a part of stderr.
fn check(home: &Home, args: &[&str], code: i32, says: &str) {
    let output = home.run(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
    assert!(stderr(&output).contains(says), "{args:?}: {}", stderr(&output));
}

#[test]
fn prints_its_version_and_its_commands() {
    let home = Home::empty();
    let version = home.run(&["--version"]);
    assert_eq!(stdout(&version), format!("tiller {}\n", env!("CARGO_PKG_VERSION")));
    let help = stdout(&home.run(&["--help"]));
    for word in ["acp", "demo", "sessions", "models", "--print"] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

#[test]
fn invalid_arguments_are_refused_with_the_valid_ones() {
    let home = Home::new();
    check(&home, &[], 1, "nothing to do");
    check(&home, &["acpp"], 1, "did you mean 'acp'?");
    check(&home, &["acp", "--mode", "edt"], 1, "use one of edit, plan, ask");
    check(&home, &["acp", "--permission-mode", "none"], 1, "guardian, argus, prometheus");
    check(&home, &["acp", "--events", "sometimes"], 1, "off");
    check(&home, &["acp", "--yolo", "--permission-mode", "argus"], 1, "cannot be used with");
    check(&home, &["-p", "x", "-m", "gpt"], 1, "--model takes PROVIDER/NAME");
    check(&home, &["-p", "x", "-t", "0"], 1, "--max-turns");
    check(&home, &["-p", "x", "y"], 1, "two prompts");
    check(&home, &["-p", "-"], 1, "the prompt on stdin is empty");
    check(&home, &["-p", "x", "-c", "--session", "1"], 1, "cannot be used with");
    check(&home, &["--timeout", "3"], 1, "tiller -p PROMPT");
    check(&home, &["demo", "--project", "."], 1, "--prompt");
    check(&home, &["sessions", "show", "nope"], 1, "no session nope");
    check(&home, &["-p", "x", "-c"], 1, "no session to continue in");
    check(&home, &["-p", "x", "-m", "nobody/x"], 1, "nobody");
}

#[test]
fn settings_are_checked_before_anything_starts() {
    let home = Home::new();
    home.settings("[agent]\nmdoe = 'plan'\n");
    check(
        &home,
        &["models"],
        1,
        "config.toml:2: unknown setting \"agent.mdoe\"; did you mean \"agent.mode\"?",
    );
    home.settings("agent = ");
    check(&home, &["models"], 1, "config.toml:1: ");
    home.settings("");
    home.write(".tiller/config.toml", "[tools]\ndefault_permission_mode = 'prometheus'\n");
    check(&home, &["models"], 0, "tools.default_permission_mode is ignored: a project may only tighten it");
    let output = home.tiller(&["models"]).env("TILLER_MODE", "x").output().unwrap();
    assert!(stderr(&output).contains("environment variable TILLER_MODE: agent.mode: unknown mode"));
    let output = home.tiller(&["models"]).env("TILLER_LOG", "a=b=c").output().unwrap();
    assert!(stderr(&output).contains("environment variable TILLER_LOG"), "{}", stderr(&output));
}

#[test]
fn the_models_are_listed_with_the_default_marked() {
    let output = Home::new().run(&["models"]);
    assert!(stdout(&output).starts_with("* offline/pilot"), "{}", stdout(&output));
    assert!(stdout(&output).contains("not a language model"));
}
