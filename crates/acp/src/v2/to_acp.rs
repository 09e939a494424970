//! Converts domain events to session updates of version 2. Nothing beyond this module sees domain
//! types.

use super::{patch, settings::config_options};
use crate::connection::{self, ChunkKind, StreamedMessages, auth::AuthState, settings::Settings, unpriced};
use agent::{
    Compaction, CompactionStep, Content, LiveOutput, Location, MessageId, ModelInfo, ModelResponse, Phase,
    PlanEntry, PlanPriority, PlanStatus, SessionEvent, Severity, ShellUpdate, SlashCommand, StopReason,
    ToolCallId, ToolCallUpdate, ToolContent, ToolKind, ToolStatus, TurnEnd, Usage,
};
use agent_client_protocol::{Error, ErrorCode};
use agent_client_protocol_schema::v2 as acp;
use std::collections::{HashMap, HashSet};

pub(super) type Update = connection::Update<acp::SessionUpdate>;

/// Converts a session's events to updates. Keeps the state that later events need.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// The calls that were announced and have not ended, with their displayed content.
    calls: HashMap<ToolCallId, ShownCall>,
    streamed: StreamedMessages,
    /// The current settings, once known.
    settings: Option<Settings>,
    /// Whether a turn runs.
    running: bool,
    /// The last message of the user.
    message: Option<MessageId>,
    /// The calls that wait for a permission.
    asked: HashSet<ToolCallId>,
    /// The number of other open questions.
    questions: usize,
    /// The plan last sent.
    plan: Option<Vec<PlanEntry>>,
    /// The tokens of the running turn so far.
    used: Usage,
    /// When the projected events happen.
    when: EventTiming,
}

/// When the projected events happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum EventTiming {
    /// Live.
    #[default]
    Now,
    /// In the past: the events are stored.
    Past,
    /// In progress: the events are repeated for a client that missed the beginning.
    Since,
}

/// The displayed content of a call, as far as later updates need it.
#[derive(Debug, Default)]
struct ShownCall {
    anything: bool,
    /// The command line, if the call is a command.
    command: Option<String>,
    /// Whether its command's output is shown in a terminal, whose id is the call's.
    displayed: bool,
}

/// The id of a session's only plan.
const PLAN: &str = "plan";

impl Projection {
    /// Creates a projection of stored events. It produces no state updates and no changes of
    /// settings, which the response reports.
    pub(crate) fn replay() -> Self {
        Self { when: EventTiming::Past, ..Self::default() }
    }

    /// Returns the state update: whether a turn runs, and whether it waits for the user.
    fn state(&self) -> acp::SessionUpdate {
        acp::SessionUpdate::StateUpdate(match (self.running, self.asked.is_empty() && self.questions == 0) {
            (true, true) => acp::StateUpdate::Running(acp::RunningStateUpdate::new()),
            (true, false) => acp::StateUpdate::RequiresAction(acp::RequiresActionStateUpdate::new()),
            (false, _) => acp::StateUpdate::Idle(acp::IdleStateUpdate::new()),
        })
    }

