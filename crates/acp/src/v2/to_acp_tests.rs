use super::{super::V2, *};
use crate::connection::{Projection as _, Wire};
use agent::{Mode, PermissionMode, PermissionOutcome, ToolResult, TurnId, Usage, UsageUpdate};
use serde_json::{Value, json};
use system::AbsPath;

fn wire(projection: &mut Projection, event: SessionEvent) -> Value {
    let updates = projection.updates(&event, Vec::new).into_iter();
    updates.map(|update| serde_json::to_value(V2::update(update).unwrap()).unwrap()).collect()
}

fn check(projection: &mut Projection, event: SessionEvent, expected: Value) {
    assert_eq!(wire(projection, event.clone()), expected, "{event:?}");
}

fn call(id: &str) -> ToolCallUpdate {
    ToolCallUpdate::of(id.into(), "bash")
}

fn started() -> SessionEvent {
    SessionEvent::TurnStarted { turn: TurnId::from("run_1"), prompt: None }
}

fn ended(end: TurnEnd) -> SessionEvent {
    SessionEvent::TurnEnded { turn: TurnId::from("run_1"), end }
}

fn state(state: &str) -> Value {
    json!([{"sessionUpdate": "state_update", "state": state}])
}

#[test]
fn a_turn_runs_waits_for_its_user_and_ends() {
    let mut now = Projection::default();
    let asked = |id: &str| SessionEvent::PermissionRequested { id: id.into(), question: "?".to_owned() };
    let resolved = |id: &str| SessionEvent::PermissionResolved {
        id: id.into(),
        outcome: PermissionOutcome::AllowOnce,
        rule: "user".to_owned(),
    };
    check(&mut now, started(), state("running"));
    check(&mut now, resolved("silent"), json!([]));
    check(&mut now, asked("a"), state("requires_action"));
    check(&mut now, asked("b"), json!([]));
    check(&mut now, resolved("a"), json!([]));
    check(&mut now, resolved("b"), state("running"));
    let questions: Vec<_> = [true, false].into_iter().flat_map(|open| now.waiting(open)).collect();
    assert_eq!(questions.len(), 2);
    check(
        &mut now,
        ended(TurnEnd::Stopped(StopReason::EndTurn)),
        json!([{"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}]),
    );
    check(&mut now, ended(TurnEnd::Stopped(StopReason::EndTurn)), json!([]));
    check(&mut now, started(), state("running"));
    check(
        &mut now,
        ended(TurnEnd::Failed("broke".to_owned())),
        json!([{"sessionUpdate": "state_update", "state": "idle", "stopReason": "error",
            "error": {"code": -32603, "message": "broke"}}]),
    );
}

#[test]
fn messages_are_streamed_or_whole() {
    let delta = || SessionEvent::MessageDelta { id: "m".into(), text: "hello".to_owned() };
    let response = || {
        SessionEvent::ModelResponse(ModelResponse {
            id: "m".into(),
            thought_id: "t".into(),
            model: "x/y".to_owned(),
            items: vec![
                agent::Item::Reasoning(agent::Reasoning { text: "hm".to_owned(), opaque: None }),
                agent::Item::Text(agent::Text::plain("hello")),
            ],
        })
    };
    let text = json!({"type": "text", "text": "hello"});
    let thought = json!({"sessionUpdate": "agent_thought", "messageId": "t",
        "content": [{"type": "text", "text": "hm"}]});
    let whole = json!({"sessionUpdate": "agent_message", "messageId": "m", "content": [text]});
    let mut now = Projection::default();
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text});
    check(&mut now, delta(), json!([chunk]));
    check(&mut now, response(), json!([thought]));
    check(&mut Projection::replay(), response(), json!([thought, whole]));
    let mut in_progress = Projection::replay();
    in_progress.catch_up();
    check(&mut in_progress, delta(), json!([whole]));
    check(
        &mut now,
        SessionEvent::UserMessage { id: "u".into(), content: vec![Content::text("hello")] },
        json!([{"sessionUpdate": "user_message", "messageId": "u", "content": [text]}]),
    );
}

#[test]
fn a_call_is_patched_by_its_id() {
    let mut now = Projection::default();
    let mut created = call("tool_0").status(ToolStatus::Pending);
    created.display.title = Some("Run ls".to_owned());
    created.display.kind = Some(ToolKind::Execute);
    created.display.locations = Some(vec![Location { path: AbsPath::new("/a").unwrap(), line: Some(3) }]);
    created.display.raw_input = Some(json!({"command": "ls"}));
    check(
        &mut now,
        SessionEvent::ToolCall(created),
        json!([{"sessionUpdate": "tool_call_update", "toolCallId": "tool_0", "title": "Run ls", "name": "bash",
            "kind": "execute", "status": "pending", "locations": [{"path": "/a", "line": 3}],
            "rawInput": {"command": "ls"}}]),
    );
    check(
        &mut now,
        SessionEvent::ToolCall(call("tool_0").status(ToolStatus::Cancelled)),
        json!([{"sessionUpdate": "tool_call_update", "toolCallId": "tool_0", "status": "cancelled"}]),
    );
    let mut failed = call("x").status(ToolStatus::Failed);
    failed.result = Some(ToolResult::error("no such file"));
    let shown = wire(&mut now, SessionEvent::ToolCall(failed));
    assert_eq!(shown[0]["content"][0]["content"]["text"], "no such file");
    let broken = wire(&mut now, SessionEvent::ToolCall(call("y").status(ToolStatus::Interrupted)));
    assert_eq!(broken[0]["status"], "failed");
    assert_eq!(broken[0]["content"][0]["content"]["text"], "interrupted");
}

#[test]
fn a_command_has_a_terminal_owned_by_the_agent() {
    let mut now = Projection::default();
    let mut announced = call("x").status(ToolStatus::InProgress);
    announced.display.raw_input = Some(json!({"command": "make"}));
    now.updates(&SessionEvent::ToolCall(announced), Vec::new);
    let live = |output| SessionEvent::ToolCall(ToolCallUpdate { output: Some(output), ..call("x") });
    let terminal = json!([{"type": "terminal", "terminalId": "x"}]);
    check(
        &mut now,
        live(LiveOutput::Started { cwd: AbsPath::new("/w").unwrap() }),
        json!([
            {"sessionUpdate": "terminal_update", "terminalId": "x", "command": "make", "cwd": "/w",
                "output": {"data": ""}},
            {"sessionUpdate": "tool_call_update", "toolCallId": "x", "content": terminal}]),
    );
    check(
        &mut now,
        live(LiveOutput::Text("a\n".to_owned())),
        json!([{"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "YQo="}]),
    );
    check(
        &mut now,
        live(LiveOutput::Ended(system::ExitStatus { code: Some(3), signal: None })),
        json!([{"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": {"exitCode": 3}}]),
    );
    let result = vec![ToolContent::Content(Content::text("a\nExit code: 3"))];
    check(
        &mut now,
        SessionEvent::ToolCall(call("x").status(ToolStatus::Failed).content(result)),
        json!([{"sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "failed",
            "content": terminal}]),
    );
}

#[test]
fn plans_settings_and_notices() {
    let mut now = Projection::default();
    let step = PlanEntry {
        content: "look".to_owned(),
        priority: PlanPriority::High,
        status: PlanStatus::InProgress,
    };
    check(
        &mut now,
        SessionEvent::Plan(vec![step]),
        json!([{"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "plan",
            "entries": [{"content": "look", "priority": "high", "status": "in_progress"}]}}]),
    );
    check(
        &mut now,
        SessionEvent::Tasks(Vec::new()),
        json!([{"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "plan", "entries": []}}]),
    );
    check(
        &mut now,
        SessionEvent::Shell(ShellUpdate {
            id: "sh_1".to_owned(),
            command: "npm test".to_owned(),
            call: "tool_7".into(),
            end: Some(agent::ShellEnding { how: "exit 1".to_owned(), success: false, stopped: false }),
            seconds: 2,
            keeps: false,
            in_terminal: false,
        }),
        json!([{"sessionUpdate": "tool_call_update", "toolCallId": "tool_7", "content": [{"type": "content",
            "content": {"type": "text",
                "text": "[Background bash command 'sh_1' failed (exit 1, 2s)]\nCommand: npm test"}}]}]),
    );
    check(&mut now, SessionEvent::ModeChanged(Mode::Ask), json!([]));
    now.set_settings(Settings {
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        model: "m".to_owned(),
        effort: None,
        client_tools: None,
        sandbox: String::new(),
    });
    let options = wire(&mut now, SessionEvent::ModeChanged(Mode::Ask));
    assert_eq!(options[0]["sessionUpdate"], "config_option_update");
    assert_eq!(options[0]["configOptions"][0]["configId"], "mode");
    assert_eq!(options[0]["configOptions"][0]["currentValue"], "ask");
    check(
        &mut now,
        SessionEvent::Notice { severity: Severity::Info, title: "T".to_owned(), description: None },
        json!([{"sessionUpdate": "notice", "severity": "info", "title": "T"}]),
    );
    let command = SlashCommand {
        name: "p".into(),
        description: "Says p".into(),
        hint: None,
        group: agent::CommandGroup::Server,
    };
    let updates = wire(&mut now, SessionEvent::Commands(vec![command]));
    assert_eq!(updates[0]["sessionUpdate"], "available_commands_update");
    assert_eq!(updates[0]["availableCommands"][0]["name"], "p");
}

#[test]
fn compaction_updates_are_upserts() {
    let mut now = Projection::default();
    let event = |step| SessionEvent::Compaction(Compaction { id: "compaction_1".into(), step });
    for (step, status, more) in [
        (CompactionStep::Started, "in_progress", json!({})),
        (
            CompactionStep::Completed { summary: "S".to_owned(), kept: 1 },
            "completed",
            json!({"summary": [{"type": "text", "text": "S"}]}),
        ),
        (CompactionStep::Failed("no".to_owned()), "failed", json!({"error": "no"})),
        (CompactionStep::Cancelled, "cancelled", json!({})),
    ] {
        let mut expected =
            json!({"sessionUpdate": "compaction_update", "compactionId": "compaction_1", "status": status});
        for (name, value) in more.as_object().unwrap() {
            expected[name] = value.clone();
        }
        check(&mut now, event(step), json!([expected]));
    }
    let chunk = json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "compaction_1",
        "content": {"type": "text", "text": "a line\n"}});
    check(&mut now, event(CompactionStep::Text("a line\n".to_owned())), json!([chunk]));
}

#[test]
fn the_end_of_a_turn_reports_its_usage() {
    let mut now = Projection::default();
    let used = |input, output, cache_read| {
        let turn = Usage { input, output, cache_read, ..Usage::default() };
        let total = Usage { input: 9_000, ..turn };
        SessionEvent::Usage(UsageUpdate {
            model: "m".to_owned(),
            context_used: 1,
            context_size: 2,
            total,
            turn,
            counted: None,
            subagents: agent::Usage::default(),
        })
    };
    for event in [started(), used(10, 5, 4), used(30, 7, 20)] {
        now.updates(&event, Vec::new);
    }
    let usage = json!({"totalTokens": 37, "inputTokens": 10, "outputTokens": 7, "cachedReadTokens": 20, "cachedWriteTokens": 0});
    let idle = json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"});
    let mut with_usage = idle.clone();
    with_usage["usage"] = usage;
    check(&mut now, ended(TurnEnd::Stopped(StopReason::EndTurn)), json!([with_usage]));
    now.updates(&started(), Vec::new);
    check(&mut now, ended(TurnEnd::Stopped(StopReason::EndTurn)), json!([idle]));
}
