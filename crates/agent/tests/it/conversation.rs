//! Prompts, answers and calls in the normal order.

use crate::stage::{Setting, stage, stage_on};
use agent::fake::{FakeModel, Reply};
use agent::{
    CommandOutcome, Content, Limits, Message, Mode, ModelCall, ModelEvent, ModelInfo, ModelLimits, ModelStop,
    PermissionMode, SessionEvent, StopReason, ToolStatus, TurnError,
};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn a_prompt_is_answered_and_stored() {
    let stage = stage(Setting { script: vec![Reply::text("Hello.")], ..Setting::default() }).await;
    let outcome = stage.prompt("hi\nthere").await.unwrap();
    assert_eq!((outcome.stop_reason, outcome.requests), (StopReason::EndTurn, 1));
    assert_eq!((outcome.usage.input, outcome.usage.output), (10, 5));
    assert_eq!(stage.client.text(), "Hello.");
    assert_eq!(stage.session.state().title.as_deref(), Some("hi"));
    let stored = stage.stored().await;
    assert!(stored.iter().all(SessionEvent::is_durable));
    assert!(matches!(stored.first(), Some(SessionEvent::TurnStarted { .. })));
    assert!(matches!(stored.last(), Some(SessionEvent::TurnEnded { .. })));
}

#[tokio::test]
async fn reads_run_and_their_results_go_back_in_the_order_of_the_calls() {
    let script = vec![
        Reply::calls(&[
            ("file_read", json!({"path": "a.txt"})),
            ("file_read", json!({"path": "missing.txt"})),
            ("file_read", json!({"path": "b.txt"})),
        ]),
        Reply::text("Done."),
    ];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("read").await.unwrap();
    let results = stage.results();
    assert!(results[0].contains("1\tone") && results[0].contains("2\ttwo"), "{results:?}");
    assert!(results[1].starts_with("File not found"), "{results:?}");
    assert!(results[2].contains("1\tthree"), "{results:?}");
    let statuses: Vec<_> = stage.statuses().into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [ToolStatus::Completed, ToolStatus::Failed, ToolStatus::Completed]);
}

