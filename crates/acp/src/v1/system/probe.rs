//! Probes how a client's terminal interprets a command, with a harmless one.
//!
//! The command prints an unpredictable number and arguments that would show any change by a shell,
//! and ends with a distinctive exit status. It is tried first in the form for clients that pass
//! words on or quote them, then in the form for clients that join words unquoted. If neither works,
//! commands cannot be run safely in the client's terminals.

use super::{
    call::{CallError, Caller},
    process::AcpProcess,
    terminal_command::encode_command,
};
use crate::{
    client_facts::{Stdin, Terminal},
    limits::PROBE_WAIT,
};
use std::hash::{BuildHasher, RandomState};
use system::{AbsPath, Command, Output, Process};
use tokio::time::timeout;

/// Arguments that must arrive unchanged: blanks, quotes, a variable, backslashes (shells treat them
/// differently within quotes), glob characters, command separators.
const ARGUMENTS: [&str; 4] = ["a  b", "'$0' \"\\\\\" * ;#", "\\'", ""];
/// Prints its arguments. If the client joins words unquoted, another shell parses the words after
/// `-c`, so that the output differs.
const LINE: &str = "exec </dev/null\nprintf '[%s]' \"$@\"\nexit 7";
/// Its exit status.
const EXIT: i64 = 7;
/// Bytes of output that are read: more than shells print at startup.
const OUTPUT_LIMIT: usize = 16 * 1024;

/// Returns how the client's terminals interpret commands; [`Terminal::Unsafe`] if no form works.
///
/// # Errors
/// The error of the first terminal, in which nothing ran; the result is then unknown.
pub(super) async fn probe(caller: &Caller, cwd: &AbsPath) -> Result<Terminal, CallError> {
    if takes_commands_as(caller, cwd, Terminal::Vector).await? {
        return Ok(Terminal::Vector);
    }
    match takes_commands_as(caller, cwd, Terminal::Joined).await {
        Ok(true) => Ok(Terminal::Joined),
        Err(error @ (CallError::Gone | CallError::Unsupported)) => Err(error),
        Ok(false) | Err(_) => Ok(Terminal::Unsafe),
    }
}

/// Returns whether the command runs correctly when encoded for `terminal`.
async fn takes_commands_as(caller: &Caller, cwd: &AbsPath, terminal: Terminal) -> Result<bool, CallError> {
    let nonce = format!("{:016x}", RandomState::new().hash_one(cwd.as_str()));
    let arguments: Vec<_> = std::iter::once(nonce.as_str()).chain(ARGUMENTS).collect();
    let expected: String = arguments.iter().map(|argument| format!("[{argument}]")).collect();
    let mut command = Command::shell(LINE, cwd.clone(), OUTPUT_LIMIT);
    command.args.push("tiller".to_owned());
    command.args.extend(arguments.iter().map(|&argument| argument.to_owned()));
    // The command closes its standard input itself.
    let words = encode_command(&command, terminal, Stdin::Empty);
    let mut process = AcpProcess::start(caller, &command, words).await?;
    let ran = timeout(PROBE_WAIT, async {
        let mut output = String::new();
        while let Some(piece) = process.next_output().await {
            if let Output::Text(text) = piece {
                output.push_str(&text);
            }
        }
        (output, process.wait().await.ok().and_then(|exit| exit.code))
    });
    let Ok((output, code)) = ran.await else {
        process.kill().await;
        return Ok(false);
    };
    Ok(code == Some(EXIT) && output.contains(&expected))
}
