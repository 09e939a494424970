//! A sample of every stored event, with every field, and with texts that are prone to break.

use super::path;
use agent::{
    AnswerPart, Briefing, Colours, Compaction, CompactionStep, Content, Destination, Diff, Effort,
    FileChange, Goal, GoalStatus, HostUse, Ink, Item, KeptOutput, Location, MalformedArguments, MessageId,
    Mode, ModelCall, ModelResponse, NetworkUse, PermissionMode, PermissionOutcome, PlanEntry, PlanPriority,
    PlanStatus, Prefix, Reasoning, ResultsLeftOut, Rewound, Run, SessionEvent, Snapshot, StopReason,
    SubagentActivity, SubagentPlace, SubagentProgress, SubagentRequest, SubagentState, SubagentStatus,
    SubagentTimes, SubagentWorktree, Task, TaskStatus, Text, ToolCallDisplay, ToolCallRequest,
    ToolCallUpdate, ToolContent, ToolKind, ToolResult, ToolSpec, ToolStatus, TurnEnd, Usage, UsageUpdate,
};
use serde_json::json;
use std::net::{Ipv6Addr, SocketAddr};

/// Quotes, a NUL, a line separator, combining marks, right-to-left text, characters outside the
/// basic plane.
const TEXT: &str = "a \"b\" \\ \0 \u{7f} \r\n\t \u{2028} e\u{301} שלום 你好 👩‍👩‍👧 \u{10ffff} \u{feff}";

