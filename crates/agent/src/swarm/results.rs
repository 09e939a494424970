//! The texts about subagents that models receive.

use super::registry::Agent;
use crate::{SubagentState, SubagentStatus, limits::SUBAGENT_RESULT_CHARS};

/// The separator between the results of several background subagents.
const BETWEEN: &str = "\n\n---\n\n";

/// Returns the result of a subagent for the call that waited for it.
pub(super) fn of_call(state: &SubagentState) -> String {
    match (state.progress.status, &state.result) {
        (SubagentStatus::Done, Some(result)) => format!("Agent '{}' completed:\n{result}", state.id),
        _ => failure(state),
    }
}

/// Returns the answer of a subagent, or why it has none.
pub(super) fn of_end(state: &SubagentState) -> String {
    match (state.progress.status, &state.result) {
        (SubagentStatus::Done, Some(result)) => result.clone(),
        _ => reason(state),
    }
}

/// Returns why a subagent has no result.
fn failure(state: &SubagentState) -> String {
    format!("Agent '{}' failed: {}", state.id, reason(state))
}

/// Returns why a subagent has no answer, and where its work is if it was stopped in a worktree.
fn reason(state: &SubagentState) -> String {
    let error = state.progress.error.as_deref();
    let why = error.unwrap_or(match state.progress.status {
        SubagentStatus::Cancelled => "it was cancelled",
        SubagentStatus::Interrupted => "the process ended while it was at work",
        status if !status.is_final() => "it was cancelled and has not ended yet",
        _ => "it gave no answer",
    });
    let left = match (state.progress.status, &state.place.worktree) {
        (SubagentStatus::Cancelled, _) => state.result.clone(),
        (SubagentStatus::Interrupted, Some(place)) => Some(format!(
            "Its work is in {} on branch {}, perhaps not committed.",
            place.folder, place.branch
        )),
        (status, Some(place)) if !status.is_final() => {
            Some(format!("Its work is in {} on branch {}.", place.folder, place.branch))
        }
        _ => None,
    };
    left.map_or_else(|| why.to_owned(), |left| format!("{why}\n{left}"))
}

/// Returns the results of background subagents, as one message.
pub(super) fn of_background<'a>(agents: impl Iterator<Item = &'a SubagentState>) -> String {
    let part = |state: &SubagentState| {
        let (kind, id, calls) = (&state.request.kind, &state.id, state.activity.tool_calls);
        let (status, text) = match (state.progress.status, &state.result) {
            (SubagentStatus::Done, Some(result)) => ("completed", result.clone()),
            (SubagentStatus::Cancelled, _) => ("was cancelled", reason(state)),
            (SubagentStatus::Interrupted, _) => ("was interrupted", reason(state)),
            _ => ("failed", reason(state)),
        };
        let resumed = match state.progress.status {
            SubagentStatus::Interrupted | SubagentStatus::Cancelled => {
                format!("\nGo on with it, if it is still needed: subagent with resume: \"{id}\".")
            }
            _ => String::new(),
        };
        let background = if state.request.mode == "background" { "Background " } else { "" };
        let calls = match state.progress.status {
            // What it did since it began is only in its own log.
            SubagentStatus::Interrupted => String::new(),
            _ => format!(" ({calls} tool calls)"),
        };
        format!("[{background}{kind} agent '{id}' {status}{calls}]:\n{text}{resumed}")
    };
    agents.map(part).collect::<Vec<_>>().join(BETWEEN)
}

/// Returns the text that begins with a task and adds the results of the subagents it depends on.
pub(super) fn with_dependencies(task: &str, dependencies: &[SubagentState]) -> String {
    if dependencies.is_empty() {
        return task.to_owned();
    }
    let part = |state: &SubagentState| match (state.progress.status, &state.result) {
        (SubagentStatus::Done, Some(result)) => format!("[Agent '{}']:\n{result}", state.id),
        _ => format!(
            "[FAILED] {}\nThis agent has no result: do what you can without it, and name what is missing.",
            failure(state)
        ),
    };
    let parts: Vec<_> = dependencies.iter().map(part).collect();
    format!("{task}\n\n--- Results from dependency agents ---\n{}", parts.join("\n\n"))
}

