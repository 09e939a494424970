//! Messages of a server during a call: they are shown as they arrive, and extend the call's
//! deadline.

use crate::{
    fake_machine::{FakeMachine, Reaction, Streams, default_reactions, text, tool},
    test_session::TestSession,
};
use agent::{Content, SessionEvent, StopReason, ToolContent, fake::Reply};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// Adds a server whose call sends one of these messages after each interval, and then completes.
fn add_slow_server(machine: &Arc<FakeMachine>, every: Duration, messages: Vec<Value>) {
    machine.program("s", move |mut streams: Streams, _| {
        let messages = messages.clone();
        async move {
            while let Some(message) = streams.next().await {
                if message["method"] != "tools/call" {
                    for act in default_reactions(&message, &json!([tool("work")])) {
                        streams.act(&message, act).await;
                    }
                    continue;
                }
                let mut clock = tokio::time::interval(every);
                clock.tick().await;
                for mut notice in messages.clone() {
                    clock.tick().await;
                    if notice["method"] == "notifications/progress" {
                        notice["params"]["progressToken"] =
                            message["params"]["_meta"]["progressToken"].clone();
                    }
                    notice["jsonrpc"] = json!("2.0");
                    streams.act(&message, Reaction::Line(notice.to_string())).await;
                }
                streams.act(&message, text("worked")).await;
            }
        }
    });
}

/// Returns what was shown of the call while it ran.
fn shown(stage: &TestSession) -> Vec<String> {
    let text = |content: &ToolContent| match content {
        ToolContent::Content(Content::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let events = stage.client.events().into_iter().filter_map(|event| match event {
        SessionEvent::ToolCall(update) if update.status.is_none() => update.display.content,
        _ => None,
    });
    events.filter_map(|content| content.first().and_then(text)).collect()
}

fn call() -> Vec<Reply> {
    vec![Reply::calls(&[("mcp__s__work", json!({}))]), Reply::text("done")]
}

fn progress(progress: u32, message: &str) -> Value {
    let params = json!({ "progress": progress, "total": 4, "message": message });
    json!({ "method": "notifications/progress", "params": params })
}

#[tokio::test(start_paused = true)]
async fn progress_and_logs_of_a_call_are_shown_and_extend_its_deadline() {
    let machine = FakeMachine::new();
    let log = |level: &str, data: Value| json!({ "method": "notifications/message", "params": { "level": level, "logger": "db", "data": data } });
    let messages = vec![
        progress(1, "looking"),
        log("info", json!("read \u{1b}[31mten\u{1b}[0m rows")),
        log("debug", json!("of no use")),
        progress(2, ""),
        log("warning", json!({ "message": "slow", "ms": 7 })),
        progress(3, ""),
    ];
    add_slow_server(&machine, Duration::from_secs(99), messages);
    let stage = TestSession::open(machine, &["s"], call()).await;
    let began = Instant::now();
    assert_eq!(stage.prompt("go").await.stop_reason, StopReason::EndTurn);
    // A call has 120 s since its server's last message.
    assert!(began.elapsed() > Duration::from_secs(590), "{:?}", began.elapsed());
    assert_eq!(stage.results(), ["worked"]);
    assert_eq!(
        shown(&stage),
        [
            "1 of 4: looking",
            "db: read ten rows\n1 of 4: looking",
            "db: read ten rows\n2 of 4",
            "db: read ten rows\ndb: slow\n2 of 4",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_progress_is_throttled_and_the_call_still_ends_at_a_limit() {
    let machine = FakeMachine::new();
    let messages = (0..2_000).map(|at| progress(at, "on")).collect();
    add_slow_server(&machine, Duration::from_millis(10), messages);
    let stage = TestSession::open(machine, &["s"], call()).await;
    stage.prompt("go").await;
    assert_eq!(stage.results(), ["worked"]);
    let shown = shown(&stage);
    assert!((150..=201).contains(&shown.len()), "{}", shown.len());
    let machine = FakeMachine::new();
    add_slow_server(&machine, Duration::from_secs(60), (0..100).map(|at| progress(at, "for ever")).collect());
    let stage = TestSession::open(machine, &["s"], call()).await;
    let began = Instant::now();
    stage.prompt("go").await;
    // Progress extends a call's deadline to an hour at most.
    assert_eq!(stage.results(), ["MCP server 's': timed out after 3600s."]);
    assert!(began.elapsed() < Duration::from_secs(3700), "{:?}", began.elapsed());
    stage.machine.received().wait_for("s", "notifications/cancelled").await;
}
