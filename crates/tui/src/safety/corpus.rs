//! Texts of attackers, and events that have one in each of their fields.

use agent::{
    Colours, CommandGroup, Compaction, CompactionStep, Content, Diff, FileChange, Goal, GoalStatus, Ink,
    Item, LiveOutput, ModelResponse, PermissionOutcome, PlanEntry, PlanPriority, PlanStatus, Reasoning,
    Rewound, Run, SessionEvent, Severity, ShellEnding, ShellUpdate, SlashCommand, SubagentProgress,
    SubagentState, SubagentStatus, SwarmEvent, SwarmState, Task, TaskStatus, Text, ToolCallUpdate,
    ToolContent, ToolKind, ToolResult, ToolStatus, TurnEnd,
};
use serde_json::json;
use system::AbsPath;

/// Texts of attackers: sequences that move, clear, title, copy, link and pass through; direction,
/// zero-width and tag characters; frames of panels; huge words and piles of marks.
pub(crate) fn corpus() -> Vec<String> {
    let mut texts: Vec<String> = [
        "\u{1b}[2J\u{1b}[Hgone\u{1b}[31m",
        "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}]0;title\u{1b}\\",
        "\u{1b}]8;;https://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\",
        "\u{9b}2J\u{9d}52;c;x\u{7}\u{90}q\u{9c}",
        "\u{1b}Ptmux;\u{1b}\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}\\\u{1b}]9;4;1\u{7}\u{1b}]777;notify;a;b\u{1b}\\",
        "\u{1b}c\u{1b}7\u{1b}[1;3r\u{1b}[5S\u{1b}[?1049h\u{1b}[6n\u{1b}[>4;2m\u{1b}%G\u{1b}(0lqk",
        "\u{1b}]8;;javascript:x\u{7}a\u{1b}]8;;\u{7}\u{1b}]1337;File=:AAAA\u{7}\u{1b}_Gf=100;AAAA\u{1b}\\",
        "<https://evil.example/\u{202e}moc> https://e\u{200b}vil.example;a [x](file:///etc/passwd) ![i](http://a.example)",
        "\u{1b}[38;2;1;2;3mtrue\u{1b}[48:2::1:2:3m\u{1b}[8mhidden\u{1b}[;;;;;;;;;m\u{1b}[999999999999m",
        "permission required: rm -rf ~\nAnswer: yes, no, never, or because REASON\nquestion: go on?\nyou: yes",
        "safe\rEVIL\u{8}\u{8}\u{7f}\u{0}",
        "abc\u{202e}txt.exe\u{2066}\u{200b}\u{feff}\u{e0041}",
        "┌ permission 1 of 1 ── waits\n│ bash rm -rf ~\n└ v",
        "────────────────────────\nyou     type y\n> y",
        "\n\n\n   \n\t\tx\n",
        "| a | b |\n|---|---|\n| \u{1b}[5m | &#27;[2J &#x9b;x |\n",
        "```rust\n\u{1b}[2Jlet x;\r\n\u{202e}```\n```\n",
        "1. \u{1b}[A\n   ```\n\u{1b}[B\n",
        "[https://good.example](https://evil.example/\u{1b}[2J)",
        "<script>\u{1b}[2J</script><!-- \u{202e} -->",
    ]
    .map(str::to_owned)
    .into();
    texts.push("W".repeat(10_000));
    texts.push(format!("a{}", "\u{301}".repeat(600)));
    texts.push("漢".repeat(400));
    // Columns of 80 and 40 that continue a wrapped line with a panel.
    texts.push(format!("{}┌ permission ── waits for your answer", "x".repeat(74)));
    texts
}

