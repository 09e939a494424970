//! Converts domain events to session updates of version 1. Nothing beyond this module sees domain
//! types.

use super::{display, settings::config_options};
use crate::{
    connection::{self, ChunkKind, StreamedMessages, auth::AuthState, settings::Settings, unpriced},
    limits::LIVE_TEXT_BYTES,
};
use agent::{
    Compaction, CompactionStep, Content, Diff, LiveOutput, Location, MessageId, ModelInfo, ModelResponse,
    Phase, PlanEntry, PlanPriority, PlanStatus, SessionEvent, Severity, ShellUpdate, SlashCommand,
    StopReason, ToolCallId, ToolCallUpdate, ToolContent, ToolKind, ToolStatus, UsageUpdate,
};
use agent_client_protocol::v1::schema as acp;
use std::collections::HashMap;

type Update = connection::Update<acp::SessionUpdate>;

/// Converts a session's events to updates. Keeps the state that later events need.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// The calls that were announced and have not ended, with their displayed content.
    calls: HashMap<ToolCallId, ShownCall>,
    streamed: StreamedMessages,
    /// The current settings, once known.
    settings: Option<Settings>,
    /// Whether the client accepts notices.
    notices: bool,
    /// Whether the client accepts compaction updates.
    compaction: bool,
    /// Whether the client shows the output of local commands in display terminals.
    displays: bool,
    /// Whether the client receives the result given to the model as raw output.
    raw_output: bool,
    /// Whether stored events are replayed.
    replay: bool,
    /// Whether the last text sent is a thought of the model that does not end with a newline.
    thinking: bool,
    /// The number of notices sent as thoughts.
    thoughts: u32,
    /// The plan last sent.
    plan: Option<Vec<PlanEntry>>,
}

/// The displayed content of a call, as far as later updates need it.
#[derive(Debug, Default)]
struct ShownCall {
    anything: bool,
    terminals: Vec<acp::ToolCallContent>,
    /// The announcement of the call.
    announced: Option<Box<acp::ToolCall>>,
    /// The end of its command's output, if that is shown as text.
    tail: String,
    /// Whether its command's output is shown in a display terminal, whose id is the call's.
    displayed: bool,
}

/// The optional updates that a client accepts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OptionalUpdates {
    /// Notices.
    pub(crate) notices: bool,
    /// Compaction updates.
    pub(crate) compaction: bool,
    /// Output of local commands, in display terminals.
    pub(crate) displays: bool,
    /// The result given to the model, as the call's raw output.
    pub(crate) raw_output: bool,
}

impl Projection {
    /// Creates a projection of live events.
    pub(crate) fn live(accepted: OptionalUpdates) -> Self {
        let OptionalUpdates { notices, compaction, displays, raw_output } = accepted;
        Self { notices, compaction, displays, raw_output, ..Self::default() }
    }

    /// Creates a projection of stored events. It includes the user's messages, and omits changes of
    /// settings, which the response reports.
    pub(crate) fn replay(accepted: OptionalUpdates) -> Self {
        Self { replay: true, ..Self::live(OptionalUpdates { notices: false, ..accepted }) }
    }

