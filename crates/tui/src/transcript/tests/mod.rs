mod feed;
mod generated;
mod hostile;
mod kinds;
mod memory;
mod snapshots;
mod stored;

use super::{Feed, Transcript, rows::Paint};
use crate::{highlight::Highlighter, look::Look, text::row::Row, theme::Theme};
use agent::{
    Content, Diff, LiveOutput, ModelResponse, SessionEvent, ToolCallDisplay, ToolCallUpdate, ToolContent,
    ToolKind, ToolStatus, TurnEnd,
};
use serde_json::json;
use std::time::Duration;
use system::AbsPath;

fn look(width: usize) -> Look {
    Look::new(Theme::terminal(), width)
}

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn user(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { id: "u".into(), content: vec![Content::text(text)] }
}

fn delta(id: &str, text: &str) -> SessionEvent {
    SessionEvent::MessageDelta { id: id.into(), text: text.to_owned() }
}

fn answer(id: &str, text: &str) -> SessionEvent {
    SessionEvent::ModelResponse(ModelResponse::from_text(
        id.into(),
        format!("{id}t").as_str().into(),
        "m",
        text,
    ))
}

fn call(id: &str, name: &str, title: &str, kind: ToolKind, status: ToolStatus) -> ToolCallUpdate {
    let display =
        ToolCallDisplay { title: Some(title.to_owned()), kind: Some(kind), ..ToolCallDisplay::default() };
    ToolCallUpdate { display, ..ToolCallUpdate::of(id.into(), name).status(status) }
}

fn printed(id: &str, name: &str, text: &str) -> SessionEvent {
    let output = Some(LiveOutput::Text(text.to_owned()));
    SessionEvent::ToolCall(ToolCallUpdate { output, ..ToolCallUpdate::of(id.into(), name) })
}

fn ended(turn: &str, end: TurnEnd) -> SessionEvent {
    SessionEvent::TurnEnded { turn: turn.into(), end }
}

/// The conversation of the contract's sketch, up to the running tests.
fn sketch() -> Vec<SessionEvent> {
    let read = || call("c0", "file_read", "Read src/page.rs", ToolKind::Read, ToolStatus::Completed);
    let edit = || call("c1", "file_edit", "Edit src/page.rs", ToolKind::Edit, ToolStatus::Completed);
    let bash = || call("c2", "bash", "Run cargo test -p pager", ToolKind::Execute, ToolStatus::InProgress);
    let mut old = "line\n".repeat(40);
    let mut new = old.clone();
    old.push_str("let last = total / size;\n");
    new.push_str("let last = total.div_ceil(size);\n");
    let diff = Diff { path: path("/w/src/page.rs"), old_text: Some(old), new_text: Some(new) };
    let mut read = read().content(vec![ToolContent::Content(Content::text("1\tfn page() {}"))]);
    read.display.raw_input = Some(json!({ "path": "src/page.rs", "limit": 120 }));
    let output: String = (0..40).map(|number| format!("test page::number_{number} ... ok\n")).collect();
    vec![
        user("fix the off-by-one in src/page.rs and run the tests"),
        answer("m0", "The last page is lost when the total divides evenly."),
        SessionEvent::ToolCall(read),
        SessionEvent::ToolCall(edit().content(vec![ToolContent::Diff(diff)])),
        SessionEvent::ToolCall(bash()),
        printed("c2", "bash", &output),
    ]
}

fn transcript(events: &[SessionEvent]) -> Transcript {
    let mut transcript = Transcript::new(Some(path("/w")));
    events.iter().for_each(|event| transcript.apply_at(event, Some(Duration::ZERO)));
    transcript
}

fn paint<'a>(transcript: &'a Transcript, look: &'a Look, highlighter: &'a Highlighter) -> Paint<'a> {
    Paint { transcript, look, highlighter, now: Duration::from_secs(14) }
}

fn plain(rows: &[Row]) -> Vec<String> {
    rows.iter().map(Row::plain).collect()
}

#[test]
fn a_conversation_looks_like_the_sketch() {
    let (transcript, look, highlighter) = (transcript(&sketch()), look(80), Highlighter::in_place());
    let step = Feed::default().step(&paint(&transcript, &look, &highlighter), 10);
    assert_eq!(
        plain(&step.commit),
        [
            "you     fix the off-by-one in src/page.rs and run the tests",
            "tiller  The last page is lost when the total divides evenly.",
            "  ✓ read  src/page.rs 1–120",
            "  ✓ edit  src/page.rs +1 −1",
            "      39   line",
            "      40   line",
            "      41 - let last = total / size;",
            "      41 + let last = total.div_ceil(size);",
        ]
    );
    assert_eq!(
        plain(&step.tail),
        [
            "  ◐ bash  cargo test -p pager                                               14 s",
            "      … 37 lines (ctrl+o)",
            "      test page::number_37 ... ok",
            "      test page::number_38 ... ok",
            "      test page::number_39 ... ok",
        ]
    );
}