    /// Returns the updates for an event, in order.
    pub(crate) fn updates(
        &mut self,
        event: &SessionEvent,
        models: impl FnOnce() -> Vec<ModelInfo>,
    ) -> Vec<Update> {
        let past = self.when == EventTiming::Past;
        match event {
            SessionEvent::TurnStarted { .. } if !past => {
                self.running = true;
                self.asked.clear();
                self.used = Usage::default();
                vec![Update::urgent(self.state())]
            }
            SessionEvent::TurnEnded { end, .. } if !past => self.ended(end),
            SessionEvent::UserMessage { id, content } => {
                self.message = Some(id.clone());
                let content = content.iter().filter(|content| !content.is_added());
                let content: Vec<_> = content.map(content_block).collect();
                let message = acp::UserMessage::new(id.as_str().to_owned()).content(content);
                vec![Update::urgent(acp::SessionUpdate::UserMessage(message))]
            }
            SessionEvent::Phase(Phase::Idle) if self.when == EventTiming::Now => self.end_calls(),
            SessionEvent::MessageDelta { id, text } => self.delta(ChunkKind::Message, id, text),
            SessionEvent::ThoughtDelta { id, text } => self.delta(ChunkKind::Thought, id, text),
            SessionEvent::ModelResponse(response) => self.response(response),
            SessionEvent::ToolCall(update) => match &update.output {
                Some(output) => self.output(&update.id, output),
                None => vec![self.tool_call(update)],
            },
            SessionEvent::PermissionRequested { id, .. } if !past => {
                let before = self.asked.len() + self.questions;
                self.asked.insert(id.clone());
                self.state_after(before)
            }
            SessionEvent::PermissionResolved { id, .. } if !past => {
                let before = self.asked.len() + self.questions;
                self.asked.remove(id);
                self.state_after(before)
            }
            SessionEvent::Plan(entries) => self.plan(entries.clone()),
            SessionEvent::Tasks(tasks) => self.plan(agent::plan_of(tasks)),
            SessionEvent::Usage(used) => {
                self.used = used.turn;
                let usage = acp::UsageUpdate::new(used.context_used, used.context_size)
                    .cost(used.sum().cost.map(|cost| acp::Cost::new(cost.dollars(), unpriced::CURRENCY)))
                    .meta(unpriced::unpriced_meta(used.sum()));
                vec![Update::urgent(acp::SessionUpdate::UsageUpdate(usage))]
            }
            SessionEvent::TitleChanged(title) => {
                let info = acp::SessionInfoUpdate::new().title(title.clone());
                vec![Update::urgent(acp::SessionUpdate::SessionInfoUpdate(info))]
            }
            SessionEvent::ModeChanged(_)
            | SessionEvent::PermissionModeChanged(_)
            | SessionEvent::ModelChanged(_)
            | SessionEvent::EffortChanged(_) => self.settings_update(event, models),
            SessionEvent::Notice { severity, title, description } => {
                let severity = match severity {
                    Severity::Info => acp::NoticeSeverity::Info,
                    Severity::Warning => acp::NoticeSeverity::Warning,
                    Severity::Error => acp::NoticeSeverity::Error,
                };
                let notice = acp::Notice::new(severity, title).description(description.clone());
                vec![Update::urgent(acp::SessionUpdate::Notice(notice))]
            }
            SessionEvent::Commands(commands) => {
                let commands = acp::AvailableCommandsUpdate::new(available_commands(commands));
                vec![Update::urgent(acp::SessionUpdate::AvailableCommandsUpdate(commands))]
            }
            SessionEvent::Compaction(Compaction { id, step }) => vec![compaction(id.as_str(), step)],
            SessionEvent::Shell(shell) => shell_ended(shell).into_iter().collect(),
            SessionEvent::TurnStarted { .. }
            | SessionEvent::BranchChanged(_)
            | SessionEvent::TurnEnded { .. }
            | SessionEvent::PermissionRequested { .. }
            | SessionEvent::PermissionResolved { .. }
            | SessionEvent::Phase(_)
            | SessionEvent::Swarm(_)
            | SessionEvent::Subagent(_)
            | SessionEvent::FileChanged(_)
            | SessionEvent::ResultsLeftOut(_)
            | SessionEvent::AnswerPart(_)
            | SessionEvent::Prefix(_)
            | SessionEvent::Briefing(_)
            | SessionEvent::Goal(_)
            | SessionEvent::NetworkUsed(_)
            | SessionEvent::Rewound(_) => Vec::new(),
        }
    }

    /// Returns the state update, if the number of open questions changed from or to zero.
    fn state_after(&self, before: usize) -> Vec<Update> {
        let now = self.asked.len() + self.questions;
        match self.running && (before == 0) != (now == 0) {
            true => vec![Update::urgent(self.state())],
            false => Vec::new(),
        }
    }

    fn ended(&mut self, end: &TurnEnd) -> Vec<Update> {
        self.idle(match end {
            TurnEnd::Stopped(StopReason::EndTurn) => acp::StopReason::EndTurn,
            TurnEnd::Stopped(StopReason::MaxTokens) => acp::StopReason::MaxTokens,
            TurnEnd::Stopped(StopReason::MaxTurnRequests) => acp::StopReason::MaxTurnRequests,
            TurnEnd::Stopped(StopReason::Refusal) => acp::StopReason::Refusal,
            TurnEnd::Stopped(StopReason::Cancelled) => acp::StopReason::Cancelled,
            // The next owner goes on with it.
            TurnEnd::Stopped(StopReason::Suspended) => return Vec::new(),
            TurnEnd::Failed(message) => {
                let error = acp::Error::new(i32::from(ErrorCode::INTERNAL_ERROR), message.clone());
                acp::StopReason::Error(acp::ErrorStopReason::new().error(error))
            }
        })
    }

