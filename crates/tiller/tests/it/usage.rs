//! Usage errors: they have their own exit code and a message, and nothing is done.

use crate::home::{Home, stderr, stdout};

/// Runs with these arguments; checks the usage error.
fn refused(home: &Home, args: &[&str], says: &str) {
    let output = home.run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {}", stderr(&output));
    assert!(stderr(&output).contains(says), "{args:?}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{args:?}");
}

#[test]
fn a_missing_directory_or_file_is_refused_and_nothing_is_stored() {
    let home = Home::new();
    home.write("file", "");
    home.write("sub/file", "");
    let (none, directory) = ("there is no such directory", "that is not a directory");
    refused(&home, &["-p", "help", "--cwd", "/no/such"], none);
    refused(&home, &["-p", "help", "--cwd", "no/such"], none);
    refused(&home, &["-p", "help", "--cwd", ""], "needs a value");
    refused(&home, &["-p", "help", "--cwd", "file"], directory);
    refused(&home, &["-p", "help", "--cwd", "file/below"], directory);
    refused(&home, &["acp", "--cwd", "/no/such"], none);
    refused(&home, &["acp", "--cwd", "file"], directory);
    refused(&home, &["trust", "/no/such"], none);
    refused(&home, &["trust", "file"], directory);
    refused(&home, &["demo", "--project", "/no/such", "--prompt", "x"], none);
    refused(&home, &["sessions", "import", "x.json"], "there is no such file");
    refused(&home, &["sessions", "import", "sub"], "that is a directory; name a file");
    refused(&home, &["sessions", "import", "file", "--cwd", "/no/such"], none);
    refused(&home, &["-p", "help", "--record", "/no/such/record.jsonl"], none);
    refused(&home, &["-p", "help", "--record", "sub"], "that is a directory; name a file");
    refused(&home, &["lua", "run", "x.lua"], "there is no such file");
    refused(&home, &["mcp", "import", "x.json"], "there is no such file");
    refused(&home, &["integrations", "add", "x", "--openapi", "x.json"], "there is no such file");
    assert_eq!(stdout(&home.run(&["sessions", "list"])), "");
    assert!(home.run(&["-p", "help", "--cwd", "sub"]).status.success());
}

#[test]
fn every_command_refuses_unknown_arguments_with_the_same_code() {
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
        assert_eq!(output.status.code(), Some(1), "{command}: {}", stderr(&output));
    }
    refused(&home, &["mcp", "serve"], "nothing to serve");
    refused(&home, &["mcp", "add", "x"], "--url");
    refused(&home, &["lua", "run", "-e", "1", "--arg", "x"], "--arg is NAME=VALUE");
    refused(&home, &["setup"], "nothing to set up");
}

/// JSON output has the same exit code.
#[test]
fn a_failure_printed_as_json_has_its_own_exit_code() {
    let home = Home::new();
    let output = home.run(&["mcp", "call", "nothing", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("\"success\":false"));
    let output = home.run(&["mcp", "call", "no.tool", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}
