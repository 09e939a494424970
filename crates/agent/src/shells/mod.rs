//! The background commands of a session: servers, watchers, interactive programs. They belong to
//! the session and end with it or with the process; cancelling a turn leaves them running.

mod kept;
mod shell;

use crate::{
    SessionId, ShellUpdate, ToolCallId,
    limits::{SHELL_LINE_CHARS, SHELL_NEWS_BYTES, SHELL_NEWS_LINES, SHELLS, SHELLS_ENDED, SHELLS_KEPT},
    text::cut,
};
use kept::HeldShells;
pub(crate) use kept::KeptShells;
pub(crate) use shell::{Shell, ShellEnd, UnreadOutput};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use system::{ExitStatus, Process};
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// Id prefix of a command that runs where the session's commands run.
const INSIDE: &str = "sh_";
/// Id prefix of a command that was started outside the sandbox.
const OUTSIDE: &str = "out_";

/// The background commands of one session. Dropping it kills them.
#[derive(Default)]
pub struct Shells {
    state: Mutex<State>,
    /// Notified when a command has started or ended.
    news: Arc<Notify>,
    /// The session, and where its kept commands go when it closes.
    kept: Option<(SessionId, Arc<KeptShells>)>,
}

#[derive(Default)]
struct State {
    /// Number of commands started so far.
    begun: u32,
    /// In the order in which they were started.
    shells: Vec<Arc<Shell>>,
}

/// A command to run in the background.
pub(crate) struct NewShell {
    /// The command line.
    pub(crate) line: String,
    /// Whether it runs in a sandbox.
    pub(crate) confined: bool,
    /// Whether it was started outside the sandbox because the call asked for that.
    pub(crate) lifted: bool,
    /// Timeout after which it is stopped.
    pub(crate) limit: Option<Duration>,
    /// The call that starts it.
    pub(crate) call: ToolCallId,
    /// The place of a command that keeps running when the session closes.
    pub(crate) kept: Option<OwnedSemaphorePermit>,
}

impl Shells {
    /// Returns the commands of a session that is opened: those that were kept when it was closed.
    pub(crate) fn of(session: SessionId, kept: Arc<KeptShells>) -> Self {
        let held = kept.take(&session);
        let (shells, news) = held.map_or_else(Default::default, |held| (held.shells, held.news));
        let number =
            |shell: &Arc<Shell>| shell.id().rsplit('_').next().and_then(|number| number.parse().ok());
        let begun = shells.iter().filter_map(number).max().unwrap_or_default();
        Self { state: Mutex::new(State { begun, shells }), news, kept: Some((session, kept)) }
    }

    /// Reserves a place for a command that keeps running when the session closes; the error is for
    /// the model.
    pub(crate) fn reserve(&self) -> Result<OwnedSemaphorePermit, String> {
        let place = self.kept.as_ref().and_then(|(_, kept)| kept.reserve());
        place.ok_or_else(|| {
            format!(
                "Not run: {SHELLS_KEPT} commands that outlive their sessions run already. Stop one first, or \
                 leave keep out."
            )
        })
    }

    /// Reports a command that goes on running after the call that started it.
    pub(crate) fn report(&self, shell: &Shell) {
        shell.report();
        self.news.notify_one();
    }

    /// Waits until commands have started or ended, and returns them as they are then.
    pub(crate) async fn changes(&self) -> Vec<ShellUpdate> {
        loop {
            let shells = self.lock().shells.clone();
            let changes: Vec<_> = shells.iter().filter_map(|shell| shell.take_change()).collect();
            if !changes.is_empty() {
                return changes;
            }
            self.news.notified().await;
        }
    }

    /// Returns all commands as they are now, in the order in which they were started.
    pub(crate) fn all(&self) -> Vec<ShellUpdate> {
        self.lock().shells.iter().map(|shell| shell.update()).collect()
    }

    /// Stops a command, or all that run, for the user. Returns those that were stopped.
    ///
    /// # Errors
    ///
    /// Fails with a message for the user if there is no such command.
    pub(crate) async fn stop(&self, id: &str) -> Result<Vec<ShellUpdate>, String> {
        let shells = match id {
            "all" => self.lock().shells.clone(),
            id => vec![self.find(id)?],
        };
        let running: Vec<_> = shells.into_iter().filter(|shell| shell.is_running()).collect();
        kept::stop(running.clone()).await;
        Ok(running.iter().map(|shell| shell.update()).collect())
    }

    /// Returns a command and the end of its output, read or unread.
    ///
    /// # Errors
    ///
    /// Fails with a message for the user if there is no such command.
    pub(crate) fn show(&self, id: &str) -> Result<(ShellUpdate, String), String> {
        let shell = self.find(id)?;
        Ok((shell.update(), shell.recent()))
    }

    /// Checks that another command may be started; the error is for the model.
    pub(crate) fn expect_room(&self) -> Result<(), String> {
        let running: Vec<_> = self.lock().shells.iter().filter(|shell| shell.is_running()).cloned().collect();
        match running.len() < SHELLS {
            true => Ok(()),
            false => Err(format!(
                "Not run: {SHELLS} commands run in the background already ({}). Stop one with shell first.",
                names(&running)
            )),
        }
    }

