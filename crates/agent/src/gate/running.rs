//! Questions about what a command does while its call runs.

use crate::{
    CallPlace, Description, PermissionOutcome, PermissionRequest, PermissionRule, Remedy, SessionEvent,
    StoreError, ToolCallId, ToolKind, log::SessionLog, tool::titles,
};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The rule of an answer that did not come in time.
const TIMEOUT: &str = "timeout";

/// The rule of an answer for which nothing waits any more.
pub(super) const GONE: &str = "the command has closed the connection";

/// The reason of a refusal where no user answers questions.
pub(super) const NO_USER: &str = "no user can be asked";

/// Returns the question whether a program may do something, for a call. `what` follows `Let it`.
pub(super) fn question(
    call: ToolCallId,
    tool: &str,
    program: &str,
    line: &str,
    title: String,
    what: &str,
    place: Option<String>,
) -> PermissionRequest {
    PermissionRequest {
        id: call,
        name: tool.to_owned(),
        description: Description { title, kind: ToolKind::Execute, locations: Vec::new() },
        question: format!("Let {program} {what}"),
        brief: format!("Let it {what}"),
        place: CallPlace { directory: None, facts: place.into_iter().collect() },
        content: titles::command_block(line),
        raw_input: serde_json::json!({ "command": line }),
        grant_label: String::new(),
        remedy: Remedy::default(),
    }
}

/// Puts a question to the user and records it with its answer. Returns the answer with the reason
/// of a refusal, and the outcome. A question is withdrawn when `gone` is cancelled.
pub(super) async fn ask(
    log: &SessionLog,
    request: &PermissionRequest,
    wait: Duration,
    cancel: &CancellationToken,
    gone: &CancellationToken,
) -> Result<(Result<(), String>, PermissionOutcome), StoreError> {
    let (id, question) = (request.id.clone(), request.question.clone());
    log.record(vec![SessionEvent::PermissionRequested { id: id.clone(), question }]).await?;
    let (outcome, rule) = tokio::select! {
        biased;
        () = cancel.cancelled() => (PermissionOutcome::Cancelled, "cancelled"),
        () = gone.cancelled() => (PermissionOutcome::Cancelled, GONE),
        outcome = log.ask(request.clone()) => (outcome, "user"),
        () = tokio::time::sleep(wait) => (PermissionOutcome::Cancelled, TIMEOUT),
    };
    // In a client's view the question has replaced what was shown of the call.
    let shown = log.running_call(&id).map(SessionEvent::ToolCall);
    let resolved = SessionEvent::PermissionResolved { id, outcome, rule: rule.to_owned() };
    log.record(std::iter::once(resolved).chain(shown).collect()).await?;
    let answer = match outcome {
        _ if outcome.allows() => Ok(()),
        PermissionOutcome::Cancelled if rule == TIMEOUT => {
            Err(format!("there was no answer within {} s", wait.as_secs()))
        }
        PermissionOutcome::Cancelled => Err("the question was dismissed".to_owned()),
        _ => Err(match log.client().rejection(request) {
            None => "the user said no".to_owned(),
            Some(_) => NO_USER.to_owned(),
        }),
    };
    Ok((answer, outcome))
}

/// Adds the rules that would allow something to the reason why it is refused, if no user was asked.
pub(super) fn with_rules(why: String, rules: &[PermissionRule]) -> String {
    match why == NO_USER && !rules.is_empty() {
        true => {
            let rules: Vec<_> = rules.iter().map(ToString::to_string).collect();
            format!("{why}; the setting permissions.allow can have {}", rules.join(" and "))
        }
        false => why,
    }
}