#[tokio::test]
async fn a_search_by_the_provider_is_stored_and_shown_as_a_call() {
    let searched = vec![
        ModelEvent::HostedSearch("rust\n2024".to_owned()),
        ModelEvent::Other("{}".to_owned()),
        ModelEvent::Text("Found.".to_owned()),
        ModelEvent::Stop(ModelStop::EndTurn),
    ];
    let script = vec![Reply::ok(searched), Reply::text("Done.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("search").await.unwrap();
    let stored = stage.stored().await;
    let calls = stored.iter().filter_map(|event| match event {
        SessionEvent::ToolCall(update) => Some(update),
        _ => None,
    });
    let [call, ended] = calls.collect::<Vec<_>>()[..] else { panic!("{stored:?}") };
    assert_eq!((&ended.id, ended.status), (&call.id, Some(ToolStatus::Completed)));
    assert_eq!(call.name, "web_search");
    assert_eq!(call.display.title.as_deref(), Some("Search the web for rust⏎2024"));
    assert_eq!(call.display.raw_input, Some(json!({ "query": "rust\n2024" })));
    assert_eq!(stage.statuses(), [(call.id.to_string(), ToolStatus::Completed)]);
    // The model gets its own items back, and no call of ours.
    stage.prompt("go on").await.unwrap();
    let requests = stage.model.requests();
    let answers = requests[1].messages.iter().filter_map(|message| match message {
        Message::Assistant(answer) => Some(answer),
        Message::User(_) => None,
    });
    let [answer] = answers.collect::<Vec<_>>()[..] else { panic!("{requests:?}") };
    assert!(!answer.has_calls() && answer.items.len() == 2, "{answer:?}");
}

#[tokio::test]
async fn what_the_model_got_wrong_is_told_to_it_and_not_run() {
    let broken = ModelEvent::ToolCall(ModelCall {
        provider_id: "x".to_owned(),
        name: "bash".to_owned(),
        arguments: "{\"command\": \"rm".to_owned(),
        opaque: None,
    });
    let script = vec![
        Reply::ok(vec![broken, ModelEvent::Stop(ModelStop::ToolCalls)]),
        Reply::calls(&[("file_raed", json!({})), ("file_read", json!({"offset": 1}))]),
        Reply::text("Sorry."),
    ];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("go").await.unwrap();
    let requests = stage.model.requests();
    let Some(Message::Assistant(first)) = requests[1].messages.last() else { panic!() };
    let cut = &first.calls().next().unwrap().result.text;
    assert!(cut.starts_with("The call of bash was cut off: its arguments are incomplete"), "{cut}");
    let results = stage.results();
    assert!(
        results[0]
            .starts_with("Tool 'file_raed' not found. Did you mean file_read? The tools are: file_read, "),
        "{results:?}"
    );
    assert!(results[1].contains("missing field `path`"), "{results:?}");
    assert!(stage.statuses().iter().all(|(_, status)| *status == ToolStatus::Failed));
}

#[tokio::test]
async fn a_broken_answer_keeps_its_text_and_loses_its_calls() {
    let call = ModelEvent::call("x", "bash", &json!({"command": "ls"}));
    let error = agent::ModelError::Transport("connection reset".to_owned());
    let script = vec![
        Reply::Events(vec![Ok(ModelEvent::Text("Half an".into())), Ok(call), Err(error.clone())]),
        Reply::text("Whole."),
    ];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    assert_eq!(stage.prompt("go").await, Err(TurnError::Model(error)));
    assert!(stage.statuses().is_empty(), "a call of a broken answer is never announced");
    stage.prompt("again").await.unwrap();
    let requests = stage.model.requests();
    assert!(matches!(&requests[1].messages[1], Message::Assistant(message) if message.text() == "Half an"));
}

#[tokio::test]
async fn prompts_wait_for_each_other_and_each_settles() {
    let script = vec![Reply::text("1"), Reply::text("2"), Reply::text("3")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let (first, second, third) = tokio::join!(stage.prompt("a"), stage.prompt("b"), stage.prompt("c"));
    assert!(first.is_ok() && second.is_ok() && third.is_ok());
    assert_eq!(stage.client.text(), "123");
}

#[tokio::test]
async fn loops_and_long_turns_end() {
    let same = || Reply::calls(&[("file_read", json!({"path": "a.txt"}))]);
    let limits = Limits { identical_calls: 3, ..Limits::default() };
    let looping = stage(Setting { script: vec![same(), same(), same()], limits, ..Setting::default() }).await;
    assert_eq!(looping.prompt("go").await.unwrap().stop_reason, StopReason::MaxTurnRequests);

    let read = |line: u32| Reply::calls(&[("file_read", json!({"path": "a.txt", "offset": line}))]);
    let limits = Limits { turn_requests: 2, ..Limits::default() };
    let long = stage(Setting { script: vec![read(1), read(2)], limits, ..Setting::default() }).await;
    assert_eq!(long.prompt("go").await.unwrap().stop_reason, StopReason::MaxTurnRequests);
}

#[tokio::test]
async fn slash_commands_change_the_session_and_are_not_said_to_the_model() {
    let stage = stage(Setting { script: vec![Reply::text("ok")], ..Setting::default() }).await;
    stage.prompt("/argus").await.unwrap();
    stage.prompt("/plan").await.unwrap();
    assert_eq!(stage.session.state().permission_mode, PermissionMode::Argus);
    assert_eq!(stage.session.state().mode, Mode::Plan);
    stage.prompt("hello").await.unwrap();
    let requests = stage.model.requests();
    assert_eq!(requests[0].messages.len(), 1);
    let tools: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(tools.contains(&"file_read") && tools.contains(&"file_write"), "{tools:?}");
    let Message::User(content) = &requests[0].messages[0] else { panic!() };
    assert!(format!("{content:?}").contains("Mode: Plan. Change nothing"), "{content:?}");
    let outcome = stage.prompt("/model nope/x").await.unwrap();
    assert_eq!(outcome.command, Some(CommandOutcome::Refused));
}

#[tokio::test]
async fn linked_files_are_read_and_secrets_are_not() {
    let stage = stage(Setting { script: vec![Reply::text("ok")], ..Setting::default() }).await;
    stage.system.add_file("/w/.env", "SECRET=1\n");
    let link = |name: &str| Content::ResourceLink { uri: format!("file:///w/{name}"), name: name.to_owned() };
    stage.session.prompt(vec![Content::text("see"), link("a.txt"), link(".env")]).await.unwrap();
    let requests = stage.model.requests();
    let Message::User(content) = &requests[0].messages[0] else { panic!() };
    let text = format!("{content:?}");
    assert!(
        text.contains("one") && text.contains("Attached by name only") && !text.contains("SECRET"),
        "{text}"
    );
}

#[tokio::test]
async fn a_stand_in_says_so_in_its_first_message_once() {
    let info = ModelInfo {
        id: "offline/x".into(),
        name: "X".into(),
        description: None,
        limits: ModelLimits { context_size: 1, max_output: 1, silence: None },
        disclosure: Some("No language model here.".into()),
        ..ModelInfo::default()
    };
    let model = FakeModel::with_info(info, [Reply::text("A"), Reply::text("B")]);
    let stage = stage_on(model, vec![], PermissionMode::Guardian, Limits::default(), Arc::default()).await;
    stage.prompt("a").await.unwrap();
    stage.prompt("b").await.unwrap();
    assert_eq!(stage.client.text(), "No language model here.\n\nAB");
}

#[tokio::test]
async fn an_empty_prompt_is_an_error_and_starts_no_turn() {
    let stage = stage(Setting::default()).await;
    assert!(matches!(stage.prompt(" \n").await, Err(TurnError::BadPrompt(_))));
    assert!(stage.stored().await.is_empty());
}

#[tokio::test]
async fn a_name_in_another_composition_is_the_same_file() {
    let script = vec![
        Reply::calls(&[("file_read", json!({ "path": "caf\u{e9}.txt" }))]),
        Reply::calls(&[("file_write", json!({ "path": "\"caf\u{e9}.txt\"", "content": "new\n" }))]),
        Reply::text("Done."),
    ];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.system.add_file("/w/cafe\u{301}.txt", "old\n");
    stage.prompt("go").await.unwrap();
    assert_eq!(stage.system.text_of("/w/cafe\u{301}.txt").as_deref(), Some("new\n"), "{:?}", stage.results());
    assert_eq!(stage.system.text_of("/w/caf\u{e9}.txt"), None);
}
