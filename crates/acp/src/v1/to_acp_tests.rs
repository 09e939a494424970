use super::{super::V1, *};
use crate::connection::{Projection as _, Wire};
use agent::{Item, Mode, PermissionMode, Reasoning, Text, ToolResult, TurnId, Usage};
use serde_json::{Value, json};
use system::{AbsPath, TerminalId};

fn check(projection: &mut Projection, event: SessionEvent, expected: Value) {
    let updates: Vec<Value> = projection
        .updates(&event, Vec::new)
        .into_iter()
        .map(|update| serde_json::to_value(V1::update(update).unwrap()).unwrap())
        .collect();
    assert_eq!(Value::Array(updates), expected, "{event:?}");
}

fn call(id: &str) -> ToolCallUpdate {
    ToolCallUpdate::of(id.into(), "bash")
}

fn response() -> SessionEvent {
    SessionEvent::ModelResponse(ModelResponse {
        id: "m".into(),
        thought_id: "t".into(),
        model: "x/y".to_owned(),
        items: vec![
            Item::Reasoning(Reasoning { text: "hm".to_owned(), opaque: None }),
            Item::Text(Text::plain("hello")),
        ],
    })
}

#[test]
fn streamed_text_is_not_sent_again_and_stored_text_is_sent_once() {
    let mut live = Projection::live(OptionalUpdates::default());
    let delta = SessionEvent::MessageDelta { id: "m".into(), text: "hello".to_owned() };
    let text = json!({"sessionUpdate": "agent_message_chunk", "messageId": "m",
        "content": {"type": "text", "text": "hello"}});
    let thought = json!({"sessionUpdate": "agent_thought_chunk", "messageId": "t",
        "content": {"type": "text", "text": "hm"}});
    check(&mut live, delta, json!([text]));
    check(&mut live, response(), json!([thought]));
    check(&mut Projection::replay(OptionalUpdates::default()), response(), json!([thought, text]));
}

#[test]
fn user_messages_are_sent_only_on_replay() {
    let event = || SessionEvent::UserMessage { id: "u".into(), content: vec![Content::text("hi")] };
    check(&mut Projection::live(OptionalUpdates::default()), event(), json!([]));
    check(
        &mut Projection::replay(OptionalUpdates::default()),
        event(),
        json!([{"sessionUpdate": "user_message_chunk", "messageId": "u",
            "content": {"type": "text", "text": "hi"}}]),
    );
}

#[test]
fn a_call_is_created_once_then_updated() {
    let mut live = Projection::live(OptionalUpdates::default());
    let mut created = call("tool_0").status(ToolStatus::Pending);
    created.display.title = Some("Run ls".to_owned());
    created.display.kind = Some(ToolKind::Execute);
    created.display.locations = Some(vec![Location { path: AbsPath::new("/a").unwrap(), line: Some(3) }]);
    created.display.raw_input = Some(json!({"command": "ls"}));
    check(
        &mut live,
        SessionEvent::ToolCall(created),
        json!([{"sessionUpdate": "tool_call", "toolCallId": "tool_0", "title": "Run ls", "name": "bash",
            "kind": "execute", "locations": [{"path": "/a", "line": 3}], "rawInput": {"command": "ls"}}]),
    );
    let shown = call("tool_0").content(vec![ToolContent::Terminal(TerminalId("term".to_owned()))]);
    check(
        &mut live,
        SessionEvent::ToolCall(shown),
        json!([{"sessionUpdate": "tool_call_update", "toolCallId": "tool_0",
            "content": [{"type": "terminal", "terminalId": "term"}]}]),
    );
    let mut ended = call("tool_0").status(ToolStatus::Completed);
    ended.result = Some(ToolResult::ok("a b"));
    check(
        &mut live,
        SessionEvent::ToolCall(ended),
        json!([{"sessionUpdate": "tool_call_update", "toolCallId": "tool_0", "status": "completed"}]),
    );
}

#[test]
fn a_cancelled_call_fails_with_a_status_text_and_keeps_its_terminal() {
    for (status, word) in [(ToolStatus::Cancelled, "cancelled"), (ToolStatus::Interrupted, "interrupted")] {
        let mut live = Projection::live(OptionalUpdates::default());
        let terminal = ToolContent::Terminal(TerminalId("term".to_owned()));
        live.updates(&SessionEvent::ToolCall(call("x").content(vec![terminal])), Vec::new);
        check(
            &mut live,
            SessionEvent::ToolCall(call("x").status(status)),
            json!([{"sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "failed", "content": [
                {"type": "terminal", "terminalId": "term"},
                {"type": "content", "content": {"type": "text", "text": word}}]}]),
        );
    }
}

