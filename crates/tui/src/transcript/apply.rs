//! Applies events to the transcript.

use super::{
    Transcript,
    cell::{Body, Cell, CompactionCell, CompactionEnd, Said, ToolCell, UserMessage},
    output::Output,
};
use crate::{
    diff::FileDiff,
    limits::{COMMAND_BYTES, OUTPUT_BYTES, OUTPUTS_BYTES, SHORT_OUTPUT_BYTES, TITLE_CHARS},
};
use agent::{
    Compaction, CompactionStep, Content, Item, LiveOutput, MessageId, ModelResponse, PlanEntry, SessionEvent,
    Severity, StopReason, SubagentState, ToolCallUpdate, ToolContent, ToolStatus, TurnEnd,
};
use std::time::Duration;

impl Transcript {
    /// Applies an event of a stored session.
    pub fn apply(&mut self, event: &SessionEvent) {
        self.apply_at(event, None);
    }

    /// Applies an event. `now` is the time of a live one.
    pub fn apply_at(&mut self, event: &SessionEvent, now: Option<Duration>) {
        match event {
            SessionEvent::UserMessage { id, content } => {
                self.is_begun = true;
                self.add(Body::User(user_message(id, content)));
            }
            SessionEvent::MessageDelta { id, text } => self.say(id, text, Body::Answer),
            SessionEvent::ThoughtDelta { id, text } => self.say(id, text, Body::Thought),
            SessionEvent::ModelResponse(response) => self.response(response),
            SessionEvent::ToolCall(update) => self.tool_call(update, now),
            SessionEvent::PermissionRequested { id, .. } => self.tool(id, |tool| tool.is_asking = true),
            SessionEvent::PermissionResolved { id, outcome, rule } => self.tool(id, |tool| {
                tool.is_asking = false;
                tool.ruling = Some((*outcome, rule.clone()));
            }),
            SessionEvent::Plan(entries) => self.new_plan(entries.clone()),
            SessionEvent::Tasks(tasks) => self.new_plan(agent::plan_of(tasks)),
            SessionEvent::Goal(goal) => {
                let text = goal.as_ref().map(|goal| format!("{} ({})", goal.objective, goal.status.id()));
                if self.goal != text {
                    let value = text.clone().unwrap_or_else(|| "none".to_owned());
                    self.goal = text;
                    self.changed("goal", value);
                }
            }
            SessionEvent::ModeChanged(mode) => self.changed("mode", mode.id().to_owned()),
            SessionEvent::PermissionModeChanged(mode) => {
                self.changed("permission mode", mode.id().to_owned());
            }
            SessionEvent::ModelChanged(model) => self.changed("model", model.clone()),
            SessionEvent::EffortChanged(effort) => {
                let value = effort.as_ref().map_or("default", |effort| effort.id());
                self.changed("effort", value.to_owned());
            }
            SessionEvent::TitleChanged(title) => self.title = Some(agent::label(title, TITLE_CHARS)),
            SessionEvent::Notice { severity, title, description } => self.add(Body::Notice {
                severity: *severity,
                title: title.clone(),
                description: description.clone().filter(|text| !text.trim().is_empty()),
            }),
            SessionEvent::Shell(shell) => {
                if let Some(end) = &shell.end {
                    let severity =
                        if end.success || end.stopped { Severity::Info } else { Severity::Warning };
                    let title = format!("background command {} {}", shell.id, shell.outcome());
                    let description = Some(shell.command.clone());
                    self.add(Body::Notice { severity, title, description });
                }
            }
            SessionEvent::Subagent(state) => self.subagent(state),
            SessionEvent::Rewound(rewound) => {
                let files = rewound.files.iter().map(|file| file.path.as_str().to_owned());
                let files = files.collect();
                self.add(Body::Rewound { to: rewound.to, files });
            }
            SessionEvent::Compaction(compaction) => self.compaction(compaction),
            SessionEvent::TurnStarted { .. } => self.settle(),
            SessionEvent::TurnEnded { turn, end } => {
                self.settle();
                match end {
                    TurnEnd::Failed(message) => {
                        self.add(Body::Failure { turn: turn.clone(), message: message.clone() });
                    }
                    TurnEnd::Stopped(reason) => {
                        let why = match reason {
                            StopReason::EndTurn => return,
                            StopReason::MaxTokens => "the model's output limit was reached",
                            StopReason::MaxTurnRequests => "the limit of requests in one turn was reached",
                            StopReason::Refusal => "the model refused",
                            StopReason::Cancelled => "cancelled",
                        };
                        self.add(Body::Stopped { turn: turn.clone(), why });
                    }
                }
            }
            SessionEvent::Usage(_)
            | SessionEvent::Phase(_)
            | SessionEvent::Commands(_)
            | SessionEvent::Swarm(_)
            | SessionEvent::FileChanged(_)
            | SessionEvent::ResultsLeftOut(_)
            | SessionEvent::Prefix(_)
            | SessionEvent::Briefing(_) => {}
        }
    }

