//! Answers that write tool calls as text, and empty answers.

use crate::stage::{Setting, Stage, stage, stage_on};
use agent::fake::{FakeModel, MemoryStore, Reply};
use agent::{
    Limits, Message, ModelDialect, ModelError, ModelEvent, ModelInfo, ModelLimits, ModelStop, PermissionMode,
    Reasoning, SessionEvent, StopReason, ToolStatus, TurnError,
};
use serde_json::json;
use std::sync::Arc;

const CALL: &str = r#"{"name": "file_read", "arguments": {"path": "a.txt"}}"#;

/// A session whose model answers with these texts in turn, each streamed in pieces.
async fn says(texts: &[&str]) -> Stage {
    stage(Setting { script: texts.iter().map(|text| in_pieces(text)).collect(), ..Setting::default() }).await
}

fn in_pieces(text: &str) -> Reply {
    let chars: Vec<char> = text.chars().collect();
    let pieces = chars.chunks(5).map(|piece| ModelEvent::Text(piece.iter().collect()));
    Reply::ok(pieces.chain([ModelEvent::Stop(ModelStop::EndTurn)]).collect())
}

#[tokio::test]
async fn a_call_in_a_fence_is_run_and_is_a_call_of_the_conversation() {
    let stage = says(&[&format!("I look.\n\n```json\n{CALL}\n```"), "It says one."]).await;
    let outcome = stage.prompt("read a.txt").await.unwrap();
    assert_eq!((outcome.stop_reason, outcome.requests), (StopReason::EndTurn, 2));
    assert_eq!(stage.client.text().trim(), "I look.\n\nIt says one.", "no markup is shown");
    let requests = stage.model.requests();
    let Some(Message::Assistant(answer)) = requests[1].messages.last() else { panic!() };
    assert_eq!(answer.text().trim(), "I look.");
    let call = answer.calls().next().unwrap();
    assert_eq!(
        (call.name.as_str(), call.arguments.as_ref().unwrap()),
        ("file_read", &json!({"path": "a.txt"}))
    );
    assert!(call.result.text.contains("1\tone"), "{:?}", call.result);
    assert_eq!(stage.statuses().len(), 1);
}

#[tokio::test]
async fn a_write_in_a_text_goes_through_the_gate() {
    let call = r#"<tool_call>{"name": "bash", "arguments": {"command": "rm -rf /"}}</tool_call>"#;
    let stage = says(&[call, "Then not."]).await;
    stage.prompt("go").await.unwrap();
    assert_eq!(stage.statuses()[0].1, ToolStatus::Failed, "the policy denies it as it denies any call");
}

#[tokio::test]
async fn a_quotation_stays_text() {
    let text = format!("A call looks like this:\n```json\n{CALL}\n```\nThat is all.");
    let stage = says(&[&text]).await;
    assert_eq!(stage.prompt("how?").await.unwrap().requests, 1);
    assert_eq!(stage.client.text(), text, "nothing is lost");
}

#[tokio::test]
async fn of_a_model_that_calls_natively_only_marks_are_calls() {
    let info = ModelInfo {
        id: "fake/native".into(),
        limits: ModelLimits { context_size: 100_000, ..ModelLimits::default() },
        dialect: ModelDialect { native_calls: true, reasoning_field: None },
        ..ModelInfo::default()
    };
    let marked = format!("<tool_call>{CALL}</tool_call>");
    let model = FakeModel::with_info(info, [in_pieces(&marked), in_pieces(CALL)]);
    let (store, mode) = (Arc::new(MemoryStore::default()), PermissionMode::default());
    let stage = stage_on(model, Vec::new(), mode, Limits::default(), store).await;
    assert_eq!(stage.prompt("read").await.unwrap().requests, 2);
    assert_eq!(stage.client.text(), CALL);
}

