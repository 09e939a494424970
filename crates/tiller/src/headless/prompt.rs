//! Reads the prompt of a run: from the arguments and from stdin.

use crate::{
    failure::{Failure, Kind, usage},
    limits,
};
use anyhow::{Context, Result};
use std::{
    io::{IsTerminal, Read},
    time::Instant,
};
use tokio::sync::oneshot;

/// Whether stdin is a pipe, a file or a socket, which can bring a prompt.
pub(crate) fn is_piped() -> bool {
    use rustix::fs::FileType;
    let kind = rustix::fs::fstat(rustix::stdio::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile | FileType::Socket))
}

/// Returns the given prompt with the text on stdin appended, or only the text on stdin if the
/// prompt is missing or `-`. With `no_stdin` the given prompt is the whole. `None` if the deadline
/// passes before stdin ends.
///
/// # Errors
/// If there is no prompt, or stdin cannot be read, is too large, or is not UTF-8.
pub(crate) async fn read(
    given: Option<String>,
    no_stdin: bool,
    deadline: Option<Instant>,
) -> Result<Option<String>> {
    match given.filter(|given| given != "-") {
        Some(given) if no_stdin => Ok(Some(given)),
        None if no_stdin => Err(usage("no prompt: write it after -p, or leave out --no-stdin")),
        Some(given) => with_stdin(given, deadline).await,
        None => alone(deadline).await,
    }
}

async fn alone(deadline: Option<Instant>) -> Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        return Err(usage("no prompt: write it after -p, or pipe it in"));
    }
    match Stdin::begin().text(deadline).await? {
        Some(text) if text.trim().is_empty() => {
            let empty = Failure::new(Kind::Usage, "the prompt on stdin is empty");
            Err(empty.next("tiller -p PROMPT").into())
        }
        text => Ok(text),
    }
}

async fn with_stdin(given: String, deadline: Option<Instant>) -> Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        return Ok(Some(given));
    }
    let mut stdin = Stdin::begin();
    // The parent process may leave a pipe open to which it never writes.
    if tokio::time::timeout(limits::STDIN_WAIT, &mut stdin.begun).await.is_err() {
        let seconds = limits::STDIN_WAIT.as_secs();
        crate::screen::note(&format!(
            "tiller: stdin sent nothing for {seconds} s; the prompt is sent without it (--no-stdin skips this wait)"
        ));
        return Ok(Some(given));
    }
    let text = stdin.text(deadline).await?;
    Ok(text.map(|text| match text.trim().is_empty() {
        true => given,
        // The text must not be able to end its own part of the prompt.
        false => {
            let text = text.trim_end_matches('\n').replace("</stdin", "<\\/stdin");
            format!("{given}\n\n<stdin>\n{text}\n</stdin>")
        }
    }))
}

/// Reads stdin on a thread of its own, so that signals are handled meanwhile. A blocked read ends
/// with the process.
struct Stdin {
    /// Completes with the first byte or the end of stdin.
    begun: oneshot::Receiver<()>,
    reading: tokio::task::JoinHandle<Result<String>>,
}

impl Stdin {
    fn begin() -> Self {
        let (first, begun) = oneshot::channel();
        Self { begun, reading: tokio::task::spawn_blocking(move || text(first)) }
    }

    async fn text(self, deadline: Option<Instant>) -> Result<Option<String>> {
        match deadline {
            None => Ok(Some(self.reading.await??)),
            Some(deadline) => match tokio::time::timeout_at(deadline.into(), self.reading).await {
                Ok(read) => Ok(Some(read??)),
                Err(_elapsed) => Ok(None),
            },
        }
    }
}

fn text(first: oneshot::Sender<()>) -> Result<String> {
    let mut stdin = std::io::stdin().lock().take(limits::PROMPT_BYTES + 1);
    let mut bytes = Vec::new();
    (&mut stdin).take(1).read_to_end(&mut bytes).context("cannot read stdin")?;
    // The receiver is gone if the run went on without stdin.
    let _ = first.send(());
    stdin.read_to_end(&mut bytes).context("cannot read stdin")?;
    if bytes.len() as u64 > limits::PROMPT_BYTES {
        return Err(usage(format!(
            "stdin is larger than {} MiB; save it to a file and name it as @path in the prompt",
            limits::PROMPT_BYTES >> 20
        )));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(usage(
            "stdin is not UTF-8 text; pass an image with --image FILE, and name any other file as @path in the prompt",
        )),
    }
}
