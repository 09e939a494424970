//! From the domain to the wire: events become session updates. The last lines that see domain types on the way out.

use super::{display, settings::config_options};
use crate::{
    connection::{self, ChunkKind, money, settings::Settings},
    limits::LIVE_TEXT_BYTES,
};
use agent::{
    Compaction, CompactionStep, Content, Diff, LiveOutput, Location, MessageId, ModelInfo, ModelResponse,
    PlanEntry, PlanPriority, PlanStatus, SessionEvent, Severity, SlashCommand, StopReason, ToolCallId,
    ToolCallUpdate, ToolContent, ToolKind, ToolStatus, UsageUpdate,
};
use agent_client_protocol::v1::schema as acp;
use std::collections::HashMap;

type Update = connection::Update<acp::SessionUpdate>;

/// Turns a session's events into updates. Keeps what one event must know of those before it.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// The calls the client knows and that have not ended, with what each shows.
    calls: HashMap<ToolCallId, Shown>,
    /// The messages that were streamed since the last whole answer: their text is not sent again.
    streamed: Vec<MessageId>,
    /// What the session is set to, once known.
    settings: Option<Settings>,
    /// Whether the client takes notices.
    notices: bool,
    /// Whether the client is told of the summing up of the conversation.
    compaction: bool,
    /// Whether the client shows the output of commands that run here in terminals of its own.
    displays: bool,
    /// Whether the client is told what the model was told of a call.
    raw_output: bool,
    /// Whether stored events are played back.
    replay: bool,
    /// Whether the last that was told is a thought of the model that has not ended with a line end.
    thinking: bool,
    /// How many notices were told as thoughts.
    thoughts: u32,
    /// The plan as the client was told last.
    plan: Option<Vec<PlanEntry>>,
}

/// What a call shows, as far as later updates must know it.
#[derive(Debug, Default)]
struct Shown {
    anything: bool,
    terminals: Vec<acp::ToolCallContent>,
    /// The call as it was announced.
    announced: Option<Box<acp::ToolCall>>,
    /// The last of its command's output, where that is shown as text.
    tail: String,
    /// Whether its command's output is shown in a terminal that the client made for it. Its id is the call's.
    displayed: bool,
}

/// What a client takes beside what every client does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Takes {
    /// Notices.
    pub(crate) notices: bool,
    /// How the summing up of the conversation goes.
    pub(crate) compaction: bool,
    /// Output of commands that run here, in terminals of its own.
    pub(crate) displays: bool,
    /// What the model was told of a call, as its raw output.
    pub(crate) raw_output: bool,
}

impl Projection {
    /// A projection of what happens now.
    pub(crate) fn live(takes: Takes) -> Self {
        let Takes { notices, compaction, displays, raw_output } = takes;
        Self { notices, compaction, displays, raw_output, ..Self::default() }
    }

    /// A projection of what happened before: it tells the user's messages too, and not how the settings changed (the answer does).
    pub(crate) fn replay(takes: Takes) -> Self {
        Self { replay: true, ..Self::live(Takes { notices: false, ..takes }) }
    }

