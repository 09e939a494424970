//! Rebuilds a session's conversation from its stored events.
//!
//! Architecture Invariant: this is the only place that decides how an event changes what models are
//! sent. The running session applies each event as it is recorded, a session that is opened applies
//! the same events from the log, and nothing else changes a conversation.

use crate::{
    AnswerPart, Briefing, CompactionId, CompactionStep, Content, Goal, GoalStatus, History, MessageId,
    ModelResponse, Prefix, SessionEvent, StopReason, Task, ToolCallId, ToolCallUpdate, ToolResult,
    ToolStatus, TurnEnd, TurnId, Usage, UsageUpdate, apply_to_goal,
    event::PROCESS_ENDED,
    event::network::NetworkTotals,
    event::prefix::{Known, SharedPrefixes},
    goal,
    history::context_usage::ContextUsage,
    history::prompts::{Prompts, Spent},
    input::{attachments, commands},
    limits::TASKS,
    task,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};
use system::AbsPath;

/// The result sent to the model for a call that was running when the process ended.
pub(super) const INTERRUPTED: &str = "The process ended while this call was running. It may have had an effect or not; it was not run again. \
                           Check before you repeat it.";
/// The result sent to the model for a call that had not begun when the process ended.
const NEVER_RAN: &str = "This call was not run: the process ended before it began.";

/// The tools whose locations are files that the session works on.
const FILE_TOOLS: [&str; 4] = ["file_read", "file_write", "file_edit", "apply_patch"];

/// The name of the fact about the active goal.
pub(crate) const GOAL_FACT: &str = "goal";
/// The name of the fact about the open tasks.
pub(crate) const TASKS_FACT: &str = "tasks";

/// The state of a session derived from its events, as far as the next model request depends on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conversation {
    history: History,
    /// Counters of turns, calls, messages and compactions so far, from which the next ids are made.
    turns: u64,
    calls: u64,
    messages: u64,
    compactions: u64,
    /// Consecutive compaction failures. After a limited number, compaction is no longer tried
    /// automatically.
    failures: u32,
    /// Tokens used so far, without those of subagents.
    usage: Usage,
    /// The same by model.
    usage_by_model: BTreeMap<String, Usage>,
    /// Tokens used by each subagent so far, at every level.
    subagents: BTreeMap<String, Usage>,
    /// How full the model's context is.
    fill: ContextUsage,
    /// The use of the network by commands.
    network: NetworkTotals,
    /// Tokens in the model's context, from the last usage event.
    context_used: u64,
    /// The models that have answered.
    answered: BTreeSet<String>,
    /// The files that were attached, read or written.
    files: BTreeSet<AbsPath>,
    /// The fixed beginning of the requests, by model id.
    prefixes: BTreeMap<String, Arc<Prefix>>,
    /// The facts that Tiller itself sent to the model, each with the index of the message that
    /// holds them.
    sent_facts: Vec<(usize, Known)>,
    /// The session's tasks.
    tasks: Arc<[Task]>,
    goal: Option<Goal>,
    /// The call whose result shows the current tasks to the model.
    tasks_shown: Option<ToolCallId>,
    /// The call that the last event ended.
    ended: Option<ToolCallId>,
    /// The running turn.
    turn: Option<TurnId>,
    /// The last entry of the running turn.
    last: Last,
    /// The prompts that have ids.
    prompts: Prompts,
    /// The last prompt that went to the model.
    prompt: Option<MessageId>,
    /// Whether the last turn with that prompt failed.
    failed: bool,
    /// The prompt before it, and whether its last turn failed.
    before: (Option<MessageId>, bool),
    /// The last response, while some of its calls have no result.
    pending: Option<Pending>,
    /// The stored parts of the answer that the model is writing.
    part: Option<AnswerPart>,
    /// Calls that began and were not settled: those of the last response and the nested calls they
    /// made.
    begun: BTreeMap<ToolCallId, (String, ToolStatus)>,
    /// The locations of calls that have not ended.
    places: HashMap<ToolCallId, Vec<AbsPath>>,
}

/// A prompt whose turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unanswered {
    /// Its message.
    pub(crate) message: MessageId,
    /// Its text.
    pub(crate) text: String,
}

