//! The stored form of an event, separate from the domain's types so that each can change
//! independently.
//!
//! A row states the format of its body. The meaning of a format never changes; a change that an old
//! reader would misread requires a new format. The table of readers and writers is in
//! `docs/storage.md`.

mod colours;
mod from_v1;
mod subagent;
mod to_v1;
mod tokens;
mod v1;

use agent::{SessionEvent, SessionId, StoreError};

/// The newest format that this program reads. Each event is written in the oldest format that can
/// represent it.
pub(crate) const FORMAT: i64 = 11;

/// An event as stored in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The format of the body.
    pub(crate) format: i64,
    /// The event's kind, for people who inspect the file; the body contains it too.
    pub(crate) kind: &'static str,
    /// JSON.
    pub(crate) body: String,
}

/// Why a row could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// A newer program wrote it. It is intact, and this program must not guess its meaning.
    Newer(i64),
    /// It is damaged.
    Damaged(String),
}

/// Encodes an event; `None` for one that is never stored.
pub(crate) fn encode(event: SessionEvent) -> Option<Row> {
    let event = to_v1::event(event)?;
    let body = serde_json::to_string(&event).expect("text keys and finite numbers only");
    Some(Row { format: event.format(), kind: event.kind(), body })
}

/// Decodes the event of a row.
pub(crate) fn decode(format: i64, body: &str) -> Result<SessionEvent, Unreadable> {
    match format {
        1..=FORMAT => {
            let event: v1::Event =
                serde_json::from_str(body).map_err(|error| Unreadable::Damaged(error.to_string()))?;
            from_v1::event(event).map_err(Unreadable::Damaged)
        }
        newer if newer > FORMAT => Err(Unreadable::Newer(newer)),
        none => Err(Unreadable::Damaged(format!("unknown format {none}"))),
    }
}

