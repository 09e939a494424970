//! Encodes a command for `terminal/create`, so that every client runs the same command.
//!
//! A client uses `command` and `args` as an argument vector, or joins them into a shell command
//! line, quoted or unquoted. [`encode_command`] encodes a command so that either form runs the
//! intended command, with an empty standard input if the client does not provide one: a program
//! that reads a terminal without a user would wait forever.

use crate::client_facts::{Stdin, Terminal};
use system::Command;

/// `command` and `args` of `terminal/create`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TerminalCommand {
    /// A program, or a command line for the shell of a client that joins words unquoted.
    pub(super) command: String,
    /// Its arguments.
    pub(super) args: Vec<String>,
}

/// The prefix of a shell line that empties standard input. It does not add a line, so that line
/// numbers in the shell's messages stay correct.
const CLOSED: &str = "exec </dev/null; ";

/// Encodes a command for a kind of terminal. For an unknown terminal, the result is an argument
/// vector.
pub(super) fn encode_command(command: &Command, terminal: Terminal, stdin: Stdin) -> TerminalCommand {
    let Command { program, args, .. } = command;
    let given = || TerminalCommand { command: program.clone(), args: args.clone() };
    let closes = stdin != Stdin::Empty;
    match terminal {
        // One simple command for any shell; `exec` replaces the shell with the program.
        Terminal::Joined => {
            let line: Vec<_> = std::iter::once(program).chain(args).map(|word| for_any_shell(word)).collect();
            TerminalCommand { command: format!("exec {} </dev/null", line.join(" ")), args: Vec::new() }
        }
        _ if closes => match shell_line(command) {
            Some(line) => TerminalCommand {
                command: program.clone(),
                args: vec!["-c".to_owned(), format!("{CLOSED}{line}")],
            },
            None => through_a_shell("exec \"$0\" \"$@\" </dev/null", command),
        },
        Terminal::Quoted if !is_plain(program) => through_a_shell("exec \"$0\" \"$@\"", command),
        _ => given(),
    }
}

/// Encodes the launcher, which closes its standard input itself.
pub(super) fn encode_launcher(launcher: &Command, terminal: Terminal) -> TerminalCommand {
    let plain = std::iter::once(&launcher.program).chain(&launcher.args).all(|word| is_plain(word));
    match plain {
        // Plain words mean the same in every client.
        true => TerminalCommand { command: launcher.program.clone(), args: launcher.args.clone() },
        false => encode_command(launcher, terminal, Stdin::Empty),
    }
}

/// Returns whether a word is unchanged by every shell.
pub(super) fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let first = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    word.starts_with(first) && word.chars().all(plain)
}

/// Quotes a word for any shell, including shells that are not POSIX and interpret backslashes
/// within single quotes: backslashes and single quotes are put in double quotes.
fn for_any_shell(word: &str) -> String {
    if is_plain(word) {
        return word.to_owned();
    }
    let mut quoted = String::from("'");
    for c in word.chars() {
        match c {
            '\'' => quoted.push_str("'\"'\"'"),
            '\\' => quoted.push_str("'\"\\\\\"'"),
            c => quoted.push(c),
        }
    }
    quoted + "'"
}

/// Quotes a word for a POSIX shell.
pub(super) fn quoted(word: &str) -> String {
    match is_plain(word) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Returns the line of a command of the form `sh -c LINE` or `bash -c LINE`.
fn shell_line(command: &Command) -> Option<&str> {
    match command.args.as_slice() {
        [flag, line] if flag == "-c" && ["sh", "bash"].contains(&command.program.as_str()) => Some(line),
        _ => None,
    }
}

/// Passes a command as the arguments of a line for `sh`.
fn through_a_shell(line: &str, command: &Command) -> TerminalCommand {
    let before = ["-c", line, &command.program].map(str::to_owned);
    TerminalCommand {
        command: "sh".to_owned(),
        args: before.into_iter().chain(command.args.clone()).collect(),
    }
}
