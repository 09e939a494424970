//! What is refused, with the text that the model receives.

use super::{Cast, Scene, batch, play, subagent};
use agent::{Mode, fake::Reply};
use serde_json::{Value, json};

/// Returns the result of one call of the `subagent` tool.
async fn answer(arguments: Value) -> String {
    let play = play(Cast::default(), move |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, _) => Reply::text("Done."),
        (false, 0) => subagent(arguments.clone()),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    play.received().remove(0)
}

#[tokio::test]
async fn a_request_that_cannot_work_says_why() {
    for (arguments, expected) in [
        (json!({}), "Provide either `task` (string) or `agents` (array)."),
        (
            json!({"task": "x", "agents": [{"task": "y"}]}),
            "Provide either `task` (string) or `agents` (array).",
        ),
        (
            json!({"task": "x", "type": "wizard"}),
            "Invalid agent type: 'wizard'. Valid: general, explore, plan",
        ),
        (json!({"task": "x", "depends_on": ["ghost"]}), "Unknown dependency agent: 'ghost'"),
        (
            json!({"task": "x", "id": "a", "depends_on": ["a"]}),
            "Circular dependency detected: agent 'a' would create a cycle with depends_on=[a]",
        ),
        (
            json!({"task": "x", "id": "../x"}),
            "Invalid agent id \"../x\". Use up to 64 letters, digits, '-', '_' and '.'.",
        ),
        (json!({"resume": "ghost"}), "There is no agent 'ghost' to resume. You have started none yet."),
        (
            json!({"task": "x", "isolation": "worktree"}),
            "isolation: \"worktree\" is for agents of type general; explore agents change nothing.",
        ),
        (
            json!({"agents": [{"task": "x"}, {"task": "y", "mode": "background"}]}),
            "agents[1] has a mode, and mode is of the whole call: put it beside agents. No agent was started.",
        ),
        (
            json!({"agents": [{"task": "x"}], "type": "general"}),
            "type, id, depends_on, group and isolation beside agents apply to none of them: put them into the elements of agents.",
        ),
        (
            json!({"agents": [{"task": "x", "id": "a"}, {"task": "y", "id": "a"}, {"task": "z", "type": "t"}]}),
            "Validation errors:\nAgent ID 'a' already exists. Use a unique ID.\nInvalid agent type: 't'. Valid: general, explore, plan",
        ),
    ] {
        assert_eq!(answer(arguments.clone()).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn unknown_fields_of_an_agent_are_refused() {
    for (arguments, field) in [
        (json!({"agents": [{"task": "x"}, {"task": "y", "tools": ["grep"]}]}), "unknown field `tools`"),
        (json!({"agents": [{"task": "x", "depend_on": ["y"]}]}), "unknown field `depend_on`"),
        (json!({"agents": ["x"]}), "agents[0] is not an object with a task"),
        (json!({"agents": [{"task": "x", "isolation": "branch"}]}), "unknown variant `branch`"),
        (json!({"task": "x", "tools": ["grep"]}), "subagent has no argument \"tools\""),
    ] {
        let text = answer(arguments.clone()).await;
        assert!(text.contains(field), "{arguments}: {text}");
    }
}

#[tokio::test]
async fn arguments_are_taken_in_the_forms_that_models_write() {
    let batch =
        json!({"agents": "[{\"task\": \"x\", \"id\": \"a\"}, {\"task\": \"y\", \"depends_on\": \"a\"}]"});
    assert!(answer(batch).await.starts_with("Batch complete: 2 agents finished, 0 failed."));
    let other_names =
        json!({"prompt": "x", "subagent_type": "plan", "description": "y", "id": "", "mode": ""});
    let text = answer(other_names).await;
    assert!(text.starts_with("Agent 'plan-1' completed:\nDone."), "{text}");
}

#[tokio::test]
async fn a_cycle_within_a_batch_is_refused_as_a_whole() {
    let cycle = json!({"agents": [
        {"task": "x", "id": "a", "depends_on": ["b"]},
        {"task": "y", "id": "b", "depends_on": ["a"]},
        {"task": "z", "id": "c"},
    ]});
    let text = answer(cycle).await;
    assert!(text.contains("agent 'a' would create a cycle with depends_on=[b]"), "{text}");
    assert!(text.contains("agent 'b' would create a cycle with depends_on=[a]"), "{text}");
}

#[tokio::test]
async fn ids_are_unique_in_the_whole_session() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, _) => Reply::text("Done."),
        (false, 0) | (false, 1) => subagent(json!({"task": "x", "id": "same"})),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    assert_eq!(play.received(), ["Agent ID 'same' already exists. Use a unique ID."]);
}

#[tokio::test]
async fn types_and_depth_bound_what_a_subagent_may_request() {
    let play = play(Cast::default(), |scene: &Scene| match scene.round {
        0 if scene.is("explorer") => subagent(json!({"task": "x", "type": "general"})),
        1 if scene.is("explorer") => {
            assert_eq!(scene.last, ["Cannot spawn 'general' from 'explore' agent. Allowed: explore"]);
            subagent(json!({"task": "leaf"}))
        }
        0 if scene.is("leaf") => subagent(json!({"task": "too deep"})),
        1 if scene.is("leaf") => {
            assert_eq!(scene.last, ["Maximum agent depth reached (3). Cannot spawn deeper."]);
            Reply::text("Leaf.")
        }
        _ if scene.is_subagent() => Reply::text("Explored."),
        0 => batch(json!([{"task": "explorer", "id": "e"}])),
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let agents = play.agents().await;
    let places: Vec<_> =
        agents.iter().map(|agent| (agent.place.depth, agent.place.parent.as_deref())).collect();
    assert_eq!(places, [(1, None), (2, Some("e"))]);
}

#[tokio::test]
async fn the_mode_ask_has_no_subagents() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, _) => Reply::text("Done."),
        (false, 0) => subagent(json!({"task": "x"})),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.session.set_mode(Mode::Ask).await.unwrap();
    play.prompt("Go").await;
    assert_eq!(
        play.received(),
        ["Tool 'subagent' is not available in Ask mode. Switch to Edit mode to use write tools."]
    );
}