/// Returns the error for an event that a newer program wrote.
pub(crate) fn newer(id: &SessionId, seq: i64, format: i64) -> StoreError {
    StoreError::Format(format!(
        "event {seq} of session {id} has format {format}, and this program reads formats up to {FORMAT}: a newer version wrote it; \
         upgrade to open the session"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_event_round_trips() {
        for event in crate::contract::samples() {
            let row = encode(event.clone()).unwrap();
            let body: serde_json::Value = serde_json::from_str(&row.body).unwrap();
            assert_eq!(body["kind"], row.kind);
            let format = match row.kind {
                "effort_changed" => 2,
                "file_changed" | "rewound" => 3,
                "compaction" => 4,
                "results_left_out" => 5,
                "prefix" | "briefing" => 7,
                "subagent" => 8,
                "answer" => 6,
                "tasks" | "goal" => 8,
                "answer_part" => 10,
                "network_used" => 11,
                _ => 1,
            };
            assert_eq!(row.format, format, "{}", row.kind);
            assert_eq!(decode(row.format, &row.body), Ok(event));
        }
    }

    #[test]
    fn format_1_is_read_forever() {
        // These texts are frozen: a change requires a new format, not a new expectation.
        for (body, expected) in [
            (
                r#"{"kind":"turn_started","turn":"run_1"}"#,
                SessionEvent::TurnStarted { turn: "run_1".into(), prompt: None },
            ),
            (
                r#"{"kind":"turn_started","turn":"run_1","prompt":"7c1e"}"#,
                SessionEvent::TurnStarted { turn: "run_1".into(), prompt: agent::PromptId::new("7c1e").ok() },
            ),
            (
                r#"{"kind":"turn_started","turn":"run_1","prompt":"not an id"}"#,
                SessionEvent::TurnStarted { turn: "run_1".into(), prompt: None },
            ),
            (
                r#"{"kind":"user_message","id":"m1","content":[{"type":"text","text":"hi"}],"from_later":1}"#,
                SessionEvent::UserMessage { id: "m1".into(), content: vec![agent::Content::text("hi")] },
            ),
            (
                r#"{"kind":"tool_call","id":"tool_0","name":"bash","status":"in_progress","raw_input":"{\"command\":\"ls\"}"}"#,
                SessionEvent::ToolCall(agent::ToolCallUpdate {
                    display: agent::ToolCallDisplay {
                        raw_input: Some(serde_json::json!({"command": "ls"})),
                        ..agent::ToolCallDisplay::default()
                    },
                    status: Some(agent::ToolStatus::InProgress),
                    ..agent::ToolCallUpdate::of("tool_0".into(), "bash")
                }),
            ),
            (
                r#"{"kind":"usage","model":"m","context_used":1,"context_size":2,"total":{"input":3,"output":4,"cache_read":0,"cache_write":0}}"#,
                SessionEvent::Usage(agent::UsageUpdate {
                    model: "m".to_owned(),
                    context_used: 1,
                    context_size: 2,
                    total: agent::Usage { input: 3, output: 4, unpriced: 7, ..agent::Usage::default() },
                    subagents: agent::Usage::default(),
                    turn: agent::Usage::default(),
                    counted: None,
                }),
            ),
            (
                r#"{"kind":"usage","model":"m","context_used":1,"context_size":2,"total":{"input":3,"output":4,"cache_read":0,"cache_write":0,"cost":5000000,"unpriced":2}}"#,
                SessionEvent::Usage(agent::UsageUpdate {
                    model: "m".to_owned(),
                    context_used: 1,
                    context_size: 2,
                    total: agent::Usage {
                        input: 3,
                        output: 4,
                        cost: Some(agent::Cost(5_000_000)),
                        unpriced: 2,
                        ..agent::Usage::default()
                    },
                    subagents: agent::Usage::default(),
                    turn: agent::Usage::default(),
                    counted: None,
                }),
            ),
            (
                r#"{"kind":"turn_ended","turn":"run_1","end":{"stopped":"end_turn"}}"#,
                SessionEvent::TurnEnded {
                    turn: "run_1".into(),
                    end: agent::TurnEnd::Stopped(agent::StopReason::EndTurn),
                },
            ),
        ] {
            assert_eq!(decode(1, body), Ok(expected), "{body}");
        }
    }

    #[test]
    fn answers_of_every_format_are_read_forever() {
        use agent::{Item, ModelCall, ModelResponse, Reasoning, Text, ToolCallRequest, Written};
        let call = |name: &str, arguments: &str, opaque: Option<&str>| {
            let (provider_id, opaque) = ("c".to_owned(), opaque.map(str::to_owned));
            let call =
                ModelCall { provider_id, name: name.to_owned(), arguments: arguments.to_owned(), opaque };
            ToolCallRequest::new("tool_0".into(), call)
        };
        let answer = |items| {
            let (id, thought_id, model) = ("m".into(), "t".into(), "x/y".to_owned());
            SessionEvent::ModelResponse(ModelResponse { id, thought_id, model, items })
        };
        let reasoning = Item::Reasoning(Reasoning { text: "hm".to_owned(), opaque: Some("{}".to_owned()) });
        let mut meant = call("Read", "{'a':1}", None);
        meant.name = "file_read".to_owned();
        meant.arguments = Ok(serde_json::json!({ "a": 1 }));
        let mut broken = call("bash", "{", None);
        broken.arguments =
            Err(agent::MalformedArguments { raw: "{".to_owned(), error: "cut off".to_owned() });
        assert_eq!(
            broken.written,
            Written { name: "bash".to_owned(), arguments: "{".to_owned(), opaque: None }
        );
        for (format, body, expected) in [
            (
                1,
                r#"{"kind":"model_response","id":"m","thought_id":"t","model":"x/y","reasoning":[{"text":"hm","opaque":"{}"}],"text":"hi","calls":[{"id":"tool_0","provider_id":"c","name":"bash","arguments":{"json":"{\"a\":1}"}},{"id":"tool_0","provider_id":"c","name":"bash","arguments":{"malformed":{"raw":"{","error":"cut off"}}}]}"#,
                answer(vec![
                    reasoning.clone(),
                    Item::Text(Text::plain("hi")),
                    Item::Call(call("bash", r#"{"a":1}"#, None)),
                    Item::Call(broken),
                ]),
            ),
            (
                6,
                r#"{"kind":"answer","id":"m","thought_id":"t","model":"x/y","items":[{"type":"text","text":"hi","opaque":"[1]"},{"type":"reasoning","text":"hm","opaque":"{}"},{"type":"call","id":"tool_0","provider_id":"c","name":"bash","arguments":"{ \"a\": 1.0}","opaque":"{}"},{"type":"call","id":"tool_0","provider_id":"c","name":"Read","arguments":"{'a':1}","read":{"name":"file_read","arguments":{"json":"{\"a\":1}"}}},{"type":"other","opaque":"x"}]}"#,
                answer(vec![
                    Item::Text(Text { text: "hi".to_owned(), opaque: Some("[1]".to_owned()) }),
                    reasoning,
                    Item::Call(call("bash", r#"{ "a": 1.0}"#, Some("{}"))),
                    Item::Call(meant),
                    Item::Other("x".to_owned()),
                ]),
            ),
        ] {
            assert_eq!(decode(format, body), Ok(expected.clone()), "{body}");
            if format == FORMAT {
                assert_eq!(encode(expected).unwrap().body, body);
            }
        }
    }

    #[test]
    fn damaged_events_and_newer_formats_are_distinguished() {
        assert_eq!(decode(FORMAT + 1, "anything"), Err(Unreadable::Newer(FORMAT + 1)));
        for (format, body) in [
            (0, "{}"),
            (1, ""),
            (1, r#"{"kind":"turn_started""#),
            (1, r#"{"kind":"unheard_of"}"#),
            (1, r#"{"kind":"turn_started"}"#),
            (
                1,
                r#"{"kind":"tool_call","id":"t","name":"n","locations":[{"path":"relative"}],"status":"failed"}"#,
            ),
            (1, r#"{"kind":"tool_call","id":"t","name":"n","raw_input":"{","status":"failed"}"#),
        ] {
            assert!(matches!(decode(format, body), Err(Unreadable::Damaged(_))), "{format} {body}");
        }
    }
}
