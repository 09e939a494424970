//! Memory stays bounded, and time linear.

use super::{call, look, paint, printed, transcript};
use crate::{
    highlight::Highlighter,
    limits::{OUTPUT_BYTES, OUTPUTS_BYTES, SHORT_OUTPUT_BYTES},
    transcript::{Body, Output, Transcript, rows::Fold},
};
use agent::{Colours, Content, SessionEvent, ToolContent, ToolKind, ToolStatus};

#[test]
fn endless_output_keeps_its_end_and_counts_the_rest() {
    let run = SessionEvent::ToolCall(call("a", "bash", "Run x", ToolKind::Execute, ToolStatus::InProgress));
    let mut transcript = transcript(&[run]);
    let piece = "a line of output\n".repeat(4_000);
    let pieces = 300;
    for _ in 0..pieces {
        transcript.apply(&printed("a", "bash", &piece));
        let Body::Tool(tool) = &transcript.cells()[0].body else { panic!() };
        assert!(tool.shown.output.text().len() <= OUTPUT_BYTES + OUTPUT_BYTES / 4);
    }
    let Body::Tool(tool) = &transcript.cells()[0].body else { panic!() };
    assert_eq!(tool.shown.output.left_out() + tool.shown.output.lines().count(), pieces * 4_000);
    let (look, highlighter) = (look(80), Highlighter::off());
    let rows = paint(&transcript, &look, &highlighter).rows(0, Fold::Folded);
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[1].plain(), format!("      … {} lines (ctrl+o)", pieces * 4_000 - 3));
}

#[test]
fn one_piece_that_is_too_long_is_cut_too() {
    let mut output = Output::of("é\n".repeat(100), Colours::default(), 31);
    assert!(output.text().len() <= 31);
    assert_eq!(output.left_out() + output.lines().count(), 100);
    output.push(&"ü\n".repeat(100), &Colours::default(), 31);
    assert!(output.text().len() <= 31 + 7);
    assert_eq!(output.left_out() + output.lines().count(), 200);
}

#[test]
fn the_outputs_of_old_calls_are_shortened() {
    let mut transcript = Transcript::default();
    let text: String = (0..5_000).map(|line| format!("line {line}\n")).collect();
    let calls = 2 * OUTPUTS_BYTES / text.len();
    for id in 0..calls {
        let update = call(&format!("c{id}"), "bash", "Run x", ToolKind::Execute, ToolStatus::Completed);
        let update = update.content(vec![ToolContent::Content(Content::text(text.clone()))]);
        transcript.apply(&SessionEvent::ToolCall(update));
    }
    let of = |cell: usize| match &transcript.cells()[cell].body {
        Body::Tool(tool) => tool.shown.output.clone(),
        other => panic!("{other:?}"),
    };
    let all: usize = (0..calls).map(|cell| of(cell).text().len()).sum();
    assert!(all <= OUTPUTS_BYTES + calls * SHORT_OUTPUT_BYTES, "{all}");
    assert!(of(0).text().ends_with("line 4999\n") && of(0).text().len() <= SHORT_OUTPUT_BYTES);
    assert_eq!(of(0).left_out() + of(0).lines().count(), 5_000);
    assert_eq!(of(calls - 1).text(), text);
}
