//! Tasks, goals, background commands and the use of the network in their wire format, for events
//! and for results.

use agent::{Goal, HostUse, NetworkUse, ShellUpdate, Task};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// A task of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskEntry {
    /// Eight hexadecimal digits.
    pub(crate) id: String,
    pub(crate) subject: String,
    /// May be empty.
    pub(crate) description: String,
    /// The wording to show while the task is in progress; may be empty.
    pub(crate) active_form: String,
    /// `pending`, `in_progress`, `completed`, `cancelled` or `failed`.
    pub(crate) status: &'static str,
    /// The task that it is part of.
    pub(crate) parent_id: Option<String>,
    /// The tasks that must be completed first.
    pub(crate) blocked_by: Vec<String>,
}

/// The goal that a session works on by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct GoalState {
    pub(crate) id: String,
    pub(crate) objective: String,
    /// `active`, `paused`, `blocked`, `budget_limited` or `complete`.
    pub(crate) status: &'static str,
    /// Why it has this status, if there is more to say.
    pub(crate) reason: Option<String>,
    /// The tokens that it may use; null for no limit.
    pub(crate) token_budget: Option<u64>,
    /// Output, and input that was not read from the provider's cache.
    pub(crate) tokens_used: u64,
    pub(crate) time_used_seconds: u64,
}

/// Converts a goal.
pub(crate) fn goal_state(goal: &Goal) -> GoalState {
    GoalState {
        id: goal.id.clone(),
        objective: goal.objective.clone(),
        status: goal.status.id(),
        reason: goal.reason.clone(),
        token_budget: goal.token_budget,
        tokens_used: goal.tokens_used,
        time_used_seconds: goal.seconds_used,
    }
}

/// Converts tasks, in the order they were created.
pub(crate) fn task_entries(tasks: &[Task]) -> Vec<TaskEntry> {
    let entry = |task: &Task| TaskEntry {
        id: task.id.clone(),
        subject: task.subject.clone(),
        description: task.description.clone(),
        active_form: task.active_form.clone(),
        status: task.status.id(),
        parent_id: task.parent.clone(),
        blocked_by: task.blocked_by.clone(),
    };
    tasks.iter().map(entry).collect()
}

/// A background command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShellEntry {
    /// `sh_1`, or `out_1` if it was started outside the sandbox.
    pub(crate) id: String,
    /// On one line.
    pub(crate) command: String,
    /// The call that started it.
    pub(crate) tool_call_id: String,
    /// `running` or `ended`.
    pub(crate) status: &'static str,
    /// `exit 0`, the name of a signal, `stopped` or `timed out`; null while it runs.
    pub(crate) end: Option<String>,
    /// Whether it exited with the code 0; null while it runs.
    pub(crate) success: Option<bool>,
    /// Seconds since its start, or between its start and its end.
    pub(crate) seconds: u64,
    /// Whether it keeps running when the session closes.
    pub(crate) keeps: bool,
}

/// Converts a background command.
pub(crate) fn shell_entry(shell: &ShellUpdate) -> ShellEntry {
    ShellEntry {
        id: shell.id.clone(),
        command: shell.command.clone(),
        tool_call_id: shell.call.to_string(),
        status: if shell.end.is_some() { "ended" } else { "running" },
        end: shell.end.as_ref().map(|end| end.how.clone()),
        success: shell.end.as_ref().map(|end| end.success),
        seconds: shell.seconds,
        keeps: shell.keeps,
    }
}

/// The use of the network since the last call of a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkEntry {
    /// The call whose end records it.
    pub(crate) tool_call_id: String,
    /// At most 64.
    pub(crate) hosts: Vec<HostEntry>,
}

/// The use of one host at one port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostEntry {
    /// A name, an address or `localhost`.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// New connections.
    pub(crate) connections: u64,
    /// Bytes from commands to the host.
    pub(crate) sent: u64,
    /// Bytes from the host to commands.
    pub(crate) received: u64,
    /// The reason of the last refusal; null if there was none.
    pub(crate) refused: Option<String>,
    /// The rule that allowed the last connection; null if there was none.
    pub(crate) rule: Option<String>,
}

/// Converts the use of the network.
pub(crate) fn network_entry(used: &NetworkUse) -> NetworkEntry {
    let host = |host: &HostUse| HostEntry {
        host: host.destination.host_text(),
        port: host.destination.port(),
        connections: host.connections,
        sent: host.sent,
        received: host.received,
        refused: host.refused.clone(),
        rule: host.rule.clone(),
    };
    NetworkEntry { tool_call_id: used.call.to_string(), hosts: used.hosts.iter().map(host).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::Destination;
    use serde_json::json;

    #[test]
    fn a_host_has_its_traffic_and_its_rule() {
        let host = HostUse {
            destination: Destination::Local(5432),
            connections: 2,
            sent: 3,
            received: 4,
            refused: None,
            rule: Some("network(local:5432)".to_owned()),
        };
        let used = NetworkUse { call: "tool_1".into(), hosts: vec![host] };
        let expected = json!({
            "toolCallId": "tool_1",
            "hosts": [{
                "host": "localhost", "port": 5432, "connections": 2, "sent": 3, "received": 4,
                "refused": null, "rule": "network(local:5432)",
            }],
        });
        assert_eq!(serde_json::to_value(network_entry(&used)).unwrap(), expected);
    }
}