    fn add(&mut self, body: Body) {
        self.cells.push(Cell::new(body));
    }

    fn changed(&mut self, what: &'static str, value: String) {
        if self.is_begun {
            self.add(Body::Changed { what, value });
        }
    }

    fn change(&mut self, at: usize) -> &mut Cell {
        let cell = &mut self.cells[at];
        cell.revision = cell.revision.wrapping_add(1);
        cell
    }

    /// Appends to a text of the model; the first piece that is not empty adds the cell.
    fn say(&mut self, id: &MessageId, text: &str, new: fn(Said) -> Body) {
        if text.is_empty() {
            return;
        }
        match self.answers.get(id) {
            Some(at) => {
                let at = *at;
                if let Body::Answer(said) | Body::Thought(said) = &mut self.change(at).body {
                    said.text.push_str(text);
                }
            }
            None => {
                self.answers.insert(id.clone(), self.cells.len());
                self.add(new(Said { id: id.clone(), text: text.to_owned(), is_done: false }));
            }
        }
    }

    /// Takes a complete answer, which may have been streamed before.
    fn response(&mut self, response: &ModelResponse) {
        let mut said: Vec<(&MessageId, String, bool)> = Vec::new();
        for item in &response.items {
            let of = match item {
                Item::Text(text) if !text.text.is_empty() => Some((&response.id, response.text(), true)),
                Item::Reasoning(thought) if !thought.text.is_empty() => {
                    Some((&response.thought_id, response.thoughts(), false))
                }
                _ => None,
            };
            if let Some(new) = of.filter(|(id, ..)| said.iter().all(|(other, ..)| id != other)) {
                said.push(new);
            }
        }
        for (id, text, is_answer) in said {
            if !self.answers.contains_key(id) {
                self.say(id, &text, if is_answer { Body::Answer } else { Body::Thought });
            }
            if let Some(at) = self.answers.get(id).copied()
                && let Body::Answer(said) | Body::Thought(said) = &mut self.change(at).body
            {
                said.text = text;
            }
        }
        for id in [&response.id, &response.thought_id] {
            if let Some(at) = self.answers.remove(id)
                && let Body::Answer(said) | Body::Thought(said) = &mut self.change(at).body
            {
                said.is_done = true;
            }
        }
    }

    /// Ends the texts that were being streamed: nothing of them follows after a turn.
    fn settle(&mut self) {
        for at in std::mem::take(&mut self.answers).into_values() {
            if let Body::Answer(said) | Body::Thought(said) = &mut self.change(at).body {
                said.is_done = true;
            }
        }
    }

    fn tool(&mut self, id: &agent::ToolCallId, change: impl FnOnce(&mut ToolCell)) {
        if let Some(at) = self.tools.get(id).copied()
            && let Body::Tool(tool) = &mut self.change(at).body
        {
            change(tool);
        }
    }

