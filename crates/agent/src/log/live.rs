//! The live state of a session: the running turn, the text of a message that is being streamed, the
//! output of running calls, and open permission requests. A client that joins in the middle
//! receives it after the stored events.

use crate::{
    Colours, Compaction, CompactionStep, LiveOutput, MessageId, SessionEvent, ToolCallId, ToolCallUpdate,
    ToolStatus, limits::LIVE_KEPT_BYTES,
};
use system::{AbsPath, ExitStatus};

/// Follows a session's events and keeps the live state.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// The event that began the running turn.
    turn: Option<SessionEvent>,
    /// The open permission requests.
    asked: Vec<SessionEvent>,
    /// The deltas of the answer so far, in order, those of one message joined.
    texts: Vec<SessionEvent>,
    calls: Vec<Running>,
    /// The event that began the running compaction.
    summing: Option<SessionEvent>,
}

/// A call that has not ended.
#[derive(Debug)]
struct Running {
    call: ToolCallUpdate,
    /// The working directory of its command, if the output is sent live.
    cwd: Option<AbsPath>,
    /// The end of that output, limited in size.
    output: String,
    colours: Colours,
    ended: Option<ExitStatus>,
}

impl Live {
    /// Applies an event that is being sent.
    pub(crate) fn note(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::MessageDelta { id, text } | SessionEvent::ThoughtDelta { id, text } => {
                match self.texts.last_mut().and_then(|last| text_of(last, id)) {
                    Some(so_far) => so_far.push_str(text),
                    None => self.texts.push(event.clone()),
                }
            }
            SessionEvent::ToolCall(update) => self.call(update),
            SessionEvent::ModelResponse(_) => self.texts.clear(),
            SessionEvent::PermissionRequested { .. } => self.asked.push(event.clone()),
            SessionEvent::PermissionResolved { id, .. } => self.asked.retain(
                |asked| !matches!(asked, SessionEvent::PermissionRequested { id: open, .. } if open == id),
            ),
            SessionEvent::Compaction(Compaction { step: CompactionStep::Started, .. }) => {
                self.summing = Some(event.clone());
            }
            SessionEvent::Compaction(compaction) if compaction.step.is_final() => self.summing = None,
            // A turn that broke may have left state behind; it is discarded.
            SessionEvent::TurnStarted { .. } => *self = Self { turn: Some(event.clone()), ..Self::default() },
            SessionEvent::TurnEnded { .. } => *self = Self::default(),
            _ => {}
        }
    }

    /// Returns the live state as events that follow the stored ones.
    pub(crate) fn events(&self) -> Vec<SessionEvent> {
        let mut events: Vec<_> = self.turn.iter().chain(&self.texts).cloned().collect();
        for running in &self.calls {
            events.push(SessionEvent::ToolCall(running.call.clone()));
            let of = || ToolCallUpdate::of(running.call.id.clone(), running.call.name.clone());
            let mut tell = |output, colours| {
                events.push(SessionEvent::ToolCall(ToolCallUpdate { output: Some(output), colours, ..of() }));
            };
            if let Some(cwd) = &running.cwd {
                tell(LiveOutput::Started { cwd: cwd.clone() }, Colours::default());
            }
            if !running.output.is_empty() {
                tell(LiveOutput::Text(running.output.clone()), running.colours.clone());
            }
            if let Some(status) = &running.ended {
                tell(LiveOutput::Ended(status.clone()), Colours::default());
            }
        }
        events.extend(self.asked.iter().chain(&self.summing).cloned());
        events
    }

    /// Returns a call that runs, as it was last shown.
    pub(crate) fn running(&self, id: &ToolCallId) -> Option<ToolCallUpdate> {
        self.calls.iter().map(|running| &running.call).find(|call| call.id == *id).cloned()
    }

    fn call(&mut self, update: &ToolCallUpdate) {
        let at = self.calls.iter().position(|running| running.call.id == update.id);
        if update.status.is_some_and(ToolStatus::is_final) {
            at.map(|at| self.calls.remove(at));
            return;
        }
        let at = at.unwrap_or_else(|| {
            let call = ToolCallUpdate::of(update.id.clone(), update.name.clone());
            self.calls.push(Running {
                call,
                cwd: None,
                output: String::new(),
                colours: Colours::default(),
                ended: None,
            });
            self.calls.len() - 1
        });
        let running = &mut self.calls[at];
        match &update.output {
            Some(LiveOutput::Started { cwd }) => running.cwd = Some(cwd.clone()),
            Some(LiveOutput::Text(text)) => {
                running.colours.append(&update.colours, running.output.len());
                running.colours.keep_last();
                running.output.push_str(text);
                let excess = running.output.len().saturating_sub(LIVE_KEPT_BYTES);
                let cut = crate::ceil_char_boundary(&running.output, excess);
                if cut > 0 {
                    running.output.drain(..cut);
                    running.colours.cut_front(cut);
                }
            }
            Some(LiveOutput::Ended(status)) => running.ended = Some(status.clone()),
            None => merge(&mut running.call, update),
        }
    }
}

