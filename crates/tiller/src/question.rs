//! Questions on the terminal. They go to standard error, because standard output has the result.

use crate::signals::{self, BeforeExit};
use anyhow::{Result, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{BufRead, Stdin, Write};

/// How often a question is repeated after an invalid answer.
const TRIES: usize = 3;

/// Asks until the line passes the check, a few times at most.
///
/// # Errors
/// If the input ends, or no answer is valid.
pub(crate) fn ask<T>(question: &str, check: impl Fn(&str) -> Result<T>) -> Result<T> {
    for _ in 0..TRIES {
        say(question);
        match check(line(&std::io::stdin())?.trim()) {
            Ok(answer) => return Ok(answer),
            Err(error) => say(&format!("{error}\n")),
        }
    }
    bail!("no valid answer; nothing was changed")
}

/// Asks for one of several things by its number. An empty answer chooses `default`.
pub(crate) fn choose(question: &str, things: &[String], default: Option<usize>) -> Result<usize> {
    say(&format!("{question}\n"));
    for (at, thing) in things.iter().enumerate() {
        say(&format!("  {:>2}  {}\n", at + 1, agent::one_line(thing)));
    }
    let shown = default.map(|at| format!(" [{}]", at + 1)).unwrap_or_default();
    ask(&format!("Number{shown}: "), |line| match (line, default) {
        ("", Some(default)) => Ok(default),
        _ => match line.parse::<usize>() {
            Ok(number) if (1..=things.len()).contains(&number) => Ok(number - 1),
            _ => bail!("type a number from 1 to {}", things.len()),
        },
    })
}

/// Asks for something secret without echo, and checks it. An empty line is `None`.
pub(crate) fn hidden<T>(question: &str, check: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
    for _ in 0..TRIES {
        say(question);
        let stdin = std::io::stdin();
        let typed = {
            let _silent = NoEcho::new(&stdin)?;
            line(&stdin)?
        };
        say("\n");
        if typed.contains('\u{3}') {
            bail!("interrupted; nothing was changed");
        }
        if typed.trim().is_empty() {
            return Ok(None);
        }
        match check(&typed) {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) => say(&format!("{error}\n")),
        }
    }
    bail!("no valid answer; nothing was changed")
}

/// Prints a part of a dialogue.
pub(crate) fn say(text: &str) {
    // Without a terminal there is no dialogue, so nobody misses it.
    let _ = crate::screen::stderr().write_all(text.as_bytes());
}

fn line(stdin: &Stdin) -> Result<String> {
    let mut line = String::new();
    if stdin.lock().read_line(&mut line)? == 0 {
        bail!("the input ended; nothing was changed");
    }
    Ok(line)
}

/// Turns off the terminal's echo until it is dropped.
///
/// Interrupt keys are read as characters meanwhile, so that an interrupt cannot leave the terminal
/// without echo.
struct NoEcho<'a> {
    stdin: &'a Stdin,
    before: Termios,
    _before_exit: BeforeExit,
}

impl<'a> NoEcho<'a> {
    fn new(stdin: &'a Stdin) -> Result<Self> {
        let before = tcgetattr(stdin)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(stdin, OptionalActions::Flush, &silent)?;
        let again = before.clone();
        let before_exit = signals::before_exit(move || {
            // If the terminal is gone, nothing is left to restore.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &again);
        });
        Ok(Self { stdin, before, _before_exit: before_exit })
    }
}

impl Drop for NoEcho<'_> {
    fn drop(&mut self) {
        // If the terminal is gone, nothing is left to restore.
        let _ = tcsetattr(self.stdin, OptionalActions::Now, &self.before);
    }
}
