//! How a command is written into `terminal/create`, so that every client runs the same.
//!
//! A client passes `command` and `args` on as words, or joins them to a line for a shell, with quotes or without. The
//! words of [`words`] come out of each as the command that was meant, and read from an empty standard input where the
//! client does not see to that: a program that waits for what nobody types would wait for ever.

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

/// Begins a shell line that reads from an empty standard input. It stands on the line's first line, so that the shell
/// counts the lines in its messages as they are.
const CLOSED: &str = "exec </dev/null; ";

/// The words for a command in a terminal that takes them so. A terminal of which nothing is known gets words.
pub(super) fn words(command: &Command, terminal: Terminal, stdin: Stdin) -> Words {
    let Command { program, args, .. } = command;
    let given = || Words { command: program.clone(), args: args.clone() };
    let closes = stdin != Stdin::Empty;
    match terminal {
        // One simple command for whatever shell joins: it runs the program in its own place.
        Terminal::Joined => {
            let line: Vec<_> = std::iter::once(program).chain(args).map(|word| quoted(word)).collect();
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

/// A word as a shell takes it literally.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command as Spawn, Stdio};
    use system::AbsPath;

    /// How a client makes words a process.
    #[derive(Debug, Clone, Copy)]
    enum Client {
        PassesOn,
        JoinsAsTheyStand,
        Quotes,
        /// All but the first word, and a first word with a blank is the whole line.
        QuotesArguments,
    }

    impl Client {
        fn runs(self, words: &Words) -> Spawn {
            let all = std::iter::once(&words.command).chain(&words.args);
            let literally = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
            let line = match self {
                Self::PassesOn => {
                    let mut spawn = Spawn::new(&words.command);
                    spawn.args(&words.args);
                    return spawn;
                }
                Self::JoinsAsTheyStand => all.cloned().collect::<Vec<_>>().join(" "),
                Self::Quotes => all.map(literally).collect::<Vec<_>>().join(" "),
                Self::QuotesArguments if words.command.contains(' ') => words.command.clone(),
                Self::QuotesArguments => {
                    let args: Vec<_> = words.args.iter().map(literally).collect();
                    format!("{} {}", words.command, args.join(" "))
                }
            };
            let mut spawn = Spawn::new("/bin/sh");
            spawn.args(["-c", &line]);
            spawn
        }
    }

    const CLIENTS: [(Client, Terminal); 4] = [
        (Client::PassesOn, Terminal::Vector),
        (Client::Quotes, Terminal::Quoted),
        (Client::QuotesArguments, Terminal::Quoted),
        (Client::JoinsAsTheyStand, Terminal::Joined),
    ];

    fn command(program: &str, args: &[&str]) -> Command {
        let mut command = Command::shell("", AbsPath::new("/").unwrap(), 1000);
        (command.program, command.args) =
            (program.to_owned(), args.iter().map(|&arg| arg.to_owned()).collect());
        command
    }

    /// What a command says and its exit code, with a standard input that never ends.
    fn said(mut spawn: Spawn) -> (String, Option<i32>) {
        let mut child =
            spawn.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let open = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(open);
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (text, output.status.code())
    }

    #[test]
    fn every_client_runs_precisely_the_line_and_none_waits_for_input() {
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
                    let words = words(&command("sh", &["-c", line]), terminal, stdin);
                    let (text, exit) = said(client.runs(&words));
                    assert_eq!((text.as_str(), exit), (expected, Some(code)), "{client:?}: {line}");
                }
            }
        }
    }

    #[test]
    fn a_syntax_error_names_its_own_line_and_nothing_ran() {
        for (client, terminal) in CLIENTS {
            let line = "echo a; if\n";
            let words = words(&command("bash", &["-c", line]), terminal, Stdin::Waits);
            let (text, exit) = said(client.runs(&words));
            assert!(exit == Some(2) && !text.starts_with("a\n"), "{client:?}: {text}");
        }
    }

    #[test]
    fn programs_get_their_arguments_as_they_are() {
        let args = ["%s|", "a b", "", "it's", "$HOME", "*", "\\", "x\ny", "-n", "~", "=ls", "</dev/null"];
        for (client, terminal) in CLIENTS {
            let words = words(&command("printf", &args), terminal, Stdin::Waits);
            let expected = args[1..].iter().map(|arg| format!("{arg}|")).collect::<String>();
            assert_eq!(said(client.runs(&words)), (expected, Some(0)), "{client:?}");
            let words = super::words(&command("wc", &["-c"]), terminal, Stdin::Waits);
            assert_eq!(said(client.runs(&words)).0.trim(), "0", "{client:?}");
        }
    }

    #[test]
    fn the_launcher_is_found_wherever_it_lies() {
        let folder = std::env::temp_dir().join(format!("tiller launcher's {}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("launch $er");
        std::fs::write(&program, "#!/bin/sh\necho \"$#: $*\"\n").unwrap();
        let mut mode = std::fs::metadata(&program).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        for (client, terminal) in CLIENTS {
            let launcher = command(program.to_str().unwrap(), &["sandbox", "run", "/s", "make", "all"]);
            let words = launcher_words(&launcher, terminal);
            let (text, _) = said(client.runs(&words));
            assert_eq!(text, "5: sandbox run /s make all\n", "{client:?}: {words:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_needs_nothing_is_left_as_it_is() {
        let line = command("sh", &["-c", "make"]);
        let given = Words { command: "sh".to_owned(), args: line.args.clone() };
        for terminal in [Terminal::Vector, Terminal::Quoted, Terminal::Unknown] {
            assert_eq!(words(&line, terminal, Stdin::Empty), given);
        }
        let launcher = command("/usr/bin/tiller", &["sandbox", "run", "/s", "make"]);
        for terminal in [Terminal::Vector, Terminal::Quoted, Terminal::Joined, Terminal::Unknown] {
            let words = launcher_words(&launcher, terminal);
            assert_eq!((words.command.as_str(), words.args), ("/usr/bin/tiller", launcher.args.clone()));
        }
    }
}