#[test]
fn a_result_is_shown_if_the_tool_shows_no_content() {
    let mut live = Projection::live(OptionalUpdates::default());
    let mut ended = call("x").status(ToolStatus::Failed);
    ended.result = Some(ToolResult::error("no such file"));
    check(
        &mut live,
        SessionEvent::ToolCall(ended),
        json!([{"sessionUpdate": "tool_call", "toolCallId": "x", "title": "bash", "name": "bash",
            "status": "failed",
            "content": [{"type": "content", "content": {"type": "text", "text": "no such file"}}]}]),
    );
}

fn live(output: LiveOutput) -> SessionEvent {
    SessionEvent::ToolCall(ToolCallUpdate { output: Some(output), ..call("x") })
}

/// The events of a local command, from its start to its end.
fn command() -> Vec<SessionEvent> {
    let status = system::ExitStatus { code: Some(3), signal: None };
    vec![
        live(LiveOutput::Started { cwd: AbsPath::new("/w").unwrap() }),
        live(LiveOutput::Text("a\n".to_owned())),
        live(LiveOutput::Text("b\n".to_owned())),
        live(LiveOutput::Ended(status)),
        SessionEvent::ToolCall(
            call("x")
                .status(ToolStatus::Failed)
                .content(vec![ToolContent::Content(Content::text("a\nb\nExit code: 3"))]),
        ),
    ]
}

#[test]
fn live_output_is_text_that_replaces() {
    let mut projection = Projection::live(OptionalUpdates::default());
    projection.updates(&SessionEvent::ToolCall(call("x").status(ToolStatus::Pending)), Vec::new);
    let updates: Vec<_> = command().iter().flat_map(|event| projection.updates(event, Vec::new)).collect();
    assert!(matches!(updates[..2], [Update::Output { .. }, Update::Output { .. }]), "{updates:?}");
    let wire = serde_json::to_value(updates.into_iter().filter_map(V1::update).collect::<Vec<_>>()).unwrap();
    assert_eq!(wire[1]["content"][0]["content"]["text"], "a\nb\n");
    assert_eq!(wire[2]["content"][0]["content"]["text"], "a\nb\nExit code: 3");
    assert_eq!(wire.as_array().unwrap().len(), 3);
    let flood = live(LiveOutput::Text("ü".repeat(50_000)));
    projection.updates(&SessionEvent::ToolCall(call("x").status(ToolStatus::Pending)), Vec::new);
    let update = V1::update(projection.updates(&flood, Vec::new).remove(0)).unwrap();
    assert!(serde_json::to_string(&update).unwrap().len() < 1_300, "the last of it, not all of it");
}

#[test]
fn live_output_goes_to_a_display_terminal_if_the_client_supports_it() {
    let mut projection = Projection::live(OptionalUpdates { displays: true, ..OptionalUpdates::default() });
    let mut announced = call("x");
    announced.display.title = Some("Run make".to_owned());
    projection.updates(&SessionEvent::ToolCall(announced.status(ToolStatus::Pending)), Vec::new);
    let updates = command().into_iter().flat_map(|event| projection.updates(&event, Vec::new));
    let wire = serde_json::to_value(updates.filter_map(V1::update).collect::<Vec<_>>()).unwrap();
    let terminal = json!([{"type": "terminal", "terminalId": "x"}]);
    assert_eq!(wire[0]["sessionUpdate"], "tool_call", "only an announcement makes a terminal");
    assert_eq!((&wire[0]["title"], &wire[0]["content"]), (&json!("Run make"), &terminal));
    assert_eq!(wire[0]["_meta"], json!({"terminal_info": {"terminal_id": "x", "cwd": "/w"}}));
    for (at, data) in [(1, "a\n"), (2, "b\n")] {
        let expected = json!({"sessionUpdate": "tool_call_update", "toolCallId": "x",
            "_meta": {"terminal_output": {"terminal_id": "x", "data": data}}});
        assert_eq!(wire[at], expected);
    }
    let exit = json!({"terminal_exit": {"terminal_id": "x", "exit_code": 3, "signal": null}});
    assert_eq!(wire[3]["_meta"], exit);
    assert_eq!((&wire[4]["status"], &wire[4]["content"]), (&json!("failed"), &terminal));
}

