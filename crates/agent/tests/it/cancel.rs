//! Cancellation in every state of a turn.

use crate::stage::{Setting, stage};
use agent::fake::Reply;
use agent::{
    Content, Limits, Message, ModelEvent, PermissionMode, SessionEvent, StopReason, ToolStatus, TurnEnd,
    TurnError,
};
use serde_json::json;
use system::fake::Script;

#[tokio::test]
async fn before_the_first_token_and_in_the_middle_of_a_text() {
    for said in [vec![], vec![ModelEvent::Text("Half".to_owned())]] {
        let script = vec![Reply::Hang(said.clone()), Reply::text("again")];
        let stage = stage(Setting { script, ..Setting::default() }).await;
        let cancel = async {
            let asked = |e: &SessionEvent| matches!(e, SessionEvent::Phase(agent::Phase::Thinking));
            stage
                .client
                .until(|client| {
                    client.events().iter().any(asked) && (said.is_empty() || client.text() == "Half")
                })
                .await;
            stage.session.cancel();
        };
        let (outcome, ()) = tokio::join!(stage.prompt("go"), cancel);
        assert_eq!(outcome.unwrap().stop_reason, StopReason::Cancelled);
        let end = stage.client.events().pop();
        assert!(matches!(
            end,
            Some(SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::Cancelled), .. })
        ));
        assert_eq!(stage.prompt("on").await.unwrap().stop_reason, StopReason::EndTurn);
        let kept = stage.model.requests()[1].messages.iter().any(|m| matches!(m, Message::Assistant(_)));
        assert_eq!(kept, !said.is_empty());
    }
}

#[tokio::test]
async fn while_a_permission_is_pending() {
    let script =
        vec![Reply::calls(&[("bash", json!({"command": "cargo test"})), ("bash", json!({"command": "ls"}))])];
    let answers = vec![None];
    let stage =
        stage(Setting { script, answers, permission_mode: PermissionMode::Argus, ..Setting::default() })
            .await;
    let cancel = async {
        stage.client.until(|client| !client.requests().is_empty()).await;
        stage.session.cancel();
    };
    let (outcome, ()) = tokio::join!(stage.prompt("go"), cancel);
    assert_eq!(outcome.unwrap().stop_reason, StopReason::Cancelled);
    assert!(
        stage.statuses().iter().all(|(_, status)| *status == ToolStatus::Cancelled),
        "{:?}",
        stage.statuses()
    );
}

#[tokio::test]
async fn while_a_command_runs() {
    let script = vec![Reply::calls(&[("bash", json!({"command": "sleep 1000"}))])];
    let stage =
        stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    stage.system.on_command("sleep", |_| Script::hangs().prints("waiting\n"));
    let cancel = async {
        stage
            .client
            .until(|client| {
                client.events().iter().any(
                    |e| matches!(e, SessionEvent::ToolCall(u) if u.status == Some(ToolStatus::InProgress)),
                )
            })
            .await;
        stage.session.cancel();
    };
    let (outcome, ()) = tokio::join!(stage.prompt("go"), cancel);
    assert_eq!(outcome.unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(stage.statuses(), [("tool_0".to_owned(), ToolStatus::Cancelled)]);
}

#[tokio::test]
async fn prompts_that_wait_are_cancelled_too_and_cancelling_nothing_is_fine() {
    let stage = stage(Setting { script: vec![Reply::Hang(vec![])], ..Setting::default() }).await;
    stage.session.cancel();
    let cancel = async {
        stage.client.until(|client| !client.events().is_empty()).await;
        stage.session.cancel();
        stage.session.cancel();
    };
    let (first, second, ()) = tokio::join!(stage.prompt("a"), stage.prompt("b"), cancel);
    assert_eq!(first.unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(second.unwrap().stop_reason, StopReason::Cancelled);
}

#[tokio::test]
async fn a_prompt_that_is_taken_back_takes_no_other_with_it() {
    let script = vec![Reply::Hang(vec![]), Reply::text("third")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let text = |text: &str| vec![Content::text(text)];
    let mut prompts: Vec<_> = ["a", "b", "c"].map(|prompt| stage.session.start(text(prompt))).into();
    stage.client.until(|client| !client.events().is_empty()).await;
    prompts[1].cancel();
    assert_eq!(prompts[1].settled().await.unwrap().stop_reason, StopReason::Cancelled);
    prompts[0].cancel();
    assert_eq!(prompts[0].settled().await.unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(prompts[2].settled().await.unwrap().stop_reason, StopReason::EndTurn);
    prompts[2].cancel();
    let said: Vec<_> =
        stage.client.events().into_iter().filter(|e| matches!(e, SessionEvent::UserMessage { .. })).collect();
    assert_eq!(said.len(), 2, "the second never ran: {said:?}");
}

#[tokio::test(start_paused = true)]
async fn while_the_model_is_tried_again_and_right_after_a_load() {
    let retrying = ModelEvent::Retrying {
        attempt: 2,
        after: std::time::Duration::from_secs(60),
        reason: "overloaded".to_owned(),
        limited: false,
    };
    let script = vec![Reply::Hang(vec![retrying])];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let cancel = async {
        stage
            .client
            .until(|client| client.events().iter().any(|e| matches!(e, SessionEvent::Notice { .. })))
            .await;
        stage.session.cancel();
    };
    let (outcome, ()) = tokio::join!(stage.prompt("go"), cancel);
    assert_eq!(outcome.unwrap().stop_reason, StopReason::Cancelled);
    stage.session.close().await;

    let surface = agent::Surface { client: stage.client.clone(), system: stage.system.clone() };
    let loaded =
        stage.runtime.open(stage.session.id(), agent::OpenSession::default(), |_| surface).await.unwrap();
    let mut prompt = loaded.start(vec![Content::text("on")]);
    loaded.cancel();
    assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::Cancelled);
}

#[tokio::test]
async fn one_prompt_too_many_is_refused_and_those_that_wait_are_not() {
    let limits = Limits { queued_prompts: 3, ..Limits::default() };
    let stage = stage(Setting { script: vec![Reply::Hang(Vec::new())], limits, ..Setting::default() }).await;
    let said = |text: &str| vec![Content::text(text)];
    let mut running = stage.session.start(said("running"));
    running.inserted().await.unwrap();
    let mut waiting = vec![stage.session.start(said("1")), stage.session.start(said("2"))];
    // Messages to the running turn count toward the queue as well.
    waiting.push(stage.session.steer(said("3")));
    let refused = stage.session.start(said("4")).settled().await;
    assert_eq!(refused, Err(TurnError::QueueFull(3)));
    stage.session.cancel();
    for prompt in std::iter::once(&mut running).chain(&mut waiting) {
        assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::Cancelled);
    }
}