/// Returns every kind of stored event, with every field set at least once and absent at least once.
pub fn samples() -> Vec<SessionEvent> {
    let mut events = vec![
        SessionEvent::TurnStarted { turn: "run_1".into(), prompt: None },
        SessionEvent::TurnStarted { turn: "run_2".into(), prompt: agent::PromptId::new("7c1e-01").ok() },
        SessionEvent::UserMessage { id: "msg-1".into(), content: contents() },
        SessionEvent::UserMessage { id: TEXT.into(), content: Vec::new() },
        SessionEvent::ModelResponse(response()),
        SessionEvent::ModelResponse(ModelResponse {
            id: "".into(),
            thought_id: "".into(),
            model: String::new(),
            items: Vec::new(),
        }),
        SessionEvent::ModelResponse(plain_response()),
        SessionEvent::ToolCall(tool_call()),
        SessionEvent::ToolCall(ToolCallUpdate {
            display: ToolCallDisplay {
                raw_input: Some(json!(null)),
                content: Some(Vec::new()),
                locations: Some(Vec::new()),
                ..ToolCallDisplay::default()
            },
            ..ToolCallUpdate::of("tool_1".into(), "bash").status(ToolStatus::Pending)
        }),
        SessionEvent::PermissionRequested { id: "tool_0".into(), question: TEXT.to_owned() },
        SessionEvent::Plan(Vec::new()),
        SessionEvent::Tasks(Vec::new()),
        SessionEvent::Tasks(tasks()),
        SessionEvent::Goal(None),
        SessionEvent::Usage(UsageUpdate {
            model: "anthropic/claude".to_owned(),
            context_used: 0,
            context_size: u64::MAX,
            total: Usage {
                input: u64::MAX,
                output: 1,
                cache_read: 2,
                cache_write: 3,
                cost: Some(agent::Cost(4)),
                unpriced: 5,
            },
            turn: Usage::default(),
            counted: Some(u64::MAX),
            subagents: Usage::default(),
        }),
        SessionEvent::AnswerPart(AnswerPart {
            id: MessageId("msg_3".to_owned()),
            thought_id: MessageId("msg_4".to_owned()),
            model: "anthropic/claude-sonnet-4-5".to_owned(),
            text: "It is".to_owned(),
            thoughts: String::new(),
        }),
        SessionEvent::NetworkUsed(NetworkUse { call: "tool_0".into(), hosts: hosts() }),
        SessionEvent::ResultsLeftOut(ResultsLeftOut {
            calls: vec!["tool_0".into(), "tool_1".into()],
            instead: TEXT.to_owned(),
        }),
        SessionEvent::Subagent(Box::new(SubagentState {
            id: "a".to_owned(),
            place: SubagentPlace {
                parent: Some("p".to_owned()),
                depth: 2,
                session: Some("s".into()),
                worktree: Some(SubagentWorktree {
                    folder: path("/w.worktrees/a"),
                    branch: "tiller/a".to_owned(),
                    base: "0123".to_owned(),
                }),
            },
            request: SubagentRequest {
                kind: "general".to_owned(),
                task: TEXT.to_owned(),
                mode: "background".to_owned(),
                group: Some("g".to_owned()),
                depends_on: vec!["b".to_owned()],
                isolated: true,
            },
            progress: SubagentProgress {
                status: SubagentStatus::Failed,
                queue_reason: Some(TEXT.to_owned()),
                error: Some(TEXT.to_owned()),
                retries: 1,
                next_retry_at: Some(5),
                delivered: true,
            },
            activity: SubagentActivity {
                tool_calls: 3,
                last_tool: Some("bash".to_owned()),
                last_message: Some(TEXT.to_owned()),
                usage: Usage { input: 1, output: 2, unpriced: 3, ..Usage::default() },
            },
            times: SubagentTimes { started_at: Some(1), ended_at: Some(2), active_at: Some(3) },
            result: Some(TEXT.to_owned()),
            output: Some(KeptOutput { reference: "/o".to_owned(), bytes: 9, preview: TEXT.to_owned() }),
        })),
        SessionEvent::Subagent(Box::new(SubagentState { id: "b".to_owned(), ..SubagentState::default() })),
        SessionEvent::Prefix(Prefix {
            model: "anthropic/claude".to_owned(),
            system: TEXT.into(),
            tools: [ToolSpec {
                name: "bash".to_owned(),
                description: TEXT.to_owned(),
                parameters: json!({ "type": "object", "a": [1.5, null] }),
            }]
            .into_iter()
            .collect(),
        }),
        SessionEvent::Briefing(Briefing {
            text: TEXT.to_owned(),
            facts: [("mode".to_owned(), "plan".to_owned()), ("git".to_owned(), String::new())].into(),
        }),
        SessionEvent::ModelChanged("local/größe".to_owned()),
        SessionEvent::TitleChanged(TEXT.to_owned()),
        SessionEvent::EffortChanged(Some(Effort::High)),
        SessionEvent::EffortChanged(None),
        SessionEvent::FileChanged(change(None, Some("made"))),
        SessionEvent::FileChanged(FileChange { real: path("/else"), ..change(Some("a"), None) }),
        SessionEvent::FileChanged(FileChange {
            agent: Some("general-1".to_owned()),
            ..change(None, Some("made"))
        }),
        SessionEvent::Rewound(Rewound { to: Some(3), files: vec![change(Some("a"), Some("b"))] }),
        SessionEvent::Rewound(Rewound { to: None, files: Vec::new() }),
        compaction(CompactionStep::Completed { summary: TEXT.to_owned(), kept: 3 }),
        compaction(CompactionStep::Failed(TEXT.to_owned())),
        compaction(CompactionStep::Cancelled),
        SessionEvent::TurnEnded { turn: "run_1".into(), end: TurnEnd::Failed(TEXT.to_owned()) },
    ];
    events.extend(words());
    events
}

fn compaction(step: CompactionStep) -> SessionEvent {
    SessionEvent::Compaction(Compaction { id: "compaction_1".into(), step })
}

/// Returns a change of a file, with its content.
pub(super) fn change(before: Option<&str>, after: Option<&str>) -> FileChange {
    let snapshot = |text: &str| Snapshot::of(text.as_bytes());
    let file = path("/größe 🦀");
    let (before, after) = (before.map(snapshot), after.map(snapshot));
    FileChange { real: file.clone(), path: file, before, after, agent: None }
}

/// Returns the use of each kind of destination.
fn hosts() -> Vec<HostUse> {
    let refused = HostUse {
        destination: Destination::Address(SocketAddr::from((Ipv6Addr::LOCALHOST, 0))),
        connections: 0,
        sent: 0,
        received: 0,
        refused: Some(TEXT.to_owned()),
        rule: None,
    };
    let used = HostUse {
        destination: Destination::Host { name: "registry.npmjs.org".to_owned(), port: 443 },
        connections: 1,
        sent: u64::MAX,
        received: 2,
        refused: None,
        rule: Some("network(group:npm)".to_owned()),
    };
    vec![refused.clone(), used, HostUse { destination: Destination::Local(u16::MAX), ..refused }]
}

