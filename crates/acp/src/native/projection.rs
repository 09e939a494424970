//! From a session's events to this layer's.

use super::{
    event::{
        Delta, EndEntry, EndStatus, Event, Frame, InProgress, PhaseName, Place, Role, RunStatus, RunUpdate,
        RuntimeChange, SpawnEntry, ToolCompleted, ToolStarted, Verdict,
    },
    shape::runtime_state,
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

/// What goes out for an event of the session.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// An event, where it stands.
    Frame(Frame),
    /// A state that replaces one of its kind which was not sent yet.
    State(StateKind, Frame),
}

/// A state that is told as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    /// The subagents as a tree.
    Tree,
    /// The subagents in numbers.
    Dashboard,
}

/// Turns a session's events into this layer's. Keeps what one must know of those before it.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// The running turn.
    run: Option<TurnId>,
    /// The turn that the last event said.
    said: Option<TurnId>,
    /// What the assistant said in it, since events are on; the last of it, as much as one answer
    /// may have.
    text: String,
    /// The calls whose permission is being asked for, with their tools.
    asked: HashMap<ToolCallId, String>,
    /// What the session is set to, once known.
    settings: Option<Settings>,
    /// The turn is at its end.
    idle: bool,
}

impl Projection {
    /// Says what the session is set to, so that changes can be told in full.
    pub(crate) fn set_settings(&mut self, settings: Settings) {
        self.settings = Some(settings);
    }