/// Returns the text of an event if it is a delta of this message.
fn text_of<'a>(event: &'a mut SessionEvent, message: &MessageId) -> Option<&'a mut String> {
    match event {
        SessionEvent::MessageDelta { id, text } | SessionEvent::ThoughtDelta { id, text }
            if id == message =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// Applies the fields that are set.
fn merge(call: &mut ToolCallUpdate, update: &ToolCallUpdate) {
    fn set<T: Clone>(field: &mut Option<T>, new: &Option<T>) {
        if new.is_some() {
            field.clone_from(new);
        }
    }
    set(&mut call.display.title, &update.display.title);
    set(&mut call.display.kind, &update.display.kind);
    set(&mut call.status, &update.status);
    set(&mut call.display.content, &update.display.content);
    set(&mut call.display.locations, &update.display.locations);
    set(&mut call.display.raw_input, &update.display.raw_input);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, ModelResponse, ToolContent, TurnEnd, TurnId};

    fn delta(id: &str, text: &str) -> SessionEvent {
        SessionEvent::MessageDelta { id: id.into(), text: text.to_owned() }
    }

    fn call() -> ToolCallUpdate {
        ToolCallUpdate::of("tool_0".into(), "bash")
    }

    fn check(events: &[SessionEvent], expected: &[SessionEvent]) -> Live {
        let mut live = Live::default();
        events.iter().for_each(|event| live.note(event));
        assert_eq!(live.events(), expected);
        live
    }

    #[test]
    fn text_is_kept_until_the_whole_answer_is_stored() {
        let thought = SessionEvent::ThoughtDelta { id: "t".into(), text: "hm".to_owned() };
        let mut live = check(
            &[delta("m", "a"), delta("m", "b"), thought.clone(), delta("m", "c")],
            &[delta("m", "ab"), thought, delta("m", "c")],
        );
        live.note(&SessionEvent::ModelResponse(ModelResponse::from_text("m".into(), "t".into(), "", "ab")));
        assert!(live.events().is_empty());
    }

    #[test]
    fn a_call_is_kept_with_what_it_shows_until_it_ends() {
        let shown = vec![ToolContent::Content(Content::text("half"))];
        let output = |output| SessionEvent::ToolCall(ToolCallUpdate { output: Some(output), ..call() });
        let started = || output(LiveOutput::Started { cwd: AbsPath::new("/w").unwrap() });
        let text = |text: &str| output(LiveOutput::Text(text.to_owned()));
        let mut live = check(
            &[
                SessionEvent::ToolCall(call().status(ToolStatus::Pending)),
                SessionEvent::ToolCall(call().status(ToolStatus::InProgress)),
                SessionEvent::ToolCall(call().content(shown.clone())),
                started(),
                text("a"),
                text("b"),
            ],
            &[
                SessionEvent::ToolCall(call().status(ToolStatus::InProgress).content(shown)),
                started(),
                text("ab"),
            ],
        );
        live.note(&text(&"ü".repeat(LIVE_KEPT_BYTES)));
        let Some(SessionEvent::ToolCall(ToolCallUpdate { output: Some(LiveOutput::Text(kept)), .. })) =
            live.events().pop()
        else {
            panic!("the output comes last");
        };
        assert!(kept.len() <= LIVE_KEPT_BYTES && kept.len() + 2 > LIVE_KEPT_BYTES);
        live.note(&SessionEvent::ToolCall(call().status(ToolStatus::Completed)));
        assert!(live.events().is_empty());
    }

    #[test]
    fn a_turn_and_its_open_questions_are_going_on() {
        let started = SessionEvent::TurnStarted { turn: TurnId::from("run_1"), prompt: None };
        let asked = |id: &str| SessionEvent::PermissionRequested { id: id.into(), question: "?".to_owned() };
        let resolved = SessionEvent::PermissionResolved {
            id: "a".into(),
            outcome: crate::PermissionOutcome::AllowOnce,
            rule: "user".to_owned(),
        };
        check(&[started.clone(), asked("a"), asked("b"), resolved], &[started, asked("b")]);
    }

    #[test]
    fn nothing_outlives_its_turn() {
        let turn = TurnId::from("run_1");
        let end = SessionEvent::TurnEnded { turn, end: TurnEnd::Failed("broke".to_owned()) };
        check(&[delta("m", "a"), SessionEvent::ToolCall(call().status(ToolStatus::Pending)), end], &[]);
    }
}