/// Returns the events that differ only in an enum value.
fn words() -> Vec<SessionEvent> {
    use PermissionOutcome as Outcome;
    let mut events = Vec::new();
    events.extend(Mode::ALL.map(SessionEvent::ModeChanged));
    events.extend(PermissionMode::ALL.map(SessionEvent::PermissionModeChanged));
    events.extend(
        [
            Outcome::AllowOnce,
            Outcome::AllowAlways,
            Outcome::AllowForUser,
            Outcome::RejectOnce,
            Outcome::RejectAlways,
            Outcome::Cancelled,
        ]
        .map(|outcome| SessionEvent::PermissionResolved {
            id: "tool_0".into(),
            outcome,
            rule: "user".to_owned(),
        }),
    );
    events.extend(
        [
            StopReason::EndTurn,
            StopReason::MaxTokens,
            StopReason::MaxTurnRequests,
            StopReason::Refusal,
            StopReason::Cancelled,
        ]
        .map(|reason| SessionEvent::TurnEnded { turn: "run_2".into(), end: TurnEnd::Stopped(reason) }),
    );
    events.extend(
        [
            ToolStatus::Pending,
            ToolStatus::InProgress,
            ToolStatus::Completed,
            ToolStatus::Failed,
            ToolStatus::Cancelled,
            ToolStatus::Interrupted,
        ]
        .map(|status| SessionEvent::ToolCall(ToolCallUpdate::of("tool_2".into(), "grep").status(status))),
    );
    events.extend(
        [
            ToolKind::Read,
            ToolKind::Edit,
            ToolKind::Delete,
            ToolKind::Move,
            ToolKind::Search,
            ToolKind::Execute,
            ToolKind::Think,
            ToolKind::Fetch,
            ToolKind::SwitchMode,
            ToolKind::Other,
        ]
        .map(|kind| {
            let update = ToolCallUpdate::of("tool_3".into(), "glob").status(ToolStatus::Completed);
            SessionEvent::ToolCall(ToolCallUpdate {
                display: ToolCallDisplay { kind: Some(kind), ..ToolCallDisplay::default() },
                ..update
            })
        }),
    );
    for status in [
        GoalStatus::Active,
        GoalStatus::Paused,
        GoalStatus::Interrupted,
        GoalStatus::Blocked,
        GoalStatus::BudgetLimited,
        GoalStatus::Complete,
    ] {
        let set = status != GoalStatus::Active;
        events.push(SessionEvent::Goal(Some(Goal {
            id: "0192".to_owned(),
            objective: TEXT.to_owned(),
            status,
            reason: set.then(|| TEXT.to_owned()),
            token_budget: set.then_some(u64::MAX),
            tokens_used: u64::MAX,
            seconds_used: 0,
            metered: u64::MAX,
        })));
    }
    for priority in [PlanPriority::High, PlanPriority::Medium, PlanPriority::Low] {
        events.push(SessionEvent::Plan(
            [PlanStatus::Pending, PlanStatus::InProgress, PlanStatus::Completed]
                .map(|status| PlanEntry { content: TEXT.to_owned(), priority, status })
                .into(),
        ));
    }
    events
}

/// Returns a task of every status, the first without and the others with every optional text.
fn tasks() -> Vec<Task> {
    let all = [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Completed,
        TaskStatus::Cancelled,
        TaskStatus::Failed,
    ];
    let task = |(at, status): (usize, TaskStatus)| Task {
        id: format!("{at:08x}"),
        subject: TEXT.to_owned(),
        description: if at == 0 { String::new() } else { TEXT.to_owned() },
        active_form: if at == 0 { String::new() } else { TEXT.to_owned() },
        parent: (at > 0).then(|| "00000000".to_owned()),
        status,
        blocked_by: (1..at).map(|at| format!("{at:08x}")).collect(),
    };
    all.into_iter().enumerate().map(task).collect()
}

fn contents() -> Vec<Content> {
    vec![
        Content::text(TEXT),
        Content::text(""),
        Content::Image { mime_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() },
        Content::ResourceLink { uri: "file:///a%20b".to_owned(), name: TEXT.to_owned() },
        Content::Resource { uri: "x:y".to_owned(), mime_type: None, text: TEXT.to_owned() },
        Content::Resource {
            uri: "x:y".to_owned(),
            mime_type: Some("text/plain".to_owned()),
            text: String::new(),
        },
    ]
}