    /// Takes note of an event while nothing is told: next to nothing.
    pub(crate) fn pass_over(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TurnStarted { turn } => {
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

    /// Says which turn the text belongs to that is about to go out, where no event did.
    fn mark(&mut self) -> Option<Frame> {
        if self.said == self.run {
            return None;
        }
        self.said.clone_from(&self.run);
        Some(Frame { run: self.run.clone(), event: None })
    }

    /// An event outside of the session's own.
    pub(crate) fn frame(&mut self, event: Event) -> Frame {
        self.said.clone_from(&self.run);
        Frame { run: self.run.clone(), event: Some(event) }
    }

    /// The updates of the protocol for an event, with this layer's events where they belong.
    pub(crate) fn along<U>(
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

    /// What goes out for an event, after the updates of the protocol for it.
    pub(crate) fn steps(&mut self, event: &SessionEvent, models: &dyn Fn() -> Vec<ModelInfo>) -> Vec<Step> {
        match event {
            SessionEvent::TurnStarted { turn } => {
                let settings = self.settings.take();
                *self = Self { run: Some(turn.clone()), settings, ..Self::default() };
                self.one(Event::SessionUpdate(RunUpdate {
                    status: Some(RunStatus::Started),
                    ..RunUpdate::default()
                }))
            }
            SessionEvent::UserMessage { content, .. } => self.one(Event::SessionUpdate(RunUpdate {
                role: Some(Role::User),
                text: Some(said(content)),
                ..RunUpdate::default()
            })),
            SessionEvent::ModelResponse(response) => {
                self.text.push_str(&response.text());
                // Of a turn of very many answers the last of it.
                let over = self.text.len().saturating_sub(ANSWER_BYTES);
                let cut = (over..).find(|at| self.text.is_char_boundary(*at)).unwrap_or_default();
                self.text.drain(..cut);
                Vec::new()
            }
            SessionEvent::ToolCall(update) => match call(update) {
                Some(event) => self.one(event),
                None => Vec::new(),
            },
            SessionEvent::PermissionResolved { id, outcome, rule } => match self.asked.remove(id) {
                Some(tool) => self.one(resolved(id, tool, *outcome, rule)),
                // Decided without a question.
                None => Vec::new(),
            },
            SessionEvent::Usage(usage) => self.one(Event::UsageUpdated {
                model: usage.model.clone(),
                tokens_in: usage.total.input,
                tokens_out: usage.total.output,
                cost: usage.total.cost.map(Cost::dollars),
                max_context: known(usage.context_size),
            }),
            SessionEvent::ModeChanged(mode) => {
                self.note_setting(event);
                let mode = Some(mode.id().to_owned());
                self.one(Event::RuntimeChanged(RuntimeChange { mode, ..RuntimeChange::default() }))
            }
            SessionEvent::ModelChanged(id) => {
                self.note_setting(event);
                let size = models().iter().find(|model| model.id == *id).map(|model| model.context_size);
                let (provider, model) = id.split_once('/').unwrap_or(("", id));
                self.one(Event::RuntimeChanged(RuntimeChange {
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
                self.one(Event::RuntimeChanged(RuntimeChange { state, ..RuntimeChange::default() }))
            }
            SessionEvent::Notice { title, description, .. } => {
                let message = match description {
                    Some(more) => format!("{title}\n{more}"),
                    None => title.clone(),
                };
                self.one(Event::StatusUpdated { message })
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
                self.one(Event::PhaseChanged { phase })
            }
            SessionEvent::Swarm(event) => self.swarm(event),
            SessionEvent::TurnEnded { end, .. } => self.ended(end),
            SessionEvent::MessageDelta { .. }
            | SessionEvent::ThoughtDelta { .. }
            | SessionEvent::PermissionRequested { .. }
            | SessionEvent::Plan(_)
            | SessionEvent::TitleChanged(_)
            | SessionEvent::Commands(_)
            | SessionEvent::FileChanged(_)
            | SessionEvent::ResultsLeftOut(_)
            | SessionEvent::Prefix(_)
            | SessionEvent::Briefing(_)
            | SessionEvent::Rewound(_) => Vec::new(),
        }
    }

    fn status(&mut self, message: &str) -> Vec<Step> {
        self.one(Event::StatusUpdated { message: message.to_owned() })
    }

    /// A permission is about to be asked for.
    pub(crate) fn asking(&mut self, session: &SessionId, request: &PermissionRequest) -> Frame {
        self.asked.insert(request.id.clone(), request.name.clone());
        let wire = v1::permission::request(session, request.clone());
        // Plain data that always serialises.
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

    /// The turn ended without an event that says so, because that could not be stored.
    pub(crate) fn broken(&mut self, message: String) -> Vec<Step> {
        if self.run.is_none() || !self.idle {
            return Vec::new();
        }
        self.ended(&TurnEnd::Failed(message))
    }

    fn ended(&mut self, end: &TurnEnd) -> Vec<Step> {
        let mut steps = Vec::new();
        let status = match end {
            TurnEnd::Stopped(StopReason::Cancelled) => RunStatus::Cancelled,
            TurnEnd::Stopped(_) => RunStatus::Completed,
            TurnEnd::Failed(message) => {
                steps.extend(self.one(Event::Error { message: message.clone() }));
                RunStatus::Completed
            }
        };
        let text = Some(std::mem::take(&mut self.text));
        steps.extend(self.one(Event::SessionUpdate(RunUpdate { status: Some(status), text, role: None })));
        self.run = None;
        self.asked.clear();
        steps
    }

    fn swarm(&mut self, event: &SwarmEvent) -> Vec<Step> {
        match event {
            SwarmEvent::Spawned(calls) => self.one(Event::SubagentSpawned { entries: spawned(calls) }),
            SwarmEvent::Running(calls) => self.one(Event::SubagentRunning { entries: spawned(calls) }),
            SwarmEvent::Completed(ends) => {
                let entries = ends.iter().map(completed).collect();
                self.one(Event::SubagentCompleted { entries })
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

    fn one(&mut self, event: Event) -> Vec<Step> {
        vec![Step::Frame(self.frame(event))]
    }

    fn note_setting(&mut self, event: &SessionEvent) {
        let Some(settings) = &mut self.settings else { return };
        match event {
            SessionEvent::ModeChanged(mode) => settings.mode = *mode,
            SessionEvent::PermissionModeChanged(mode) => settings.permission_mode = *mode,
            SessionEvent::ModelChanged(model) => settings.model.clone_from(model),
            SessionEvent::EffortChanged(effort) => settings.effort = *effort,
            _ => {}
        }
    }
}

/// A number of tokens, where it is known: none are a number that nobody gave.
pub(crate) fn known(tokens: u64) -> Option<u64> {
    (tokens > 0).then_some(tokens)
}

/// What follows a chunk of text: the same.
pub(crate) fn delta(kind: ChunkKind, text: &str) -> Event {
    let delta = Delta { text: text.to_owned(), delta: text.to_owned() };
    match kind {
        ChunkKind::Message => Event::TextDelta(delta),
        ChunkKind::Thought => Event::ThinkingDelta(delta),
    }
}

fn said(content: &[Content]) -> String {
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
        let said = update.content.as_deref()?.iter().find_map(|content| match content {
            ToolContent::Content(Content::Text(text)) => Some(text.clone()),
            _ => None,
        });
        let (status, message) = (InProgress::InProgress, Some(said?));
        return Some(Event::ToolProgress { tool_call_id, tool, name, status, message });
    };
    Some(match status {
        ToolStatus::Pending => {
            let place = |location: &agent::Location| Place {
                path: location.path.as_str().to_owned(),
                line: location.line.and_then(|line| u64::try_from(line).ok()),
            };
            let kind = v1::to_acp::tool_kind(update.kind.unwrap_or(agent::ToolKind::Other));
            let kind = serde_json::to_value(kind).unwrap_or_default();
            Event::ToolStarted(ToolStarted {
                tool_call_id,
                title: update.title.clone().unwrap_or_else(|| tool.clone()),
                tool,
                name,
                args: update.raw_input.clone().unwrap_or_else(|| json!({})),
                kind: kind.as_str().unwrap_or("other").to_owned(),
                locations: update.locations.iter().flatten().map(place).collect(),
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
        // Nobody answered.
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
    let at = end.state.ended_at.unwrap_or_default();
    let children = || tree::below(&end.descendants, Some(&end.state.id), at);
    EndEntry {
        kind: end.background.then_some("completion"),
        args: end.args.clone(),
        result: end.result.clone(),
        success: end.success,
        children: (!end.background).then(children),
        stats: tree::one(&end.state, at),
    }
}

#[cfg(test)]
#[path = "swarm_tests.rs"]
mod tests;
