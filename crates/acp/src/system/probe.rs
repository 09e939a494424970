//! Finds out how a client's terminal takes a command, with one that does nothing.
//!
//! The command prints a number that nobody can know, and arguments that any change by a shell would
//! show, and ends with an exit code of its own. It is tried in the form that fits clients which
//! pass words on or quote them, then in the one for clients which join words as they stand. A
//! client that does neither right cannot be given commands safely.

use super::{
    call::{CallError, Caller},
    process::AcpProcess,
    words::words,
};
use crate::{
    facts::{Stdin, Terminal},
    limits::PROBE_WAIT,
};
use std::hash::{BuildHasher, RandomState};
use system::{AbsPath, Command, Output, Process};
use tokio::time::timeout;

/// What must come through as it is: blanks, quotes, a variable, backslashes (not every shell reads
/// them alike between quotes), what stands for files, what ends a command.
const ARGUMENTS: [&str; 4] = ["a  b", "'$0' \"\\\\\" * ;#", "\\'", ""];
/// Prints its arguments. In a client that joins words as they stand, the words that follow `-c` are
/// read by another shell, which prints other ones.
const LINE: &str = "exec </dev/null\nprintf '[%s]' \"$@\"\nexit 7";
/// How it ends.
const EXIT: i64 = 7;
/// Bytes of output that are looked at: more than shells say when they start.
const OUTPUT_LIMIT: usize = 16 * 1024;

/// How the client's terminals take commands. [`Terminal::Unsafe`]: in no way that was tried. An
/// error is that of the first terminal, in which nothing ran; then nothing is known.
pub(super) async fn probe(caller: &Caller, cwd: &AbsPath) -> Result<Terminal, CallError> {
    if ask(caller, cwd, Terminal::Vector).await? {
        return Ok(Terminal::Vector);
    }
    match ask(caller, cwd, Terminal::Joined).await {
        Ok(true) => Ok(Terminal::Joined),
        Err(error @ (CallError::Gone | CallError::Unsupported)) => Err(error),
        Ok(false) | Err(_) => Ok(Terminal::Unsafe),
    }
}

/// Whether the command runs as it should in a terminal that is taken to take commands so.
async fn ask(caller: &Caller, cwd: &AbsPath, terminal: Terminal) -> Result<bool, CallError> {
    let nonce = format!("{:016x}", RandomState::new().hash_one(cwd.as_str()));
    let arguments: Vec<_> = std::iter::once(nonce.as_str()).chain(ARGUMENTS).collect();
    let expected: String = arguments.iter().map(|argument| format!("[{argument}]")).collect();
    let mut command = Command::shell(LINE, cwd.clone(), OUTPUT_LIMIT);
    command.args.push("tiller".to_owned());
    command.args.extend(arguments.iter().map(|&argument| argument.to_owned()));
    // It closes its standard input itself.
    let words = words(&command, terminal, Stdin::Empty);
    let mut process = AcpProcess::start(caller, &command, words).await?;
    let ran = timeout(PROBE_WAIT, async {
        let mut said = String::new();
        while let Some(piece) = process.next_output().await {
            if let Output::Text(text) = piece {
                said.push_str(&text);
            }
        }
        (said, process.wait().await.ok().and_then(|exit| exit.code))
    });
    let Ok((said, code)) = ran.await else {
        process.kill().await;
        return Ok(false);
    };
    Ok(code == Some(EXIT) && said.contains(&expected))
}