    /// The updates of an event, in order.
    pub(crate) fn updates(
        &mut self,
        event: &SessionEvent,
        models: impl FnOnce() -> Vec<ModelInfo>,
    ) -> Vec<Update> {
        match event {
            SessionEvent::UserMessage { id, content } if self.replay => content
                .iter()
                .map(|content| {
                    Update::urgent(acp::SessionUpdate::UserMessageChunk(chunk(id, content_block(content))))
                })
                .collect(),
            SessionEvent::MessageDelta { id, text } => self.delta(ChunkKind::Message, id, text),
            SessionEvent::ThoughtDelta { id, text } => self.delta(ChunkKind::Thought, id, text),
            SessionEvent::ModelResponse(response) => self.response(response),
            SessionEvent::ToolCall(update) => match &update.output {
                Some(output) => self.output(&update.id, output).into_iter().collect(),
                None => vec![self.tool_call(update)],
            },
            SessionEvent::Plan(entries) if self.plan.as_ref() == Some(entries) => Vec::new(),
            SessionEvent::Plan(entries) => {
                self.plan = Some(entries.clone());
                vec![Update::urgent(acp::SessionUpdate::Plan(plan(entries)))]
            }
            SessionEvent::Usage(used) => vec![Update::urgent(usage(used))],
            SessionEvent::TitleChanged(title) => {
                let info = acp::SessionInfoUpdate::new().title(title.clone());
                vec![Update::urgent(acp::SessionUpdate::SessionInfoUpdate(info))]
            }
            SessionEvent::ModeChanged(mode) if !self.replay => {
                let current = acp::SessionUpdate::CurrentModeUpdate(acp::CurrentModeUpdate::new(mode.id()));
                let mut updates = vec![Update::urgent(current)];
                updates.extend(self.changed(models, |settings| settings.mode = *mode));
                updates
            }
            SessionEvent::PermissionModeChanged(mode) if !self.replay => {
                self.changed(models, |settings| settings.permission_mode = *mode).into_iter().collect()
            }
            SessionEvent::ModelChanged(model) if !self.replay => {
                self.changed(models, |settings| settings.model.clone_from(model)).into_iter().collect()
            }
            SessionEvent::EffortChanged(effort) if !self.replay => {
                self.changed(models, |settings| settings.effort = *effort).into_iter().collect()
            }
            SessionEvent::Notice { severity, title, description } => {
                self.notice(*severity, title, description.as_deref()).into_iter().collect()
            }
            SessionEvent::Commands(commands) => vec![available_commands(commands)],
            SessionEvent::Compaction(compaction) => self.compaction(compaction).into_iter().collect(),
            SessionEvent::TurnStarted { .. }
            | SessionEvent::UserMessage { .. }
            | SessionEvent::PermissionRequested { .. }
            | SessionEvent::PermissionResolved { .. }
            | SessionEvent::ModeChanged(_)
            | SessionEvent::PermissionModeChanged(_)
            | SessionEvent::ModelChanged(_)
            | SessionEvent::EffortChanged(_)
            | SessionEvent::Phase(_)
            | SessionEvent::Swarm(_)
            | SessionEvent::FileChanged(_)
            | SessionEvent::ResultsLeftOut(_)
            | SessionEvent::Prefix(_)
            | SessionEvent::Briefing(_)
            | SessionEvent::Rewound(_)
            | SessionEvent::TurnEnded { .. } => Vec::new(),
        }
    }

    fn delta(&mut self, kind: ChunkKind, id: &MessageId, text: &str) -> Vec<Update> {
        if text.is_empty() {
            return Vec::new();
        }
        self.thinking = kind == ChunkKind::Thought && !text.ends_with('\n');
        if !self.streamed.contains(id) {
            self.streamed.push(id.clone());
        }
        vec![Update::Chunk { kind, id: id.clone(), text: text.to_owned() }]
    }