    /// Returns the updates for an event, in order.
    pub(crate) fn updates(
        &mut self,
        event: &SessionEvent,
        models: impl FnOnce() -> Vec<ModelInfo>,
    ) -> Vec<Update> {
        match event {
            SessionEvent::UserMessage { id, content } if self.replay => content
                .iter()
                .filter(|content| !content.is_added())
                .map(|content| {
                    Update::urgent(acp::SessionUpdate::UserMessageChunk(chunk(id, content_block(content))))
                })
                .collect(),
            SessionEvent::Phase(Phase::Idle) if !self.replay => self.end_calls(),
            SessionEvent::MessageDelta { id, text } => self.delta(ChunkKind::Message, id, text),
            SessionEvent::ThoughtDelta { id, text } => self.delta(ChunkKind::Thought, id, text),
            SessionEvent::ModelResponse(response) => self.response(response),
            SessionEvent::ToolCall(update) => match &update.output {
                Some(output) => self.output(&update.id, output).into_iter().collect(),
                None => vec![self.tool_call(update)],
            },
            SessionEvent::Plan(entries) => self.plan(entries.clone()),
            SessionEvent::Tasks(tasks) => self.plan(agent::plan_of(tasks)),
            SessionEvent::Usage(used) => vec![Update::urgent(usage(used))],
            SessionEvent::TitleChanged(title) => {
                let info = acp::SessionInfoUpdate::new().title(title.clone());
                vec![Update::urgent(acp::SessionUpdate::SessionInfoUpdate(info))]
            }
            SessionEvent::ModeChanged(mode) if !self.replay => {
                let current = acp::SessionUpdate::CurrentModeUpdate(acp::CurrentModeUpdate::new(mode.id()));
                let mut updates = vec![Update::urgent(current)];
                updates.extend(self.settings_update(event, models));
                updates
            }
            SessionEvent::PermissionModeChanged(_)
            | SessionEvent::ModelChanged(_)
            | SessionEvent::EffortChanged(_)
                if !self.replay =>
            {
                self.settings_update(event, models).into_iter().collect()
            }
            SessionEvent::Notice { severity, title, description } => {
                self.notice(*severity, title, description.as_deref()).into_iter().collect()
            }
            SessionEvent::Commands(commands) => vec![available_commands(commands)],
            SessionEvent::Shell(shell) => shell_ended(shell).into_iter().collect(),
            SessionEvent::Compaction(compaction) => self.compaction(compaction).into_iter().collect(),
            SessionEvent::TurnStarted { .. }
            | SessionEvent::BranchChanged(_)
            | SessionEvent::UserMessage { .. }
            | SessionEvent::PermissionRequested { .. }
            | SessionEvent::PermissionResolved { .. }
            | SessionEvent::ModeChanged(_)
            | SessionEvent::PermissionModeChanged(_)
            | SessionEvent::ModelChanged(_)
            | SessionEvent::EffortChanged(_)
            | SessionEvent::Phase(_)
            | SessionEvent::Swarm(_)
            | SessionEvent::Subagent(_)
            | SessionEvent::FileChanged(_)
            | SessionEvent::ResultsLeftOut(_)
            | SessionEvent::AnswerPart(_)
            | SessionEvent::Prefix(_)
            | SessionEvent::Briefing(_)
            | SessionEvent::Rewound(_)
            | SessionEvent::NetworkUsed(_)
            | SessionEvent::Goal(_)
            | SessionEvent::TurnEnded { .. } => Vec::new(),
        }
    }

    /// Returns the update for the plan, if it changes.
    fn plan(&mut self, entries: Vec<PlanEntry>) -> Vec<Update> {
        if self.plan.as_ref() == Some(&entries) {
            return Vec::new();
        }
        let update = Update::urgent(acp::SessionUpdate::Plan(plan(&entries)));
        self.plan = Some(entries);
        vec![update]
    }

    fn delta(&mut self, kind: ChunkKind, id: &MessageId, text: &str) -> Vec<Update> {
        if text.is_empty() {
            return Vec::new();
        }
        self.thinking = kind == ChunkKind::Thought && !text.ends_with('\n');
        self.streamed.insert(id);
        vec![Update::Chunk { kind, id: id.clone(), text: text.to_owned() }]
    }

    /// Returns the text of a complete response, unless it was streamed.
    fn response(&mut self, response: &ModelResponse) -> Vec<Update> {
        let unsent = self.streamed.unsent(response).into_iter();
        unsent.map(|(kind, id, text)| Update::Chunk { kind, id, text }).collect()
    }

    /// Ends the calls that are still open when a turn is over.
    fn end_calls(&mut self) -> Vec<Update> {
        let ends = connection::unstored_ends(self.calls.keys());
        ends.iter().map(|end| self.tool_call(end)).collect()
    }

