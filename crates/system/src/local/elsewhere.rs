//! A command that is started in somebody else's terminal, confined all the same.
//!
//! A private socket with a name that cannot be guessed waits for the launcher. What connects is looked up
//! in the kernel: it must be this user's, and run this very program. Only then does it get the command,
//! and only when it has confined itself does the command start. The connection stays: its end is the end
//! of the command.

use super::{
    leftovers::Leftovers,
    programs,
    sandbox::{Order, START, TERM},
};
use crate::limits::LABEL_BYTES;
use crate::{AbsPath, Launch, SystemError};
use async_trait::async_trait;
use std::fs;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream, unix::UCred};

/// Why it did not work, for the person and the model.
const NOT_OURS: &str = "something else answered for the launcher";
const FAILED: &str = "the launcher ended before the command was confined";

/// A command that waits for its launcher.
pub(super) struct Waiting {
    program: String,
    args: Vec<String>,
    order: Order,
    listener: UnixListener,
    socket: Socket,
    connection: Option<UnixStream>,
    ordered: bool,
}

/// The name of a socket; removed with it, or by a later process if this one is killed.
struct Socket {
    path: AbsPath,
    _noted: Arc<Leftovers>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        fs::remove_file(self.path.as_std()).ok();
    }
}

impl Waiting {
    /// Waits for a launcher from now on.
    pub(super) fn listen(
        order: Order,
        launcher: &[String],
        leftovers: Arc<Leftovers>,
    ) -> Result<Self, SystemError> {
        let (program, words) = launcher.split_first().expect("checked by the caller");
        let fail = |source| SystemError::Spawn { program: program.clone(), source };
        let socket = Socket { path: leftovers.socket_path().map_err(fail)?, _noted: leftovers };
        let listener = UnixListener::bind(socket.path.as_std()).map_err(fail)?;
        let label = label(order.command.last().map_or("", String::as_str));
        let args = words.iter().cloned().chain([socket.path.to_string()]).chain(label).collect();
        let program = program.clone();
        Ok(Self { program, args, order, listener, socket, connection: None, ordered: false })
    }

    /// Takes the first connection. There is no second one: the name of the socket goes with it.
    async fn connect(&mut self) -> Result<(), SystemError> {
        if self.connection.is_none() {
            let (stream, _) = self.listener.accept().await.map_err(|_| SystemError::NotConfined(FAILED))?;
            fs::remove_file(self.socket.path.as_std()).ok();
            let peer = stream.peer_cred().map_err(|_| SystemError::NotConfined(NOT_OURS))?;
            if !is_ours(&self.program, &peer) {
                return Err(SystemError::NotConfined(NOT_OURS));
            }
            self.connection = Some(stream);
        }
        Ok(())
    }

    async fn say(&mut self, word: u8) -> Result<(), SystemError> {
        let gone = || SystemError::NotConfined(FAILED);
        let connection = self.connection.as_mut().ok_or_else(gone)?;
        connection.write_all(&[word]).await.map_err(|_| gone())
    }
}

#[async_trait]
impl Launch for Waiting {
    fn words(&self) -> (&str, &[String]) {
        (&self.program, &self.args)
    }

    async fn confined(&mut self) -> Result<(), SystemError> {
        self.connect().await?;
        let connection = self.connection.as_mut().expect("connected above");
        let failed = |_| SystemError::NotConfined(FAILED);
        if !self.ordered {
            let mut bytes = Vec::new();
            self.order.write(&mut bytes).map_err(failed)?;
            self.ordered = true;
            connection.write_all(&bytes).await.map_err(failed)?;
        }
        // The launcher says one letter, when it is confined.
        connection.read_u8().await.map_err(failed).map(drop)
    }

    async fn start(&mut self) -> Result<(), SystemError> {
        self.say(START).await
    }

    async fn terminate(&mut self) {
        self.say(TERM).await.ok();
    }
}

/// Whether the other end of a connection belongs to this user and runs the launcher's program.
fn is_ours(program: &str, peer: &UCred) -> bool {
    let Some(pid) = peer.pid().filter(|pid| *pid > 0) else { return false };
    peer.uid() == rustix::process::geteuid().as_raw() && programs::is_run_by(program, &pid.to_string())
}

/// Words of a line that say what runs, for people who look at the terminal's title. Only characters that
/// no shell treats specially: some clients join arguments without quotes.
fn label(line: &str) -> Vec<String> {
    let plain = |c: &char| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(*c);
    let mut left = LABEL_BYTES;
    let words = line.split_whitespace().map(|word| word.chars().filter(plain).collect::<String>());
    words
        .filter(|word| !word.is_empty())
        .take_while(|word| {
            left = left.saturating_sub(word.len() + 1);
            left > 0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_needs_no_quotes_and_stays_short() {
        assert_eq!(label("npm test -- --watch=false"), ["npm", "test", "--", "--watch=false"]);
        assert_eq!(label("echo 'a b' | $(rm x) > f; ls"), ["echo", "a", "b", "rm", "x", "f", "ls"]);
        assert!(label(&"word ".repeat(100)).join(" ").len() <= LABEL_BYTES);
    }
}
