//! What each kind of cell looks like.

use super::{call, ended, path, sketch, user};
use crate::{
    highlight::Highlighter,
    look::Look,
    text::row::Row,
    theme::Theme,
    transcript::{
        Transcript,
        rows::{Fold, Paint},
    },
};
use agent::{
    Compaction, CompactionStep, Content, Diff, FileChange, Item, ModelResponse, PermissionOutcome, PlanEntry,
    PlanPriority, PlanStatus, Reasoning, Rewound, SessionEvent, Severity, StopReason, SubagentState,
    SubagentStatus, Text, ToolContent, ToolKind, ToolStatus, TurnEnd,
};
use ratatui_core::style::Style;
use std::{fmt::Write as _, time::Duration};

/// Renders the cells of events at four widths, then with styles, then whole, then for `plain`.
fn shown(events: &[SessionEvent]) -> String {
    let mut transcript = Transcript::new(Some(path("/w")));
    events.iter().for_each(|event| transcript.apply_at(event, Some(Duration::ZERO)));
    let highlighter = Highlighter::in_place();
    let mut out = String::new();
    let mut show = |name: &str, look: &Look, fold, line: fn(&Row) -> String| {
        writeln!(out, "== {name}").unwrap();
        let paint =
            Paint { transcript: &transcript, look, highlighter: &highlighter, now: Duration::from_secs(75) };
        for cell in 0..transcript.cells().len() {
            paint.rows(cell, fold).iter().for_each(|row| writeln!(out, "{}", line(row)).unwrap());
        }
    };
    for width in [20, 40, 80, 140] {
        show(&width.to_string(), &Look::new(Theme::terminal(), width), Fold::Folded, Row::plain);
    }
    show("80, styles", &Look::new(Theme::terminal(), 80), Fold::Folded, styled);
    show("80, no colours", &Look::new(Theme::terminal().without_colour(), 80), Fold::Folded, styled);
    show("80, whole", &Look::new(Theme::terminal(), 80), Fold::Whole, Row::plain);
    show("plain", &Look::plain(), Fold::Folded, Row::plain);
    out
}

/// Returns a row with the style before each part: `‹bold cyan›you`.
fn styled(row: &Row) -> String {
    let style = |style: Style| {
        let mut words: Vec<String> = Vec::new();
        let modifiers = format!("{:?}", style.add_modifier).to_lowercase();
        words.extend((!style.add_modifier.is_empty()).then_some(modifiers));
        words.extend(style.fg.map(|colour| colour.to_string().to_lowercase()));
        words.join(" ")
    };
    let parts = row.line.spans.iter().map(|span| match style(span.style).as_str() {
        "" if span.content.trim().is_empty() => span.content.to_string(),
        words => format!("‹{words}›{}", span.content),
    });
    parts.collect()
}

fn prompt(text: &str) -> SessionEvent {
    user(text)
}

#[test]
fn a_message_of_the_user() {
    insta::assert_snapshot!(shown(&[SessionEvent::UserMessage {
        id: "u".into(),
        content: vec![
            Content::text("fix the off-by-one in src/page.rs and run the tests\n\nkeep the public signature"),
            Content::Image { mime_type: "image/png".to_owned(), data: "A".repeat(16_000) },
            Content::ResourceLink { uri: "file:///w/src/page.rs".to_owned(), name: "src/page.rs".to_owned() },
        ],
    }]));
}

#[test]
fn a_command_of_the_user_is_shown_as_it_is_typed() {
    for text in ["/run git status --short", "  /run   git status --short\n"] {
        let rows = shown(&[prompt(text)]);
        assert!(rows.contains("! git status --short") && !rows.contains("/run"), "{rows}");
    }
    for text in ["/run", "please /run it", "/running late"] {
        assert!(shown(&[prompt(text)]).contains(text), "{text}");
    }
}

#[test]
fn an_answer() {
    let text = "The last page is lost when the **total** divides *evenly*, see `page.rs`:\n\n1. first, a longer item \
        that has to be wrapped\n2. second\n   - nested\n\n> quoted\n\n```rust\n// sum\nfn last() -> usize { 41 }\n```\n\n\
        | file | lines |\n|------|------:|\n| a.rs | 12 |\n\nSee [the book](https://doc.rust-lang.org/book/).";
    insta::assert_snapshot!(shown(&[super::answer("m", text)]));
}

#[test]
fn reasoning() {
    let thought = "The user wants the last page. The total divides evenly, so the division is exact.\n\nI will \
        look at the callers first, then change the division, then run the tests and see whether they pass.";
    insta::assert_snapshot!(shown(&[SessionEvent::ModelResponse(ModelResponse {
        id: "m".into(),
        thought_id: "t".into(),
        model: "m".to_owned(),
        items: vec![
            Item::Reasoning(Reasoning { text: thought.to_owned(), opaque: None }),
            Item::Text(Text::plain("")),
        ],
    })]));
}

#[test]
fn calls_that_read_edit_and_run() {
    insta::assert_snapshot!(shown(&sketch()[2..]));
}

