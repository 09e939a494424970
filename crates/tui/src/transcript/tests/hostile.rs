//! Nothing that others say can repaint the screen, hide, or look like a panel.

use super::{look, paint, user};
use crate::{
    highlight::Highlighter,
    look::Look,
    text::row::Row,
    transcript::{Feed, Transcript, View, rows::Fold},
};
use agent::{
    Compaction, CompactionStep, Content, Diff, FileChange, Item, LiveOutput, ModelResponse,
    PermissionOutcome, PlanEntry, PlanPriority, PlanStatus, Reasoning, Rewound, SessionEvent, Severity,
    ShellEnding, ShellUpdate, SubagentState, SubagentStatus, Text, ToolCallUpdate, ToolContent, ToolKind,
    ToolStatus, TurnEnd,
};
use serde_json::json;
use system::AbsPath;

/// Texts of attackers: sequences that move, clear, title, copy and link; direction, zero-width and
/// tag characters; frames of panels; huge words and piles of marks.
fn corpus() -> Vec<String> {
    let mut texts: Vec<String> = [
        "\u{1b}[2J\u{1b}[Hgone\u{1b}[31m",
        "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}]0;title\u{1b}\\",
        "\u{1b}]8;;https://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\",
        "\u{9b}2J\u{9d}52;c;x\u{7}\u{90}q\u{9c}",
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
    texts.push("W".repeat(900));
    texts.push(format!("a{}", "\u{301}".repeat(600)));
    texts.push("漢".repeat(400));
    texts
}

/// Returns an event of each kind with a text in each of its fields.
fn events(text: &str) -> Vec<SessionEvent> {
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
    let live = |output| ToolCallUpdate { output: Some(output), ..ToolCallUpdate::of(id(), text) };
    let mut subagent = SubagentState { id: owned(), result: Some(owned()), ..SubagentState::default() };
    subagent.request.kind = owned();
    subagent.request.task = owned();
    subagent.progress.status = SubagentStatus::Done;
    let change = FileChange { path: path.clone(), real: path, before: None, after: None };
    let compaction =
        |step| SessionEvent::Compaction(Compaction { id: agent::CompactionId("k".to_owned()), step });
    vec![
        user(text),
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
        SessionEvent::Notice { severity: Severity::Warning, title: owned(), description: Some(owned()) },
        SessionEvent::Plan(vec![PlanEntry {
            content: owned(),
            priority: PlanPriority::High,
            status: PlanStatus::InProgress,
        }]),
        SessionEvent::ModelChanged(owned()),
        SessionEvent::TitleChanged(owned()),
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

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Checks rows: nothing hidden, and the first column is ours.
fn check(rows: &[Row], look: &Look) {
    for row in rows {
        let text = row.plain();
        assert!(!text.chars().any(is_hidden), "{text:?}");
        let is_ours = ["you", "tiller", " ", "▸"].iter().any(|begin| text.starts_with(begin));
        assert!(
            look.plain || look.width < 2 || text.is_empty() || is_ours,
            "the first column is reserved: {text:?}"
        );
        assert!(row.line.spans.iter().all(|span| span.content.len() < 100_000));
    }
}

#[test]
fn hostile_texts_in_every_field_are_harmless_at_every_width() {
    let highlighter = Highlighter::off();
    for text in corpus() {
        let mut transcript = Transcript::new(AbsPath::new("/w").ok());
        events(&text).iter().for_each(|event| transcript.apply(event));
        assert!(transcript.cells().len() > 14);
        let looks = [1, 2, 7, 20, 39, 40, 80, 140].map(look);
        for look in looks.into_iter().chain([Look::plain()]) {
            let paint = paint(&transcript, &look, &highlighter);
            for cell in 0..transcript.cells().len() {
                check(&paint.rows(cell, Fold::Folded), &look);
                check(&paint.rows(cell, Fold::Whole), &look);
            }
            if !look.plain {
                let mut view = View::default();
                let rows = view.rows(40, &paint);
                assert!(rows.iter().all(|row| row.width() <= look.width));
                view.search("evil", &paint);
                check(&view.rows(40, &paint), &look);
            }
        }
        for cell in transcript.cells() {
            assert!(!cell.copied().chars().any(is_hidden_in_copy), "{:?}", cell.copied());
        }
    }
}

fn is_hidden_in_copy(c: char) -> bool {
    !matches!(c, '\n' | '\t') && is_hidden(c)
}

#[test]
fn hostile_texts_that_are_streamed_in_pieces_are_harmless() {
    let (look, highlighter) = (look(40), Highlighter::in_place());
    for text in corpus().into_iter().filter(|text| text.len() < 200) {
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (mut transcript, mut feed) = (Transcript::default(), Feed::default());
            for piece in [&text[..at], &text[at..]] {
                for event in [
                    SessionEvent::ThoughtDelta { id: "t".into(), text: piece.to_owned() },
                    SessionEvent::MessageDelta { id: "m".into(), text: piece.to_owned() },
                    super::printed("c", "bash", piece),
                ] {
                    transcript.apply(&event);
                    let step = feed.step(&paint(&transcript, &look, &highlighter), 20);
                    check(&step.commit, &look);
                    check(&step.tail, &look);
                }
            }
        }
    }
}
