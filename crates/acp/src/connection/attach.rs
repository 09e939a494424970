//! What a client may ask for when it attaches to a session (`_meta.tiller`): only the events after
//! those it has, the numbers of stored events, and how the last turn stands.

use super::errors;
use agent::{PromptId, SessionEvent, ToolCallId, TurnEnd};
use agent_client_protocol::Error;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Attach {
    /// Replay only the stored events after this number.
    pub(crate) after: Option<u64>,
    /// Whether updates carry the number of the last stored event.
    pub(crate) numbered: bool,
}

impl Attach {
    /// Reads the parameters of a request.
    ///
    /// # Errors
    ///
    /// Fails with `-32602` if `after` is no event's number, or `seq` is not true or false.
    pub(crate) fn of(params: &Value) -> Result<Self, Error> {
        let given = |name: &str| {
            let value = params.pointer("/_meta/tiller").and_then(|tiller| tiller.get(name));
            value.filter(|value| !value.is_null())
        };
        let wrong = |name: &str, value: &Value, wanted: &str| {
            errors::invalid_params(format!("_meta.tiller.{name} must be {wanted}, not {value}"))
        };
        let after = given("after")
            .map(|value| value.as_u64().ok_or_else(|| wrong("after", value, "the number of an event, or 0")))
            .transpose()?;
        let numbered = given("seq")
            .map(|value| value.as_bool().ok_or_else(|| wrong("seq", value, "true or false")))
            .transpose()?;
        Ok(Self { after, numbered: numbered.unwrap_or_default() })
    }
}

/// Returns the `_meta` of an update with the number of the last stored event.
pub(crate) fn number(seq: u64) -> Map<String, Value> {
    tiller(json!({ "seq": seq }))
}

fn tiller(value: Value) -> Map<String, Value> {
    Map::from_iter([("tiller".to_owned(), value)])
}

/// Follows the events of a session, to report how its last turn stands.
#[derive(Debug, Default)]
pub(crate) struct LastTurn {
    prompt: Option<PromptId>,
    running: bool,
    asked: BTreeSet<ToolCallId>,
    end: Option<TurnEnd>,
}

impl LastTurn {
    /// Takes note of an event.
    pub(crate) fn note(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TurnStarted { prompt, .. } => {
                *self = Self { prompt: prompt.clone(), running: true, ..Self::default() };
            }
            SessionEvent::TurnEnded { end, .. } => {
                self.running = false;
                self.end = Some(end.clone());
            }
            SessionEvent::PermissionRequested { id, .. } => drop(self.asked.insert(id.clone())),
            SessionEvent::PermissionResolved { id, .. } => drop(self.asked.remove(id)),
            _ => {}
        }
    }

    /// Returns the `_meta` of the update that reports it, after the stored event `seq`.
    pub(crate) fn report(&self, seq: u64) -> Map<String, Value> {
        let state = match (self.running, self.asked.is_empty()) {
            (true, true) => "running",
            (true, false) => "requires_action",
            (false, _) => "idle",
        };
        let mut turn = json!({ "state": state });
        if let Some(prompt) = &self.prompt {
            turn["promptId"] = prompt.as_str().into();
        }
        match &self.end {
            Some(TurnEnd::Stopped(reason)) => turn["stopReason"] = reason.id().into(),
            Some(TurnEnd::Failed(why)) => turn["error"] = agent::sanitise(why).into(),
            None => {}
        }
        tiller(json!({ "seq": seq, "turn": turn }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::StopReason;

    #[test]
    fn what_is_asked_for_is_read_and_other_values_are_refused_by_name() {
        let read = |tiller: Value| Attach::of(&json!({ "_meta": { "tiller": tiller } }));
        assert_eq!(Attach::of(&Value::Null).unwrap(), Attach::default());
        assert_eq!(read(json!({ "after": null, "seq": null })).unwrap(), Attach::default());
        let asked = Attach { after: Some(7), numbered: true };
        assert_eq!(read(json!({ "after": 7, "seq": true })).unwrap(), asked);
        for (wrong, name) in [
            (json!({ "after": -1 }), "after"),
            (json!({ "after": 1.5 }), "after"),
            (json!({ "after": "7" }), "after"),
            (json!({ "after": true }), "after"),
            (json!({ "seq": 1 }), "seq"),
            (json!({ "seq": "true" }), "seq"),
        ] {
            let error = read(wrong.clone()).unwrap_err();
            assert_eq!(i32::from(error.code), -32602, "{wrong}");
            assert!(error.message.contains(&format!("_meta.tiller.{name}")), "{}", error.message);
        }
    }

    #[test]
    fn the_last_turn_is_reported_as_it_stands() {
        let mut turn = LastTurn::default();
        let check = |turn: &LastTurn, expected: Value| {
            assert_eq!(turn.report(3)["tiller"], json!({ "seq": 3, "turn": expected }));
        };
        check(&turn, json!({ "state": "idle" }));
        turn.note(&SessionEvent::TurnStarted { turn: "run_1".into(), prompt: PromptId::new("p").ok() });
        check(&turn, json!({ "state": "running", "promptId": "p" }));
        let asked = SessionEvent::PermissionRequested { id: "tool_0".into(), question: String::new() };
        turn.note(&asked);
        turn.note(&asked);
        check(&turn, json!({ "state": "requires_action", "promptId": "p" }));
        turn.note(&SessionEvent::PermissionResolved {
            id: "tool_0".into(),
            outcome: agent::PermissionOutcome::AllowOnce,
            rule: String::new(),
        });
        check(&turn, json!({ "state": "running", "promptId": "p" }));
        let end = TurnEnd::Stopped(StopReason::EndTurn);
        turn.note(&SessionEvent::TurnEnded { turn: "run_1".into(), end });
        check(&turn, json!({ "state": "idle", "promptId": "p", "stopReason": "end_turn" }));
        turn.note(&SessionEvent::TurnStarted { turn: "run_2".into(), prompt: None });
        let end = TurnEnd::Failed("no".to_owned());
        turn.note(&SessionEvent::TurnEnded { turn: "run_2".into(), end });
        check(&turn, json!({ "state": "idle", "error": "no" }));
    }
}
