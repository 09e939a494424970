//! Applies events to the transcript.

use super::{OpenSaid, Transcript, call};
use crate::{
    limits::{OUTPUTS_BYTES, SHORT_OUTPUT_BYTES, TITLE_CHARS},
    transcript::cell::{Body, Cell, CompactionCell, CompactionEnd, Heading, Said, ToolCell, UserMessage},
};
use agent::{
    Compaction, CompactionStep, Content, Item, MessageId, ModelResponse, Phase, PlanEntry, SessionEvent,
    Severity, StopReason, SubagentState, ToolCallUpdate, ToolStatus, TurnEnd, TurnId,
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
            SessionEvent::MessageDelta { id, text } => self.say(id, text, true),
            SessionEvent::ThoughtDelta { id, text } => self.say(id, text, false),
            SessionEvent::ModelResponse(response) => self.response(response),
            SessionEvent::ToolCall(update) => self.tool_call(update, now),
            SessionEvent::PermissionRequested { id, .. } => {
                self.tool(id, |tool| tool.permission.is_asking = true)
            }
            SessionEvent::PermissionResolved { id, outcome, rule } => self.tool(id, |tool| {
                tool.permission.is_asking = false;
                tool.permission.ruling = Some((*outcome, rule.clone()));
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
            SessionEvent::ModelChanged(model) => {
                self.model = Some(model.clone());
                self.changed("model", model.clone());
            }
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
                        let failure = self.failure(turn, message);
                        self.add(failure);
                    }
                    TurnEnd::Stopped(reason) => {
                        let why = match reason {
                            StopReason::EndTurn | StopReason::Suspended => return,
                            StopReason::MaxTokens => "the model's output limit was reached",
                            StopReason::MaxTurnRequests => "the limit of requests in one turn was reached",
                            StopReason::Refusal => "the model refused",
                            StopReason::Cancelled => "cancelled",
                        };
                        self.add(Body::Stopped { turn: turn.clone(), why });
                    }
                }
            }
            // The end of a call that is still open could not be stored.
            SessionEvent::Phase(Phase::Idle) => {
                let mut open: Vec<_> = self.tools.keys().cloned().collect();
                open.sort();
                for id in open {
                    self.tool_call(&ToolCallUpdate::of(id, "").status(ToolStatus::Interrupted), now);
                }
            }
            SessionEvent::Usage(_)
            | SessionEvent::BranchChanged(_)
            | SessionEvent::Phase(_)
            | SessionEvent::Commands(_)
            | SessionEvent::Swarm(_)
            | SessionEvent::FileChanged(_)
            | SessionEvent::NetworkUsed(_)
            | SessionEvent::ResultsLeftOut(_)
            | SessionEvent::AnswerPart(_)
            | SessionEvent::Briefing(_) => {}
            SessionEvent::Prefix(prefix) => self.model = Some(prefix.model.clone()),
        }
    }

    fn add(&mut self, body: Body) {
        self.cells.push(Cell::new(body));
    }

    /// Returns the cell of a turn that failed. The message says at its end what to do.
    fn failure(&self, turn: &TurnId, message: &str) -> Body {
        let (what, next) = message.rsplit_once("; ").unwrap_or((message, ""));
        let provider = self.model.as_deref().and_then(|model| model.split('/').next());
        Body::Failure {
            turn: turn.clone(),
            provider: provider.map(str::to_owned).filter(|provider| !provider.is_empty()),
            what: what.to_owned(),
            next: next.to_owned(),
        }
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

    /// Appends to a text of the model. A piece of another kind ends the one before: each run of
    /// text or of reasoning is a cell.
    fn say(&mut self, id: &MessageId, text: &str, is_answer: bool) {
        let open =
            self.said.last().filter(|open| open.is_open && (&open.id, open.is_answer) == (id, is_answer));
        if let Some(open) = open {
            let at = open.cell;
            if let Some(said) = said_of(&mut self.change(at).body) {
                said.text.push_str(text);
            }
            return;
        }
        // Line breaks at the beginning separate it from the run before.
        let text = text.trim_start_matches('\n');
        if !text.is_empty() {
            self.end_said();
            self.said.push(OpenSaid { id: id.clone(), is_answer, cell: self.cells.len(), is_open: true });
            let said = Said { id: id.clone(), text: text.to_owned(), is_done: false };
            self.add(if is_answer { Body::Answer(said) } else { Body::Thought(said) });
        }
    }

    /// Ends the text that is being streamed, if there is one.
    fn end_said(&mut self) {
        if let Some(open) = self.said.last_mut().filter(|open| open.is_open) {
            open.is_open = false;
            let at = open.cell;
            if let Some(said) = said_of(&mut self.change(at).body) {
                said.is_done = true;
            }
        }
    }

    /// Takes a complete answer, which may have been streamed before.
    fn response(&mut self, response: &ModelResponse) {
        let streamed = std::mem::take(&mut self.said);
        let mut streamed =
            streamed.into_iter().filter(|open| [&response.id, &response.thought_id].contains(&&open.id));
        for (is_answer, text) in runs(response) {
            let Some(known) = streamed.next() else {
                let id = if is_answer { &response.id } else { &response.thought_id };
                self.say(id, &text, is_answer);
                continue;
            };
            let cell = &mut self.cells[known.cell];
            let of_kind = known.is_answer == is_answer;
            if let Some(said) = said_of(&mut cell.body)
                && of_kind
                && (said.text != text || !said.is_done)
            {
                (said.text, said.is_done) = (text, true);
                cell.revision = cell.revision.wrapping_add(1);
            }
        }
        for rest in streamed.filter(|rest| rest.is_open) {
            if let Some(said) = said_of(&mut self.change(rest.cell).body) {
                said.is_done = true;
            }
        }
        self.settle();
    }

    /// Ends the texts of an answer: nothing of them follows.
    fn settle(&mut self) {
        self.end_said();
        self.said.clear();
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
                    heading: Heading { name: agent::label(&update.name, TITLE_CHARS), ..Heading::default() },
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
        call::update(tool, update);
        if update.status.is_some_and(ToolStatus::is_final) {
            let bytes = call::bytes(tool);
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
            let before = call::bytes(tool);
            tool.shown.output.shorten(SHORT_OUTPUT_BYTES);
            for diff in &mut tool.shown.diffs {
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

fn said_of(body: &mut Body) -> Option<&mut Said> {
    match body {
        Body::Answer(said) | Body::Thought(said) => Some(said),
        _ => None,
    }
}

/// Returns the runs of text (true) and of reasoning in an answer, as they are streamed.
fn runs(response: &ModelResponse) -> Vec<(bool, String)> {
    let mut runs: Vec<(bool, Vec<Item<_>>)> = Vec::new();
    for item in &response.items {
        let (is_answer, text) = match item {
            Item::Text(text) => (true, &text.text),
            Item::Reasoning(thought) => (false, &thought.text),
            Item::Call(_) | Item::Other(_) => continue,
        };
        let is_blank = text.trim_start_matches('\n').is_empty();
        match runs.last_mut() {
            Some((last, items)) if *last == is_answer => items.push(item.clone()),
            _ if is_blank => {}
            _ => runs.push((is_answer, vec![item.clone()])),
        }
    }
    let text_of = |(is_answer, items)| {
        let run = ModelResponse {
            items,
            ..ModelResponse::from_text(response.id.clone(), response.thought_id.clone(), "", "")
        };
        let text = if is_answer { run.text() } else { run.thoughts() };
        (is_answer, text.trim_start_matches('\n').to_owned())
    };
    runs.into_iter().map(text_of).collect()
}

fn user_message(id: &MessageId, content: &[Content]) -> UserMessage {
    // As it is typed, not as the session's command for it.
    if let Some(line) = agent::own_command(content) {
        return UserMessage { id: id.clone(), text: format!("! {line}"), attachments: Vec::new() };
    }
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