#[tokio::test]
async fn a_call_in_reasoning_alone_is_run() {
    let thought = format!("I read it. <tool_call>{CALL}</tool_call>");
    let script = vec![
        Reply::ok(vec![
            ModelEvent::Reasoning(thought.clone()),
            ModelEvent::ReasoningDone(Reasoning { text: thought, opaque: None }),
            ModelEvent::Stop(ModelStop::EndTurn),
        ]),
        Reply::text("One."),
    ];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("read").await.unwrap();
    assert!(stage.results()[0].contains("1\tone"));
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more_and_then_fails() {
    let empty = || Reply::ok(vec![ModelEvent::Stop(ModelStop::EndTurn)]);
    let again = stage(Setting { script: vec![empty(), Reply::text("Here.")], ..Setting::default() }).await;
    assert_eq!(again.prompt("go").await.unwrap().requests, 2);
    assert_eq!(again.client.text(), "Here.");
    let requests = again.model.requests();
    let said = format!("{:?}", requests[1].messages.last());
    assert!(said.contains("Your last answer was empty"), "{said}");

    let twice = stage(Setting { script: vec![empty(), empty()], ..Setting::default() }).await;
    let Err(TurnError::Model(ModelError::BadResponse(text))) = twice.prompt("go").await else { panic!() };
    assert!(text.contains("answer was empty twice"), "{text}");
}

#[tokio::test]
async fn a_call_that_the_limit_cut_off_is_told_so_and_not_called_malformed() {
    let call = ModelEvent::ToolCall(agent::ModelCall {
        provider_id: "x".into(),
        name: "file_write".into(),
        arguments: r#"{"path": "n.txt", "content": "on"#.into(),
        opaque: None,
    });
    let usage = agent::Usage { input: 10, output: 4096, ..agent::Usage::default() };
    let script = vec![
        Reply::ok(vec![call, ModelEvent::Usage(usage), ModelEvent::Stop(ModelStop::MaxTokens)]),
        Reply::text("In parts, then."),
    ];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("write").await.unwrap();
    let result = &stage.results()[0];
    assert!(result.contains("cut off at 4096 tokens") && result.contains("nothing was written"), "{result}");
    assert!(!result.contains("malformed"), "{result}");
}

#[tokio::test]
async fn a_loop_of_two_is_warned_of_and_stopped_and_the_model_is_told() {
    let read = |path: &str| Reply::calls(&[("file_read", json!({ "path": path }))]);
    let script = [read("a.txt"), read("b.txt")].into_iter().cycle().take(10).collect();
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let outcome = stage.prompt("go").await.unwrap();
    assert_eq!((outcome.stop_reason, outcome.requests), (StopReason::MaxTurnRequests, 10));
    let results: Vec<_> = stage
        .client
        .events()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::ToolCall(update) => Some(update.result?.text),
            _ => None,
        })
        .collect();
    assert!(!results[3].contains("times") && results[5].contains("3 times"), "{results:?}");
    assert!(results[9].contains("5 times") && results[9].contains("was stopped"), "{results:?}");
    let noticed = |event: &SessionEvent| matches!(event, SessionEvent::Notice { title, .. } if title.contains("5 times"));
    assert!(stage.client.events().iter().any(noticed));
}

#[tokio::test]
async fn what_is_shown_and_judged_is_the_call_as_it_was_read() {
    let script = vec![Reply::calls(&[("Read", json!({"file_path": "a.txt"}))]), Reply::text("Done.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("read").await.unwrap();
    let announced = stage.client.events().into_iter().find_map(|event| match event {
        SessionEvent::ToolCall(update) => {
            Some((update.name.clone(), update.display.title?, update.display.raw_input?))
        }
        _ => None,
    });
    let (name, title, input) = announced.unwrap();
    assert_eq!((name.as_str(), title.as_str(), input), ("file_read", "Read a.txt", json!({"path": "a.txt"})));
    assert!(stage.results()[0].ends_with(r#"(read as file_read {"path":"a.txt"})"#), "{:?}", stage.results());
    let requests = stage.model.requests();
    let Some(Message::Assistant(answer)) = requests[1].messages.last() else { panic!() };
    let call = answer.calls().next().unwrap();
    assert_eq!(
        (call.name.as_str(), call.written.name.as_str()),
        ("file_read", "Read"),
        "its own words go back to it"
    );
}
