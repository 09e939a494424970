//! In which order subagents run, and how many at a time.

use super::{Cast, Scene, batch, play};
use agent::{Limits, SubagentLimits, SubagentStatus, fake::Reply};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Limits with this many slots.
fn slots(concurrency: usize) -> Limits {
    Limits { subagents: SubagentLimits { concurrency, ..SubagentLimits::default() }, ..Limits::default() }
}

/// Returns the tasks of the subagents in the order in which their models were first asked.
fn order(scenes: &[Scene]) -> Vec<String> {
    let first = scenes.iter().filter(|scene| scene.is_subagent() && scene.round == 0);
    first.map(|scene| scene.task.split("\n\n").nth(1).unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_group_runs_one_at_a_time_and_dependencies_come_first() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        _ if scene.is_subagent() => Reply::text("Done."),
        0 => batch(json!([
            {"task": "last", "id": "d", "depends_on": ["a", "b", "c"]},
            {"task": "a", "id": "a", "group": "disk"},
            {"task": "b", "id": "b", "group": "disk"},
            {"task": "c", "id": "c", "depends_on": ["b"]},
        ])),
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let order = order(&play.scenes.lock().unwrap());
    let at = |task: &str| order.iter().position(|other| other == task).unwrap();
    assert!(at("a") < at("b") && at("b") < at("c") && at("c") < at("last"), "{order:?}");
}

#[tokio::test]
async fn a_parent_that_waits_leaves_its_slot_to_its_children() {
    let play = play(Cast { limits: slots(1), ..Cast::default() }, |scene: &Scene| match scene.round {
        0 if scene.is("parent") => batch(json!([{"task": "x"}, {"task": "y"}])),
        _ if scene.is("parent") => Reply::text("Both."),
        _ if scene.is_subagent() => Reply::text("Done."),
        0 => batch(json!([{"task": "parent", "type": "general"}, {"task": "other"}])),
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let statuses = play.statuses().await;
    assert!(
        statuses.len() == 4 && statuses.iter().all(|(_, status)| *status == SubagentStatus::Done),
        "{statuses:?}"
    );
}

#[tokio::test]
async fn no_more_run_at_a_time_than_there_are_slots() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let play = play(Cast { limits: slots(3), ..Cast::default() }, move |scene: &Scene| {
        match (scene.is_subagent(), scene.round) {
            (true, 0) => {
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                Reply::calls(&[("file_read", json!({"path": "a.txt"}))])
            }
            (true, _) => {
                now.fetch_sub(1, Ordering::SeqCst);
                Reply::text("Done.")
            }
            (false, 0) => batch((0..20).map(|n| json!({"task": format!("t{n}")})).collect()),
            (false, _) => Reply::text("Ended."),
        }
    })
    .await;
    play.prompt("Go").await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
    assert!(play.received()[0].starts_with("Batch complete: 20 agents finished, 0 failed."));
}

#[tokio::test]
async fn a_subagent_cannot_wait_for_one_that_waits_for_it() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        0 if scene.is("parent") => batch(json!([{"task": "x", "id": "child", "depends_on": ["p"]}])),
        _ if scene.is("parent") => {
            assert_eq!(
                scene.last,
                ["Validation errors:\nAgent 'child' cannot depend on an agent that waits for it: depends_on=[p]"]
            );
            Reply::text("No.")
        }
        0 => batch(json!([{"task": "parent", "id": "p", "type": "general"}])),
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    assert_eq!(play.statuses().await, [("p".to_owned(), SubagentStatus::Done)]);
}