    fn tool_call(&mut self, update: &ToolCallUpdate) -> Update {
        let known = self.calls.contains_key(&update.id);
        let content = self.content(update);
        let ended = update.status.is_some_and(ToolStatus::is_final);
        if ended {
            self.calls.remove(&update.id);
        }
        if !known {
            let call = new_call(update, content).raw_output(self.raw_output(update));
            if let Some(shown) = self.calls.get_mut(&update.id).filter(|_| self.displays) {
                shown.announced = Some(Box::new(call.clone()));
            }
            return Update::urgent(acp::SessionUpdate::ToolCall(call));
        }
        let fields = changed_fields(update, content).raw_output(self.raw_output(update));
        let wire = acp::ToolCallUpdate::new(update.id.as_str().to_owned(), fields);
        Update::urgent(acp::SessionUpdate::ToolCallUpdate(wire))
    }

    /// Returns the result given to the model for a call that has ended, if the client accepts it.
    fn raw_output(&self, update: &ToolCallUpdate) -> Option<serde_json::Value> {
        let ended = update.status.filter(|status| self.raw_output && status.is_final())?;
        let output = update.result.as_ref().map_or("", |result| result.text.as_str());
        Some(serde_json::json!({ "output": output, "success": ended == ToolStatus::Completed }))
    }

    /// Returns the update for live output: in a display terminal, or as text, each time the end of
    /// the output.
    fn output(&mut self, call: &ToolCallId, output: &LiveOutput) -> Option<Update> {
        let shown = self.calls.get_mut(call)?;
        match output {
            LiveOutput::Started { cwd } if self.displays => {
                let terminal = acp::ToolCallContent::Terminal(acp::Terminal::new(call.as_str().to_owned()));
                *shown = ShownCall {
                    anything: true,
                    terminals: vec![terminal.clone()],
                    displayed: true,
                    announced: shown.announced.take(),
                    tail: String::new(),
                };
                // Only an announcement can create a terminal, so announce the call again.
                let again = shown.announced.as_deref()?.clone().status(acp::ToolCallStatus::InProgress);
                let again = again.content(vec![terminal]).meta(display::info(call, cwd));
                Some(Update::urgent(acp::SessionUpdate::ToolCall(again)))
            }
            LiveOutput::Text(text) if shown.displayed => {
                Some(Update::Display { call: call.clone(), data: text.clone() })
            }
            LiveOutput::Ended(status) if shown.displayed => {
                let fields = acp::ToolCallUpdateFields::new();
                let update = acp::ToolCallUpdate::new(call.as_str().to_owned(), fields);
                let update = update.meta(display::exit(call, status));
                Some(Update::urgent(acp::SessionUpdate::ToolCallUpdate(update)))
            }
            LiveOutput::Text(text) => {
                let tail = &mut shown.tail;
                tail.push_str(text);
                let excess = tail.len().saturating_sub(LIVE_TEXT_BYTES);
                let cut = agent::ceil_char_boundary(tail, excess);
                tail.drain(..cut);
                shown.anything = true;
                let content = vec![acp::ToolCallContent::from(tail.clone())];
                let fields = acp::ToolCallUpdateFields::new().content(content);
                let update = acp::ToolCallUpdate::new(call.as_str().to_owned(), fields);
                let update = Box::new(acp::SessionUpdate::ToolCallUpdate(update));
                Some(Update::Output { call: call.clone(), update })
            }
            LiveOutput::Started { .. } | LiveOutput::Ended(_) => None,
        }
    }

    /// Returns the call's new content, if it changes. The call's terminals are kept when a status
    /// text is appended.
    fn content(&mut self, update: &ToolCallUpdate) -> Option<Vec<acp::ToolCallContent>> {
        let mut content = update.display.content.as_deref().map(tool_content);
        let shown = self.calls.entry(update.id.clone()).or_default();
        if shown.displayed && content.is_some() {
            // The terminal already shows the text.
            content = Some(shown.terminals.clone());
        } else if let Some(content) = &content {
            let terminals = content.iter().filter(|c| matches!(c, acp::ToolCallContent::Terminal(_)));
            shown.anything = !content.is_empty();
            shown.terminals = terminals.cloned().collect();
        }
        let word = match update.status {
            Some(ToolStatus::Cancelled) => "cancelled",
            Some(ToolStatus::Interrupted) => "interrupted",
            Some(ToolStatus::Failed | ToolStatus::Completed) if !shown.anything => {
                // The call displays nothing of its own, so show the result given to the model.
                let result = update.result.as_ref().filter(|result| !result.text.is_empty())?;
                return Some(vec![result.text.clone().into()]);
            }
            _ => return content,
        };
        content.get_or_insert_with(|| shown.terminals.clone()).push(word.into());
        content
    }