/// Returns an answer with every kind of item, in an unusual order.
fn response() -> ModelResponse {
    let deep = (0..120).fold(json!(0), |inner, _| json!([inner]));
    let call = |id: &str, arguments: String, opaque: Option<&str>| {
        let (name, opaque) = ("file_read".to_owned(), opaque.map(str::to_owned));
        let call = ModelCall { provider_id: format!("call_{id}"), name, arguments, opaque };
        ToolCallRequest::new(id.into(), call)
    };
    let object = json!({ "path": TEXT, "z": 1, "a": [null, true, -1, 0.1, 1e300, u64::MAX] });
    let mut read_otherwise = call("tool_3", "{'path': 1.0,}".to_owned(), None);
    read_otherwise.name = "file_write".to_owned();
    read_otherwise.arguments = Ok(json!({ "path": 1.0 }));
    let mut malformed = call("tool_4", "{\"a\": ".to_owned(), None);
    malformed.arguments = Err(MalformedArguments { raw: TEXT.to_owned(), error: TEXT.to_owned() });
    ModelResponse {
        id: "msg-2".into(),
        thought_id: "thought-2".into(),
        model: "anthropic/claude".to_owned(),
        items: vec![
            Item::Text(Text { text: TEXT.to_owned(), opaque: Some(r#"{ "z": 1.00, "a":2}"#.to_owned()) }),
            reasoning(TEXT, Some(r#"{"signature":"é==", "b":1,"a":2}"#)),
            Item::Call(call("tool_0", object.to_string(), Some(" {}"))),
            Item::Text(Text::plain("")),
            reasoning("", Some("")),
            Item::Other("[ 1 ]".to_owned()),
            Item::Call(call("tool_1", json!({ "deep": deep }).to_string(), None)),
            Item::Call(call("tool_2", "{\"a\": ".to_owned(), None)),
            Item::Call(read_otherwise),
            Item::Call(malformed),
            Item::Call(call("tool_5", String::new(), None)),
            reasoning("seen", None),
        ],
    }
}

/// Returns an answer that the first format can represent.
fn plain_response() -> ModelResponse {
    ModelResponse {
        id: "msg-3".into(),
        thought_id: "thought-3".into(),
        model: "anthropic/claude".to_owned(),
        items: vec![
            reasoning(TEXT, Some(r#"{"signature":"é==", "b":1,"a":2}"#)),
            reasoning("seen", None),
            Item::Text(Text::plain(TEXT)),
        ],
    }
}

fn reasoning(text: &str, opaque: Option<&str>) -> Item<ToolCallRequest> {
    Item::Reasoning(Reasoning { text: text.to_owned(), opaque: opaque.map(str::to_owned) })
}

fn tool_call() -> ToolCallUpdate {
    ToolCallUpdate {
        id: "tool_0".into(),
        name: "file_edit".to_owned(),
        status: Some(ToolStatus::Completed),
        display: ToolCallDisplay {
            title: Some(TEXT.to_owned()),
            kind: Some(ToolKind::Edit),
            content: Some(vec![
                ToolContent::Content(Content::text(TEXT)),
                ToolContent::Diff(Diff {
                    path: path("/work/new"),
                    old_text: None,
                    new_text: Some(TEXT.to_owned()),
                }),
                ToolContent::Diff(Diff {
                    path: path("/work/gone"),
                    old_text: Some(String::new()),
                    new_text: None,
                }),
                ToolContent::Terminal(system::TerminalId("term-1".to_owned())),
            ]),
            locations: Some(vec![
                Location { path: path("/"), line: None },
                Location { path: path("/work/ä b"), line: Some(usize::MAX) },
            ]),
            raw_input: Some(json!({ "path": "/work/new", "nested": { "empty": {}, "list": [] } })),
            place: None,
        },
        result: Some(ToolResult { text: TEXT.to_owned(), images: contents(), is_error: true }),
        output: None,
        colours: Colours::of([
            Run { bytes: 0..1, ink: Ink { colour: Some(0), bold: true, italic: true, ..Ink::default() } },
            Run { bytes: 2..4, ink: Ink { behind: Some(15), dim: true, ..Ink::default() } },
            Run { bytes: 4..5, ink: Ink { underline: true, reverse: true, ..Ink::default() } },
        ]),
    }
}
