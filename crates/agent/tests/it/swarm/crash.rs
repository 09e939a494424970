//! A process ends while subagents are at work, and another one opens the session.

use super::{Cast, Scene, batch, play, subagent};
use agent::{SubagentStatus, fake::Reply};
use serde_json::json;

#[tokio::test]
async fn finished_results_survive_and_the_others_are_interrupted_and_can_be_resumed() {
    let first = play(Cast::default(), |scene: &Scene| match scene.round {
        _ if scene.is("quick") => Reply::text("Quick answer."),
        0 if scene.is("slow") => Reply::calls(&[("file_read", json!({"path": "a.txt"}))]),
        _ if scene.is("slow") => Reply::Hang(Vec::new()),
        _ => batch(json!([
            {"task": "quick", "id": "quick"},
            {"task": "slow", "id": "slow"},
            {"task": "after", "id": "after", "depends_on": ["slow"]},
        ])),
    })
    .await;
    let running = first.session.start(vec![agent::Content::text("Go")]);
    let quick_ended = |client: &agent::fake::FakeClient| {
        client.events().iter().any(|event| matches!(event, agent::SessionEvent::Subagent(state) if state.id == "quick" && state.progress.status == SubagentStatus::Done))
    };
    first.client.until(quick_ended).await;
    first.until(|scene| scene.is("slow") && scene.round == 1).await;

    let second = first
        .reopen(|scene: &Scene| match (scene.is_subagent(), scene.round) {
            (true, 0) => Reply::text("Did what came after."),
            (true, _) => {
                assert!(
                    scene.last[0].contains("The process ended while you were at work"),
                    "{:?}",
                    scene.last
                );
                Reply::text("Slow answer.")
            }
            (false, 1) => batch(json!([{"resume": "slow"}, {"resume": "after"}])),
            (false, _) => Reply::text("All of it."),
        })
        .await;
    second.prompt("Go on").await;
    let text = {
        let scenes = second.scenes.lock().unwrap();
        scenes.iter().find(|scene| !scene.is_subagent()).unwrap().last.join("\n")
    };
    assert!(text.contains("[explore agent 'quick' completed (0 tool calls)]:\nQuick answer."), "{text}");
    assert!(text.contains("[explore agent 'slow' was interrupted]"), "{text}");
    assert!(
        second.received()[0].starts_with("Batch complete: 2 agents finished, 0 failed."),
        "{:?}",
        second.received()
    );
    let statuses = second.statuses().await;
    assert!(
        statuses.len() == 3 && statuses.iter().all(|(_, status)| *status == SubagentStatus::Done),
        "{statuses:?}"
    );
    let quick = second.scenes.lock().unwrap().iter().filter(|scene| scene.is("quick")).count();
    assert_eq!(quick, 0, "what had finished is not run again");
    drop(running);
}

#[tokio::test]
async fn a_resumed_dependent_has_its_inputs_again() {
    let first = play(Cast::default(), |scene: &Scene| match scene.round {
        _ if scene.is("input") => Reply::text("seven"),
        _ if scene.is_subagent() => Reply::Hang(Vec::new()),
        _ => batch(json!([
            {"task": "input", "id": "a"},
            {"task": "sum", "id": "b", "depends_on": ["a"]},
            {"task": "late", "id": "c", "depends_on": ["b"]},
        ])),
    })
    .await;
    let running = first.session.start(vec![agent::Content::text("Go")]);
    first.until(|scene| scene.task.contains("seven")).await;
    let second = first
        .reopen(|scene: &Scene| match (scene.is_subagent(), scene.round) {
            (true, _) => Reply::text("Sum."),
            (false, 1) => batch(json!([{"resume": "c"}, {"resume": "b"}])),
            (false, _) => Reply::text("All of it."),
        })
        .await;
    second.prompt("Go on").await;
    let scenes = second.scenes.lock().unwrap();
    let last = |text: &str| scenes.iter().any(|scene| scene.is_subagent() && scene.last[0].contains(text));
    assert!(last("[Agent 'a']:\nseven"), "the one that had begun");
    assert!(last("[Agent 'b']:\nSum."), "the one that waited, for the result of this run");
    drop(running);
}

#[tokio::test]
async fn a_fork_keeps_the_results_and_resumes_a_copy() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, 0) => Reply::text("First."),
        (true, _) => Reply::text("Second."),
        (false, 0) => subagent(json!({"task": "Look", "id": "a"})),
        (false, 2) => subagent(json!({"resume": "a", "task": "again"})),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let original = play.agents().await[0].clone();
    let surface = agent::Surface { client: agent::fake::FakeClient::new([]), system: play.system.clone() };
    let new = agent::CreateSession {
        cwd: play.session.cwd().clone(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let fork = play.runtime.fork(play.session.id(), new, |_| surface).await.unwrap();
    fork.prompt(vec![agent::Content::text("Again")]).await.unwrap();
    let mut sessions = Vec::new();
    let mut each = |event: &agent::SessionEvent| {
        if let agent::SessionEvent::Subagent(state) = event {
            sessions.extend(state.place.session.clone());
        }
    };
    play.runtime.replay(fork.id(), &mut each).await.unwrap();
    let (first, last) = (sessions.first().unwrap(), sessions.last().unwrap());
    assert_eq!(Some(first), original.place.session.as_ref());
    assert_ne!(first, last, "the original's session is not touched");
}

/// An imported log would name sessions and directories of this machine.
#[tokio::test]
async fn no_subagent_comes_from_a_file() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, _) => Reply::text("First."),
        (false, 0) => subagent(json!({"task": "Look", "id": "a"})),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let mut events = Vec::new();
    play.runtime.replay(play.session.id(), &mut |event| events.push(event.clone())).await.unwrap();
    let (id, state) = (agent::SessionId("other".to_owned()), play.session.state());
    let new = agent::NewSession {
        id: id.clone(),
        cwd: play.session.cwd().clone(),
        additional_directories: Vec::new(),
        model: state.model,
        mode: state.mode,
        permission_mode: state.permission_mode,
        parent: None,
        owner: None,
    };
    play.runtime.import(new, events).await.unwrap();
    assert_eq!(play.runtime.subagents(&id).await.unwrap().agents, []);
}
