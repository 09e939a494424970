//! `doctor --reset-terminal`: undoes what a program that was killed left on in the terminal.

use crate::{
    failure::{Failure, Kind},
    streams,
};
use anyhow::Result;
use rustix::termios::{InputModes, LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr};
use std::io::Write as _;

/// Leaves the alternate screen, shows the cursor, ends the reports of mouse, focus and paste, pops
/// the keyboard flags, restores the character set, the colours and the scroll region.
const RESET: &str = "\u{1b}[?1049l\u{1b}[?25h\u{1b}[?1000l\u{1b}[?1002l\u{1b}[?1003l\u{1b}[?1006l\u{1b}[?1004l\
                     \u{1b}[?2004l\u{1b}[<u\u{1b}[>4;0m\u{1b}(B\u{f}\u{1b}[r\u{1b}[0m\r";

/// Resets the terminal of standard input.
///
/// # Errors
/// If standard input or output is not a terminal.
pub(crate) fn reset_terminal() -> Result<()> {
    let terminal = rustix::stdio::stdin();
    let modes = tcgetattr(terminal).ok().filter(|_| streams::stdout_is_terminal());
    let Some(mut modes) = modes else {
        return Err(Failure::new(
            Kind::Usage,
            "--reset-terminal needs a terminal on standard input and output",
        )
        .into());
    };
    modes.input_modes.insert(InputModes::ICRNL | InputModes::IXON | InputModes::BRKINT);
    modes.output_modes.insert(OutputModes::OPOST | OutputModes::ONLCR);
    modes.local_modes.insert(
        LocalModes::ECHO
            | LocalModes::ECHOE
            | LocalModes::ECHOK
            | LocalModes::ICANON
            | LocalModes::ISIG
            | LocalModes::IEXTEN,
    );
    tcsetattr(terminal, OptionalActions::Now, &modes)?;
    let mut stdout = streams::stdout();
    stdout.write_all(RESET.as_bytes())?;
    Ok(stdout.flush()?)
}