    /// Adds a process that has just been started.
    pub(crate) fn add(&self, new: NewShell, process: Box<dyn Process>) -> Arc<Shell> {
        let mut state = self.lock();
        state.begun += 1;
        let id = format!("{}{}", if new.lifted { OUTSIDE } else { INSIDE }, state.begun);
        let shell = Arc::new(Shell::start(id, new, process, self.news.clone()));
        state.shells.push(shell.clone());
        let ended = state.shells.iter().filter(|shell| !shell.is_running()).count();
        if ended > SHELLS_ENDED
            && let Some(oldest) = state.shells.iter().position(|shell| !shell.is_running())
        {
            state.shells.remove(oldest);
        }
        shell
    }

    /// Finds a command by its id; the error is for the model.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Shell>, String> {
        let state = self.lock();
        if let Some(shell) = state.shells.iter().find(|shell| shell.id() == id) {
            return Ok(shell.clone());
        }
        Err(match state.shells.as_slice() {
            [] => format!(
                "There is no background command '{id}': none was started since this session was opened. \
                 Start one with bash and background: true."
            ),
            shells => format!("There is no background command '{id}'. There are: {}.", names(shells)),
        })
    }

    /// Lists the commands, one per line.
    pub(crate) fn list(&self) -> String {
        let state = self.lock();
        let line = |shell: &Arc<Shell>| {
            format!("{} {}: {}", shell.id(), shell.state_words(), shell.line(SHELL_LINE_CHARS))
        };
        match state.shells.as_slice() {
            [] => "No background commands.".to_owned(),
            shells => shells.iter().map(line).collect::<Vec<_>>().join("\n"),
        }
    }

    /// Returns the ended about commands that ended by themselves and whose end the model does not
    /// know, each once; `None` if there is none.
    pub(crate) fn take_ended(&self) -> Option<String> {
        let shells = self.lock().shells.clone();
        let ended: Vec<_> = shells.iter().filter_map(|shell| ended(shell)).collect();
        (!ended.is_empty()).then(|| ended.join("\n\n---\n\n"))
    }

    /// Stops all commands and waits for them, with a timeout; those to keep go on running.
    pub(crate) async fn end(&self) {
        let shells = std::mem::take(&mut self.lock().shells);
        let keeps = |shell: &Arc<Shell>| self.kept.is_some() && shell.keeps() && shell.is_running();
        let (keep, end): (Vec<_>, Vec<_>) = shells.into_iter().partition(keeps);
        if let Some((session, kept)) = &self.kept {
            kept.hold(session.clone(), HeldShells { shells: keep, news: self.news.clone() });
        }
        kept::stop(end).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an id is that of a command outside the sandbox: the gate rules on input to it as on
/// commands that run there.
pub(crate) fn is_outside(id: &str) -> bool {
    id.starts_with(OUTSIDE)
}

/// The beginnings of the lines in which the result of a command says how it ended.
const KILLED: &str = "Killed by signal: ";
const EXITED: &str = "Exit code: ";
const UNKNOWN: &str = "Exit status unknown";
pub(crate) const TIMED_OUT: &str = "Process timed out after ";

/// Describes how a process ended.
pub(crate) fn ending(status: &ExitStatus) -> String {
    match (&status.signal, status.code) {
        (Some(signal), _) => format!("{KILLED}{signal}"),
        (None, Some(code)) => format!("{EXITED}{code}"),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// Returns whether the result of a command says how it ended. That of a command that was refused or
/// could not be started does not.
pub fn states_ending(result: &str) -> bool {
    let is_ending =
        |line: &str| [KILLED, EXITED, UNKNOWN, TIMED_OUT].iter().any(|ending| line.starts_with(ending));
    result.lines().any(is_ending)
}

fn names(shells: &[Arc<Shell>]) -> String {
    shells.iter().map(|shell| shell.id().to_owned()).collect::<Vec<_>>().join(", ")
}

/// Returns the message about a command that has ended, with the end of its unread output.
fn ended(shell: &Shell) -> Option<String> {
    let unread = shell.take_ended()?;
    let mut text = shell.update().message();
    let last = cut::last_lines(&unread, SHELL_NEWS_LINES, SHELL_NEWS_BYTES);
    if !last.is_empty() {
        text.push_str(&format!("\nThe end of its output (all of it: shell with action output):\n{last}"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_is_recognised_in_a_result() {
        let exited = |code, signal: Option<&str>| ExitStatus { code, signal: signal.map(str::to_owned) };
        for status in [exited(Some(0), None), exited(None, Some("SIGKILL")), exited(None, None)] {
            assert!(states_ending(&format!("output\n{}", ending(&status))), "{status:?}");
        }
        let limit = Duration::from_secs(3);
        assert!(states_ending(&crate::tools::command::timed_out(limit)));
        assert!(!states_ending("The user rejected this call."));
    }
}
