//! What is committed, and when.

use super::{
    answer, call, delta,
    generated::{events, session},
    look, paint, plain, printed, transcript, user,
};
use crate::{
    highlight::Highlighter,
    limits,
    look::Look,
    text::row::Row,
    transcript::{Feed, Transcript, rows::Paint},
};
use agent::{SessionEvent, ToolKind, ToolStatus};
use proptest::prelude::*;
use std::{sync::mpsc::channel, time::Duration};

/// Feeds events and returns all that was committed; a step follows each event for which `steps` is
/// true, and the last one.
fn committed(events: &[SessionEvent], look: &Look, steps: impl Fn(usize) -> bool) -> Vec<Row> {
    let highlighter = Highlighter::off();
    let (mut transcript, mut feed, mut out) = (Transcript::default(), Feed::default(), Vec::new());
    for (at, event) in events.iter().enumerate() {
        transcript.apply(event);
        if steps(at) || at + 1 == events.len() {
            let step = feed.step(&paint(&transcript, look, &highlighter), 7);
            assert!(step.tail.len() <= 7 && !step.is_waiting);
            out.extend(step.commit);
        }
    }
    out
}

proptest! {
    #[test]
    fn rows_are_committed_once_and_the_same_however_often_one_looks(
        steps in session(), every in 1_usize..30, width in prop::sample::select(vec![20_usize, 40, 80, 140]),
    ) {
        let (mut events, look) = (events(&steps), look(width));
        events.push(super::ended("run", agent::TurnEnd::Stopped(agent::StopReason::EndTurn)));
        let often = committed(&events, &look, |at| at % every == 0);
        let once = committed(&events, &look, |_| false);
        prop_assert_eq!(&often, &once);
        let stored: Vec<_> = events.into_iter().filter(|event| {
            event.is_durable() || matches!(event, SessionEvent::Notice { .. })
        }).collect();
        prop_assert_eq!(committed(&stored, &look, |_| false), once, "a stored session is committed the same way");
    }
}

proptest! {
    #[test]
    fn any_markdown_in_any_pieces_becomes_the_same_rows(
        text in crate::markdown::tests::markdown(), cuts in prop::collection::vec(0_usize..300, 0..12),
        width in prop::sample::select(vec![20_usize, 40, 80]), is_plain in any::<bool>(),
    ) {
        let look = Look { plain: is_plain, ..look(width) };
        let mut cuts: Vec<_> = cuts.iter().map(|cut| agent::floor_char_boundary(&text, *cut)).collect();
        cuts.sort_unstable();
        cuts.push(text.len());
        let mut from = 0;
        let mut events = vec![user("go on")];
        for to in cuts {
            events.extend((to > from).then(|| delta("m", &text[from..to])));
            from = to;
        }
        events.push(answer("m", &text));
        let whole = [user("go on"), answer("m", &text)];
        let whole: Vec<Row> = committed(&whole, &look, |_| true);
        prop_assert_eq!(committed(&events, &look, |_| true), whole);
    }
}

#[test]
fn finished_pieces_of_an_answer_are_committed_and_the_rest_is_in_the_tail() {
    let (look, highlighter) = (look(60), Highlighter::in_place());
    let (mut transcript, mut feed) = (Transcript::default(), Feed::default());
    let mut step = |transcript: &Transcript| {
        let step = feed.step(&paint(transcript, &look, &highlighter), 9);
        (plain(&step.commit), plain(&step.tail))
    };
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    transcript.apply(&user("hi"));
    transcript.apply(&delta("m", "First **par"));
    assert_eq!(step(&transcript), (lines(&["you     hi"]), lines(&["tiller  First **par"])));
    transcript.apply(&delta("m", "agraph**\n\n- one\n- tw"));
    assert_eq!(
        step(&transcript),
        (lines(&["tiller  First paragraph"]), lines(&["", "        • one", "        • tw"]))
    );
    transcript.apply(&delta("m", "o\n\n```sh\nls\ncat"));
    assert_eq!(
        step(&transcript),
        (lines(&["", "        • one", "        • two", "", "  ls"]), lines(&["  cat"]))
    );
    transcript.apply(&answer("m", "First **paragraph**\n\n- one\n- two\n\n```sh\nls\ncat"));
    assert_eq!(step(&transcript), (lines(&["  cat"]), lines(&[])));
}

#[test]
fn a_running_call_holds_back_what_follows_it() {
    let (look, highlighter) = (look(60), Highlighter::off());
    let run = |id: &str, status| SessionEvent::ToolCall(call(id, "bash", "Run x", ToolKind::Execute, status));
    let mut transcript = transcript(&[run("a", ToolStatus::InProgress), run("b", ToolStatus::InProgress)]);
    transcript.apply(&printed("a", "bash", "from a\n"));
    transcript.apply(&run("b", ToolStatus::Completed));
    let mut feed = Feed::default();
    let step = feed.step(&paint(&transcript, &look, &highlighter), 9);
    assert!(step.commit.is_empty());
    assert_eq!(step.tail.len(), 3);
    let step = feed.step(&paint(&transcript, &look, &highlighter), 2);
    assert_eq!(plain(&step.tail), ["  … 2 more rows", "  ✓ bash  x"]);
    transcript.apply(&run("a", ToolStatus::Failed));
    let step = feed.step(&paint(&transcript, &look, &highlighter), 9);
    assert_eq!(step.commit.len(), 2, "in the order of the calls: {:?}", step.commit);
    assert!(step.commit[0].plain().contains("failed"));
    assert!(step.tail.is_empty());
}