/// What a response without a model answers.
#[derive(Debug, Clone, Default)]
enum Last {
    /// The turn began and has no message yet.
    Beginning,
    /// A slash command, which is not part of the conversation with the model.
    Command(Vec<Content>),
    /// A prompt of the user is the last message.
    Prompt,
    #[default]
    Other,
}

/// A response and the results of its calls so far.
#[derive(Debug, Clone)]
struct Pending {
    response: ModelResponse,
    results: HashMap<ToolCallId, ToolResult>,
}

impl Conversation {
    /// Applies the next event. Live events, which are not stored, change nothing.
    pub(crate) fn apply(&mut self, event: &SessionEvent) {
        if !event.is_durable() {
            return;
        }
        let ended = self.ended.take();
        apply_to_goal(&mut self.goal, event);
        AnswerPart::collect(&mut self.part, event);
        match event {
            SessionEvent::TurnStarted { turn, prompt } => {
                self.settle();
                self.turns += 1;
                self.prompts.begin(prompt.as_ref(), self.spent());
                self.turn = Some(turn.clone());
                self.last = Last::Beginning;
            }
            SessionEvent::UserMessage { id, content } => self.take_message(id, content),
            SessionEvent::ModelResponse(response) => self.take_response(response),
            SessionEvent::ToolCall(update) => {
                self.take_call(update);
                self.ended = update.status.filter(|status| status.is_final()).map(|_| update.id.clone());
            }
            SessionEvent::Tasks(tasks) => self.take_tasks(tasks, ended),
            SessionEvent::TurnEnded { end, .. } => {
                self.settle();
                self.prompts.end(end, self.spent());
                self.failed |= matches!(end, TurnEnd::Failed(_)) && !matches!(self.last, Last::Command(_));
                self.turn = None;
                self.last = Last::Other;
            }
            SessionEvent::Prefix(prefix) => {
                self.prefixes.insert(prefix.model.clone(), Arc::new(prefix.clone()));
            }
            SessionEvent::Briefing(briefing) => self.take_briefing(briefing),
            SessionEvent::Rewound(rewound) => {
                self.settle();
                self.history.push_note(rewound.note());
                self.last = Last::Other;
            }
            SessionEvent::Compaction(compaction) => {
                self.settle();
                self.compactions += 1;
                match &compaction.step {
                    CompactionStep::Completed { summary, kept } => {
                        self.shorten(summary.clone(), usize::try_from(*kept).unwrap_or(usize::MAX));
                        self.fill.forget();
                        self.failures = 0;
                    }
                    CompactionStep::Failed(_) => self.failures += 1,
                    CompactionStep::Cancelled | CompactionStep::Started | CompactionStep::Text(_) => {}
                }
            }
            SessionEvent::ResultsLeftOut(left) => {
                self.history.leave_results_out(&left.calls, &left.instead);
                self.tasks_shown.take_if(|shown| left.calls.contains(shown));
                self.fill.forget();
            }
            SessionEvent::NetworkUsed(used) => self.network.add(used),
            SessionEvent::Subagent(state) => {
                self.subagents.insert(state.id.clone(), state.activity.usage);
            }
            SessionEvent::Usage(UsageUpdate { model, total, context_used, counted, .. }) => {
                *self.usage_by_model.entry(model.clone()).or_default() += total.since(self.usage);
                self.usage = *total;
                self.context_used = *context_used;
                if let Some(counted) = counted {
                    self.fill.count(*counted);
                }
            }
            _ => {}
        }
    }

    fn take_message(&mut self, id: &MessageId, content: &[Content]) {
        self.settle();
        self.messages += 1;
        if matches!(self.last, Last::Beginning) {
            self.prompts.message(id);
        }
        // A message sent to a running turn goes to the model, even if it looks like a command.
        let command = commands::of(content)
            .filter(|command| matches!(self.last, Last::Beginning) && !command.asks_model());
        match command {
            None => {
                match self.last {
                    Last::Beginning => self.push_prompt(&commands::for_model(content)),
                    _ => self.push_prompt(content),
                }
                self.before = (self.prompt.replace(id.clone()), self.failed);
                self.failed = false;
            }
            Some(command) => {
                // A compaction that the user asks for is tried regardless of earlier failures.
                if matches!(command, commands::Action::Compact(_)) {
                    self.failures = 0;
                }
                self.last = Last::Command(content.to_vec());
            }
        }
    }