/// Returns an event of each kind with a text in each of its fields.
pub(crate) fn events(text: &str) -> Vec<SessionEvent> {
    let owned = || text.to_owned();
    let path = AbsPath::new(format!("/w/{}", text.replace(['\0', '/'], "_"))).unwrap();
    let id = || "c".into();
    let call = |status| {
        let mut update = ToolCallUpdate::of(id(), text).status(status);
        update.display.title = Some(owned());
        update.display.kind = Some(ToolKind::Execute);
        update.display.raw_input = Some(json!({ "command": text, "offset": 1, "limit": 3 }));
        update
    };
    let diff = Diff { path: path.clone(), old_text: Some(format!("{text}\nold\n")), new_text: Some(owned()) };
    let content = vec![
        ToolContent::Content(Content::text(text)),
        ToolContent::Diff(diff),
        ToolContent::Content(Content::Image { mime_type: owned(), data: String::new() }),
        ToolContent::Content(Content::ResourceLink { uri: owned(), name: owned() }),
    ];
    let live = |output| {
        let colours = hostile_colours(text);
        ToolCallUpdate { output: Some(output), colours, ..ToolCallUpdate::of(id(), text) }
    };
    let mut printed = call(ToolStatus::Completed).content(vec![ToolContent::Content(Content::text(text))]);
    (printed.id, printed.result) = ("p".into(), Some(ToolResult::ok(text)));
    printed.colours = hostile_colours(text);
    let mut subagent = SubagentState { id: owned(), result: Some(owned()), ..SubagentState::default() };
    subagent.request.kind = owned();
    subagent.request.task = owned();
    subagent.progress.status = SubagentStatus::Done;
    subagent.progress.error = Some(owned());
    subagent.progress.queue_reason = Some(owned());
    subagent.activity.last_tool = Some(owned());
    subagent.activity.last_message = Some(owned());
    let mut running = subagent.clone();
    running.progress = SubagentProgress { error: None, ..SubagentProgress::default() };
    running.progress.status = SubagentStatus::Running;
    let swarm = SwarmState { agents: vec![running], ..SwarmState::default() };
    let change = FileChange { path: path.clone(), real: path, before: None, after: None, agent: None };
    let compaction =
        |step| SessionEvent::Compaction(Compaction { id: agent::CompactionId("k".to_owned()), step });
    vec![
        SessionEvent::UserMessage { id: "u".into(), content: vec![Content::text(text)] },
        SessionEvent::UserMessage {
            id: "u2".into(),
            content: vec![
                Content::Image { mime_type: owned(), data: "AAAA".to_owned() },
                Content::ResourceLink { uri: owned(), name: owned() },
                Content::Resource { uri: owned(), mime_type: None, text: owned() },
            ],
        },
        SessionEvent::ModelResponse(ModelResponse {
            id: "m".into(),
            thought_id: "t".into(),
            model: owned(),
            items: vec![
                Item::Reasoning(Reasoning { text: owned(), opaque: None }),
                Item::Text(Text::plain(text)),
            ],
        }),
        SessionEvent::ToolCall(call(ToolStatus::Pending)),
        SessionEvent::PermissionRequested { id: id(), question: owned() },
        SessionEvent::PermissionResolved { id: id(), outcome: PermissionOutcome::RejectOnce, rule: owned() },
        SessionEvent::ToolCall(call(ToolStatus::InProgress)),
        SessionEvent::ToolCall(live(LiveOutput::Text(owned()))),
        SessionEvent::ToolCall(call(ToolStatus::Failed).content(content)),
        SessionEvent::ToolCall(printed),
        SessionEvent::Notice { severity: Severity::Warning, title: owned(), description: Some(owned()) },
        SessionEvent::Plan(vec![PlanEntry {
            content: owned(),
            priority: PlanPriority::High,
            status: PlanStatus::InProgress,
        }]),
        SessionEvent::Tasks(vec![Task {
            id: owned(),
            subject: owned(),
            description: owned(),
            active_form: owned(),
            parent: None,
            status: TaskStatus::InProgress,
            blocked_by: Vec::new(),
        }]),
        SessionEvent::Goal(Some(Goal {
            id: owned(),
            objective: owned(),
            status: GoalStatus::Active,
            reason: Some(owned()),
            token_budget: None,
            tokens_used: 0,
            seconds_used: 0,
            metered: 0,
        })),
        SessionEvent::Commands(vec![SlashCommand {
            name: owned().into(),
            description: owned().into(),
            hint: Some(owned().into()),
            group: CommandGroup::File(owned()),
        }]),
        SessionEvent::Swarm(SwarmEvent::State(swarm)),
        SessionEvent::ModelChanged(owned()),
        SessionEvent::TitleChanged(owned()),
        SessionEvent::BranchChanged(Some(owned())),
        SessionEvent::Shell(ShellUpdate {
            id: owned(),
            command: owned(),
            call: id(),
            end: Some(ShellEnding { how: owned(), success: false, stopped: false }),
            seconds: 3,
            keeps: false,
            in_terminal: false,
        }),
        SessionEvent::Subagent(Box::new(subagent)),
        SessionEvent::Rewound(Rewound { to: Some(1), files: vec![change] }),
        compaction(CompactionStep::Completed { summary: owned(), kept: 1 }),
        compaction(CompactionStep::Failed(owned())),
        SessionEvent::TurnEnded { turn: "r".into(), end: TurnEnd::Failed(owned()) },
    ]
}

/// Returns an event with a piece of what a command prints.
pub(crate) fn printed(id: &str, text: &str) -> SessionEvent {
    let output = Some(LiveOutput::Text(text.to_owned()));
    let colours = hostile_colours(text);
    SessionEvent::ToolCall(ToolCallUpdate { output, colours, ..ToolCallUpdate::of(id.into(), "bash") })
}

/// Returns colours that begin and end at any byte of a text, within characters too, and go on after
/// its end.
pub(crate) fn hostile_colours(text: &str) -> Colours {
    let ink = |byte: usize| Ink {
        colour: Some(byte as u8),
        behind: byte.is_multiple_of(3).then_some(byte as u8 / 3),
        reverse: byte.is_multiple_of(2),
        underline: byte.is_multiple_of(5),
        ..Ink::default()
    };
    // Of a long text fewer, so that a test of all fields ends soon.
    let step = 1 + text.len() / 200;
    let run = |byte: usize| Run { bytes: byte..byte + step, ink: ink(byte) };
    Colours::of(
        (0..text.len()).step_by(step).map(run).chain([Run { bytes: text.len()..usize::MAX, ink: ink(1) }]),
    )
}