    /// Returns the update that ends the running turn; nothing if no turn runs.
    fn idle(&mut self, reason: acp::StopReason) -> Vec<Update> {
        if !std::mem::take(&mut self.running) {
            return Vec::new();
        }
        self.asked.clear();
        self.streamed.clear();
        let used = std::mem::take(&mut self.used);
        let usage = (used != Usage::default()).then(|| {
            acp::Usage::new(used.all(), used.fresh_input(), used.output)
                .cached_read_tokens(used.cache_read)
                .cached_write_tokens(used.cache_write)
        });
        let idle = acp::StateUpdate::Idle(acp::IdleStateUpdate::new().stop_reason(reason).usage(usage));
        vec![Update::urgent(acp::SessionUpdate::StateUpdate(idle))]
    }

    /// Returns the update for the plan, if it changes.
    fn plan(&mut self, entries: Vec<PlanEntry>) -> Vec<Update> {
        if self.plan.as_ref() == Some(&entries) {
            return Vec::new();
        }
        let plan = acp::PlanUpdateContent::items(PLAN, entries.iter().map(plan_entry).collect());
        self.plan = Some(entries);
        vec![Update::urgent(acp::SessionUpdate::PlanUpdate(acp::PlanUpdate::new(plan)))]
    }

    fn delta(&mut self, kind: ChunkKind, id: &MessageId, text: &str) -> Vec<Update> {
        if text.is_empty() {
            return Vec::new();
        }
        self.streamed.insert(id);
        match self.when {
            EventTiming::Now => vec![Update::Chunk { kind, id: id.clone(), text: text.to_owned() }],
            EventTiming::Past | EventTiming::Since => vec![message(kind, id, text)],
        }
    }

    /// Returns the text of a complete response, unless it was streamed.
    fn response(&mut self, response: &ModelResponse) -> Vec<Update> {
        let unsent = self.streamed.unsent(response).into_iter();
        unsent.map(|(kind, id, text)| message(kind, &id, &text)).collect()
    }

    /// Ends the calls that are still open when a turn is over.
    fn end_calls(&mut self) -> Vec<Update> {
        let ends = connection::unstored_ends(self.calls.keys());
        ends.iter().map(|end| self.tool_call(end)).collect()
    }

    fn tool_call(&mut self, update: &ToolCallUpdate) -> Update {
        let known = self.calls.contains_key(&update.id);
        let content = self.content(update);
        if update.status.is_some_and(ToolStatus::is_final) {
            self.calls.remove(&update.id);
        }
        let mut wire = acp::ToolCallUpdate::new(update.id.as_str().to_owned());
        if !known {
            wire = wire.name(update.name.clone()).title(update.name.clone());
        }
        if let Some(title) = &update.display.title {
            wire = wire.title(title.clone());
        }
        if let Some(kind) = update.display.kind {
            wire = wire.kind(tool_kind(kind));
        }
        if let Some(status) = update.status {
            wire = wire.status(tool_status(status));
        }
        if let Some(content) = content {
            wire = wire.content(content);
        }
        if let Some(places) = &update.display.locations {
            wire = wire.locations(locations(places));
        }
        if let Some(input) = &update.display.raw_input {
            wire = wire.raw_input(input.clone());
        }
        Update::urgent(acp::SessionUpdate::ToolCallUpdate(wire))
    }

    /// Returns the call's new content, if it changes.
    fn content(&mut self, update: &ToolCallUpdate) -> Option<Vec<acp::ToolCallContent>> {
        let shown = self.calls.entry(update.id.clone()).or_default();
        if let Some(command) = update.display.raw_input.as_ref().and_then(|input| input["command"].as_str()) {
            shown.command = Some(command.to_owned());
        }
        let content = match &update.display.content {
            // The terminal already shows the text.
            Some(_) if shown.displayed => Some(vec![terminal(&update.id)]),
            Some(content) => {
                shown.anything = !content.is_empty();
                Some(tool_content(content))
            }
            None => None,
        };
        match update.status {
            // The protocol has no status for it.
            Some(ToolStatus::Interrupted) => {
                let mut content = content.unwrap_or_default();
                content.push(text("interrupted"));
                Some(content)
            }
            Some(ToolStatus::Failed | ToolStatus::Completed) if !shown.anything && !shown.displayed => {
                // The call displays nothing of its own, so show the result given to the model.
                let result = update.result.as_ref().filter(|result| !result.text.is_empty());
                result.map(|result| vec![text(&result.text)]).or(content)
            }
            _ => content,
        }
    }