    fn push_prompt(&mut self, content: &[Content]) {
        self.files.extend(attachments::files(content));
        self.history.push_user(attachments::for_model(content));
        self.last = Last::Prompt;
    }

    /// Adds a briefing: before the prompt if the prompt was not sent yet, otherwise at the end.
    fn take_briefing(&mut self, briefing: &Briefing) {
        self.settle();
        // The program that recorded the message did not treat it as a command.
        if let Last::Command(content) = &self.last {
            self.push_prompt(&content.clone());
        }
        match self.last {
            Last::Prompt => self.history.brief_before_prompt(briefing.text.clone()),
            _ => self.history.push_briefing(briefing.text.clone()),
        }
        let message = self.history.messages().len().saturating_sub(1);
        self.sent_facts.push((message, briefing.facts.clone()));
    }

    /// Replaces the tasks. `call` is the call that changed them; the model is informed of a change
    /// that no call made.
    fn take_tasks(&mut self, tasks: &[Task], call: Option<ToolCallId>) {
        self.tasks = tasks.iter().take(TASKS).cloned().collect();
        self.tasks_shown = call;
        if self.tasks_shown.is_none() {
            self.settle();
            self.history.push_note(Some(task::note(&self.tasks)));
            let facts = Known::from([(TASKS_FACT.to_owned(), task::open_value(&self.tasks))]);
            self.sent_facts.push((self.history.messages().len() - 1, facts));
            self.last = Last::Other;
        }
    }

    /// Replaces all but the last `kept` messages with a text, and drops the facts that the replaced
    /// messages held.
    fn shorten(&mut self, text: String, kept: usize) {
        let first = self.history.messages().len().saturating_sub(kept);
        self.history.shorten(text, kept);
        self.sent_facts.retain_mut(|(message, _)| {
            let stays = *message >= first;
            *message = message.saturating_sub(first) + 1;
            stays
        });
    }

    fn take_response(&mut self, response: &ModelResponse) {
        self.settle();
        self.messages += 2;
        self.prompts.answered(response);
        let last = std::mem::take(&mut self.last);
        for call in response.calls() {
            // Older versions skipped numbers, so the number is read from the id.
            let number = call.id.as_str().strip_prefix("tool_").and_then(|number| number.parse().ok());
            self.calls = self.calls.max(number.unwrap_or(0)).saturating_add(1);
        }
        // A response that no model gave is not part of the conversation, nor is the prompt it
        // answers.
        if response.model.is_empty() {
            if matches!(last, Last::Prompt) {
                self.history.pop();
                (self.prompt, self.failed) = std::mem::take(&mut self.before);
                self.sent_facts.retain(|(message, _)| *message < self.history.messages().len());
            }
            return;
        }
        // The program that recorded the message did not treat it as a command.
        if let Last::Command(content) = last {
            self.push_prompt(&content);
            self.last = Last::Other;
        }
        self.failed = false;
        self.answered.insert(response.model.clone());
        self.fill.answered(self.history.messages().len());
        self.pending = Some(Pending { response: response.clone(), results: HashMap::new() });
        self.complete();
    }

    fn take_call(&mut self, update: &ToolCallUpdate) {
        self.place(update);
        if let Some(status) = update.status {
            self.begun.insert(update.id.clone(), (update.name.clone(), status));
        }
        if let (Some(result), Some(pending)) = (&update.result, &mut self.pending)
            && pending.response.calls().any(|call| call.id == update.id)
        {
            pending.results.insert(update.id.clone(), result.clone());
            self.complete();
        }
    }

    /// Records the files of calls that succeeded.
    fn place(&mut self, update: &ToolCallUpdate) {
        if !FILE_TOOLS.contains(&update.name.as_str()) {
            return;
        }
        if let Some(locations) = &update.display.locations {
            let paths = locations.iter().map(|location| location.path.clone()).collect();
            self.places.insert(update.id.clone(), paths);
        }
        match update.status {
            Some(ToolStatus::Completed) => {
                self.files.extend(self.places.remove(&update.id).unwrap_or_default());
            }
            Some(ToolStatus::Pending | ToolStatus::InProgress) | None => {}
            Some(_) => drop(self.places.remove(&update.id)),
        }
    }

