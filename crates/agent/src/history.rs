//! The conversation as models see it.
//!
//! Architecture Invariant: an illegal conversation cannot be expressed. A call enters together with its result, so every call has exactly
//! one, whatever was cancelled, refused or interrupted.

use crate::{
    AnsweredCall, AssistantMessage, CompactionStep, Content, Message, ModelResponse, SessionEvent,
    ToolCallId, ToolCallUpdate, ToolResult, ToolStatus, TurnEnd, TurnId, attachments,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use system::AbsPath;

/// What a call that was running when the process ended gives the model.
const INTERRUPTED: &str = "The process ended while this call was running. It may have had an effect or not; it was not run again. \
                           Check before you repeat it.";
/// What a call that had not begun when the process ended gives the model.
const NEVER_RAN: &str = "This call was not run: the process ended before it began.";

/// The conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    messages: Vec<Message>,
}

impl History {
    /// The conversation so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The same, to change what they say. None can be added or taken away.
    pub(crate) fn messages_mut(&mut self) -> &mut [Message] {
        &mut self.messages
    }

    /// Puts a text in place of all but the last `kept` messages.
    pub(crate) fn shorten(&mut self, text: String, kept: usize) {
        let first = self.messages.len().saturating_sub(kept);
        self.messages.splice(..first, [Message::User(vec![Content::text(text)])]);
    }

    /// Adds what the user said.
    pub fn push_user(&mut self, content: Vec<Content>) {
        self.messages.push(Message::User(content));
    }

    /// Adds what the model must know of what the user did, if anything.
    pub(crate) fn push_note(&mut self, note: Option<String>) {
        self.messages.extend(note.map(|note| Message::User(vec![Content::text(note)])));
    }

    /// Adds an answer of the model with one result for each of its calls, in the order of the calls. An answer that says nothing at all is
    /// left out: no provider takes it back.
    pub(crate) fn push_response(&mut self, response: ModelResponse, results: Vec<ToolResult>) {
        assert_eq!(response.calls.len(), results.len(), "every call has exactly one result");
        if response.text.is_empty() && response.calls.is_empty() {
            return;
        }
        let calls = response
            .calls
            .into_iter()
            .zip(results)
            .map(|(call, result)| AnsweredCall {
                provider_id: call.provider_id,
                name: call.name,
                arguments: call.arguments,
                result,
            })
            .collect();
        self.messages.push(Message::Assistant(AssistantMessage {
            model: response.model,
            reasoning: response.reasoning,
            text: response.text,
            calls,
        }));
    }
}

/// A session's state as its log tells it.
#[derive(Debug, Default)]
pub(crate) struct Restored {
    /// The conversation.
    pub(crate) history: History,
    /// How many turns there were.
    pub(crate) turns: u64,
    /// How many tool calls there were.
    pub(crate) calls: u64,
    /// How many messages there were.
    pub(crate) messages: u64,
    /// How often the conversation was to be summed up.
    pub(crate) compactions: u64,
    /// The files that were attached, read or written.
    pub(crate) files: BTreeSet<AbsPath>,
    /// Tokens so far.
    pub(crate) usage: crate::Usage,
    /// What must be added to the log because the process ended in the middle of a turn.
    pub(crate) repairs: Vec<SessionEvent>,
    open_turn: Option<TurnId>,
    response: Option<ModelResponse>,
    started: BTreeMap<ToolCallId, (String, ToolStatus)>,
    results: HashMap<ToolCallId, ToolResult>,
    /// Where calls that have not ended work.
    places: HashMap<ToolCallId, Vec<AbsPath>>,
}

/// The tools whose places are files that the session works on.
const FILE_TOOLS: [&str; 4] = ["file_read", "file_write", "file_edit", "apply_patch"];

impl Restored {
    /// Takes the next event of the log.
    pub(crate) fn apply(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::TurnStarted { turn } => {
                self.settle();
                self.turns += 1;
                self.open_turn = Some(turn);
            }
            SessionEvent::UserMessage { content, .. } => {
                self.settle();
                self.messages += 1;
                self.files.extend(attachments::files(&content));
                self.history.push_user(attachments::for_model(&content));
            }
            SessionEvent::ModelResponse(response) => {
                self.settle();
                self.messages += 2;
                // A slash command and its answer are no part of the conversation with the model.
                if response.model.is_empty() {
                    self.history.messages.pop();
                    return;
                }
                self.calls += response.calls.len() as u64;
                self.response = Some(response);
            }
            SessionEvent::ToolCall(update) => {
                self.place(&update);
                if let Some(status) = update.status {
                    self.started.insert(update.id.clone(), (update.name, status));
                }
                if let Some(result) = update.result {
                    self.results.insert(update.id, result);
                }
            }
            SessionEvent::TurnEnded { .. } => {
                self.settle();
                self.open_turn = None;
            }
            SessionEvent::Rewound(rewound) => {
                self.settle();
                self.history.push_note(rewound.note());
            }
            SessionEvent::Compaction(compaction) => {
                self.settle();
                self.compactions += 1;
                if let CompactionStep::Completed { summary, kept } = compaction.step {
                    self.history.shorten(summary, usize::try_from(kept).unwrap_or(usize::MAX));
                }
            }
            SessionEvent::Usage(update) => self.usage = update.total,
            _ => {}
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
                self.files.extend(self.places.remove(&update.id).unwrap_or_default())
            }
            Some(ToolStatus::Pending | ToolStatus::InProgress) | None => {}
            Some(_) => drop(self.places.remove(&update.id)),
        }
    }

    /// The log is at its end: closes what a crash left open.
    pub(crate) fn finish(mut self) -> Self {
        self.settle();
        if let Some(turn) = self.open_turn.take() {
            let end = TurnEnd::Failed("the process ended in the middle of the turn".to_owned());
            self.repairs.push(SessionEvent::TurnEnded { turn, end });
        }
        self
    }

    fn settle(&mut self) {
        let Some(response) = self.response.take() else { return };
        let mut results = Vec::new();
        for call in &response.calls {
            let result = self.results.remove(&call.id).unwrap_or_else(|| {
                let began = self.started.get(&call.id).is_some_and(|(_, s)| *s == ToolStatus::InProgress);
                let result = ToolResult::error(if began { INTERRUPTED } else { NEVER_RAN });
                let mut update =
                    ToolCallUpdate::of(call.id.clone(), call.name.clone()).status(ToolStatus::Interrupted);
                update.result = Some(result.clone());
                self.repairs.push(SessionEvent::ToolCall(update));
                result
            });
            results.push(result);
        }
        // What a call had called is of no use to the model, but nobody may take it for running.
        for (id, (name, status)) in std::mem::take(&mut self.started) {
            let open = matches!(status, ToolStatus::Pending | ToolStatus::InProgress);
            if open && response.calls.iter().all(|call| call.id != id) {
                let mut update = ToolCallUpdate::of(id, name).status(ToolStatus::Interrupted);
                update.result = Some(ToolResult::error(INTERRUPTED));
                self.repairs.push(SessionEvent::ToolCall(update));
            }
        }
        self.history.push_response(response, results);
        // What is known of the calls of an answer is of no use after it.
        self.results.clear();
    }
}