/// Returns the result of a batch that was waited for.
pub(super) fn of_batch(states: &[SubagentState]) -> String {
    let failed = states.iter().filter(|state| state.progress.status != SubagentStatus::Done).count();
    let mut parts =
        vec![format!("Batch complete: {} agents finished, {failed} failed.", states.len() - failed)];
    parts.extend(states.iter().map(of_call));
    parts.join("\n\n")
}

/// Returns the text about subagents that were started in the background.
pub(super) fn spawned(states: &[SubagentState], is_batch: bool) -> String {
    const LATER: &str = "Results will be delivered when ready.";
    match states {
        [state] if !is_batch => {
            format!("Agent '{}' spawned in background ({}). {LATER}", state.id, state.request.kind)
        }
        states => {
            let ids: Vec<_> = states.iter().map(|state| state.id.as_str()).collect();
            format!("Batch spawned {} agents in background: {}. {LATER}", states.len(), ids.join(", "))
        }
    }
}

/// Returns the beginning of an answer that is too long to be sent as a whole; `None` if it is not.
pub(super) fn shortened(answer: &str) -> Option<&str> {
    answer.char_indices().nth(SUBAGENT_RESULT_CHARS).map(|(at, _)| &answer[..at])
}

/// Returns the subagents as a tree, one line each, with the line of a parent before its children.
pub(super) fn tree(agents: &[Agent], parent: Option<&str>, depth: usize) -> String {
    let mut text = String::new();
    for agent in agents.iter().filter(|agent| agent.state.place.parent.as_deref() == parent) {
        text.push_str(&format!("{}{}\n", "  ".repeat(depth), line(&agent.state)));
        text.push_str(&tree(agents, Some(&agent.state.id), depth + 1));
    }
    text
}

/// Returns the title of a call with a batch of subagents: `4 subagents (2 done, 2 running)`,
/// without the states that none has. `None` for a call with one subagent: its title is its task.
/// Some clients show nothing of a call but its title, cut at 60 characters or at its first colon.
pub(super) fn title<'a>(states: impl Iterator<Item = &'a SubagentState>, is_batch: bool) -> Option<String> {
    const SHOWN: [(&str, &[SubagentStatus]); 5] = [
        ("failed", &[SubagentStatus::Failed]),
        ("done", &[SubagentStatus::Done]),
        ("cancelled", &[SubagentStatus::Cancelled, SubagentStatus::Interrupted]),
        ("running", &[SubagentStatus::Running, SubagentStatus::Retrying]),
        ("waiting", &[SubagentStatus::Waiting, SubagentStatus::Queued, SubagentStatus::QueuedGlobal]),
    ];
    if !is_batch {
        return None;
    }
    let states: Vec<_> = states.map(|state| state.progress.status).collect();
    let counted = SHOWN.iter().filter_map(|(name, of)| {
        let count = states.iter().filter(|status| of.contains(status)).count();
        (count > 0).then(|| format!("{count} {name}"))
    });
    let noun = if states.len() == 1 { "subagent" } else { "subagents" };
    Some(format!("{} {noun} ({})", states.len(), counted.collect::<Vec<_>>().join(", ")))
}

/// Returns the line of a subagent: `● explore-1 (explore) done, 3 calls: Find the parser`.
pub(super) fn line(state: &SubagentState) -> String {
    let icon = match state.progress.status {
        SubagentStatus::Done => '●',
        SubagentStatus::Running | SubagentStatus::Retrying => '◎',
        SubagentStatus::Failed => '☠',
        SubagentStatus::Cancelled | SubagentStatus::Interrupted => '✗',
        SubagentStatus::Waiting | SubagentStatus::QueuedGlobal | SubagentStatus::Queued => '○',
    };
    let status = state.progress.status.id();
    let calls = match state.activity.tool_calls {
        0 => String::new(),
        1 => ", 1 call".to_owned(),
        calls => format!(", {calls} calls"),
    };
    let why = match (&state.progress.error, &state.progress.queue_reason) {
        (Some(error), _) => format!(" ({})", crate::one_line(error)),
        (None, Some(reason)) if !state.progress.status.is_final() => format!(" ({reason})"),
        _ => String::new(),
    };
    let task = crate::label(&state.request.task, crate::limits::TASK_TITLE_CHARS);
    format!("{icon} {} ({}) {status}{calls}{why}: {task}", state.id, state.request.kind)
}