    fn tool_call(&mut self, update: &ToolCallUpdate, now: Option<Duration>) {
        let at = match self.tools.get(&update.id) {
            Some(at) => *at,
            None => {
                let at = self.cells.len();
                self.tools.insert(update.id.clone(), at);
                let tool = ToolCell {
                    id: Some(update.id.clone()),
                    name: agent::label(&update.name, TITLE_CHARS),
                    status: Some(ToolStatus::Pending),
                    ..ToolCell::default()
                };
                self.add(Body::Tool(Box::new(tool)));
                at
            }
        };
        if let (Some(ToolStatus::InProgress), Some(now)) = (update.status, now) {
            self.started.entry(at).or_insert(now);
        }
        let Body::Tool(tool) = &mut self.change(at).body else { return };
        update_tool(tool, update);
        if update.status.is_some_and(ToolStatus::is_final) {
            let bytes = bytes(tool);
            self.tools.remove(&update.id);
            if let (Some(start), Some(now)) = (self.started.remove(&at), now) {
                self.elapsed.insert(at, now.saturating_sub(start));
            }
            self.keep(at, bytes);
        }
    }

    /// Counts the output of a call that ended, and shortens the oldest outputs if all are too much.
    fn keep(&mut self, at: usize, size: usize) {
        if size <= SHORT_OUTPUT_BYTES {
            return;
        }
        self.outputs.push_back(at);
        self.output_bytes += size;
        while self.output_bytes > OUTPUTS_BYTES
            && let Some(oldest) = self.outputs.pop_front()
        {
            let Body::Tool(tool) = &mut self.change(oldest).body else { continue };
            let before = bytes(tool);
            tool.output.shorten(SHORT_OUTPUT_BYTES);
            for diff in &mut tool.diffs {
                diff.left_out += diff.lines.len();
                diff.lines = Vec::new();
            }
            tool.command = None;
            self.output_bytes -= before;
        }
    }

    fn new_plan(&mut self, plan: Vec<PlanEntry>) {
        if self.plan != plan {
            self.plan.clone_from(&plan);
            self.add(Body::Plan(plan));
        }
    }

    fn subagent(&mut self, state: &SubagentState) {
        let status = state.progress.status;
        let before = self.subagents.insert(state.id.clone(), status);
        if before.is_none_or(|before| before.is_final() && !status.is_final()) {
            let (kind, task) = (state.request.kind.clone(), state.request.task.clone());
            self.add(Body::SubagentStarted { id: state.id.clone(), kind, task });
        }
        if status.is_final() && before != Some(status) {
            let result = state.progress.error.clone().or_else(|| state.result.clone()).unwrap_or_default();
            self.add(Body::SubagentEnded { id: state.id.clone(), status, result });
        }
    }

    fn compaction(&mut self, Compaction { id, step }: &Compaction) {
        let end = match step {
            CompactionStep::Started => None,
            CompactionStep::Text(_) => return,
            CompactionStep::Completed { summary, .. } => Some(CompactionEnd::Done(summary.clone())),
            CompactionStep::Failed(why) => Some(CompactionEnd::Failed(why.clone())),
            CompactionStep::Cancelled => Some(CompactionEnd::Cancelled),
        };
        let open = match end {
            Some(_) => self.compactions.remove(id),
            None => self.compactions.get(id).copied(),
        };
        match open {
            Some(at) => self.change(at).body = Body::Compaction(CompactionCell { id: id.clone(), end }),
            None => {
                if end.is_none() {
                    self.compactions.insert(id.clone(), self.cells.len());
                }
                self.add(Body::Compaction(CompactionCell { id: id.clone(), end }));
            }
        }
    }
}