/// What must be added to a log because the process ended in the middle of a turn, as the end of the log tells: events from the last at which a
/// turn began or ended. What was cut off before it was closed when the session was opened then.
pub(crate) fn repairs(tail: Vec<SessionEvent>) -> Vec<SessionEvent> {
    let mut restored = Restored::default();
    tail.into_iter().for_each(|event| restored.apply(event));
    restored.finish().repairs
}

/// Whether all that happened after an event can be told from that event on.
pub(crate) fn begins_anew(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TurnStarted { .. } | SessionEvent::TurnEnded { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, StopReason, ToolCallRequest};
    use serde_json::json;

    fn response(calls: &[&str]) -> SessionEvent {
        SessionEvent::ModelResponse(ModelResponse {
            id: MessageId::from("m"),
            thought_id: MessageId::from("t"),
            model: "x/y".to_owned(),
            reasoning: Vec::new(),
            text: "text".to_owned(),
            calls: calls
                .iter()
                .map(|id| ToolCallRequest {
                    id: ToolCallId::from(*id),
                    provider_id: format!("p-{id}"),
                    name: "bash".to_owned(),
                    arguments: Ok(json!({})),
                })
                .collect(),
        })
    }

    fn call(id: &str, status: ToolStatus, result: Option<&str>) -> SessionEvent {
        let mut update = ToolCallUpdate::of(ToolCallId::from(id), "bash").status(status);
        update.result = result.map(ToolResult::ok);
        SessionEvent::ToolCall(update)
    }

    fn restore(events: Vec<SessionEvent>) -> Restored {
        let mut restored = Restored::default();
        events.into_iter().for_each(|event| restored.apply(event));
        restored.finish()
    }

    fn results(restored: &Restored) -> Vec<String> {
        let answered = restored.history.messages().iter().filter_map(|message| match message {
            Message::Assistant(message) => Some(message.calls.iter().map(|call| call.result.text.clone())),
            Message::User(_) => None,
        });
        answered.flatten().collect()
    }

    #[test]
    fn a_crash_leaves_no_call_without_a_result() {
        let turn = TurnId::from("run_1");
        let restored = restore(vec![
            SessionEvent::TurnStarted { turn: turn.clone() },
            SessionEvent::UserMessage { id: MessageId::from("u"), content: vec![Content::text("go")] },
            response(&["a", "b", "c"]),
            call("a", ToolStatus::InProgress, None),
            call("a", ToolStatus::Completed, Some("done")),
            call("b", ToolStatus::InProgress, None),
            call("b.1", ToolStatus::Completed, Some("done")),
            call("b.2", ToolStatus::InProgress, None),
            call("c", ToolStatus::Pending, None),
        ]);
        assert_eq!(results(&restored), ["done", INTERRUPTED, NEVER_RAN]);
        assert_eq!(restored.repairs.len(), 4, "three calls and the turn: {:?}", restored.repairs);
        assert!(matches!(&restored.repairs[3], SessionEvent::TurnEnded { turn: t, .. } if *t == turn));
        assert_eq!((restored.turns, restored.calls), (1, 3));
    }

    #[test]
    fn an_ordered_log_needs_no_repair() {
        let turn = TurnId::from("run_1");
        let restored = restore(vec![
            SessionEvent::TurnStarted { turn: turn.clone() },
            SessionEvent::UserMessage { id: MessageId::from("u"), content: vec![Content::text("go")] },
            response(&["a"]),
            call("a", ToolStatus::Completed, Some("done")),
            response(&[]),
            SessionEvent::TurnEnded { turn, end: TurnEnd::Stopped(StopReason::EndTurn) },
        ]);
        assert!(restored.repairs.is_empty());
        assert_eq!(restored.history.messages().len(), 3);
    }
}
