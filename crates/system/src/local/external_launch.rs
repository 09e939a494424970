//! Confined commands in a terminal that another program opened.
//!
//! This process listens on a private socket with an unguessable name. When the launcher connects,
//! the kernel's record of the peer is checked: it must run as the same user and be this very
//! program. Only then is the request sent, and the command starts only after the launcher has
//! confined itself. The connection stays open: closing it ends the command.

use super::{
    leftovers::Leftovers,
    programs,
    sandbox::{START, TERM, send},
    start::Launch,
};
use crate::limits::LABEL_BYTES;
use crate::{AbsPath, ExternalLaunch, SystemError};
use async_trait::async_trait;
use std::fs;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream, unix::UCred};

/// Errors for the user and the model.
const WRONG_PEER: &str = "another program connected instead of the launcher";
const FAILED: &str = "the launcher ended before the command was confined";

/// A prepared command whose launcher has not started yet, or has connected.
pub(super) struct PreparedLaunch {
    program: String,
    args: Vec<String>,
    launch: Launch,
    listener: UnixListener,
    socket: Socket,
    connection: Option<UnixStream>,
    request_sent: bool,
}

/// The path of a listening socket. Dropping it removes the file; if this process is killed, a later
/// one removes it.
struct Socket {
    path: AbsPath,
    _notes: Arc<Leftovers>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        fs::remove_file(self.path.as_std()).ok();
    }
}

impl PreparedLaunch {
    /// Starts to listen for a launcher.
    pub(super) fn listen(
        launch: Launch,
        launcher: &[String],
        leftovers: Arc<Leftovers>,
    ) -> Result<Self, SystemError> {
        let (program, words) = launcher.split_first().expect("checked by the caller");
        let fail = |source| SystemError::Spawn { program: program.clone(), source };
        let socket = Socket { path: leftovers.socket_path().map_err(fail)?, _notes: leftovers };
        let listener = UnixListener::bind(socket.path.as_std()).map_err(fail)?;
        let label = label(launch.request.command.words.last().map_or("", String::as_str));
        let args = words.iter().cloned().chain([socket.path.to_string()]).chain(label).collect();
        let program = program.clone();
        Ok(Self { program, args, launch, listener, socket, connection: None, request_sent: false })
    }

    /// Accepts the first connection. There is no second one: the socket file is removed afterwards.
    async fn connect(&mut self) -> Result<(), SystemError> {
        if self.connection.is_none() {
            let (stream, _) = self.listener.accept().await.map_err(|_| SystemError::NotConfined(FAILED))?;
            fs::remove_file(self.socket.path.as_std()).ok();
            let peer = stream.peer_cred().map_err(|_| SystemError::NotConfined(WRONG_PEER))?;
            if !is_launcher(&self.program, &peer) {
                return Err(SystemError::NotConfined(WRONG_PEER));
            }
            self.connection = Some(stream);
        }
        Ok(())
    }

    async fn send(&mut self, word: u8) -> Result<(), SystemError> {
        let gone = || SystemError::NotConfined(FAILED);
        let connection = self.connection.as_mut().ok_or_else(gone)?;
        connection.write_all(&[word]).await.map_err(|_| gone())
    }
}

#[async_trait]
impl ExternalLaunch for PreparedLaunch {
    fn program_and_args(&self) -> (&str, &[String]) {
        (&self.program, &self.args)
    }

    async fn wait_until_confined(&mut self) -> Result<(), SystemError> {
        self.connect().await?;
        let connection = self.connection.as_mut().expect("connected above");
        let failed = |_| SystemError::NotConfined(FAILED);
        if !self.request_sent {
            let mut bytes = Vec::new();
            self.launch.request.write(&mut bytes).map_err(failed)?;
            self.request_sent = true;
            connection.write_all(&bytes).await.map_err(failed)?;
            for namespace in self.launch.room.iter().flat_map(|room| room.namespaces()) {
                connection.writable().await.map_err(failed)?;
                send(&connection, namespace).map_err(failed)?;
            }
        }
        // The launcher sends one byte once it is confined.
        connection.read_u8().await.map_err(failed).map(drop)
    }

    async fn start(&mut self) -> Result<(), SystemError> {
        self.send(START).await
    }

    async fn terminate(&mut self) {
        self.send(TERM).await.ok();
    }
}

/// The connection, which ends what the launcher started, is closed before.
impl Drop for PreparedLaunch {
    fn drop(&mut self) {
        self.connection = None;
        for line in self.launch.aftermath.iter().flat_map(|aftermath| aftermath.run()) {
            tracing::warn!("{line}");
        }
    }
}

/// Returns whether the peer of a connection runs as this user and is the launcher's program.
fn is_launcher(program: &str, peer: &UCred) -> bool {
    let Some(pid) = peer.pid().filter(|pid| *pid > 0) else { return false };
    peer.uid() == rustix::process::geteuid().as_raw() && programs::is_run_by(program, &pid.to_string())
}

/// Derives words from a command line that show in the terminal's title what runs. They contain only
/// characters that no shell treats specially, because some clients join arguments without quoting.
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
    fn a_label_needs_no_quoting_and_is_short() {
        assert_eq!(label("npm test -- --watch=false"), ["npm", "test", "--", "--watch=false"]);
        assert_eq!(label("echo 'a b' | $(rm x) > f; ls"), ["echo", "a", "b", "rm", "x", "f", "ls"]);
        assert!(label(&"word ".repeat(100)).join(" ").len() <= LABEL_BYTES);
    }
}
