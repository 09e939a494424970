//! Subagents as a tree and as statistics.

use super::event::{Node, OfType, Stats, Summary};
use crate::limits::{SWARM_STALE, TREE_SIBLINGS};
use agent::{Cost, SubagentState, SubagentStatus, SwarmState};
use std::collections::BTreeMap;

/// Returns the tree of all subagents at time `at`, in milliseconds since the Unix epoch.
pub(crate) fn tree(agents: &[SubagentState], at: i64) -> Vec<Node> {
    subtree(agents, None, at)
}

/// Returns the trees of the subagents that `parent` requested; without `parent`, of those whose
/// parent is not in `agents`.
pub(crate) fn subtree(agents: &[SubagentState], parent: Option<&str>, at: i64) -> Vec<Node> {
    let known = |id: &str| agents.iter().any(|agent| agent.id == id);
    let is_child = |agent: &&SubagentState| match (parent, agent.place.parent.as_deref()) {
        (Some(parent), own) => own == Some(parent),
        (None, own) => own.is_none_or(|own| !known(own)),
    };
    let mut children: Vec<_> = agents.iter().filter(is_child).collect();
    // Subagents that need attention come first; among equals, the most recently active.
    children.sort_by_key(|agent| {
        (agent.progress.status, std::cmp::Reverse(agent.times.active_at.or(agent.times.started_at)))
    });
    let hidden = children.split_off(children.len().min(TREE_SIBLINGS));
    let mut nodes: Vec<_> = children.into_iter().map(|agent| node(agents, agent, at)).collect();
    if !hidden.is_empty() {
        nodes.push(rest(parent.unwrap_or("root"), &hidden));
    }
    nodes
}

/// Returns the statistics of one subagent.
pub(crate) fn stats_of(agent: &SubagentState, at: i64) -> Stats {
    let kept = agent.output.as_ref();
    Stats {
        id: agent.id.clone(),
        status: agent.progress.status.id().to_owned(),
        mode: agent.request.mode.clone(),
        tool_calls: agent.activity.tool_calls,
        tokens_in: agent.activity.usage.input,
        tokens_out: agent.activity.usage.output,
        elapsed: round(elapsed(agent, at), 1000.0),
        start_time: agent.times.started_at.map(seconds),
        end_time: agent.times.ended_at.map(seconds),
        last_activity_time: agent.times.active_at.map(seconds),
        task: agent.request.task.clone(),
        agent_type: agent.request.kind.clone(),
        group: agent.request.group.clone(),
        depends_on: agent.request.depends_on.clone(),
        error: agent.progress.error.clone(),
        parent_id: agent.place.parent.clone(),
        depth: agent.place.depth,
        retries: agent.progress.retries,
        queue_reason: agent.progress.queue_reason.clone(),
        last_tool: agent.activity.last_tool.clone(),
        last_message_preview: agent.activity.last_message.clone(),
        next_retry_at: agent.progress.next_retry_at.map(seconds),
        output_ref: kept.map(|output| output.reference.clone()),
        output_bytes: kept.map(|output| output.bytes),
        output_preview: kept.map(|output| output.preview.clone()),
    }
}

/// Returns the statistics of each subagent, by id.
pub(crate) fn stats(swarm: &SwarmState) -> BTreeMap<String, Stats> {
    swarm.agents.iter().map(|agent| (agent.id.clone(), stats_of(agent, swarm.at))).collect()
}

