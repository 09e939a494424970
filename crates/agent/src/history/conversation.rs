//! What a session's stored events come to.
//!
//! Architecture Invariant: this is the only place that says what an event means for what models are
//! sent. The running session takes each event as it is recorded, a session that is opened takes the
//! same events from the log, and nothing else changes a conversation.

use crate::{
    Briefing, CompactionId, CompactionStep, Content, History, MessageId, ModelResponse, Prefix, SessionEvent,
    ToolCallId, ToolCallUpdate, ToolResult, ToolStatus, TurnEnd, TurnId, Usage, UsageUpdate,
    event::prefix::{Known, SharedPrefixes},
    history::fill::Fill,
    input::{attachments, commands},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};
use system::AbsPath;

/// What a call that was running when the process ended gives the model.
const INTERRUPTED: &str = "The process ended while this call was running. It may have had an effect or not; it was not run again. \
                           Check before you repeat it.";
/// What a call that had not begun when the process ended gives the model.
const NEVER_RAN: &str = "This call was not run: the process ended before it began.";

/// The tools whose places are files that the session works on.
const FILE_TOOLS: [&str; 4] = ["file_read", "file_write", "file_edit", "apply_patch"];

/// A session as its events tell it, as far as the next request to the model depends on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conversation {
    history: History,
    /// How many turns, calls, messages and attempts to sum up there were: what the next one is
    /// called.
    turns: u64,
    calls: u64,
    messages: u64,
    compactions: u64,
    /// How often in a row it could not be summed up. It is not tried for ever.
    failures: u32,
    /// Tokens so far.
    usage: Usage,
    /// How full the model's context is.
    fill: Fill,
    /// Tokens in the model's context as was told last.
    context_used: u64,
    /// The models that have answered.
    answered: BTreeSet<String>,
    /// The files that were attached, read or written.
    files: BTreeSet<AbsPath>,
    /// What requests to each model begin with.
    prefixes: BTreeMap<String, Arc<Prefix>>,
    /// What the model was told by Tiller itself, each with the message that says it.
    told: Vec<(usize, Known)>,
    /// The running turn.
    turn: Option<TurnId>,
    /// What of the running turn was last.
    last: Last,
    /// The answer whose calls have not all ended.
    pending: Option<Pending>,
    /// Calls that began and were not settled: those of the last answer, and those that they made.
    begun: BTreeMap<ToolCallId, (String, ToolStatus)>,
    /// Where calls that have not ended work.
    places: HashMap<ToolCallId, Vec<AbsPath>>,
}

/// What an answer without a model is an answer to.
#[derive(Debug, Clone, Default)]
enum Last {
    /// The turn began, and nothing was said yet.
    Beginning,
    /// A slash command, which is no part of the conversation with the model.
    Command(Vec<Content>),
    /// What the user said is the last message.
    Prompt,
    #[default]
    Other,
}

/// An answer, and the results of its calls so far.
#[derive(Debug, Clone)]
struct Pending {
    response: ModelResponse,
    results: HashMap<ToolCallId, ToolResult>,
}

impl Conversation {
    /// Takes the next event. What is not stored changes nothing.
    pub(crate) fn apply(&mut self, event: &SessionEvent) {
        if !event.is_durable() {
            return;
        }
        match event {
            SessionEvent::TurnStarted { turn } => {
                self.settle();
                self.turns += 1;
                self.turn = Some(turn.clone());
                self.last = Last::Beginning;
            }
            SessionEvent::UserMessage { content, .. } => self.take_message(content),
            SessionEvent::ModelResponse(response) => self.take_response(response),
            SessionEvent::ToolCall(update) => self.take_call(update),
            SessionEvent::TurnEnded { .. } => {
                self.settle();
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
                self.fill.forget();
            }
            SessionEvent::Usage(UsageUpdate { total, context_used, counted, .. }) => {
                self.usage = *total;
                self.context_used = *context_used;
                if let Some(counted) = counted {
                    self.fill.count(*counted);
                }
            }
            _ => {}
        }
    }