#[test]
fn a_revised_answer_begins_again_and_nothing_is_lost() {
    let (look, highlighter) = (look(60), Highlighter::off());
    let mut transcript = transcript(&[delta("m", "one\n\ntwo\n\nthr")]);
    let mut feed = Feed::default();
    feed.step(&paint(&transcript, &look, &highlighter), 9);
    transcript.apply(&answer("m", "uno\n\ndue"));
    let step = feed.step(&paint(&transcript, &look, &highlighter), 9);
    assert_eq!(
        plain(&step.commit),
        ["        (the answer was revised; it begins again)", "        uno", "", "        due",]
    );
}

#[test]
fn code_waits_for_its_colours_a_moment_and_no_longer() {
    // The first answer of the highlighter comes only when its thread has loaded the definitions.
    let (done, wait) = channel();
    let highlighter = Highlighter::threaded(move || done.send(()).unwrap_or(()));
    let look = look(60);
    let transcript = transcript(&[delta("m", "```rust\nfn main() {}\nlet")]);
    let at = |now| Paint { transcript: &transcript, look: &look, highlighter: &highlighter, now };
    let mut patient = Feed::default();
    let mut step = patient.step(&at(Duration::ZERO), 9);
    while step.is_waiting {
        wait.recv().unwrap();
        step = patient.step(&at(Duration::ZERO), 9);
    }
    assert_eq!(plain(&step.commit), ["tiller", "  fn main() {}"]);
    assert!(step.commit[1].line.spans.len() > 2, "with colours: {:?}", step.commit);

    let transcript = super::transcript(&[delta("m", "```no-such\nx\ny\n")]);
    let at = |now| Paint { transcript: &transcript, look: &look, highlighter: &highlighter, now };
    let mut late = Feed::default();
    let first = late.step(&at(Duration::ZERO), 9);
    let second = late.step(&at(limits::HIGHLIGHT_WAIT), 9);
    let rows: Vec<_> = first.commit.iter().chain(&second.commit).cloned().collect();
    assert_eq!(plain(&rows), ["tiller", "  x", "  y"]);
    assert!(!second.is_waiting);
}

#[test]
fn plain_lines_have_labels_and_name_a_running_call_once() {
    let (look, highlighter) = (Look::plain(), Highlighter::off());
    let run = |status| SessionEvent::ToolCall(call("a", "bash", "Run cargo test", ToolKind::Execute, status));
    let mut transcript = transcript(&[
        user("please\ntest"),
        answer("m", "Sure:\n\n- one\n\n| a | b |\n|---|---|\n| 1 | ─ |\n\n```sh\nls\n```\n"),
        run(ToolStatus::InProgress),
    ]);
    let mut feed = Feed::default();
    let mut step =
        |transcript: &Transcript| plain(&feed.step(&paint(transcript, &look, &highlighter), 9).commit);
    assert_eq!(
        step(&transcript),
        [
            "you: please",
            "test",
            "tiller: Sure:",
            "",
            "- one",
            "",
            "a: 1; b: -",
            "",
            "code in sh:",
            "ls",
            "end of code",
            "tool: bash cargo test: runs",
        ]
    );
    assert!(step(&transcript).is_empty());
    transcript.apply(&printed("a", "bash", "⠋ ok █\n"));
    transcript.apply(&run(ToolStatus::Failed));
    assert_eq!(step(&transcript)[0], "tool: bash cargo test: failed");
}

#[test]
fn reasoning_is_committed_when_the_answer_begins() {
    let (look, highlighter) = (look(60), Highlighter::off());
    let thought = |text: &str| SessionEvent::ThoughtDelta { id: "t".into(), text: text.to_owned() };
    let mut transcript = transcript(&[thought("hm"), thought(", so")]);
    let mut feed = Feed::default();
    let mut step = |transcript: &Transcript| {
        let step = feed.step(&paint(transcript, &look, &highlighter), 9);
        (plain(&step.commit), plain(&step.tail))
    };
    assert_eq!(step(&transcript), (vec![], vec!["  ◐ thinking  hm, so".to_owned()]));
    transcript.apply(&delta("m", "Yes."));
    assert_eq!(step(&transcript).0, ["  · thought  hm, so"]);
    transcript.apply(&thought("\n\nwait"));
    assert_eq!(step(&transcript).0, ["", "tiller  Yes."]);
}
