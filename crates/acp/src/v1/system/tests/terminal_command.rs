//! Tests that every client runs the same command from the words it is sent.

use super::{
    shells::{Joins, run},
    *,
};
use crate::{
    client_facts::Stdin,
    v1::system::terminal_command::{TerminalCommand, encode_command, encode_launcher},
};

const CLIENTS: [(Joins, Terminal); 4] = [
    (Joins::Not, Terminal::Vector),
    (Joins::Quoted, Terminal::Quoted),
    (Joins::QuotedArguments, Terminal::Quoted),
    (Joins::Unquoted, Terminal::Joined),
];

fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::shell("", path("/"), 1000);
    (command.program, command.args) = (program.to_owned(), args.iter().map(|&arg| arg.to_owned()).collect());
    command
}

/// Runs words as a client does.
fn run_and_collect(client: Joins, words: &TerminalCommand) -> (String, Option<i32>) {
    let words: Vec<_> = std::iter::once(&words.command).chain(&words.args).cloned().collect();
    run(client, &words).expect("it ends")
}

#[test]
fn every_client_runs_the_exact_line_without_waiting_for_input() {
    let lines = [
        ("echo x", "x\n", 0),
        ("cd / && pwd", "/\n", 0),
        ("wc -c; cat; read x; echo \"[$x]\"", "0\n[]\n", 0),
        (
            "printf '[%s]' 'it'\\''s' \"a  b\" $((1+1)) '$HOME' \"\\$HOME\" '*' \\* '\\n'",
            "[it's][a  b][2][$HOME][$HOME][*][*][\\n]",
            0,
        ),
        ("printf '%s|' a 'b c' \"d\ne\"; exit 3", "a|b c|d\ne|", 3),
        ("cat <<'END'\n$x `y` \"z\" \\\nEND\necho done # a comment", "$x `y` \"z\" \\\ndone\n", 0),
        ("(sleep 0; echo late) &\nwait; echo end", "late\nend\n", 0),
        ("# only a comment", "", 0),
        ("! true || false && echo a; { echo b; }", "b\n", 0),
    ];
    for (client, terminal) in CLIENTS {
        for stdin in [Stdin::Unknown, Stdin::Waits] {
            for (line, expected, code) in lines {
                let sent = encode_command(&command("sh", &["-c", line]), terminal, stdin);
                let (text, exit) = run_and_collect(client, &sent);
                assert_eq!((text.as_str(), exit), (expected, Some(code)), "{client:?}: {line}");
            }
        }
    }
}

#[test]
fn a_syntax_error_names_the_users_line_and_runs_nothing() {
    for (client, terminal) in CLIENTS {
        let line = "echo a; if\n";
        let sent = encode_command(&command("bash", &["-c", line]), terminal, Stdin::Waits);
        let (text, exit) = run_and_collect(client, &sent);
        assert!(exit == Some(2) && !text.starts_with("a\n"), "{client:?}: {text}");
    }
}

#[test]
fn programs_get_their_arguments_unchanged() {
    let args = ["%s|", "a b", "", "it's", "$HOME", "*", "\\", "x\ny", "-n", "~", "=ls", "</dev/null"];
    for (client, terminal) in CLIENTS {
        let sent = encode_command(&command("printf", &args), terminal, Stdin::Waits);
        let expected = args[1..].iter().map(|arg| format!("{arg}|")).collect::<String>();
        assert_eq!(run_and_collect(client, &sent), (expected, Some(0)), "{client:?}");
        let sent = encode_command(&command("wc", &["-c"]), terminal, Stdin::Waits);
        assert_eq!(run_and_collect(client, &sent).0.trim(), "0", "{client:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a folder of the test's own")]
fn the_launcher_is_found_at_any_path() {
    let folder = std::env::temp_dir().join(format!("tiller launcher's {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("launch $er");
    std::fs::write(&program, "#!/bin/sh\necho \"$#: $*\"\n").unwrap();
    let mut mode = std::fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    for (client, terminal) in CLIENTS {
        let launcher = command(program.to_str().unwrap(), &["sandbox", "run", "/s", "make", "all"]);
        let sent = encode_launcher(&launcher, terminal);
        let (text, _) = run_and_collect(client, &sent);
        assert_eq!(text, "5: sandbox run /s make all\n", "{client:?}: {sent:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn commands_without_special_characters_stay_unchanged() {
    let line = command("sh", &["-c", "make"]);
    let given = TerminalCommand { command: "sh".to_owned(), args: line.args.clone() };
    for terminal in [Terminal::Vector, Terminal::Quoted, Terminal::Unknown] {
        assert_eq!(encode_command(&line, terminal, Stdin::Empty), given);
    }
    let launcher = command("/usr/bin/tiller", &["sandbox", "run", "/s", "make"]);
    for terminal in [Terminal::Vector, Terminal::Quoted, Terminal::Joined, Terminal::Unknown] {
        let sent = encode_launcher(&launcher, terminal);
        assert_eq!((sent.command.as_str(), sent.args), ("/usr/bin/tiller", launcher.args.clone()));
    }
}

/// Within single quotes, fish treats a backslash as an escape; within double quotes, every shell
/// does.
#[test]
fn backslashes_and_quotes_are_quoted_for_every_shell() {
    let sent = encode_command(&command("printf", &["%s", "a\\b'c", "$x"]), Terminal::Joined, Stdin::Empty);
    assert_eq!(sent.command, r#"exec printf '%s' 'a'"\\"'b'"'"'c' '$x' </dev/null"#);
    assert_eq!(run_and_collect(Joins::Unquoted, &sent), ("a\\b'c$x".to_owned(), Some(0)));
}