    /// Returns the update for an event that changes a setting.
    fn settings_update(
        &mut self,
        event: &SessionEvent,
        models: impl FnOnce() -> Vec<ModelInfo>,
    ) -> Option<Update> {
        let settings = self.settings.as_mut()?;
        settings.apply(event);
        let options = acp::ConfigOptionUpdate::new(config_options(settings, &models()));
        Some(Update::urgent(acp::SessionUpdate::ConfigOptionUpdate(options)))
    }

    /// Returns a notice; for a client that accepts none, a thought, or nothing if it is only
    /// informational.
    fn notice(&mut self, severity: Severity, title: &str, description: Option<&str>) -> Option<Update> {
        if self.notices {
            let severity = match severity {
                Severity::Info => acp::NoticeSeverity::Info,
                Severity::Warning => acp::NoticeSeverity::Warning,
                Severity::Error => acp::NoticeSeverity::Error,
            };
            let notice = acp::Notice::new(severity, title).description(description.map(str::to_owned));
            return Some(Update::urgent(acp::SessionUpdate::Notice(notice)));
        }
        if severity == Severity::Info {
            return None;
        }
        let text: Vec<_> = [Some(title), description].into_iter().flatten().collect();
        Some(self.thought(&text.join("\n\n")))
    }

    /// Returns a thought for the user, for a client without a better place. It is its own message,
    /// and its own paragraph for clients that join all thoughts.
    fn thought(&mut self, text: &str) -> Update {
        let before = if std::mem::take(&mut self.thinking) { "\n\n" } else { "" };
        self.thoughts += 1;
        let chunk = acp::ContentChunk::new(format!("{before}{text}\n\n").into())
            .message_id(acp::MessageId::new(format!("notice_{}", self.thoughts)));
        Update::urgent(acp::SessionUpdate::AgentThoughtChunk(chunk))
    }

    /// Returns a compaction update; for a client that accepts none, a thought at the start and at a
    /// failure.
    fn compaction(&mut self, Compaction { id, step }: &Compaction) -> Option<Update> {
        if !self.compaction {
            return match step {
                CompactionStep::Started => Some(self.thought("Compacting context")),
                CompactionStep::Failed(why) if !self.replay => {
                    Some(self.thought(&format!("The context was not compacted: {why}")))
                }
                _ => None,
            };
        }
        let id = id.as_str().to_owned();
        let update = |status| acp::CompactionUpdate::new(id.clone(), status);
        Some(Update::urgent(acp::SessionUpdate::CompactionUpdate(match step {
            CompactionStep::Started => update(acp::CompactionStatus::InProgress),
            CompactionStep::Text(text) => {
                let chunk = acp::CompactionSummaryChunk::new(id, text.clone().into());
                return Some(Update::urgent(acp::SessionUpdate::CompactionSummaryChunk(chunk)));
            }
            CompactionStep::Completed { summary, .. } => {
                update(acp::CompactionStatus::Completed).summary(vec![summary.clone().into()])
            }
            CompactionStep::Failed(why) => update(acp::CompactionStatus::Failed).error(why.clone()),
            CompactionStep::Cancelled => update(acp::CompactionStatus::Cancelled),
        })))
    }
}

impl connection::Projection<acp::SessionUpdate> for Projection {
    fn project(&mut self, event: &SessionEvent, models: &dyn Fn() -> Vec<ModelInfo>) -> Vec<Update> {
        self.updates(event, models)
    }

