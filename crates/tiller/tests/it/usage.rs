//! Usage errors: they have their own exit code and a message, and nothing is done.

use crate::home::{Home, stderr, stdout};

/// Runs with these arguments; checks the usage error.
fn refused(home: &Home, args: &[&str], says: &str) {
    let output = home.run(args);
    assert_eq!(output.status.code(), Some(64), "{args:?}: {}", stderr(&output));
    assert!(stderr(&output).contains(says), "{args:?}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{args:?}");
}

#[test]
fn a_folder_or_a_file_that_is_not_there_is_refused_and_nothing_is_stored() {
    let home = Home::new();
    home.write("file", "");
    home.write("sub/file", "");
    let (none, folder) = ("there is no such folder", "that is no folder");
    refused(&home, &["-p", "help", "--cwd", "/no/such"], none);
    refused(&home, &["-p", "help", "--cwd", "no/such"], none);
    refused(&home, &["-p", "help", "--cwd", ""], "a value is required");
    refused(&home, &["-p", "help", "--cwd", "file"], folder);
    refused(&home, &["-p", "help", "--cwd", "file/below"], folder);
    refused(&home, &["acp", "--cwd", "/no/such"], none);
    refused(&home, &["acp", "--cwd", "file"], folder);
    refused(&home, &["trust", "/no/such"], none);
    refused(&home, &["trust", "file"], folder);
    refused(&home, &["demo", "--project", "/no/such", "--prompt", "x"], none);
    refused(&home, &["sessions", "import", "x.json"], "there is no such file");
    refused(&home, &["sessions", "import", "sub"], "that is a folder; name a file");
    refused(&home, &["sessions", "import", "file", "--cwd", "/no/such"], none);
    refused(&home, &["-p", "help", "--record", "/no/such/record.jsonl"], none);
    refused(&home, &["-p", "help", "--record", "sub"], "that is a folder; name a file");
    refused(&home, &["lua", "run", "x.lua"], "there is no such file");
    refused(&home, &["mcp", "import", "x.json"], "there is no such file");
    refused(&home, &["integrations", "add", "x", "--openapi", "x.json"], "there is no such file");
    assert_eq!(stdout(&home.run(&["sessions", "list"])), "");
    assert!(home.run(&["-p", "help", "--cwd", "sub"]).status.success());
}

#[test]
fn every_command_refuses_arguments_that_it_does_not_know_with_the_same_code() {
    let home = Home::new();
    for command in [
        "acp",
        "demo",
        "sessions list",
        "sessions show x",
        "setup",
        "config list",
        "models",
        "doctor",
        "trust",
        "mcp list",
        "mcp serve",
        "integrations list",
        "permissions log",
        "lua run",
        "schema native",
        "schema settings",
        "-p x",
    ] {
        let line: Vec<_> = command.split(' ').chain(["--no-such-option"]).collect();
        refused(&home, &line, "--no-such-option");
    }
    for command in
        ["sessions", "mcp", "config", "permissions", "lua", "schema", "sessions nothing", "help nothing"]
    {
        let line: Vec<_> = command.split(' ').collect();
        let output = home.run(&line);
        assert_eq!(output.status.code(), Some(64), "{command}: {}", stderr(&output));
    }
    refused(&home, &["mcp", "serve"], "nothing to serve");
    refused(&home, &["mcp", "add", "x"], "--url");
    refused(&home, &["lua", "run", "-e", "1", "--arg", "x"], "--arg is NAME=VALUE");
    refused(&home, &["setup"], "nothing to set up");
}

/// JSON output has the same exit code.
#[test]
fn a_failure_that_is_printed_as_json_has_the_code_of_what_it_is() {
    let home = Home::new();
    let output = home.run(&["mcp", "call", "nothing", "--json"]);
    assert_eq!(output.status.code(), Some(64), "{}", stdout(&output));
    assert!(stdout(&output).contains("\"success\":false"));
    let output = home.run(&["mcp", "call", "no.tool", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}