    /// Returns the updates for live output, in a terminal owned by the agent.
    fn output(&mut self, call: &ToolCallId, output: &LiveOutput) -> Vec<Update> {
        let Some(shown) = self.calls.get_mut(call) else { return Vec::new() };
        let of = || acp::TerminalUpdate::new(call.as_str().to_owned());
        let terminal_update = |update| Update::urgent(acp::SessionUpdate::TerminalUpdate(update));
        match output {
            LiveOutput::Started { cwd } => {
                shown.displayed = true;
                let made = of().cwd(cwd.as_std()).output(acp::TerminalOutput::new(""));
                let made = match &shown.command {
                    Some(command) => made.command(command.clone()),
                    None => made,
                };
                let embedded =
                    acp::ToolCallUpdate::new(call.as_str().to_owned()).content(vec![terminal(call)]);
                vec![terminal_update(made), Update::urgent(acp::SessionUpdate::ToolCallUpdate(embedded))]
            }
            LiveOutput::Text(_) | LiveOutput::Ended(_) if !shown.displayed => Vec::new(),
            LiveOutput::Text(text) => vec![Update::Display { call: call.clone(), data: text.clone() }],
            LiveOutput::Ended(status) => {
                let status =
                    acp::TerminalExitStatus::new().exit_code(status.code).signal(status.signal.clone());
                vec![terminal_update(of().exit_status(status))]
            }
        }
    }

    /// Returns the update for an event that changes a setting.
    fn settings_update(
        &mut self,
        event: &SessionEvent,
        models: impl FnOnce() -> Vec<ModelInfo>,
    ) -> Vec<Update> {
        let Some(settings) = self.settings.as_mut().filter(|_| self.when == EventTiming::Now) else {
            return Vec::new();
        };
        settings.apply(event);
        let options = acp::ConfigOptionUpdate::new(config_options(settings, &models()));
        vec![Update::urgent(acp::SessionUpdate::ConfigOptionUpdate(options))]
    }
}

impl connection::Projection<acp::SessionUpdate> for Projection {
    fn project(&mut self, event: &SessionEvent, models: &dyn Fn() -> Vec<ModelInfo>) -> Vec<Update> {
        self.updates(event, models)
    }

    fn waiting(&mut self, for_the_user: bool) -> Vec<Update> {
        let before = self.asked.len() + self.questions;
        self.questions = match for_the_user {
            true => self.questions + 1,
            false => self.questions.saturating_sub(1),
        };
        self.state_after(before)
    }

    fn failed(&mut self, message: &MessageId, error: &Error) -> Vec<Update> {
        if self.message.as_ref() != Some(message) {
            return Vec::new();
        }
        let error = acp::Error::new(i32::from(error.code), error.message.clone()).data(error.data.clone());
        self.idle(acp::StopReason::Error(acp::ErrorStopReason::new().error(error)))
    }

    /// Events in progress are sent in full: text so far replaces the text that the client may have.
    fn catch_up(&mut self) {
        self.when = EventTiming::Since;
    }

    /// The state comes last.
    fn end_of_replay(&self) -> Vec<Update> {
        vec![Update::urgent(self.state())]
    }

    fn set_settings(&mut self, settings: Settings) {
        self.settings = Some(settings);
    }
}

/// Returns the update of the call that started a background command, once the command has ended. A
/// terminal of the client shows that itself.
fn shell_ended(shell: &ShellUpdate) -> Option<Update> {
    if shell.end.is_none() || shell.in_terminal {
        return None;
    }
    let update =
        acp::ToolCallUpdate::new(shell.call.as_str().to_owned()).content(vec![text(&shell.message())]);
    Some(Update::urgent(acp::SessionUpdate::ToolCallUpdate(update)))
}