    fn set_settings(&mut self, settings: Settings) {
        self.settings = Some(settings);
    }
}

/// Returns a chunk of a message.
pub(crate) fn chunk(id: &MessageId, content: acp::ContentBlock) -> acp::ContentChunk {
    acp::ContentChunk::new(content).message_id(acp::MessageId::new(id.as_str()))
}

/// Returns the update that lists the available slash commands.
pub(crate) fn available_commands(commands: &[SlashCommand]) -> Update {
    let command = |command: &SlashCommand| {
        let hint = |hint| acp::AvailableCommandInput::Unstructured(acp::UnstructuredCommandInput::new(hint));
        let input = command.hint.as_deref().map(hint);
        acp::AvailableCommand::new(&*command.name, &*command.description).input(input)
    };
    let update = acp::AvailableCommandsUpdate::new(commands.iter().map(command).collect());
    Update::urgent(acp::SessionUpdate::AvailableCommandsUpdate(update))
}

/// Converts the reason why a turn stopped.
pub(crate) fn stop_reason(reason: StopReason) -> acp::StopReason {
    match reason {
        StopReason::EndTurn => acp::StopReason::EndTurn,
        StopReason::MaxTokens => acp::StopReason::MaxTokens,
        StopReason::MaxTurnRequests => acp::StopReason::MaxTurnRequests,
        StopReason::Refusal => acp::StopReason::Refusal,
        // The handler answers a suspended turn with an error.
        StopReason::Cancelled | StopReason::Suspended => acp::StopReason::Cancelled,
    }
}

/// Converts the login state to the wire type.
pub(crate) fn auth_state(state: AuthState) -> acp::AuthState {
    match state {
        AuthState::NotRequired => acp::AuthState::NotRequired,
        AuthState::Authenticated => acp::AuthState::Authenticated,
        AuthState::Unauthenticated => acp::AuthState::Unauthenticated,
    }
}

/// Converts the kind of a tool.
pub(crate) fn tool_kind(kind: ToolKind) -> acp::ToolKind {
    match kind {
        ToolKind::Read => acp::ToolKind::Read,
        ToolKind::Edit => acp::ToolKind::Edit,
        ToolKind::Delete => acp::ToolKind::Delete,
        ToolKind::Move => acp::ToolKind::Move,
        ToolKind::Search => acp::ToolKind::Search,
        ToolKind::Execute => acp::ToolKind::Execute,
        ToolKind::Think => acp::ToolKind::Think,
        ToolKind::Fetch => acp::ToolKind::Fetch,
        ToolKind::SwitchMode => acp::ToolKind::SwitchMode,
        ToolKind::Other => acp::ToolKind::Other,
    }
}

/// Converts the content of a tool call.
pub(crate) fn tool_content(content: &[ToolContent]) -> Vec<acp::ToolCallContent> {
    content
        .iter()
        .map(|content| match content {
            ToolContent::Content(content) => content_block(content).into(),
            ToolContent::Diff(diff) => diff_content(diff).into(),
            ToolContent::Terminal(id) => acp::ToolCallContent::Terminal(acp::Terminal::new(id.0.clone())),
        })
        .collect()
}

/// Converts the locations of a tool call.
pub(crate) fn locations(locations: &[Location]) -> Vec<acp::ToolCallLocation> {
    locations
        .iter()
        .map(|location| {
            let line = location.line.and_then(|line| u32::try_from(line).ok());
            acp::ToolCallLocation::new(location.path.as_std()).line(line)
        })
        .collect()
}

/// Returns the update of the call that started a background command, once the command has ended. A
/// terminal of the client shows that itself.
fn shell_ended(shell: &ShellUpdate) -> Option<Update> {
    if shell.end.is_none() || shell.in_terminal {
        return None;
    }
    let fields = acp::ToolCallUpdateFields::new().content(vec![shell.message().into()]);
    let update = acp::ToolCallUpdate::new(shell.call.as_str().to_owned(), fields);
    Some(Update::urgent(acp::SessionUpdate::ToolCallUpdate(update)))
}

