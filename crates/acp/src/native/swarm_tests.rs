//! Tests of the native events of subagents, with prepared swarm states.

use super::*;
use crate::native::schema::sorted;
use agent::{
    KeptOutput, SubagentActivity, SubagentPlace, SubagentProgress, SubagentRequest, SubagentState,
    SubagentStatus, SubagentTimes, SwarmState, Usage,
};
use serde_json::Value;

fn agent(id: &str, parent: Option<&str>, status: SubagentStatus, active: i64) -> SubagentState {
    SubagentState {
        id: id.to_owned(),
        place: SubagentPlace { parent: parent.map(str::to_owned), ..SubagentPlace::default() },
        request: SubagentRequest {
            kind: "explore".to_owned(),
            task: format!("Look at {id}"),
            mode: "await".to_owned(),
            ..SubagentRequest::default()
        },
        progress: SubagentProgress { status, ..SubagentProgress::default() },
        times: SubagentTimes { started_at: Some(1_000), ended_at: None, active_at: Some(active) },
        activity: SubagentActivity {
            tool_calls: 3,
            usage: Usage { input: 10, output: 2, ..Usage::default() },
            ..SubagentActivity::default()
        },
        ..SubagentState::default()
    }
}

/// Returns the agent with an end.
fn ended(agent: SubagentState, at: i64) -> SubagentState {
    SubagentState { times: SubagentTimes { ended_at: Some(at), ..agent.times }, ..agent }
}

/// Returns the native events for a swarm event, as on the wire except for the envelope.
fn native_events(event: SwarmEvent) -> Vec<Value> {
    let steps = Projection::default().steps(&SessionEvent::Swarm(event), &Vec::new);
    let event = |step: &Step| {
        let (Step::Frame(frame) | Step::State(_, frame)) = step;
        serde_json::to_value(frame.event.as_ref().unwrap()).unwrap()
    };
    steps.iter().map(event).collect()
}

#[test]
fn subagent_calls_are_sent_as_entries() {
    let calls = || vec![SubagentCall { id: "tool_3".into(), args: json!({ "id": "a", "task": "t" }) }];
    let entries = json!([{ "args": { "id": "a", "task": "t" }, "id": "tool_3" }]);
    for (event, name) in [
        (SwarmEvent::Spawned(calls()), "subagent_spawned"),
        (SwarmEvent::Running(calls()), "subagent_running"),
    ] {
        assert_eq!(native_events(event), [json!({ "type": name, "entries": entries })]);
    }
}

#[test]
fn a_subagents_end_has_its_children_and_statistics() {
    let output = Some(KeptOutput { reference: "r".to_owned(), bytes: 9, preview: "p".to_owned() });
    let done = ended(agent("a", None, SubagentStatus::Done, 3_500), 3_500);
    let state = SubagentState { output, ..done };
    let end = |background| SubagentEnd {
        args: json!({ "id": "a" }),
        result: "found".to_owned(),
        success: true,
        background,
        state: state.clone(),
        descendants: vec![agent("b", Some("a"), SubagentStatus::Done, 2_000)],
    };
    let entry = native_events(SwarmEvent::Completed(vec![end(false)]))[0]["entries"][0].clone();
    assert_eq!(entry.get("kind"), None);
    assert_eq!(entry["children"][0]["id"], "b");
    assert_eq!((&entry["stats"]["elapsed"], &entry["stats"]["startTime"]), (&json!(2.5), &json!(1.0)));
    assert_eq!(
        (&entry["stats"]["outputRef"], &entry["stats"]["agentType"]),
        (&json!("r"), &json!("explore"))
    );
    let entry = native_events(SwarmEvent::Completed(vec![end(true)]))[0]["entries"][0].clone();
    assert_eq!((entry.get("children"), &entry["kind"]), (None, &json!("completion")));
}

#[test]
fn a_swarm_state_becomes_a_tree_and_a_dashboard() {
    use SubagentStatus::{Done, Failed, Queued, Retrying, Running};
    let mut bad = agent("bad", None, Failed, 3_000);
    (bad.progress.error, bad.progress.retries) = (Some("no".to_owned()), 2);
    let agents = vec![
        agent("done", None, Done, 9_000),
        agent("old", None, Running, 2_000),
        agent("new", None, Running, 8_000),
        agent("child", Some("new"), Queued, 1_000),
        agent("again", None, Retrying, 1_500),
        bad,
    ];
    let state = SwarmState { at: 61_000, model: "m".to_owned(), agents, ..SwarmState::default() };
    let events = native_events(SwarmEvent::State(state));
    let tree = &events[0]["tree"];
    let ids: Vec<_> = tree.as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
    assert_eq!(
        (&events[0]["type"], ids),
        (&json!("subagent_tree"), vec!["again", "new", "old", "bad", "done"])
    );
    assert_eq!(
        tree[1]["children"][0],
        json!({
            "id": "child", "type": "explore", "task": "Look at child", "status": "queued", "elapsed": 60.0,
            "toolCalls": 3, "success": false, "error": null, "queueReason": null, "lastTool": null,
            "lastMessagePreview": null, "nextRetryAt": null, "children": [],
        })
    );
    let dashboard = &events[1];
    assert_eq!(dashboard["tree"], *tree);
    assert_eq!(dashboard["stats"]["bad"]["error"], "no");
    let summary = &dashboard["summary"];
    for (key, value) in [
        ("total", json!(6)),
        ("done", json!(1)),
        ("running", json!(2)),
        ("queued", json!(1)),
        ("failed", json!(1)),
        ("retrying", json!(1)),
        ("totalRetries", json!(2)),
        ("tokensIn", json!(60)),
        ("totalTools", json!(18)),
        ("cost", json!(null)),
        ("elapsed", json!(60.0)),
        ("rate", json!(1.0)),
        ("eta", json!(240.0)),
        ("stale", json!(false)),
    ] {
        assert_eq!(summary[key], value, "{key}");
    }
    assert_eq!(summary["byType"]["explore"]["running"], 3);
    assert_eq!(summary["failures"][0]["id"], "bad");
}

