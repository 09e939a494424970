//! The client of a headless run, where no user can answer.

use super::output::Output;
use crate::streams;
use ::integrations::WebUrl;
use agent::{Client, PermissionOutcome, PermissionRequest, PermissionRule, SessionEvent};
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
}

impl HeadlessClient {
    /// Creates a client that prints to `output`.
    pub(crate) fn new(output: SharedOutput) -> Self {
        Self { output }
    }
}

#[async_trait]
impl Client for HeadlessClient {
    fn notify(&self, event: &SessionEvent) {
        with(&self.output, |output| output.event(event));
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let message = denial(&request);
        tracing::warn!("{message}");
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

fn denial(request: &PermissionRequest) -> String {
    let advice = match fetch_rule(request) {
        Some(rule) => format!("To allow it, add {rule} to the setting permissions.allow."),
        // Without a grant label no permission can be remembered, so the call asks in every mode.
        None if request.grant_label.is_empty() => {
            "It needs approval in every mode, so --yolo does not allow it: run it yourself, or allow it with the setting permissions.allow."
                .to_owned()
        }
        None => {
            "To allow it, pass --permission-mode prometheus (or --yolo), or set tools.default_permission_mode."
                .to_owned()
        }
    };
    let (title, question) = (&request.description.title, request.question.trim_end());
    format!("{title} was denied: {question} No user can approve it in a headless run. {advice}")
}

/// Returns the rule that allows the host of a fetch, if the request is about one.
fn fetch_rule(request: &PermissionRequest) -> Option<String> {
    let url = request.raw_input.get("url").filter(|_| request.name == "web_fetch")?.as_str()?;
    let rule = format!("web_fetch(domain:{})", WebUrl::parse(url).ok()?.host());
    rule.parse::<PermissionRule>().ok().map(|rule| rule.to_string())
}
