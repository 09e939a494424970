//! The client of a headless run, where no user can answer.

use super::{output::Output, progress::Progress};
use crate::streams;
use agent::{Client, PermissionOutcome, PermissionRequest, PermissionRule, Remedy, SessionEvent, one_line};
use async_trait::async_trait;
use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

/// The output that the client and the run share.
pub(crate) type SharedOutput = Arc<Mutex<Output<Box<dyn Write + Send>>>>;

/// Prints events and rejects every permission request.
///
/// While the output queue is full, no more of the model's answer is read ([`Client::room`]). Events
/// that arrive anyway block in [`Client::notify`] until standard output is read, and the whole run
/// stands still. A signal and the time limit of the run end both waits.
pub(crate) struct HeadlessClient {
    output: SharedOutput,
    progress: Option<Arc<Progress>>,
}

impl HeadlessClient {
    /// Creates a client that prints to `output`.
    pub(crate) fn new(output: SharedOutput) -> Self {
        Self { output, progress: None }
    }

    /// Shows the progress on standard error too.
    pub(crate) fn with_progress(self, progress: Arc<Progress>) -> Self {
        Self { progress: Some(progress), ..self }
    }
}

#[async_trait]
impl Client for HeadlessClient {
    fn notify(&self, event: &SessionEvent) {
        self.notify_written(event, event);
    }

    fn notify_written(&self, written: &SessionEvent, shown: &SessionEvent) {
        if let Some(progress) = &self.progress {
            progress.event(shown);
        }
        // The writer removes what a terminal must not get.
        with(&self.output, |output| output.event(written));
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let message = denial(&request);
        if let Some(progress) = &self.progress {
            progress.erase();
        }
        crate::screen::note(&format!("tiller: {}", one_line(&message)));
        with(&self.output, |output| output.error(&message));
        PermissionOutcome::RejectOnce
    }

    async fn room(&self) {
        streams::stdout_has_room().await;
    }

    fn rejection(&self, request: &PermissionRequest) -> Option<String> {
        Some(denial(request))
    }
}

/// Runs `work` with exclusive access to the output.
pub(crate) fn with<T>(
    output: &SharedOutput,
    work: impl FnOnce(&mut Output<Box<dyn Write + Send>>) -> T,
) -> T {
    work(&mut output.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the error for a call that no user can approve.
fn denial(request: &PermissionRequest) -> String {
    let Remedy { rules, paths, hosts, setting, in_prometheus, user_rule: _ } = &request.remedy;
    let words = hosts.iter().map(|host| format!("--allow-host {}", host.word()));
    let flags: Vec<_> = rules.iter().map(flag).chain(words).collect();
    let paths: Vec<_> = paths.iter().map(|path| format!("'{path}'")).collect();
    let settings = match (flags.is_empty(), paths.is_empty()) {
        (false, true) => Some(flags.join(" ")),
        (true, false) => Some(format!("add {} to the setting tools.allowed_paths", paths.join(", "))),
        (false, false) => {
            Some(format!("{}, with {} in the setting tools.allowed_paths", flags.join(" "), paths.join(", ")))
        }
        (true, true) => setting.map(|name| format!("the setting {name}")),
    };
    let mode = "--permission-mode prometheus (--yolo), or the setting tools.default_permission_mode";
    let advice = match (settings, in_prometheus) {
        (Some(settings), true) => format!("To allow it: {settings}, or {mode}"),
        (Some(settings), false) => {
            format!("It needs approval in every mode, so --yolo does not allow it. To allow it: {settings}")
        }
        (None, true) => format!("No rule allows it. To allow it: {mode}"),
        (None, false) => {
            "It needs approval in every mode, and no rule allows it: run it yourself.".to_owned()
        }
    };
    let (title, question) = (&request.description.title, request.question.trim_end());
    if !hosts.is_empty() {
        return format!("{title} was denied: nobody can be asked in a headless run. {advice}");
    }
    format!("{title} was denied: {question} No user can approve it in a headless run. {advice}")
}

/// Returns the flag with a rule, as it is typed in a shell.
fn flag(rule: &PermissionRule) -> String {
    format!("--allow '{}'", rule.to_string().replace('\'', r"'\''"))
}
