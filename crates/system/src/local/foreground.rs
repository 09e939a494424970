//! A program that the user works with in the terminal, such as an editor.

use std::{io, process::Command};

/// Runs a program in the foreground of the terminal until it exits, with this process's streams and
/// environment; returns whether it succeeded. For the commands that the user runs in a terminal:
/// the program is the user's own, and shares their process group so that it may use the terminal.
///
/// # Errors
///
/// Fails if the command line is empty or the program cannot be started.
pub fn run_in_foreground(command_line: &[String]) -> io::Result<bool> {
    let (program, arguments) = command_line
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command line is empty"))?;
    Ok(Command::new(program).args(arguments).status()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_says_whether_the_program_succeeded() {
        let run =
            |words: &[&str]| run_in_foreground(&words.iter().map(|&word| word.into()).collect::<Vec<_>>());
        assert!(run(&["true"]).unwrap());
        assert!(!run(&["false"]).unwrap());
        assert_eq!(run(&["/no/such/editor"]).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(run(&[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
