//! What the requesting agent receives.

use super::{Cast, Scene, batch, play, subagent};
use agent::{
    Content, SessionEvent, StopReason, SubagentStatus,
    fake::{FakeClient, Reply},
};
use serde_json::json;

#[tokio::test]
async fn a_call_waits_for_its_subagent_and_receives_the_answer() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, 0) => Reply::calls(&[("file_read", json!({"path": "a.txt"}))]),
        (true, _) => Reply::text("a.txt has two lines."),
        (false, 0) => subagent(json!({"task": "Count the lines of a.txt", "id": "counter"})),
        (false, _) => Reply::text("Two."),
    })
    .await;
    let outcome = play.prompt("How many lines?").await;
    assert_eq!(play.received(), ["Agent 'counter' completed:\na.txt has two lines."]);
    assert_eq!((outcome.requests, outcome.usage.input), (2, 40), "the usage includes the subagent's");
    let agents = play.agents().await;
    let [agent] = agents.as_slice() else { panic!("{agents:?}") };
    assert_eq!(agent.progress.status, SubagentStatus::Done);
    assert_eq!((agent.activity.tool_calls, agent.activity.last_tool.as_deref()), (1, Some("file_read")));
    assert_eq!(agent.result.as_deref(), Some("a.txt has two lines."));
    assert!(agent.progress.delivered && agent.place.session.is_some());
    assert_eq!(
        play.runtime.list(agent::ListQuery { limit: 10, ..Default::default() }).await.unwrap().sessions.len(),
        1
    );
}

#[tokio::test]
async fn a_background_subagent_is_delivered_as_a_message_and_the_turn_waits_for_it() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, _) => Reply::text("Found it in a.txt."),
        (false, 0) => subagent(json!({"task": "Search", "id": "seeker", "mode": "background"})),
        (false, 1) => {
            let text =
                "Agent 'seeker' spawned in background (explore). Results will be delivered when ready.";
            assert_eq!(scene.last, [text]);
            Reply::text("I wait for it.")
        }
        (false, _) => Reply::text("It is in a.txt."),
    })
    .await;
    let outcome = play.prompt("Where is it?").await;
    assert_eq!(outcome.stop_reason, StopReason::EndTurn);
    assert_eq!(
        play.received(),
        ["[Background explore agent 'seeker' completed (0 tool calls)]:\nFound it in a.txt."]
    );
    assert!(play.client.text().ends_with("It is in a.txt."), "{}", play.client.text());
}

#[tokio::test]
async fn a_batch_reports_all_its_results() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        _ if scene.is("fails") => Reply::error(agent::ModelError::BadRequest("no such field".to_owned())),
        _ if scene.is_subagent() => Reply::text("Done."),
        0 => batch(json!([{"task": "works", "id": "a"}, {"task": "fails", "id": "b", "type": "plan"}])),
        _ => Reply::text("Both ended."),
    })
    .await;
    play.prompt("Do both").await;
    let text = "Batch complete: 1 agents finished, 1 failed.\n\nAgent 'a' completed:\nDone.\n\nAgent 'b' failed: no such field";
    assert_eq!(play.received(), [text]);
    let titles = titles(&play.client);
    assert_eq!(titles.first().map(String::as_str), Some("2 subagents"));
    assert_eq!(titles.last().map(String::as_str), Some("2 subagents (1 failed, 1 done)"));
}

#[tokio::test]
async fn the_title_of_a_batch_shows_how_far_it_is() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        _ if scene.is("hangs") => Reply::Hang(Vec::new()),
        _ if scene.is_subagent() => Reply::text("Done."),
        0 => batch(json!([{"task": "works", "id": "a"}, {"task": "hangs", "id": "b"}])),
        _ => Reply::text("Ended."),
    })
    .await;
    let mut turn = play.session.start(vec![Content::text("Do both")]);
    let shown = "2 subagents (1 done, 1 running)";
    play.client.until(|client| titles(client).iter().any(|title| title == shown)).await;
    play.session.cancel();
    turn.settled().await.unwrap();
    let last = titles(&play.client).pop();
    assert_eq!(last.as_deref(), Some("2 subagents"), "the title that a replay shows");
}

