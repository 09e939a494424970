//! How a command is written into `terminal/create`, so that every client runs the same.
//!
//! A client passes `command` and `args` on as words, or joins them to a line for a shell, with
//! quotes or without. The words of [`words`] come out of each as the command that was meant, and
//! read from an empty standard input where the client does not see to that: a program that waits
//! for what nobody types would wait for ever.

use crate::facts::{Stdin, Terminal};
use system::Command;

/// `command` and `args` of `terminal/create`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    /// A program, or a line for the shell of a client that joins words as they stand.
    pub(super) command: String,
    /// Its arguments.
    pub(super) args: Vec<String>,
}

/// Begins a shell line that reads from an empty standard input. It stands on the line's first line,
/// so that the shell counts the lines in its messages as they are.
const CLOSED: &str = "exec </dev/null; ";

/// The words for a command in a terminal that takes them so. A terminal of which nothing is known
/// gets words.
pub(super) fn words(command: &Command, terminal: Terminal, stdin: Stdin) -> Words {
    let Command { program, args, .. } = command;
    let given = || Words { command: program.clone(), args: args.clone() };
    let closes = stdin != Stdin::Empty;
    match terminal {
        // One simple command for whatever shell joins: it runs the program in its own place.
        Terminal::Joined => {
            let line: Vec<_> = std::iter::once(program).chain(args).map(|word| for_any_shell(word)).collect();
            Words { command: format!("exec {} </dev/null", line.join(" ")), args: Vec::new() }
        }
        _ if closes => match shell_line(command) {
            Some(line) => {
                Words { command: program.clone(), args: vec!["-c".to_owned(), format!("{CLOSED}{line}")] }
            }
            None => through_a_shell("exec \"$0\" \"$@\" </dev/null", command),
        },
        Terminal::Quoted if !is_plain(program) => through_a_shell("exec \"$0\" \"$@\"", command),
        _ => given(),
    }
}

/// The words for the launcher, which closes its standard input itself.
pub(super) fn launcher_words(launcher: &Command, terminal: Terminal) -> Words {
    let plain = std::iter::once(&launcher.program).chain(&launcher.args).all(|word| is_plain(word));
    match plain {
        // The same in every client.
        true => Words { command: launcher.program.clone(), args: launcher.args.clone() },
        false => words(launcher, terminal, Stdin::Empty),
    }
}

/// Whether no shell changes a word.
pub(super) fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let first = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    word.starts_with(first) && word.chars().all(plain)
}

/// A word as any shell takes it literally, also one that is not POSIX and reads backslashes between
/// single quotes: those, and single quotes, stand between double quotes.
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

/// A word as a POSIX shell takes it literally.
pub(super) fn quoted(word: &str) -> String {
    match is_plain(word) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The line of a command that is `sh -c LINE` or the same of another POSIX shell.
fn shell_line(command: &Command) -> Option<&str> {
    match command.args.as_slice() {
        [flag, line] if flag == "-c" && ["sh", "bash"].contains(&command.program.as_str()) => Some(line),
        _ => None,
    }
}

/// A command as the arguments of a line for `sh`.
fn through_a_shell(line: &str, command: &Command) -> Words {
    let before = ["-c", line, &command.program].map(str::to_owned);
    Words { command: "sh".to_owned(), args: before.into_iter().chain(command.args.clone()).collect() }
}
