//! The test runner's summary line, found while its output is streamed, so that it can be repeated
//! at the end.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Command, ExitStatus, Stdio};

/// Runs a test runner; returns its exit status and its last summary line.
///
/// cargo-nextest reports on standard error and `cargo test` on standard output. Both are piped and
/// forwarded line by line, standard output by a thread of its own.
pub(super) fn stream(command: &mut Command) -> Result<(ExitStatus, Option<String>)> {
    if std::io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("it did not start")?;
    let stdout = child.stdout.take().expect("stdout was asked for as a pipe");
    let stderr = child.stderr.take().expect("stderr was asked for as a pipe");
    let reader = std::thread::spawn(move || pass_on(stdout, std::io::stdout()));
    let from_stderr = pass_on(stderr, std::io::stderr())?;
    let from_stdout = reader.join().expect("the thread only copies lines")?;
    Ok((child.wait()?, from_stderr.or(from_stdout)))
}

fn pass_on(from: impl std::io::Read, mut to: impl Write) -> Result<Option<String>> {
    let mut from = BufReader::new(from);
    let mut closing = None;
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        let text = String::from_utf8_lossy(&line);
        if is_summary(&text) {
            closing = Some(text.trim_end().to_owned());
        }
        line.clear();
    }
    Ok(closing)
}

fn is_summary(line: &str) -> bool {
    let plain = without_colour(line);
    let plain = plain.trim();
    (plain.starts_with("Summary [") && plain.contains("tests run:") | plain.contains("test run:"))
        || plain.starts_with("test result:")
}

fn without_colour(line: &str) -> String {
    let mut plain = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| c.is_ascii_alphabetic());
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::command;

    #[test]
    fn knows_the_closing_lines_of_both_runners() {
        let check = |line: &str, expected: bool| assert_eq!(is_summary(line), expected, "{line}");
        check("     Summary [   0.005s] 5 tests run: 5 passed, 0 skipped", true);
        check("     Summary [   0.005s] 1 test run: 1 passed, 0 skipped", true);
        check("\u{1b}[32;1m     Summary\u{1b}[0m [   0.005s] \u{1b}[1m5\u{1b}[0m tests run: 5 passed", true);
        check("test result: ok. 5 passed; 0 failed", true);
        check("    Summary of the argument", false);
        check("        PASS [   0.004s] xtask tests run: well", false);
    }

    #[test]
    fn the_last_summary_wins_and_all_output_is_forwarded() {
        let mut shown = Vec::new();
        let text = b"test result: ok. 1 passed\n\xff\ntest result: ok. 2 passed\ntail";
        let closing = pass_on(&text[..], &mut shown).unwrap();
        assert_eq!(closing.as_deref(), Some("test result: ok. 2 passed"));
        assert_eq!(shown, text);
    }

    #[test]
    fn a_summary_is_found_on_either_stream() {
        for script in ["echo 'test result: ok.'", "echo 'test result: ok.' >&2"] {
            let (status, closing) = stream(command("sh").args(["-c", script])).unwrap();
            assert!(status.success());
            assert_eq!(closing.as_deref(), Some("test result: ok."));
        }
    }
}