/// Returns the statistics of all subagents.
pub(crate) fn summary(swarm: &SwarmState) -> Summary {
    use SubagentStatus::{Cancelled, Done, Failed, Queued, QueuedGlobal, Retrying, Running, Waiting};
    let agents = &swarm.agents;
    let usage = swarm.usage();
    let cost = usage.cost.map(Cost::dollars);
    let count = |those: &[SubagentStatus]| {
        agents.iter().filter(|agent| those.contains(&agent.progress.status)).count()
    };
    let (done, running, retrying) = (count(&[Done]), count(&[Running]), count(&[Retrying]));
    let queued = count(&[Waiting, Queued, QueuedGlobal]);
    let begun = agents.iter().filter_map(|agent| agent.times.started_at).min();
    let elapsed = begun.map_or(0.0, |begun| seconds(swarm.at - begun));
    let rate = if elapsed > 0.0 { number(done) / elapsed * 60.0 } else { 0.0 };
    let left = queued + running + retrying;
    let moved = agents.iter().filter_map(|agent| agent.times.active_at.or(agent.times.started_at)).max();
    let those = |those: &[SubagentStatus]| -> Vec<_> {
        let those = agents.iter().filter(|agent| those.contains(&agent.progress.status));
        those.map(|agent| stats_of(agent, swarm.at)).collect()
    };
    Summary {
        total: agents.len(),
        done,
        running,
        queued,
        failed: count(&[Failed]),
        cancelled: count(&[Cancelled]),
        retrying,
        retried_and_recovered: agents
            .iter()
            .filter(|agent| agent.progress.status == Done && agent.progress.retries > 0)
            .count(),
        total_retries: agents.iter().map(|agent| u64::from(agent.progress.retries)).sum(),
        tokens_in: usage.input,
        tokens_out: usage.output,
        context_tokens: swarm.contexts.tokens,
        max_context_percent: swarm.contexts.max_percent,
        cache_read_tokens: usage.cache_read,
        cache_write_tokens: usage.cache_write,
        prune_count: swarm.contexts.prunes,
        compaction_count: swarm.contexts.compactions,
        total_tools: agents.iter().map(|agent| agent.activity.tool_calls).sum(),
        cost,
        avg_cost: cost.filter(|_| done > 0).map(|cost| cost / number(done)),
        elapsed: round(elapsed, 10.0),
        rate: round(rate, 10.0),
        eta: if left == 0 {
            Some(0.0)
        } else {
            (rate > 0.0).then(|| round(number(left) / rate * 60.0, 10.0))
        },
        active: those(&[Running, Retrying]),
        failures: those(&[Failed]),
        by_type: by_type(agents),
        model: swarm.model.clone(),
        stale: running > 0
            && moved.is_some_and(|moved| seconds(swarm.at - moved) > SWARM_STALE.as_secs_f64()),
    }
}

fn by_type(agents: &[SubagentState]) -> BTreeMap<String, OfType> {
    let mut types: BTreeMap<String, OfType> = BTreeMap::new();
    for agent in agents {
        let of = types.entry(agent.request.kind.clone()).or_default();
        match agent.progress.status {
            SubagentStatus::Done => of.done += 1,
            SubagentStatus::Running | SubagentStatus::Retrying => of.running += 1,
            SubagentStatus::Failed | SubagentStatus::Cancelled | SubagentStatus::Interrupted => {
                of.failed += 1
            }
            SubagentStatus::Waiting | SubagentStatus::Queued | SubagentStatus::QueuedGlobal => of.queued += 1,
        }
        of.tokens_in += agent.activity.usage.input;
        of.tokens_out += agent.activity.usage.output;
    }
    types
}

fn node(agents: &[SubagentState], agent: &SubagentState, at: i64) -> Node {
    Node {
        id: agent.id.clone(),
        kind: agent.request.kind.clone(),
        task: agent.request.task.clone(),
        status: agent.progress.status.id().to_owned(),
        elapsed: round(elapsed(agent, at), 10.0),
        tool_calls: agent.activity.tool_calls,
        success: agent.progress.status == SubagentStatus::Done,
        error: agent.progress.error.clone(),
        queue_reason: agent.progress.queue_reason.clone(),
        last_tool: agent.activity.last_tool.clone(),
        last_message_preview: agent.activity.last_message.clone(),
        next_retry_at: agent.progress.next_retry_at.map(seconds),
        children: subtree(agents, Some(&agent.id), at),
        ..Node::default()
    }
}

/// Returns the node that stands for the subagents omitted for lack of room.
fn rest(parent: &str, hidden: &[&SubagentState]) -> Node {
    let mut counts: Vec<(SubagentStatus, usize)> = Vec::new();
    for agent in hidden {
        match counts.iter_mut().find(|(status, _)| *status == agent.progress.status) {
            Some((_, count)) => *count += 1,
            None => counts.push((agent.progress.status, 1)),
        }
    }
    let words: Vec<_> = counts.iter().map(|(status, count)| format!("{count} {}", status.id())).collect();
    Node {
        id: format!("summary-{parent}"),
        kind: "summary".to_owned(),
        status: "summary".to_owned(),
        task: format!("{} more agents ({})", hidden.len(), words.join(", ")),
        hidden_count: Some(hidden.len()),
        hidden_statuses: Some(
            counts.into_iter().map(|(status, count)| (status.id().to_owned(), count)).collect(),
        ),
        ..Node::default()
    }
}

fn elapsed(agent: &SubagentState, at: i64) -> f64 {
    agent
        .times
        .started_at
        .map_or(0.0, |started| seconds(agent.times.ended_at.unwrap_or(at).max(started) - started))
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since the epoch fit a float for ages")]
fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "nobody has that many subagents")]
fn number(count: usize) -> f64 {
    count as f64
}

fn round(value: f64, places: f64) -> f64 {
    (value * places).round() / places
}
