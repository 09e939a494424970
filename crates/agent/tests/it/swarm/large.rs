//! A large swarm ends in the right states.

use super::{Cast, Scene, batch, play};
use agent::{ModelError, SubagentStatus, fake::Reply};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Ten parents of the first level, each with nineteen children: failures that last and that pass,
/// dependencies and groups among them.
fn children() -> Value {
    let child = |n: usize| match n {
        0 => json!({"task": "fails for good"}),
        1 => json!({"task": "fails once"}),
        2 => json!({"task": "works", "group": "g"}),
        3 => json!({"task": "works", "group": "g"}),
        _ => json!({"task": "works"}),
    };
    (0..19).map(child).collect()
}

#[tokio::test(start_paused = true)]
async fn two_hundred_subagents_in_three_levels_end_in_the_right_states() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        0 if scene.is("parent") => batch(children()),
        _ if scene.is("parent") => Reply::text("My children ended."),
        _ if scene.is("fails for good") => Reply::error(ModelError::BadRequest("no".to_owned())),
        _ if scene.is("fails once") && scene.last[0].contains("fails once") => {
            Reply::error(ModelError::Overloaded("busy".to_owned()))
        }
        _ if scene.is_subagent() => Reply::text("Worked."),
        0 => batch((0..10).map(|_| json!({"task": "parent", "type": "general"})).collect()),
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let mut counts: BTreeMap<SubagentStatus, usize> = BTreeMap::new();
    for (_, status) in play.statuses().await {
        *counts.entry(status).or_default() += 1;
    }
    assert_eq!(counts, BTreeMap::from([(SubagentStatus::Done, 190), (SubagentStatus::Failed, 10)]));
    assert!(play.received()[0].starts_with("Batch complete: 10 agents finished, 0 failed."));
}