    /// The text of a whole answer, where its pieces were not streamed.
    fn response(&mut self, response: &ModelResponse) -> Vec<Update> {
        let streamed = std::mem::take(&mut self.streamed);
        let (thought, text) = (response.thoughts(), response.text());
        [
            (ChunkKind::Thought, &response.thought_id, thought.trim_end()),
            (ChunkKind::Message, &response.id, text.as_str()),
        ]
        .into_iter()
        .filter(|(_, id, text)| !text.is_empty() && !streamed.contains(*id))
        .map(|(kind, id, text)| Update::Chunk { kind, id: id.clone(), text: text.to_owned() })
        .collect()
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

    /// What the model was told of a call that has ended, for clients that take it.
    fn raw_output(&self, update: &ToolCallUpdate) -> Option<serde_json::Value> {
        let ended = update.status.filter(|status| self.raw_output && status.is_final())?;
        let output = update.result.as_ref().map_or("", |result| result.text.as_str());
        Some(serde_json::json!({ "output": output, "success": ended == ToolStatus::Completed }))
    }

    /// A command's output as it comes: into a terminal of the client, or as text, the last of it each time.
    fn output(&mut self, call: &ToolCallId, output: &LiveOutput) -> Option<Update> {
        let shown = self.calls.get_mut(call)?;
        match output {
            LiveOutput::Started { cwd } if self.displays => {
                let terminal = acp::ToolCallContent::Terminal(acp::Terminal::new(call.as_str().to_owned()));
                *shown = Shown {
                    anything: true,
                    terminals: vec![terminal.clone()],
                    displayed: true,
                    announced: shown.announced.take(),
                    tail: String::new(),
                };
                // Only an announcement can make a terminal, so the call is announced again.
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
                let cut = tail.len().saturating_sub(LIVE_TEXT_BYTES);
                let cut = (cut..tail.len()).find(|at| tail.is_char_boundary(*at)).unwrap_or(tail.len());
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

    /// What the call shows now, if that changes. Its terminals survive a text that is added at the end.
    fn content(&mut self, update: &ToolCallUpdate) -> Option<Vec<acp::ToolCallContent>> {
        let mut content = update.content.as_deref().map(tool_content);
        let shown = self.calls.entry(update.id.clone()).or_default();
        if shown.displayed && content.is_some() {
            // The terminal has the text already.
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
                // Nothing of its own to show: what the model was told.
                let result = update.result.as_ref().filter(|result| !result.text.is_empty())?;
                return Some(vec![result.text.clone().into()]);
            }
            _ => return content,
        };
        content.get_or_insert_with(|| shown.terminals.clone()).push(word.into());
        content
    }

    fn changed(
        &mut self,
        models: impl FnOnce() -> Vec<ModelInfo>,
        change: impl FnOnce(&mut Settings),
    ) -> Option<Update> {
        let settings = self.settings.as_mut()?;
        change(settings);
        let options = acp::ConfigOptionUpdate::new(config_options(settings, &models()));
        Some(Update::urgent(acp::SessionUpdate::ConfigOptionUpdate(options)))
    }

    /// A notice, or a thought for a client that takes none; what is only good to know is then left out.
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

    /// Something for the user, for a client that has no other place for it: a message of its own,
    /// and a paragraph of its own for clients that join all thoughts.
    fn thought(&mut self, text: &str) -> Update {
        let before = if std::mem::take(&mut self.thinking) { "\n\n" } else { "" };
        self.thoughts += 1;
        let chunk = acp::ContentChunk::new(format!("{before}{text}\n\n").into())
            .message_id(acp::MessageId::new(format!("notice_{}", self.thoughts)));
        Update::urgent(acp::SessionUpdate::AgentThoughtChunk(chunk))
    }

    /// How the summing up of the conversation goes; for a client that is not told of it, a thought while it goes on and where it fails.
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

/// A piece of a message.
pub(crate) fn chunk(id: &MessageId, content: acp::ContentBlock) -> acp::ContentChunk {
    acp::ContentChunk::new(content).message_id(acp::MessageId::new(id.as_str()))
}

/// The slash commands that a prompt may be.
pub(crate) fn available_commands(commands: &[SlashCommand]) -> Update {
    let command = |command: &SlashCommand| {
        let hint = |hint| acp::AvailableCommandInput::Unstructured(acp::UnstructuredCommandInput::new(hint));
        let input = command.hint.as_deref().map(hint);
        acp::AvailableCommand::new(&*command.name, &*command.description).input(input)
    };
    let update = acp::AvailableCommandsUpdate::new(commands.iter().map(command).collect());
    Update::urgent(acp::SessionUpdate::AvailableCommandsUpdate(update))
}

/// Why a turn stopped.
pub(crate) fn stop_reason(reason: StopReason) -> acp::StopReason {
    match reason {
        StopReason::EndTurn => acp::StopReason::EndTurn,
        StopReason::MaxTokens => acp::StopReason::MaxTokens,
        StopReason::MaxTurnRequests => acp::StopReason::MaxTurnRequests,
        StopReason::Refusal => acp::StopReason::Refusal,
        StopReason::Cancelled => acp::StopReason::Cancelled,
    }
}

/// What kind of thing a tool does.
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

/// What a tool call shows.
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

/// Where a tool call works.
pub(crate) fn locations(locations: &[Location]) -> Vec<acp::ToolCallLocation> {
    locations
        .iter()
        .map(|location| {
            let line = location.line.and_then(|line| u32::try_from(line).ok());
            acp::ToolCallLocation::new(location.path.as_std()).line(line)
        })
        .collect()
}

fn new_call(update: &ToolCallUpdate, content: Option<Vec<acp::ToolCallContent>>) -> acp::ToolCall {
    let title = update.title.as_deref().unwrap_or(&update.name);
    acp::ToolCall::new(update.id.as_str().to_owned(), title)
        .name(update.name.clone())
        .kind(update.kind.map_or(acp::ToolKind::Other, tool_kind))
        .status(update.status.map_or(acp::ToolCallStatus::Pending, tool_status))
        .content(content.unwrap_or_default())
        .locations(update.locations.as_deref().map(locations).unwrap_or_default())
        .raw_input(update.raw_input.clone())
}

fn changed_fields(
    update: &ToolCallUpdate,
    content: Option<Vec<acp::ToolCallContent>>,
) -> acp::ToolCallUpdateFields {
    acp::ToolCallUpdateFields::new()
        .title(update.title.clone())
        .kind(update.kind.map(tool_kind))
        .status(update.status.map(tool_status))
        .content(content)
        .locations(update.locations.as_deref().map(locations))
        .raw_input(update.raw_input.clone())
}

/// The protocol's first version knows neither cancelled nor interrupted calls: they fail, and a text says how.
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
        .cost(usage.total.cost.map(|cost| acp::Cost::new(cost.dollars(), money::CURRENCY)))
        .meta(money::left_out(usage.total));
    acp::SessionUpdate::UsageUpdate(shown)
}

#[cfg(test)]
#[path = "to_acp_tests.rs"]
mod tests;
