//! Runs `command` and `args` as different editors do.

use std::process::{Command, Stdio};

/// How an editor turns `command` and `args` into a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// As an argument vector.
    Not,
    /// Each word quoted, joined into a line.
    Quoted,
    /// The arguments quoted, joined into a line; a command with a blank is the whole line.
    QuotedArguments,
    /// Unquoted, joined into a line.
    Unquoted,
    /// As an argument vector, with double blanks collapsed.
    Blanks,
    /// The command only.
    CommandOnly,
}

/// Runs a command to its exit, with a standard input that is a pipe without a writer. Returns its
/// output and exit code; `None` if it would wait for input.
#[expect(clippy::disallowed_methods, reason = "the tests are about what shells make of words")]
pub(super) fn run(joins: Joins, words: &[String]) -> Option<(String, Option<i32>)> {
    let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    let line = |words: Vec<String>| ["/bin/sh".to_owned(), "-c".to_owned(), words.join(" ")].to_vec();
    let words = match joins {
        Joins::Not => words.to_vec(),
        Joins::Blanks => words.iter().map(|word| word.replace("  ", " ")).collect(),
        // Without its arguments, a shell waits for input.
        Joins::CommandOnly if words.len() > 1 => return None,
        Joins::CommandOnly => words.to_vec(),
        Joins::Unquoted => line(words.to_vec()),
        Joins::Quoted => line(words.iter().map(quoted).collect()),
        Joins::QuotedArguments if words[0].contains(' ') => line(words[..1].to_vec()),
        Joins::QuotedArguments => {
            line(words[..1].iter().cloned().chain(words[1..].iter().map(quoted)).collect())
        }
    };
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return Some(("no such program\n".to_owned(), Some(127))) };
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(open);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Some((text(output.stdout) + &text(output.stderr), output.status.code()))
}
