//! Converts a session's events to native events.

use super::{
    entries::{goal_state, network_entry, shell_entry, task_entries},
    event::{
        Delta, EndEntry, EndStatus, Event, InProgress, PhaseName, Place, Role, RunStatus, RunUpdate,
        RuntimeChange, SpawnEntry, ToolCompleted, ToolStarted, Verdict,
    },
    frame::{Frame, StateKind, Step},
    settings_keys::runtime_state,
    tree,
};
use crate::{
    connection::{ChunkKind, Update, settings::Settings},
    v1,
};
use agent::{
    ANSWER_BYTES, CompactionStep, Content, Cost, ModelInfo, PermissionOutcome, PermissionRequest, Phase,
    SessionEvent, SessionId, StopReason, SubagentCall, SubagentEnd, SwarmEvent, ToolCallId, ToolCallUpdate,
    ToolContent, ToolStatus, TurnEnd, TurnId,
};
use serde_json::json;
use std::collections::HashMap;

/// Converts a session's events to native events. Keeps the state that later events need.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// The running turn.
    run: Option<TurnId>,
    /// The turn named by the last event.
    last_run: Option<TurnId>,
    /// The assistant's text in the running turn since events were enabled; of longer text, the last
    /// [`ANSWER_BYTES`].
    text: String,
    /// The calls that wait for a permission, with their tools.
    asked: HashMap<ToolCallId, String>,
    /// The current settings, once known.
    settings: Option<Settings>,
    /// Whether the turn has reached its end.
    idle: bool,
}

impl Projection {
    /// Stores the session's current settings, so that later changes can be reported in full.
    pub(crate) fn set_settings(&mut self, settings: Settings) {
        self.settings = Some(settings);
    }