fn new_call(update: &ToolCallUpdate, content: Option<Vec<acp::ToolCallContent>>) -> acp::ToolCall {
    let title = update.display.title.as_deref().unwrap_or(&update.name);
    acp::ToolCall::new(update.id.as_str().to_owned(), title)
        .name(update.name.clone())
        .kind(update.display.kind.map_or(acp::ToolKind::Other, tool_kind))
        .status(update.status.map_or(acp::ToolCallStatus::Pending, tool_status))
        .content(content.unwrap_or_default())
        .locations(update.display.locations.as_deref().map(locations).unwrap_or_default())
        .raw_input(update.display.raw_input.clone())
}

fn changed_fields(
    update: &ToolCallUpdate,
    content: Option<Vec<acp::ToolCallContent>>,
) -> acp::ToolCallUpdateFields {
    acp::ToolCallUpdateFields::new()
        .title(update.display.title.clone())
        .kind(update.display.kind.map(tool_kind))
        .status(update.status.map(tool_status))
        .content(content)
        .locations(update.display.locations.as_deref().map(locations))
        .raw_input(update.display.raw_input.clone())
}

/// Converts the status of a call. Version 1 has no status for cancelled and interrupted calls: they
/// are failed, and a text says why.
fn tool_status(status: ToolStatus) -> acp::ToolCallStatus {
    match status {
        ToolStatus::Pending => acp::ToolCallStatus::Pending,
        ToolStatus::InProgress => acp::ToolCallStatus::InProgress,
        ToolStatus::Completed => acp::ToolCallStatus::Completed,
        ToolStatus::Failed | ToolStatus::Cancelled | ToolStatus::Interrupted => acp::ToolCallStatus::Failed,
    }
}

fn content_block(content: &Content) -> acp::ContentBlock {
    match content {
        Content::Text(text) => text.clone().into(),
        Content::Image { mime_type, data } => {
            acp::ContentBlock::Image(acp::ImageContent::new(data.clone(), mime_type.clone()))
        }
        Content::ResourceLink { uri, name } => {
            acp::ContentBlock::ResourceLink(acp::ResourceLink::new(name.clone(), uri.clone()))
        }
        Content::Resource { uri, mime_type, text } => {
            let text = acp::TextResourceContents::new(text.clone(), uri.clone()).mime_type(mime_type.clone());
            let resource = acp::EmbeddedResourceResource::TextResourceContents(text);
            acp::ContentBlock::Resource(acp::EmbeddedResource::new(resource))
        }
    }
}

fn diff_content(diff: &Diff) -> acp::Diff {
    acp::Diff::new(diff.path.as_std(), diff.new_text.clone().unwrap_or_default())
        .old_text(diff.old_text.clone())
}

fn plan(entries: &[PlanEntry]) -> acp::Plan {
    let entry = |entry: &PlanEntry| {
        let priority = match entry.priority {
            PlanPriority::High => acp::PlanEntryPriority::High,
            PlanPriority::Medium => acp::PlanEntryPriority::Medium,
            PlanPriority::Low => acp::PlanEntryPriority::Low,
        };
        let status = match entry.status {
            PlanStatus::Pending => acp::PlanEntryStatus::Pending,
            PlanStatus::InProgress => acp::PlanEntryStatus::InProgress,
            PlanStatus::Completed => acp::PlanEntryStatus::Completed,
        };
        acp::PlanEntry::new(entry.content.clone(), priority, status)
    };
    acp::Plan::new(entries.iter().map(entry).collect())
}

fn usage(usage: &UsageUpdate) -> acp::SessionUpdate {
    let shown = acp::UsageUpdate::new(usage.context_used, usage.context_size)
        .cost(usage.sum().cost.map(|cost| acp::Cost::new(cost.dollars(), unpriced::CURRENCY)))
        .meta(unpriced::unpriced_meta(usage.sum()));
    acp::SessionUpdate::UsageUpdate(shown)
}

#[cfg(test)]
#[path = "to_acp_tests.rs"]
mod tests;