    /// Moves the pending response into the history once each of its calls has a result.
    fn complete(&mut self) {
        let whole = |pending: &mut Pending| {
            pending.response.calls().all(|call| pending.results.contains_key(&call.id))
        };
        let Some(Pending { response, results }) = self.pending.take_if(whole) else { return };
        let results = response.calls().map(|call| results[&call.id].clone()).collect();
        self.history.push_response(response, results);
    }

    /// Closes all open calls. Called before an event that must follow them.
    fn settle(&mut self) {
        for repair in self.open_calls() {
            self.take_call(&repair);
        }
        self.begun.clear();
        self.places.clear();
    }

    /// Returns the events to append to the log because the process ended in the middle of a turn.
    pub(crate) fn repairs(&self) -> Vec<SessionEvent> {
        let mut repairs: Vec<_> = self.cut_off().collect();
        if let Some(turn) = &self.turn {
            if let Some(goal) = self.goal.clone().filter(Goal::is_active) {
                let why = "interrupted: the process ended";
                repairs.push(SessionEvent::Goal(Some(goal::with(goal, GoalStatus::Interrupted, Some(why)))));
            }
            let end = TurnEnd::Failed(PROCESS_ENDED.to_owned());
            repairs.push(SessionEvent::TurnEnded { turn: turn.clone(), end });
        }
        repairs
    }

    /// Returns the same if another process goes on with the turn: it is suspended, and its goal
    /// stays.
    pub(crate) fn repairs_to_go_on(&self) -> Vec<SessionEvent> {
        let end = TurnEnd::Stopped(StopReason::Suspended);
        let ended =
            self.turn.iter().map(|turn| SessionEvent::TurnEnded { turn: turn.clone(), end: end.clone() });
        self.cut_off().chain(ended).collect()
    }

    /// Returns the events that end the calls and the answer which the end of the process cut off.
    fn cut_off(&self) -> impl Iterator<Item = SessionEvent> {
        let calls = self.open_calls().into_iter().map(SessionEvent::ToolCall);
        let answer = self.part.clone().map(|part| SessionEvent::ModelResponse(part.cut_off()));
        calls.chain(answer)
    }

    /// Whether a turn has begun and not ended.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns closing updates for the calls that have not ended.
    fn open_calls(&self) -> Vec<ToolCallUpdate> {
        let end = |id: &ToolCallId, name: &str, result: &str| {
            let mut update = ToolCallUpdate::of(id.clone(), name).status(ToolStatus::Interrupted);
            update.result = Some(ToolResult::error(result));
            update
        };
        let mut ends = Vec::new();
        let asked = self.pending.iter().flat_map(|pending| {
            pending.response.calls().filter(|call| !pending.results.contains_key(&call.id))
        });
        for call in asked {
            let begun = self.begun.get(&call.id);
            let began = begun.is_some_and(|(_, status)| *status == ToolStatus::InProgress);
            // An announced call may have another name than the model wrote: the call that it stands
            // for.
            let name = begun.map_or(call.name.as_str(), |(name, _)| name.as_str());
            ends.push(end(&call.id, name, if began { INTERRUPTED } else { NEVER_RAN }));
        }
        // The model does not need results of nested calls, but the log must not show them as
        // running.
        for (id, (name, status)) in &self.begun {
            if !status.is_final() && ends.iter().all(|end| end.id != *id) {
                ends.push(end(id, name, INTERRUPTED));
            }
        }
        ends
    }
}

/// Queries.
impl Conversation {
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Returns the prompts that have ids.
    pub(crate) fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// Returns the tokens used so far.
    fn spent(&self) -> Spent {
        Spent { own: self.usage, subagents: self.subagent_usage() }
    }

    /// Returns the last prompt if its turn failed, or broke off without an end.
    pub(crate) fn unanswered(&self) -> Option<Unanswered> {
        let broke_off = self.turn.is_some() && !matches!(self.last, Last::Command(_));
        let message = self.prompt.clone().filter(|_| self.failed || broke_off)?;
        Some(Unanswered { message, text: self.history.last_prompt_text() })
    }

