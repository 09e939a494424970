//! Retries, the watchdog, cancellation, and subagents that are stuck.

use super::{Cast, Scene, batch, play, subagent};
use agent::{
    Content, Limits, ModelError, StopReason, SubagentLimits, SubagentStatus, SwarmEvent, fake::Reply,
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

#[tokio::test(start_paused = true)]
async fn a_passing_failure_is_tried_again_and_a_lasting_one_is_not() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let play = play(Cast::default(), move |scene: &Scene| match scene.round {
        _ if scene.task.ends_with("busy") => match counted.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::error(ModelError::Overloaded("too many requests".to_owned())),
            _ => Reply::text("Worked."),
        },
        _ if scene.task.ends_with("down") => Reply::error(ModelError::Transport("no route".to_owned())),
        _ if scene.task.ends_with("denied") => Reply::error(ModelError::Auth("no key".to_owned())),
        0 => batch(json!([
            {"task": "busy", "id": "busy"}, {"task": "down", "id": "down"}, {"task": "denied", "id": "denied"},
        ])),
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let ends: Vec<_> = play
        .agents()
        .await
        .into_iter()
        .map(|agent| (agent.progress.status, agent.progress.retries, agent.progress.error))
        .collect();
    let error = |text: &str| Some(text.to_owned());
    assert_eq!(
        ends,
        [
            (SubagentStatus::Done, 1, None),
            (SubagentStatus::Failed, 1, error("no route")),
            (SubagentStatus::Failed, 0, error("no key")),
        ]
    );
    let retrying = play.client.events().into_iter().any(|event| match event {
        agent::SessionEvent::Swarm(SwarmEvent::State(state)) => state.agents.iter().any(|agent| {
            agent.progress.status == SubagentStatus::Retrying && agent.progress.next_retry_at.is_some()
        }),
        _ => false,
    });
    assert!(retrying, "clients see that it is tried again");
}

#[tokio::test(start_paused = true)]
async fn a_silent_subagent_is_stopped_by_the_watchdog() {
    let idle = Duration::from_secs(60);
    let limits =
        Limits { subagents: SubagentLimits { idle, ..SubagentLimits::default() }, ..Limits::default() };
    let play =
        play(Cast { limits, ..Cast::default() }, |scene: &Scene| match (scene.is_subagent(), scene.round) {
            (true, _) => Reply::Hang(Vec::new()),
            (false, 0) => subagent(json!({"task": "Think", "id": "thinker"})),
            (false, _) => Reply::text("It hung."),
        })
        .await;
    play.prompt("Go").await;
    let text = play.received().remove(0);
    let idle = text
        .strip_prefix("Agent 'thinker' failed: watchdog: subagent idle for 6")
        .unwrap_or_else(|| panic!("{text}"));
    assert!(idle.ends_with("s with no activity"), "{text}");
}

#[tokio::test]
async fn cancelling_the_turn_reaches_every_level() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        0 if scene.is("parent") => subagent(json!({"task": "leaf", "id": "leaf"})),
        _ if scene.is("leaf") => Reply::Hang(Vec::new()),
        0 => subagent(json!({
            "mode": "background",
            "agents": [
                {"task": "parent", "id": "parent", "type": "general"},
                {"task": "later", "id": "later", "depends_on": ["parent"]},
            ],
        })),
        _ => Reply::text("Waiting."),
    })
    .await;
    let cancel = async {
        play.until_asked("leaf").await;
        play.session.cancel();
    };
    let (outcome, ()) = tokio::join!(play.prompt("Go"), cancel);
    assert_eq!(outcome.stop_reason, StopReason::Cancelled);
    // The session is free again once all are cancelled.
    play.session.set_title("x".to_owned()).await.unwrap();
    let cancelled: Vec<_> = play.statuses().await;
    assert!(cancelled.iter().all(|(_, status)| *status == SubagentStatus::Cancelled), "{cancelled:?}");
    assert_eq!(cancelled.len(), 3);
}

#[tokio::test]
async fn a_prompt_that_waits_ends_the_wait_and_its_turn_gets_the_result() {
    let (gate, open) = (Arc::new(tokio::sync::Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let opened = Arc::clone(&open);
    let play = play(Cast::default(), move |scene: &Scene| match scene.round {
        _ if scene.is_subagent() && opened.load(Ordering::SeqCst) == 0 => {
            Reply::calls(&[("bash", json!({"command": "wait"}))])
        }
        _ if scene.is_subagent() => Reply::text("Slow answer."),
        0 => subagent(json!({"task": "slow", "id": "slow", "type": "general", "mode": "background"})),
        1 => Reply::text("Started."),
        _ if scene.last[0].contains("Slow answer.") => Reply::text("Delivered."),
        _ => Reply::text("Meanwhile."),
    })
    .await;
    let waits = Arc::clone(&gate);
    play.system.on_command("wait", move |_| {
        open.store(1, Ordering::SeqCst);
        let _ = &waits;
        system::fake::Script::exits(0)
    });
    play.session.set_permission_mode(agent::PermissionMode::Prometheus).await.unwrap();
    let mut first = play.session.start(vec![Content::text("Start it")]);
    play.until_asked("slow").await;
    let mut second = play.session.start(vec![Content::text("And now?")]);
    assert_eq!(first.settled().await.unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(second.settled().await.unwrap().stop_reason, StopReason::EndTurn);
    assert!(play.client.text().contains("Delivered."), "{}", play.client.text());
}

#[tokio::test]
async fn a_subagent_that_repeats_itself_is_warned_twice_and_stopped() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, _) => Reply::calls(&[("grep", json!({"pattern": "two"}))]),
        (false, 0) => subagent(json!({"task": "Search", "id": "s"})),
        (false, _) => Reply::text("It was stuck."),
    })
    .await;
    play.prompt("Go").await;
    let agents = play.agents().await;
    assert_eq!(agents[0].progress.status, SubagentStatus::Failed, "{agents:?}");
    assert!(agents[0].activity.tool_calls <= 9, "{}", agents[0].activity.tool_calls);
}

#[tokio::test]
async fn an_agent_whose_request_was_not_recorded_can_be_requested_again() {
    let mut refused = 0;
    for append in 0..8 {
        let play = play(Cast::default(), |scene: &Scene| match scene.round {
            _ if scene.is_subagent() => Reply::text("Found."),
            _ if scene.last[0].starts_with("No agent was started") => {
                subagent(json!({"task": "Look again", "id": "a"}))
            }
            0 => subagent(json!({"task": "Look", "id": "a"})),
            _ => Reply::text("Ended."),
        })
        .await;
        play.store.trip_after(append, false);
        // Other appends that fail end the turn.
        let ended = play.session.prompt(vec![Content::text("Go")]).await;
        let is_refusal = |scene: &Scene| scene.last[0].starts_with("No agent was started");
        if play.scenes.lock().unwrap().iter().any(is_refusal) {
            refused += 1;
            assert!(ended.is_ok(), "{ended:?}");
            assert_eq!(play.statuses().await, [("a".to_owned(), SubagentStatus::Done)]);
            assert_eq!(play.agents().await[0].request.task, "Look again");
        }
    }
    assert_eq!(refused, 1, "one of the appends is that of the request");
}
