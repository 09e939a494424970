//! A conversation for each kind of cell.

use super::{call, ended, path, sketch, user};
use agent::{
    Colours, Compaction, CompactionStep, Content, Diff, FileChange, Ink, Item, ModelResponse,
    PermissionOutcome, PlanEntry, PlanPriority, PlanStatus, Reasoning, Rewound, Run, SessionEvent, Severity,
    StopReason, SubagentState, SubagentStatus, Text, ToolContent, ToolKind, ToolResult, ToolStatus, TurnEnd,
};

/// A kind of cell: its name, and events that make cells of it.
pub(super) type Kind = (&'static str, fn() -> Vec<SessionEvent>);

/// All kinds.
pub(super) const KINDS: [Kind; 12] = [
    ("a_message_of_the_user", a_message_of_the_user),
    ("an_answer", an_answer),
    ("reasoning", reasoning),
    ("calls_that_read_edit_and_run", calls_that_read_edit_and_run),
    ("a_call_that_waits_for_permission", a_call_that_waits_for_permission),
    ("calls_that_failed_were_refused_and_interrupted", calls_that_failed_were_refused_and_interrupted),
    ("a_call_that_changes_two_files", a_call_that_changes_two_files),
    ("notices_and_errors", notices_and_errors),
    ("a_plan", a_plan),
    ("settings_compaction_and_rewind", settings_compaction_and_rewind),
    ("subagents", subagents),
    ("a_call_with_coloured_output", a_call_with_coloured_output),
];

fn a_message_of_the_user() -> Vec<SessionEvent> {
    vec![SessionEvent::UserMessage {
        id: "u".into(),
        content: vec![
            Content::text("fix the off-by-one in src/page.rs and run the tests\n\nkeep the public signature"),
            Content::Image { mime_type: "image/png".to_owned(), data: "A".repeat(16_000) },
            Content::ResourceLink { uri: "file:///w/src/page.rs".to_owned(), name: "src/page.rs".to_owned() },
        ],
    }]
}

fn an_answer() -> Vec<SessionEvent> {
    let text = "The last page is lost when the **total** divides *evenly*, see `page.rs`:\n\n1. first, a longer item \
        that has to be wrapped\n2. second\n   - nested\n\n> quoted\n\n```rust\n// sum\nfn last() -> usize { 41 }\n```\n\n\
        | file | lines |\n|------|------:|\n| a.rs | 12 |\n\nSee [the book](https://doc.rust-lang.org/book/).";
    vec![super::answer("m", text)]
}

fn reasoning() -> Vec<SessionEvent> {
    let thought = "The user wants the last page. The total divides evenly, so the division is exact.\n\nI will \
        look at the callers first, then change the division, then run the tests and see whether they pass.";
    vec![SessionEvent::ModelResponse(ModelResponse {
        id: "m".into(),
        thought_id: "t".into(),
        model: "m".to_owned(),
        items: vec![
            Item::Reasoning(Reasoning { text: thought.to_owned(), opaque: None }),
            Item::Text(Text::plain("")),
        ],
    })]
}

fn calls_that_read_edit_and_run() -> Vec<SessionEvent> {
    sketch().split_off(2)
}

fn a_call_that_waits_for_permission() -> Vec<SessionEvent> {
    let pending = call("c", "bash", "Run git push origin main", ToolKind::Execute, ToolStatus::Pending);
    vec![
        SessionEvent::ToolCall(pending),
        SessionEvent::PermissionRequested { id: "c".into(), question: "may it?".to_owned() },
    ]
}

fn calls_that_failed_were_refused_and_interrupted() -> Vec<SessionEvent> {
    let end = |id: &str, status, text: &str| {
        let content = vec![ToolContent::Content(Content::text(text))];
        SessionEvent::ToolCall(call(id, "bash", "Run make", ToolKind::Execute, status).content(content))
    };
    let begin = |id: &str| {
        SessionEvent::ToolCall(call(id, "bash", "Run make", ToolKind::Execute, ToolStatus::Pending))
    };
    let errors: String = (0..9).map(|line| format!("error {line}\n")).collect();
    vec![
        end("a", ToolStatus::Failed, &errors),
        begin("b"),
        SessionEvent::PermissionResolved {
            id: "b".into(),
            outcome: PermissionOutcome::RejectOnce,
            rule: "user".to_owned(),
        },
        end("b", ToolStatus::Failed, "The user rejected this call."),
        end("c", ToolStatus::Interrupted, ""),
    ]
}

fn a_call_that_changes_two_files() -> Vec<SessionEvent> {
    let diff = |name: &str, old: Option<&str>, new: Option<&str>| {
        ToolContent::Diff(Diff {
            path: path(&format!("/w/src/{name}")),
            old_text: old.map(str::to_owned),
            new_text: new.map(str::to_owned),
        })
    };
    let call = call("p", "apply_patch", "Edit 2 files", ToolKind::Edit, ToolStatus::Completed);
    let many: String = (0..30).map(|line| format!("line {line}\n")).collect();
    vec![SessionEvent::ToolCall(call.content(vec![
        diff("a.rs", Some("a\nb\nc\n"), Some("a\nB\nc\n")),
        diff("new.rs", None, Some(&many)),
    ]))]
}

fn notices_and_errors() -> Vec<SessionEvent> {
    let notice = |severity, title: &str, description: Option<&str>| SessionEvent::Notice {
        severity,
        title: title.to_owned(),
        description: description.map(str::to_owned),
    };
    vec![
        notice(Severity::Info, "3 skills were found", None),
        notice(Severity::Warning, "The model did not answer; attempt 2 in 1.0 s", Some("connection reset")),
        notice(
            Severity::Error,
            "The server docs could not be started",
            Some("no such file\ncheck `command`"),
        ),
        ended("r", TurnEnd::Failed("anthropic: the key was refused (401)\nrun: tiller setup".to_owned())),
        ended("r", TurnEnd::Stopped(StopReason::Cancelled)),
    ]
}

fn a_plan() -> Vec<SessionEvent> {
    let entry = |content: &str, status| PlanEntry {
        content: content.to_owned(),
        priority: PlanPriority::Medium,
        status,
    };
    vec![SessionEvent::Plan(vec![
        entry("read pager", PlanStatus::Completed),
        entry("run tests", PlanStatus::InProgress),
        entry("changelog", PlanStatus::Pending),
    ])]
}

fn settings_compaction_and_rewind() -> Vec<SessionEvent> {
    let compaction = |id: &str, step| {
        SessionEvent::Compaction(Compaction { id: agent::CompactionId(id.to_owned()), step })
    };
    let change = |name: &str| FileChange {
        path: path(&format!("/w/{name}")),
        real: path("/w/x"),
        before: None,
        after: None,
        agent: None,
    };
    vec![
        user("hi"),
        SessionEvent::ModeChanged(agent::Mode::Plan),
        SessionEvent::ModelChanged("anthropic/claude-sonnet-4-5".to_owned()),
        compaction("a", CompactionStep::Completed { summary: "The user wants pages.".to_owned(), kept: 2 }),
        compaction("b", CompactionStep::Failed("the model refused".to_owned())),
        compaction("c", CompactionStep::Started),
        SessionEvent::Rewound(Rewound { to: Some(3), files: vec![change("src/a.rs"), change("src/b.rs")] }),
    ]
}

fn subagents() -> Vec<SessionEvent> {
    let state = |status, result: Option<&str>| {
        let mut state = SubagentState { id: "docs-audit".to_owned(), ..SubagentState::default() };
        state.request.kind = "explore".to_owned();
        state.request.task = "Find pages without a title.\nReport them.".to_owned();
        state.progress.status = status;
        state.result = result.map(str::to_owned);
        SessionEvent::Subagent(Box::new(state))
    };
    vec![
        state(SubagentStatus::Running, None),
        state(SubagentStatus::Done, Some("Two pages have no title:\n- a.md\n- b.md")),
    ]
}

fn a_call_with_coloured_output() -> Vec<SessionEvent> {
    let text = "error: one\nwarning: two\nFAILED bold plain\nExit code: 1";
    let run = |bytes, ink| Run { bytes, ink };
    let ink = Ink::default();
    let colours = Colours::of([
        run(0..5, Ink { colour: Some(9), bold: true, ..ink }),
        run(11..18, Ink { colour: Some(3), ..ink }),
        run(24..30, Ink { colour: Some(15), behind: Some(1), ..ink }),
        run(31..35, Ink { bold: true, underline: true, ..ink }),
    ]);
    let call = call("c", "bash", "Run make", ToolKind::Execute, ToolStatus::Failed);
    let mut call = call.content(vec![ToolContent::Content(Content::text(text))]);
    (call.result, call.colours) = (Some(ToolResult::error(text)), colours);
    vec![SessionEvent::ToolCall(call)]
}