    /// Updates the state for an event while native events are off. This is cheap.
    pub(crate) fn observe(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TurnStarted { turn, .. } => {
                *self = Self { run: Some(turn.clone()), settings: self.settings.take(), ..Self::default() };
            }
            SessionEvent::TurnEnded { .. } => self.run = None,
            SessionEvent::ModeChanged(_)
            | SessionEvent::PermissionModeChanged(_)
            | SessionEvent::ModelChanged(_)
            | SessionEvent::EffortChanged(_) => self.note_setting(event),
            _ => {}
        }
    }

    /// Returns the frame that sets the turn of the next text, unless the last event named that turn
    /// already.
    fn mark(&mut self) -> Option<Frame> {
        if self.last_run == self.run {
            return None;
        }
        self.last_run.clone_from(&self.run);
        Some(Frame { run: self.run.clone(), event: None })
    }

    /// Returns the frame for an event that does not come from the session.
    pub(crate) fn frame(&mut self, event: Event) -> Frame {
        self.last_run.clone_from(&self.run);
        Frame { run: self.run.clone(), event: Some(event) }
    }

    /// Combines the protocol's updates for an event with its native events, in order.
    pub(crate) fn with_updates<U>(
        &mut self,
        event: &SessionEvent,
        mut updates: Vec<Update<U>>,
        models: &dyn Fn() -> Vec<ModelInfo>,
    ) -> Vec<Update<U>> {
        if updates.iter().any(|update| matches!(update, Update::Chunk { .. }))
            && let Some(mark) = self.mark()
        {
            updates.insert(0, Step::Frame(mark).into());
        }
        updates.extend(self.steps(event, models).into_iter().map(Update::from));
        updates
    }

    /// Returns the outputs for an event; they follow the protocol's updates for it.
    pub(crate) fn steps(&mut self, event: &SessionEvent, models: &dyn Fn() -> Vec<ModelInfo>) -> Vec<Step> {
        match event {
            SessionEvent::TurnStarted { turn, .. } => {
                let settings = self.settings.take();
                *self = Self { run: Some(turn.clone()), settings, ..Self::default() };
                self.single(Event::SessionUpdate(RunUpdate {
                    status: Some(RunStatus::Started),
                    ..RunUpdate::default()
                }))
            }
            SessionEvent::UserMessage { content, .. } => self.single(Event::SessionUpdate(RunUpdate {
                role: Some(Role::User),
                text: Some(prompt_text(content)),
                ..RunUpdate::default()
            })),
            SessionEvent::ModelResponse(response) => {
                self.text.push_str(&response.text());
                // Keep the end of a very long text.
                let over = self.text.len().saturating_sub(ANSWER_BYTES);
                let cut = agent::ceil_char_boundary(&self.text, over);
                self.text.drain(..cut);
                Vec::new()
            }
            SessionEvent::ToolCall(update) => match call(update) {
                Some(event) => self.single(event),
                None => Vec::new(),
            },
            SessionEvent::PermissionResolved { id, outcome, rule } => match self.asked.remove(id) {
                Some(tool) => self.single(resolved(id, tool, *outcome, rule)),
                // Decided without asking the user.
                None => Vec::new(),
            },
            SessionEvent::Usage(usage) => self.single(Event::UsageUpdated {
                model: usage.model.clone(),
                tokens_in: usage.sum().input,
                tokens_out: usage.sum().output,
                cost: usage.sum().cost.map(Cost::dollars),
                max_context: known(usage.context_size),
            }),
            SessionEvent::ModeChanged(mode) => {
                self.note_setting(event);
                let mode = Some(mode.id().to_owned());
                self.single(Event::RuntimeChanged(RuntimeChange { mode, ..RuntimeChange::default() }))
            }
            SessionEvent::ModelChanged(id) => {
                self.note_setting(event);
                let size =
                    models().iter().find(|model| model.id == *id).map(|model| model.limits.context_size);
                let (provider, model) = id.split_once('/').unwrap_or(("", id));
                self.single(Event::RuntimeChanged(RuntimeChange {
                    provider: Some(provider.to_owned()),
                    model: Some(model.to_owned()),
                    max_context: size.and_then(known),
                    ..RuntimeChange::default()
                }))
            }
            SessionEvent::PermissionModeChanged(_) | SessionEvent::EffortChanged(_) => {
                self.note_setting(event);
                let Some(settings) = &self.settings else { return Vec::new() };
                let state = Some(runtime_state(settings, &models()));
                self.single(Event::RuntimeChanged(RuntimeChange { state, ..RuntimeChange::default() }))
            }
            SessionEvent::Notice { title, description, .. } => {
                let message = match description {
                    Some(more) => format!("{title}\n{more}"),
                    None => title.clone(),
                };
                self.single(Event::StatusUpdated { message })
            }
            SessionEvent::Compaction(compaction) => match &compaction.step {
                CompactionStep::Started => self.status("Compacting context"),
                CompactionStep::Completed { .. } => self.status("Compacted context"),
                CompactionStep::Failed(why) => self.status(&format!("The context was not compacted: {why}")),
                CompactionStep::Text(_) | CompactionStep::Cancelled => Vec::new(),
            },
            SessionEvent::Phase(phase) => {
                self.idle = *phase == Phase::Idle;
                let phase = match phase {
                    Phase::Thinking => PhaseName::Thinking,
                    Phase::Tools => PhaseName::Tools,
                    Phase::Idle => PhaseName::Idle,
                };
                self.single(Event::PhaseChanged { phase })
            }
            SessionEvent::Tasks(tasks) => self.single(Event::TasksUpdated { tasks: task_entries(tasks) }),
            SessionEvent::Goal(goal) => {
                self.single(Event::GoalUpdated { goal: goal.as_ref().map(goal_state) })
            }
            SessionEvent::NetworkUsed(used) => self.single(Event::NetworkUsed(network_entry(used))),
            SessionEvent::Shell(shell) => self.single(Event::ShellUpdated { shell: shell_entry(shell) }),
            SessionEvent::Swarm(event) => self.swarm(event),
            SessionEvent::TurnEnded { end, .. } => self.ended(end),
            SessionEvent::MessageDelta { .. }
            | SessionEvent::ThoughtDelta { .. }
            | SessionEvent::PermissionRequested { .. }
            | SessionEvent::Plan(_)
            | SessionEvent::Subagent(_)
            | SessionEvent::TitleChanged(_)
            | SessionEvent::BranchChanged(_)
            | SessionEvent::Commands(_)
            | SessionEvent::FileChanged(_)
            | SessionEvent::ResultsLeftOut(_)
            | SessionEvent::AnswerPart(_)
            | SessionEvent::Prefix(_)
            | SessionEvent::Briefing(_)
            | SessionEvent::Rewound(_) => Vec::new(),
        }
    }

    fn status(&mut self, message: &str) -> Vec<Step> {
        self.single(Event::StatusUpdated { message: message.to_owned() })
    }

    /// Returns the event that announces a permission request.
    pub(crate) fn permission_requested(&mut self, session: &SessionId, request: &PermissionRequest) -> Frame {
        self.asked.insert(request.id.clone(), request.name.clone());
        let wire = v1::permission::request(session, request.clone());
        // Plain data, which always serializes.
        let mut wire = serde_json::to_value(wire).unwrap_or_default();
        self.frame(Event::PermissionRequested {
            tool_call_id: request.id.to_string(),
            tool: request.name.clone(),
            name: request.name.clone(),
            args: request.raw_input.clone(),
            tool_call: wire["toolCall"].take(),
            options: wire["options"].take(),
        })
    }

    /// Returns the events that end a turn whose own end event could not be stored.
    pub(crate) fn report_unrecorded_end(&mut self, message: String) -> Vec<Step> {
        if self.run.is_none() || !self.idle {
            return Vec::new();
        }
        self.ended(&TurnEnd::Failed(message))
    }

    fn ended(&mut self, end: &TurnEnd) -> Vec<Step> {
        let mut steps = Vec::new();
        let status = match end {
            // The next owner goes on with it.
            TurnEnd::Stopped(StopReason::Suspended) => return Vec::new(),
            TurnEnd::Stopped(StopReason::Cancelled) => RunStatus::Cancelled,
            TurnEnd::Stopped(_) => RunStatus::Completed,
            TurnEnd::Failed(message) => {
                steps.extend(self.single(Event::Error { message: message.clone() }));
                RunStatus::Completed
            }
        };
        let text = Some(std::mem::take(&mut self.text));
        steps.extend(self.single(Event::SessionUpdate(RunUpdate { status: Some(status), text, role: None })));
        self.run = None;
        self.asked.clear();
        steps
    }

    fn swarm(&mut self, event: &SwarmEvent) -> Vec<Step> {
        match event {
            SwarmEvent::Spawned(calls) => self.single(Event::SubagentSpawned { entries: spawned(calls) }),
            SwarmEvent::Running(calls) => self.single(Event::SubagentRunning { entries: spawned(calls) }),
            SwarmEvent::Completed(ends) => {
                let entries = ends.iter().map(completed).collect();
                self.single(Event::SubagentCompleted { entries })
            }
            SwarmEvent::State(state) => {
                let (tree, stats) = (tree::tree(&state.agents, state.at), tree::stats(state));
                let dashboard = Event::SubagentDashboard {
                    summary: Box::new(tree::summary(state)),
                    stats,
                    tree: tree.clone(),
                };
                vec![
                    Step::State(StateKind::Tree, self.frame(Event::SubagentTree { tree })),
                    Step::State(StateKind::Dashboard, self.frame(dashboard)),
                ]
            }
        }
    }

    fn single(&mut self, event: Event) -> Vec<Step> {
        vec![Step::Frame(self.frame(event))]
    }

    fn note_setting(&mut self, event: &SessionEvent) {
        if let Some(settings) = &mut self.settings {
            settings.apply(event);
        }
    }
}