#[test]
fn many_sibling_subagents_are_truncated() {
    let mut agents: Vec<_> =
        (0..40).map(|at| agent(&format!("a{at}"), None, SubagentStatus::Running, at)).collect();
    agents.extend((0..7).map(|at| {
        let status = if at < 3 { SubagentStatus::Queued } else { SubagentStatus::Done };
        agent(&format!("b{at}"), None, status, at)
    }));
    let events = native_events(SwarmEvent::State(SwarmState { at: 2_000, agents, ..SwarmState::default() }));
    let tree = events[0]["tree"].as_array().unwrap();
    assert_eq!(tree.len(), 41);
    assert_eq!(
        (&tree[40]["id"], &tree[40]["task"], &tree[40]["hiddenStatuses"]),
        (
            &json!("summary-root"),
            &json!("7 more agents (3 queued, 4 done)"),
            &json!({ "done": 4, "queued": 3 })
        )
    );
}

/// The examples in the documentation are the messages that would be sent.
#[test]
fn events_of_subagents_are_as_documented() {
    use SubagentStatus::{Done, Queued, Running};
    let args = || json!({ "id": "scan", "type": "explore", "task": "Look at scan" });
    let call = || vec![SubagentCall { id: "tool_3".into(), args: args() }];
    let end = SubagentEnd {
        args: args(),
        result: "Three places use it.".to_owned(),
        success: true,
        background: false,
        state: ended(agent("scan", None, Done, 3_500), 3_500),
        descendants: Vec::new(),
    };
    let state = SwarmState {
        agents: vec![agent("scan", None, Running, 2_000), agent("deep", Some("scan"), Queued, 1_500)],
        at: 3_000,
        model: "openai/test".to_owned(),
        ..SwarmState::default()
    };
    let swarm = [
        SwarmEvent::Spawned(call()),
        SwarmEvent::Running(call()),
        SwarmEvent::Completed(vec![end]),
        SwarmEvent::State(state),
    ];
    let mut text = String::new();
    for mut params in swarm.into_iter().flat_map(native_events) {
        let name = params["type"].as_str().unwrap().to_owned();
        let common = json!({
            "protocolVersion": 1, "runId": "run_1", "sessionId": "0199f0c4-SESSION", "timestamp": 1_767_225_600.25,
        });
        params.as_object_mut().unwrap().extend(common.as_object().unwrap().clone());
        let frame = json!({ "jsonrpc": "2.0", "method": format!("_tiller/{name}"), "params": params });
        text.push_str(&format!("\n#### `{name}`\n\n```json\n{}\n```\n", sorted(frame)));
    }
    let documented = include_str!("../../../../docs/native-layer.md");
    assert!(documented.contains(&text), "docs/native-layer.md is to have this:\n{text}");
}

/// The end of a turn contains the turn's text; of very long text, its end.
#[test]
fn the_text_of_a_turn_is_bounded() {
    let mut projection = Projection::default();
    let mut steps = |event: SessionEvent| projection.steps(&event, &Vec::new);
    for number in 0..3 {
        let text = format!("€{}{number}", "x".repeat(ANSWER_BYTES / 2));
        steps(SessionEvent::ModelResponse(agent::ModelResponse::from_text("m".into(), "t".into(), "", text)));
    }
    let end = TurnEnd::Stopped(StopReason::EndTurn);
    let ended = steps(SessionEvent::TurnEnded { turn: "run_1".into(), end });
    let text = ended.iter().find_map(|step| match step {
        Step::Frame(Frame { event: Some(Event::SessionUpdate(RunUpdate { text, .. })), .. }) => text.clone(),
        _ => None,
    });
    let text = text.unwrap();
    assert!(text.ends_with('2') && text.len() > ANSWER_BYTES - 4, "the end of it");
    assert!(text.len() <= ANSWER_BYTES);
}