#[test]
fn a_call_that_waits_for_permission() {
    let pending = call("c", "bash", "Run git push origin main", ToolKind::Execute, ToolStatus::Pending);
    insta::assert_snapshot!(shown(&[
        SessionEvent::ToolCall(pending),
        SessionEvent::PermissionRequested { id: "c".into(), question: "may it?".to_owned() },
    ]));
}

#[test]
fn calls_that_failed_were_refused_and_interrupted() {
    let end = |id: &str, status, text: &str| {
        let content = vec![ToolContent::Content(Content::text(text))];
        SessionEvent::ToolCall(call(id, "bash", "Run make", ToolKind::Execute, status).content(content))
    };
    let begin = |id: &str| {
        SessionEvent::ToolCall(call(id, "bash", "Run make", ToolKind::Execute, ToolStatus::Pending))
    };
    let errors: String = (0..9).map(|line| format!("error {line}\n")).collect();
    insta::assert_snapshot!(shown(&[
        end("a", ToolStatus::Failed, &errors),
        begin("b"),
        SessionEvent::PermissionResolved {
            id: "b".into(),
            outcome: PermissionOutcome::RejectOnce,
            rule: "user".to_owned(),
        },
        end("b", ToolStatus::Failed, "The user rejected this call."),
        end("c", ToolStatus::Interrupted, ""),
    ]));
}

#[test]
fn a_call_that_changes_two_files() {
    let diff = |name: &str, old: Option<&str>, new: Option<&str>| {
        ToolContent::Diff(Diff {
            path: path(&format!("/w/src/{name}")),
            old_text: old.map(str::to_owned),
            new_text: new.map(str::to_owned),
        })
    };
    let call = call("p", "apply_patch", "Edit 2 files", ToolKind::Edit, ToolStatus::Completed);
    let many: String = (0..30).map(|line| format!("line {line}\n")).collect();
    insta::assert_snapshot!(shown(&[SessionEvent::ToolCall(call.content(vec![
        diff("a.rs", Some("a\nb\nc\n"), Some("a\nB\nc\n")),
        diff("new.rs", None, Some(&many)),
    ]))]));
}

#[test]
fn notices_and_errors() {
    let notice = |severity, title: &str, description: Option<&str>| SessionEvent::Notice {
        severity,
        title: title.to_owned(),
        description: description.map(str::to_owned),
    };
    insta::assert_snapshot!(shown(&[
        notice(Severity::Info, "3 skills were found", None),
        notice(Severity::Warning, "The model did not answer; attempt 2 in 1.0 s", Some("connection reset")),
        notice(
            Severity::Error,
            "The server docs could not be started",
            Some("no such file\ncheck `command`")
        ),
        ended("r", TurnEnd::Failed("anthropic: the key was refused (401)\nrun: tiller setup".to_owned())),
        ended("r", TurnEnd::Stopped(StopReason::Cancelled)),
    ]));
}

#[test]
fn a_plan() {
    let entry = |content: &str, status| PlanEntry {
        content: content.to_owned(),
        priority: PlanPriority::Medium,
        status,
    };
    insta::assert_snapshot!(shown(&[SessionEvent::Plan(vec![
        entry("read pager", PlanStatus::Completed),
        entry("run tests", PlanStatus::InProgress),
        entry("changelog", PlanStatus::Pending),
    ])]));
}

#[test]
fn settings_compaction_and_rewind() {
    let compaction = |id: &str, step| {
        SessionEvent::Compaction(Compaction { id: agent::CompactionId(id.to_owned()), step })
    };
    let change = |name: &str| FileChange {
        path: path(&format!("/w/{name}")),
        real: path("/w/x"),
        before: None,
        after: None,
    };
    insta::assert_snapshot!(shown(&[
        prompt("hi"),
        SessionEvent::ModeChanged(agent::Mode::Plan),
        SessionEvent::ModelChanged("anthropic/claude-sonnet-4-5".to_owned()),
        compaction("a", CompactionStep::Completed { summary: "The user wants pages.".to_owned(), kept: 2 }),
        compaction("b", CompactionStep::Failed("the model refused".to_owned())),
        compaction("c", CompactionStep::Started),
        SessionEvent::Rewound(Rewound { to: Some(3), files: vec![change("src/a.rs"), change("src/b.rs")] }),
    ]));
}

#[test]
fn subagents() {
    let state = |status, result: Option<&str>| {
        let mut state = SubagentState { id: "docs-audit".to_owned(), ..SubagentState::default() };
        state.request.kind = "explore".to_owned();
        state.request.task = "Find pages without a title.\nReport them.".to_owned();
        state.progress.status = status;
        state.result = result.map(str::to_owned);
        SessionEvent::Subagent(Box::new(state))
    };
    insta::assert_snapshot!(shown(&[
        state(SubagentStatus::Running, None),
        state(SubagentStatus::Done, Some("Two pages have no title:\n- a.md\n- b.md")),
    ]));
}
