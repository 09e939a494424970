//! The child process of a server over standard streams.

use crate::{limits::ERROR_CHARS, locked::locked, stdio::Fault};
use agent::Attached;
use std::{sync::Arc, time::Duration};
use system::{Output, Process};

/// The server's child process, whose standard error is read when the connection ends.
#[derive(Clone, Default)]
pub(super) struct ChildProcess(Arc<tokio::sync::Mutex<Option<Running>>>);

struct Running {
    process: Box<dyn Process>,
    /// Its part in the session's network.
    _network: Option<Attached>,
}

impl ChildProcess {
    /// Takes over the process, with its part in the session's network.
    pub(super) async fn set(&self, process: Box<dyn Process>, network: Option<Attached>) {
        self.0.lock().await.replace(Running { process, _network: network });
    }

    /// Ends the process: it is signalled, then killed.
    pub(super) async fn kill(&self) {
        if let Some(mut running) = self.0.lock().await.take() {
            running.process.kill().await;
        }
    }

    /// Returns why the connection ended: the fault on the wire or else `text`, followed by the end
    /// of the program's standard error.
    pub(super) async fn why(&self, fault: &Fault, text: String) -> String {
        let mut running = self.0.lock().await;
        let known = locked(fault).clone();
        let Some(Running { process, .. }) = running.as_mut() else { return known.unwrap_or(text) };
        let mut stderr = String::new();
        let mut exited = false;
        let gathering = async {
            while let Some(output) = process.next_output().await {
                if let Output::Text(text) = output {
                    stderr.push_str(&text);
                }
            }
            exited = true;
        };
        // A program that still runs writes no more for now.
        let _ = tokio::time::timeout(Duration::from_millis(200), gathering).await;
        let stderr = stderr.trim();
        let start = stderr.char_indices().rev().nth(ERROR_CHARS - 1).map_or(0, |(at, _)| at);
        let stderr = agent::one_line(&agent::sanitise(&stderr[start..]));
        let text = match known {
            Some(known) => known,
            None if exited => "exited before responding.".to_owned(),
            None => text,
        };
        let text = if stderr.is_empty() { text } else { format!("{text} Stderr: {stderr}") };
        if exited {
            // The output can be read only once, and every pending call asks for the reason.
            *locked(fault) = Some(text.clone());
        }
        text
    }
}