    fn take_message(&mut self, content: &[Content]) {
        self.settle();
        self.messages += 1;
        // What is said to a running turn goes to the model, whatever it looks like.
        let command = commands::of(content).filter(|_| matches!(self.last, Last::Beginning));
        match command {
            None => self.push_prompt(content),
            Some(command) => {
                // What a user asks for is tried again, however often it failed.
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

    /// What was told before the prompt is sent stands before it; what is told later, after all else.
    fn take_briefing(&mut self, briefing: &Briefing) {
        self.settle();
        // It was no command to the program that recorded it.
        if let Last::Command(content) = &self.last {
            self.push_prompt(&content.clone());
        }
        match self.last {
            Last::Prompt => self.history.brief_before_prompt(briefing.text.clone()),
            _ => self.history.push_briefing(briefing.text.clone()),
        }
        let message = self.history.messages().len().saturating_sub(1);
        self.told.push((message, briefing.facts.clone()));
    }

    /// Puts a text in place of all but the last `kept` messages. What was told in the others is told
    /// no more.
    fn shorten(&mut self, text: String, kept: usize) {
        let first = self.history.messages().len().saturating_sub(kept);
        self.history.shorten(text, kept);
        self.told.retain_mut(|(message, _)| {
            let stays = *message >= first;
            *message = message.saturating_sub(first) + 1;
            stays
        });
    }

    fn take_response(&mut self, response: &ModelResponse) {
        self.settle();
        self.messages += 2;
        let last = std::mem::take(&mut self.last);
        // What no model said is no part of the conversation, and what it was said to neither.
        if response.model.is_empty() {
            if matches!(last, Last::Prompt) {
                self.history.pop();
                self.told.retain(|(message, _)| *message < self.history.messages().len());
            }
            return;
        }
        // It was no command to the program that recorded it.
        if let Last::Command(content) = last {
            self.push_prompt(&content);
            self.last = Last::Other;
        }
        self.answered.insert(response.model.clone());
        self.fill.answered(self.history.messages().len());
        for call in response.calls() {
            // Older programs left numbers out.
            let number = call.id.as_str().strip_prefix("tool_").and_then(|number| number.parse().ok());
            self.calls = self.calls.max(number.unwrap_or(0)).saturating_add(1);
        }
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

    /// Notes the files of calls that did what they were to do.
    fn place(&mut self, update: &ToolCallUpdate) {
        if !FILE_TOOLS.contains(&update.name.as_str()) {
            return;
        }
        if let Some(locations) = &update.locations {
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

    /// An answer enters the conversation once each of its calls has a result.
    fn complete(&mut self) {
        let whole = |pending: &mut Pending| {
            pending.response.calls().all(|call| pending.results.contains_key(&call.id))
        };
        let Some(Pending { response, results }) = self.pending.take_if(whole) else { return };
        let results = response.calls().map(|call| results[&call.id].clone()).collect();
        self.history.push_response(response, results);
    }

    /// Something begins that comes after all calls so far.
    fn settle(&mut self) {
        for repair in self.open_calls() {
            self.take_call(&repair);
        }
        self.begun.clear();
        self.places.clear();
    }

    /// What must be added to the log because the process ended in the middle of a turn.
    pub(crate) fn repairs(&self) -> Vec<SessionEvent> {
        let mut repairs: Vec<_> = self.open_calls().into_iter().map(SessionEvent::ToolCall).collect();
        if let Some(turn) = &self.turn {
            let end = TurnEnd::Failed("the process ended in the middle of the turn".to_owned());
            repairs.push(SessionEvent::TurnEnded { turn: turn.clone(), end });
        }
        repairs
    }

    /// The ends of calls that have none.
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
            // What was announced may be what the call stands for.
            let name = begun.map_or(call.name.as_str(), |(name, _)| name.as_str());
            ends.push(end(&call.id, name, if began { INTERRUPTED } else { NEVER_RAN }));
        }
        // What a call had called is of no use to the model, but nobody may take it for running.
        for (id, (name, status)) in &self.begun {
            if !status.is_final() && ends.iter().all(|end| end.id != *id) {
                ends.push(end(id, name, INTERRUPTED));
            }
        }
        ends
    }
}

/// What is asked of it.
impl Conversation {
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// What requests to a model begin with, once that is settled.
    pub(crate) fn prefix(&self, model: &str) -> Option<&Arc<Prefix>> {
        self.prefixes.get(model)
    }

    /// What the model was told by Tiller itself and is still sent.
    pub(crate) fn known(&self) -> Known {
        self.told.iter().flat_map(|(_, facts)| facts.clone()).collect()
    }

    /// Has what requests begin with in common with other sessions, where it is the same.
    pub(crate) fn share_prefixes(&mut self, shared: &SharedPrefixes) {
        self.prefixes
            .values_mut()
            .for_each(|prefix| *prefix = Arc::new(shared.prefix(Prefix::clone(prefix))));
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// How often in a row it could not be summed up.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Tokens in the model's context as was told last.
    pub(crate) fn context_used(&self) -> u64 {
        self.context_used
    }

    /// Whether nothing is known of what a request takes now: nothing was counted yet, or it has
    /// become less since.
    pub(crate) fn is_uncounted(&self) -> bool {
        self.fill.is_unknown()
    }

    /// Tokens that a request takes now. `around` is what goes with it each time.
    pub(crate) fn used(&self, around: u64) -> u64 {
        self.fill.used(&self.history, around)
    }

    /// Whether a model has answered before.
    pub(crate) fn has_answered(&self, model: &str) -> bool {
        self.answered.contains(model)
    }

    /// Whether any model has answered before.
    pub(crate) fn has_been_answered(&self) -> bool {
        !self.answered.is_empty()
    }

    /// The files that were attached, read or written.
    pub(crate) fn files(&self) -> impl Iterator<Item = &AbsPath> {
        self.files.iter()
    }

    pub(crate) fn next_turn(&self) -> TurnId {
        TurnId(format!("run_{}", self.turns + 1))
    }

    pub(crate) fn next_message(&self) -> MessageId {
        MessageId(format!("msg_{}", self.messages + 1))
    }

    /// Of the next answer and of what is thought before it.
    pub(crate) fn next_answer(&self) -> (MessageId, MessageId) {
        (self.next_message(), MessageId(format!("msg_{}", self.messages + 2)))
    }

    /// Of a call of the next answer, counted from 0.
    pub(crate) fn next_call(&self, index: usize) -> ToolCallId {
        ToolCallId(format!("tool_{}", self.calls + index as u64))
    }

    pub(crate) fn next_compaction(&self) -> CompactionId {
        CompactionId(format!("compaction_{}", self.compactions + 1))
    }
}

/// What must be added to a log because the process ended in the middle of a turn, as the end of the
/// log tells: events from the last at which a turn began or ended. What was cut off before it was
/// closed when the session was opened then.
pub(crate) fn repairs(tail: &[SessionEvent]) -> Vec<SessionEvent> {
    let mut conversation = Conversation::default();
    tail.iter().for_each(|event| conversation.apply(event));
    conversation.repairs()
}

/// Whether all that happened after an event can be told from that event on.
pub(crate) fn begins_anew(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TurnStarted { .. } | SessionEvent::TurnEnded { .. })
}

#[cfg(test)]
mod tests;