/// Returns the titles of calls that a client received, in order.
fn titles(client: &FakeClient) -> Vec<String> {
    let title = |event| match event {
        SessionEvent::ToolCall(update) => update.display.title,
        _ => None,
    };
    client.events().into_iter().filter_map(title).collect()
}

#[tokio::test]
async fn a_batch_in_the_background_is_delivered_together_or_one_by_one() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        _ if scene.is_subagent() => Reply::text("Done."),
        0 => subagent(json!({
            "mode": "background",
            "agents": [{"task": "one", "id": "a"}, {"task": "two", "id": "b", "depends_on": ["a"]}],
        })),
        1 => {
            assert_eq!(
                scene.last,
                ["Batch spawned 2 agents in background: a, b. Results will be delivered when ready."]
            );
            Reply::text("Waiting.")
        }
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Do both").await;
    assert!(play.agents().await.iter().all(|agent| agent.progress.delivered));
}

#[tokio::test]
async fn a_long_answer_is_cut() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        _ if scene.is_subagent() => Reply::text(&"ä".repeat(5_000)),
        0 => subagent(json!({"task": "Write much"})),
        _ => Reply::text("Long."),
    })
    .await;
    play.prompt("Go").await;
    let received = play.received().remove(0);
    assert!(
        received.starts_with(&format!("Agent 'explore-1' completed:\n{}\n[", "ä".repeat(4_000))),
        "{received}"
    );
    assert!(received.contains("The answer is longer: 10000 bytes."), "{received}");
}

#[tokio::test]
async fn results_of_dependencies_are_part_of_the_task() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        _ if scene.is("first") => Reply::text("seven"),
        _ if scene.is("broken") => Reply::error(agent::ModelError::Auth("no key".to_owned())),
        _ if scene.is_subagent() => Reply::text("Summed up."),
        0 => batch(json!([
            {"task": "sum", "id": "c", "depends_on": ["a", "b"]},
            {"task": "first", "id": "a"},
            {"task": "broken", "id": "b"},
        ])),
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let scenes = play.scenes.lock().unwrap();
    let last = scenes.iter().find(|scene| scene.task.contains("\n\nsum\n")).unwrap();
    let expected = "\n\nsum\n\n--- Results from dependency agents ---\n[Agent 'a']:\nseven\n\n[FAILED] Agent 'b' failed: no key\n";
    assert!(last.task.contains(expected), "{}", last.task);
}

#[tokio::test]
async fn a_subagent_shares_the_prefix_of_the_session() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, _) => Reply::text("Yes."),
        (false, 0) => subagent(json!({"task": "Look"})),
        (false, _) => Reply::text("Good."),
    })
    .await;
    play.prompt("Go").await;
    let scenes = play.scenes.lock().unwrap();
    let (own, other): (Vec<_>, Vec<_>) = scenes.iter().partition(|scene| !scene.is_subagent());
    assert_eq!((&own[0].system, &own[0].tools), (&other[0].system, &other[0].tools));
}

#[tokio::test]
async fn an_ended_subagent_goes_on_when_it_is_resumed() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, 0) => Reply::text("It is in a.txt."),
        (true, _) => {
            assert_eq!(scene.last, ["The agent that gave you your task says:\n/model which line?"]);
            Reply::text("Line 2.")
        }
        (false, 0) => subagent(json!({"task": "Search", "id": "seeker"})),
        (false, 1) => subagent(json!({"resume": "seeker", "task": "/model which line?"})),
        (false, _) => Reply::text("Line 2 of a.txt."),
    })
    .await;
    play.prompt("Where?").await;
    assert_eq!(play.received(), ["Agent 'seeker' completed:\nLine 2."]);
    assert_eq!(play.agents().await.len(), 1);
}