/// Returns a number of tokens; `None` if it is zero, which means unknown.
pub(crate) fn known(tokens: u64) -> Option<u64> {
    (tokens > 0).then_some(tokens)
}

/// Returns the native event that repeats a chunk of text.
pub(crate) fn delta(kind: ChunkKind, text: &str) -> Event {
    let delta = Delta { text: text.to_owned(), delta: text.to_owned() };
    match kind {
        ChunkKind::Message => Event::TextDelta(delta),
        ChunkKind::Thought => Event::ThinkingDelta(delta),
    }
}

fn prompt_text(content: &[Content]) -> String {
    let text = |content: &Content| match content {
        Content::Text(text) | Content::Resource { text, .. } => Some(text.clone()),
        Content::ResourceLink { uri, .. } => Some(uri.clone()),
        Content::Image { .. } => None,
    };
    content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn call(update: &ToolCallUpdate) -> Option<Event> {
    let (tool_call_id, tool, name) = (update.id.to_string(), update.name.clone(), update.name.clone());
    let Some(status) = update.status else {
        let text = update.display.content.as_deref()?.iter().find_map(|content| match content {
            ToolContent::Content(Content::Text(text)) => Some(text.clone()),
            _ => None,
        });
        let (status, message) = (InProgress::InProgress, Some(text?));
        return Some(Event::ToolProgress { tool_call_id, tool, name, status, message });
    };
    Some(match status {
        ToolStatus::Pending => {
            let place = |location: &agent::Location| Place {
                path: location.path.as_str().to_owned(),
                line: location.line.and_then(|line| u64::try_from(line).ok()),
            };
            let kind = v1::to_acp::tool_kind(update.display.kind.unwrap_or(agent::ToolKind::Other));
            let kind = serde_json::to_value(kind).unwrap_or_default();
            Event::ToolStarted(ToolStarted {
                tool_call_id,
                title: update.display.title.clone().unwrap_or_else(|| tool.clone()),
                tool,
                name,
                args: update.display.raw_input.clone().unwrap_or_else(|| json!({})),
                kind: kind.as_str().unwrap_or("other").to_owned(),
                locations: update.display.locations.iter().flatten().map(place).collect(),
            })
        }
        ToolStatus::InProgress => {
            Event::ToolProgress { tool_call_id, tool, name, status: InProgress::InProgress, message: None }
        }
        ended => {
            let success = ended == ToolStatus::Completed;
            let output = update.result.as_ref().map_or_else(String::new, |result| result.text.clone());
            let status = if success { EndStatus::Completed } else { EndStatus::Failed };
            Event::ToolCompleted(ToolCompleted { tool_call_id, tool, name, output, success, status })
        }
    })
}

fn resolved(id: &ToolCallId, tool: String, outcome: PermissionOutcome, rule: &str) -> Event {
    let selected = |option: &str| json!({ "outcome": "selected", "optionId": option });
    let (decision, outcome) = match outcome {
        PermissionOutcome::AllowOnce => (Verdict::Allow, selected("allow_once")),
        PermissionOutcome::AllowAlways => (Verdict::Always, selected("allow_always")),
        PermissionOutcome::AllowForUser => (Verdict::Always, selected("allow_for_user")),
        // The request timed out.
        PermissionOutcome::RejectOnce if rule == "timeout" => {
            (Verdict::Deny, json!({ "outcome": "cancelled" }))
        }
        PermissionOutcome::RejectOnce => (Verdict::Deny, selected("reject_once")),
        PermissionOutcome::RejectAlways => (Verdict::Deny, selected("reject_always")),
        PermissionOutcome::Cancelled => (Verdict::Deny, json!({ "outcome": "cancelled" })),
    };
    Event::PermissionResolved { tool_call_id: id.to_string(), tool, decision, outcome }
}

fn spawned(calls: &[SubagentCall]) -> Vec<SpawnEntry> {
    calls.iter().map(|call| SpawnEntry { args: call.args.clone(), id: call.id.to_string() }).collect()
}

fn completed(end: &SubagentEnd) -> EndEntry {
    let at = end.state.times.ended_at.unwrap_or_default();
    let children = || tree::subtree(&end.descendants, Some(&end.state.id), at);
    EndEntry {
        kind: end.background.then_some("completion"),
        args: end.args.clone(),
        result: end.result.clone(),
        success: end.success,
        children: (!end.background).then(children),
        stats: tree::stats_of(&end.state, at),
    }
}

#[cfg(test)]
#[path = "swarm_tests.rs"]
mod tests;