fn update_tool(tool: &mut ToolCell, update: &ToolCallUpdate) {
    let display = &update.display;
    let is_stored = update.status.is_some();
    let is_final = update.status.is_some_and(ToolStatus::is_final);
    if let Some(title) = &display.title {
        let title = agent::label(title, TITLE_CHARS);
        match is_stored {
            true => (tool.title, tool.progress) = (title, None),
            false => tool.progress = Some(title),
        }
    }
    if is_stored {
        tool.status = update.status;
        tool.kind = display.kind.or(tool.kind);
    }
    if let Some(input) = display.raw_input.as_ref().filter(|_| is_stored) {
        tool.lines = read_lines(input);
        tool.command = input["command"].as_str().map(|command| {
            let kept = agent::floor_char_boundary(command, COMMAND_BYTES);
            command[..kept].to_owned()
        });
    }
    if is_final {
        tool.progress = None;
        tool.is_asking = false;
        if std::mem::take(&mut tool.is_live) {
            (tool.output, tool.diffs) = (Output::default(), Vec::new());
        }
    }
    if let Some(content) = &display.content {
        show(tool, content);
        tool.is_live |= !is_stored;
    }
    if let Some(LiveOutput::Text(text)) = &update.output {
        tool.output.push(text, OUTPUT_BYTES);
        tool.is_live = true;
    }
    if let Some(result) = &update.result
        && tool.diffs.is_empty()
        && tool.output.text().is_empty()
    {
        tool.output = Output::of(result.text.clone(), OUTPUT_BYTES);
    }
}

/// Replaces what a call shows.
fn show(tool: &mut ToolCell, content: &[ToolContent]) {
    let mut text = String::new();
    tool.diffs.clear();
    for content in content {
        let part = match content {
            ToolContent::Diff(diff) => {
                tool.diffs.push(FileDiff::of(diff));
                continue;
            }
            ToolContent::Content(Content::Text(text) | Content::Resource { text, .. }) => without_fence(text),
            ToolContent::Content(Content::Image { mime_type, .. }) => &format!("[image {mime_type}]"),
            ToolContent::Content(Content::ResourceLink { uri, .. }) => uri,
            ToolContent::Terminal(_) => continue,
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(part);
    }
    tool.output = Output::of(text, OUTPUT_BYTES);
}

/// Returns the code of a text that is one block of code.
fn without_fence(text: &str) -> &str {
    let inner = || {
        let (first, rest) = text.split_once('\n')?;
        let ticks = first.len() - first.trim_start_matches('`').len();
        let end = rest.trim_end().strip_suffix(&first[..ticks])?;
        (ticks >= 3).then_some(end.strip_suffix('\n').unwrap_or(end))
    };
    inner().unwrap_or(text)
}

/// Returns the lines that a call reads, of its arguments `offset` and `limit`.
fn read_lines(input: &serde_json::Value) -> Option<String> {
    let first = input["offset"].as_i64().filter(|first| *first > 0);
    match (first, input["limit"].as_u64()) {
        (None, None) => None,
        (Some(first), None) => Some(format!("{first}–")),
        (first, Some(count)) => {
            let first = first.unwrap_or(1).unsigned_abs();
            Some(format!("{first}–{}", first.saturating_add(count.saturating_sub(1))))
        }
    }
}

fn user_message(id: &MessageId, content: &[Content]) -> UserMessage {
    let (mut text, mut attachments) = (String::new(), Vec::new());
    for content in content {
        match content {
            Content::Text(part) => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(part);
            }
            // Three bytes are four characters of base64.
            Content::Image { mime_type, data } => {
                attachments.push(format!("image {mime_type}, {} kB", (data.len() / 4 * 3).div_ceil(1000)));
            }
            Content::ResourceLink { name, uri } => {
                attachments.push(if name.is_empty() { uri.clone() } else { name.clone() });
            }
            Content::Resource { uri, text, .. } => {
                attachments.push(format!("{uri}, {} lines", text.lines().count()));
            }
        }
    }
    UserMessage { id: id.clone(), text, attachments }
}

/// Returns the bytes of a call's output and changes.
fn bytes(tool: &ToolCell) -> usize {
    let line = |line: &crate::diff::DiffLine| line.text.len() + size_of::<crate::diff::DiffLine>();
    let diffs: usize = tool.diffs.iter().flat_map(|diff| &diff.lines).map(line).sum();
    tool.output.text().len() + diffs + tool.command.as_ref().map_or(0, String::len)
}