#[test]
fn diffs_plans_usage_and_titles() {
    let mut live = Projection::live(OptionalUpdates::default());
    let diff = Diff { path: AbsPath::new("/f").unwrap(), old_text: None, new_text: Some("x".to_owned()) };
    check(
        &mut live,
        SessionEvent::ToolCall(call("d").content(vec![ToolContent::Diff(diff)])),
        json!([{"sessionUpdate": "tool_call", "toolCallId": "d", "title": "bash", "name": "bash",
            "content": [{"type": "diff", "path": "/f", "newText": "x"}]}]),
    );
    check(
        &mut live,
        SessionEvent::Plan(vec![PlanEntry {
            content: "look".to_owned(),
            priority: PlanPriority::High,
            status: PlanStatus::InProgress,
        }]),
        json!([{"sessionUpdate": "plan",
            "entries": [{"content": "look", "priority": "high", "status": "in_progress"}]}]),
    );
    let used = UsageUpdate {
        model: "m".to_owned(),
        context_used: 10,
        context_size: 100,
        total: Usage::default(),
        turn: Usage::default(),
        counted: None,
        subagents: Usage::default(),
    };
    check(
        &mut live,
        SessionEvent::Usage(used),
        json!([{"sessionUpdate": "usage_update", "used": 10, "size": 100}]),
    );
    check(
        &mut live,
        SessionEvent::TitleChanged("T".to_owned()),
        json!([{"sessionUpdate": "session_info_update", "title": "T"}]),
    );
    check(&mut live, SessionEvent::TurnStarted { turn: TurnId::from("run_1"), prompt: None }, json!([]));
}

#[test]
fn a_changed_mode_updates_both_forms() {
    let mut live = Projection::live(OptionalUpdates::default());
    live.set_settings(Settings {
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        model: "m".to_owned(),
        effort: None,
        client_tools: None,
        sandbox: String::new(),
    });
    let updates: Vec<Value> = live
        .updates(&SessionEvent::ModeChanged(Mode::Ask), Vec::new)
        .into_iter()
        .map(|update| serde_json::to_value(V1::update(update).unwrap()).unwrap())
        .collect();
    assert_eq!(updates[0], json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}));
    assert_eq!(updates[1]["sessionUpdate"], "config_option_update");
    assert_eq!(updates[1]["configOptions"][0]["currentValue"], "ask");
    check(
        &mut Projection::replay(OptionalUpdates::default()),
        SessionEvent::ModeChanged(Mode::Ask),
        json!([]),
    );
}

#[test]
fn changed_commands_are_sent_as_the_whole_list() {
    let command = SlashCommand {
        name: "mcp__s__p".into(),
        description: "s: Says p".into(),
        hint: Some("city".into()),
        group: agent::CommandGroup::Server,
    };
    check(
        &mut Projection::live(OptionalUpdates { notices: true, ..OptionalUpdates::default() }),
        SessionEvent::Commands(vec![command]),
        json!([{"sessionUpdate": "available_commands_update", "availableCommands": [
            {"name": "mcp__s__p", "description": "s: Says p", "input": {"hint": "city"}},
        ]}]),
    );
}

#[test]
fn notices_go_to_clients_that_accept_them() {
    let notice = |severity| SessionEvent::Notice {
        severity,
        title: "Retrying".to_owned(),
        description: Some("in 1 s".to_owned()),
    };
    check(
        &mut Projection::live(OptionalUpdates { notices: true, ..OptionalUpdates::default() }),
        notice(Severity::Info),
        json!([{"sessionUpdate": "notice", "severity": "info", "title": "Retrying", "description": "in 1 s"}]),
    );
    check(&mut Projection::live(OptionalUpdates::default()), notice(Severity::Info), json!([]));
    check(
        &mut Projection::live(OptionalUpdates::default()),
        notice(Severity::Warning),
        json!([{"sessionUpdate": "agent_thought_chunk",
            "content": {"type": "text", "text": "Retrying\n\nin 1 s\n\n"}, "messageId": "notice_1"}]),
    );
}

#[test]
fn notices_are_separate_paragraphs_from_thoughts_and_each_other() {
    let mut projection = Projection::live(OptionalUpdates::default());
    let retry = |attempt: u32| SessionEvent::Notice {
        severity: Severity::Warning,
        title: format!("try {attempt}"),
        description: Some("overloaded".to_owned()),
    };
    let mut text = String::new();
    let mut ids = Vec::new();
    let thought = SessionEvent::ThoughtDelta { id: "m1".into(), text: "so far".to_owned() };
    for event in [thought, retry(1), retry(2)] {
        for update in projection.updates(&event, Vec::new) {
            let update = serde_json::to_value(V1::update(update).unwrap()).unwrap();
            text.push_str(update["content"]["text"].as_str().unwrap());
            ids.push(update["messageId"].clone());
        }
    }
    assert_eq!(text, "so far\n\ntry 1\n\noverloaded\n\ntry 2\n\noverloaded\n\n");
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
}