    /// Returns the fixed beginning of the requests to a model, once it is settled.
    pub(crate) fn prefix(&self, model: &str) -> Option<&Arc<Prefix>> {
        self.prefixes.get(model)
    }

    /// Returns the facts that Tiller sent to the model and that are still in the conversation.
    pub(crate) fn known(&self) -> Known {
        self.sent_facts.iter().flat_map(|(_, facts)| facts.clone()).collect()
    }

    /// Shares equal prefixes with other sessions, to save memory.
    pub(crate) fn share_prefixes(&mut self, shared: &SharedPrefixes) {
        self.prefixes
            .values_mut()
            .for_each(|prefix| *prefix = Arc::new(shared.prefix(Prefix::clone(prefix))));
    }

    /// Returns the session's goal.
    pub(crate) fn goal(&self) -> Option<&Goal> {
        self.goal.as_ref()
    }

    /// Returns the session's tasks.
    pub(crate) fn tasks(&self) -> &Arc<[Task]> {
        &self.tasks
    }

    /// Returns whether the result of a call in the conversation shows the current tasks.
    pub(crate) fn shows_tasks(&self) -> bool {
        let shown = |shown: &ToolCallId| self.history.calls().iter().any(|calls| calls.contains(shown));
        self.tasks_shown.as_ref().is_some_and(shown)
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the use of the network by commands.
    pub(crate) fn network(&self) -> &NetworkTotals {
        &self.network
    }

    /// Returns the tokens used so far, by model.
    pub(crate) fn usage_by_model(&self) -> &BTreeMap<String, Usage> {
        &self.usage_by_model
    }

    /// Returns the tokens used by all subagents.
    pub(crate) fn subagent_usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.subagents.values().for_each(|usage| sum += *usage);
        sum
    }

    /// Returns the number of consecutive compaction failures.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the tokens in the model's context, from the last usage event.
    pub(crate) fn context_used(&self) -> u64 {
        self.context_used
    }

    /// Returns whether the size of a request is only estimated: the provider counted none yet, or
    /// the conversation was shortened since.
    pub(crate) fn is_uncounted(&self) -> bool {
        self.fill.is_unknown()
    }

    /// Returns the tokens that a request takes now. `around` is the size of the system prompt and
    /// the tools, which go with each request.
    pub(crate) fn used(&self, around: u64) -> u64 {
        self.fill.used(&self.history, around)
    }

    /// Returns whether this model has answered before.
    pub(crate) fn has_answered(&self, model: &str) -> bool {
        self.answered.contains(model)
    }

    /// Returns whether any model has answered before.
    pub(crate) fn has_been_answered(&self) -> bool {
        !self.answered.is_empty()
    }

    /// Returns the files that were attached, read or written.
    pub(crate) fn files(&self) -> impl Iterator<Item = &AbsPath> {
        self.files.iter()
    }

    pub(crate) fn next_turn(&self) -> TurnId {
        TurnId(format!("run_{}", self.turns + 1))
    }

    pub(crate) fn next_message(&self) -> MessageId {
        MessageId(format!("msg_{}", self.messages + 1))
    }

    /// Returns the ids of the next answer and of the reasoning before it.
    pub(crate) fn next_answer(&self) -> (MessageId, MessageId) {
        (self.next_message(), MessageId(format!("msg_{}", self.messages + 2)))
    }

    /// Returns the id of a call of the next answer; `index` counts from 0.
    pub(crate) fn next_call(&self, index: usize) -> ToolCallId {
        ToolCallId(format!("tool_{}", self.calls + index as u64))
    }

    pub(crate) fn next_compaction(&self) -> CompactionId {
        CompactionId(format!("compaction_{}", self.compactions + 1))
    }
}

/// Returns the end of a conversation, as far as [`Conversation::repairs`] needs it. `tail` is the
/// end of the log, from the last event at which a turn began or ended. Turns that were cut off
/// earlier were closed when the session was next opened.
pub(crate) fn end_of(tail: &[SessionEvent]) -> Conversation {
    let mut conversation = Conversation::default();
    tail.iter().for_each(|event| conversation.apply(event));
    conversation
}

/// Returns whether the events from this one on suffice for [`end_of`].
pub(crate) fn restarts_history(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TurnStarted { .. } | SessionEvent::TurnEnded { .. })
}

#[cfg(test)]
mod tests;