/// Converts the available slash commands.
pub(crate) fn available_commands(commands: &[SlashCommand]) -> Vec<acp::AvailableCommand> {
    let command = |command: &SlashCommand| {
        let hint = |hint| acp::AvailableCommandInput::Text(acp::TextCommandInput::new(hint));
        let hint = command.hint.as_deref().map(hint);
        acp::AvailableCommand::Command(acp::Command::new(&*command.name, &*command.description).input(hint))
    };
    commands.iter().map(command).collect()
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

/// Converts the content of a tool call. Omits terminals of other clients, which this client does
/// not know.
pub(crate) fn tool_content(content: &[ToolContent]) -> Vec<acp::ToolCallContent> {
    content
        .iter()
        .filter_map(|content| match content {
            ToolContent::Content(content) => {
                Some(acp::ToolCallContent::Content(Box::new(acp::Content::new(content_block(content)))))
            }
            ToolContent::Diff(diff) => Some(acp::ToolCallContent::Diff(patch::diff(diff))),
            ToolContent::Terminal(_) => None,
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

fn tool_status(status: ToolStatus) -> acp::ToolCallStatus {
    match status {
        ToolStatus::Pending => acp::ToolCallStatus::Pending,
        ToolStatus::InProgress => acp::ToolCallStatus::InProgress,
        ToolStatus::Completed => acp::ToolCallStatus::Completed,
        ToolStatus::Cancelled => acp::ToolCallStatus::Cancelled,
        ToolStatus::Failed | ToolStatus::Interrupted => acp::ToolCallStatus::Failed,
    }
}

/// Returns the update for a step of a compaction.
fn compaction(id: &str, step: &CompactionStep) -> Update {
    let id = id.to_owned();
    let update = |status| acp::CompactionUpdate::new(id.clone(), status);
    Update::urgent(acp::SessionUpdate::CompactionUpdate(match step {
        CompactionStep::Started => update(acp::CompactionStatus::InProgress),
        CompactionStep::Text(text) => {
            let chunk = acp::CompactionSummaryChunk::new(id, text.clone().into());
            return Update::urgent(acp::SessionUpdate::CompactionSummaryChunk(chunk));
        }
        CompactionStep::Completed { summary, .. } => {
            update(acp::CompactionStatus::Completed).summary(vec![summary.clone().into()])
        }
        CompactionStep::Failed(why) => update(acp::CompactionStatus::Failed).error(why.clone()),
        CompactionStep::Cancelled => update(acp::CompactionStatus::Cancelled),
    }))
}

/// Returns the update for a complete message, which replaces the chunks sent before.
fn message(kind: ChunkKind, id: &MessageId, text: &str) -> Update {
    let content = vec![acp::ContentBlock::Text(acp::TextContent::new(text))];
    let id = id.as_str().to_owned();
    Update::urgent(match kind {
        ChunkKind::Message => acp::SessionUpdate::AgentMessage(acp::AgentMessage::new(id).content(content)),
        ChunkKind::Thought => acp::SessionUpdate::AgentThought(acp::AgentThought::new(id).content(content)),
    })
}

fn text(text: &str) -> acp::ToolCallContent {
    let text = acp::ContentBlock::Text(acp::TextContent::new(text));
    acp::ToolCallContent::Content(Box::new(acp::Content::new(text)))
}

fn terminal(call: &ToolCallId) -> acp::ToolCallContent {
    acp::ToolCallContent::Terminal(acp::Terminal::new(call.as_str().to_owned()))
}

fn content_block(content: &Content) -> acp::ContentBlock {
    match content {
        Content::Text(text) => acp::ContentBlock::Text(acp::TextContent::new(text.clone())),
        Content::Image { mime_type, data } => {
            acp::ContentBlock::Image(acp::ImageContent::new(data.clone(), mime_type.clone()))
        }
        Content::ResourceLink { uri, name } => {
            acp::ContentBlock::ResourceLink(acp::ResourceLink::new(name.clone(), uri.clone()))
        }
        Content::Resource { uri, mime_type, text } => {
            let text = acp::TextResourceContents::new(text.clone(), uri.clone());
            let text = text.mime_type(mime_type.clone().map(acp::MediaType::new));
            let resource = acp::EmbeddedResourceResource::TextResourceContents(text);
            acp::ContentBlock::Resource(acp::EmbeddedResource::new(resource))
        }
    }
}

fn plan_entry(entry: &PlanEntry) -> acp::PlanEntry {
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
}

#[cfg(test)]
#[path = "to_acp_tests.rs"]
mod tests;