#[test]
fn an_unchanged_plan_is_sent_once() {
    let mut projection = Projection::live(OptionalUpdates::default());
    let plan = SessionEvent::Plan(vec![PlanEntry {
        content: "a".to_owned(),
        priority: PlanPriority::Medium,
        status: PlanStatus::Pending,
    }]);
    assert_eq!(projection.updates(&plan, Vec::new).len(), 1);
    assert_eq!(projection.updates(&plan, Vec::new).len(), 0);
    let task = agent::Task {
        id: "0".to_owned(),
        subject: "a".to_owned(),
        description: "only programs see it".to_owned(),
        active_form: String::new(),
        parent: None,
        status: agent::TaskStatus::Pending,
        blocked_by: Vec::new(),
    };
    assert_eq!(projection.updates(&SessionEvent::Tasks(vec![task]), Vec::new).len(), 0);
    let empty = json!([{"sessionUpdate": "plan", "entries": []}]);
    check(&mut projection, SessionEvent::Tasks(Vec::new()), empty);
}

#[test]
fn the_end_of_a_background_command_updates_the_call_that_started_it() {
    let shell = |end, in_terminal| {
        SessionEvent::Shell(ShellUpdate {
            id: "sh_1".to_owned(),
            command: "npm test".to_owned(),
            call: "tool_7".into(),
            end,
            seconds: 2,
            keeps: false,
            in_terminal,
        })
    };
    let exited = || Some(agent::ShellEnding { how: "exit 0".to_owned(), success: true, stopped: false });
    let mut live = Projection::live(OptionalUpdates::default());
    check(&mut live, shell(None, false), json!([]));
    check(&mut live, shell(exited(), true), json!([]));
    let text = "[Background bash command 'sh_1' succeeded (exit 0, 2s)]\nCommand: npm test";
    let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    check(
        &mut live,
        shell(exited(), false),
        json!([{"sessionUpdate": "tool_call_update", "toolCallId": "tool_7", "content": content}]),
    );
}

#[test]
fn compaction_updates_go_to_clients_that_accept_them_and_as_thoughts_to_others() {
    let event = |step| SessionEvent::Compaction(Compaction { id: "compaction_1".into(), step });
    let completed = || event(CompactionStep::Completed { summary: "## Goal".to_owned(), kept: 2 });
    let update = |status: &str| json!({"sessionUpdate": "compaction_update", "compactionId": "compaction_1", "status": status});
    let mut failed = update("failed");
    failed["error"] = json!("no");
    let mut whole = update("completed");
    whole["summary"] = json!([{"type": "text", "text": "## Goal"}]);
    let mut takes = Projection::live(OptionalUpdates { compaction: true, ..OptionalUpdates::default() });
    check(&mut takes, event(CompactionStep::Started), json!([update("in_progress")]));
    let chunk = json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "compaction_1",
        "content": {"type": "text", "text": "## "}});
    check(&mut takes, event(CompactionStep::Text("## ".to_owned())), json!([chunk]));
    check(&mut takes, completed(), json!([whole]));
    check(&mut takes, event(CompactionStep::Failed("no".to_owned())), json!([failed]));
    check(&mut takes, event(CompactionStep::Cancelled), json!([update("cancelled")]));
    check(
        &mut Projection::replay(OptionalUpdates { compaction: true, ..OptionalUpdates::default() }),
        completed(),
        json!([whole]),
    );

    let thought = |id: &str, text: &str| json!([{"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}, "messageId": id}]);
    let mut others = Projection::live(OptionalUpdates::default());
    check(&mut others, event(CompactionStep::Started), thought("notice_1", "Compacting context\n\n"));
    check(&mut others, event(CompactionStep::Text("## ".to_owned())), json!([]));
    check(&mut others, completed(), json!([]));
    check(
        &mut others,
        event(CompactionStep::Failed("no".to_owned())),
        thought("notice_2", "The context was not compacted: no\n\n"),
    );
    check(
        &mut Projection::replay(OptionalUpdates::default()),
        event(CompactionStep::Failed("no".to_owned())),
        json!([]),
    );
}

#[test]
fn a_call_whose_end_could_not_be_stored_ends_with_the_turn() {
    let mut live = Projection::live(OptionalUpdates::default());
    let call = || ToolCallUpdate::of("tool_0".into(), "bash");
    live.updates(&SessionEvent::ToolCall(call().status(ToolStatus::InProgress)), Vec::new);
    let idle = live.updates(&SessionEvent::Phase(Phase::Idle), Vec::new);
    let text = format!("{idle:?}");
    assert!(idle.len() == 1 && text.contains("Failed") && text.contains("could not be stored"), "{text}");
    assert!(live.updates(&SessionEvent::Phase(Phase::Idle), Vec::new).is_empty());
}
