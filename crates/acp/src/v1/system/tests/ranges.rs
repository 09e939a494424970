//! Tests of line ranges with editors that return other lines than requested.

use super::*;
use crate::testing::{ClientName, CutRange};

const TEN: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// Returns `limit` lines from `line`, as an editor that counts from `first` does.
fn from(first: usize) -> CutRange {
    Arc::new(move |text, line, limit| {
        let skip = line.map_or(0, |line| line.saturating_sub(first));
        text.split_inclusive('\n').skip(skip).take(limit.unwrap_or(usize::MAX)).collect()
    })
}

/// Unknown editors, each with its defect.
fn wrong() -> Vec<(&'static str, CutRange)> {
    vec![
        ("whole", Arc::new(|text, _, _| text.to_owned())),
        ("counts from zero", from(0)),
        ("counts from two", from(2)),
        ("no limit", Arc::new(|text, line, _| from(1)(text, line, None))),
        ("no line", Arc::new(|text, _, limit| from(1)(text, None, limit))),
        ("a line more", Arc::new(|text, line, limit| from(1)(text, line, limit.map(|limit| limit + 1)))),
        ("nothing", Arc::new(|text, line, _| if line.is_some() { String::new() } else { text.to_owned() })),
    ]
}

async fn over(cut_range: Option<CutRange>, text: &str) -> Stage {
    let script = EditorScript::full().named(ClientName::Not);
    let script = match cut_range {
        Some(cut_range) => script.cut_range(cut_range),
        None => script,
    };
    stage(script.buffer("/w/a", text).buffer("/w/ten", TEN)).await
}

async fn read(stage: &Stage, file: &str, line: usize, limit: usize) -> String {
    let range = Some(TextRange { line, limit });
    stage.system.read_text(&path(file), range).await.unwrap()
}

fn requests(stage: &Stage) -> usize {
    stage.editor().calls("fs/read_text_file").len()
}

#[tokio::test(start_paused = true)]
async fn the_model_gets_the_requested_lines_from_any_editor() {
    for (what, cut_range) in wrong() {
        for text in [
            TEN,
            &TEN.replace('\n', "\r\n"),
            TEN.trim_end(),
            "same\nsame\nsame\nsame\n",
            "a\nb",
            "",
            "\n\n\n",
        ] {
            let stage = over(Some(cut_range.clone()), text).await;
            // The second time, the behaviour is known if the text was suitable.
            for _ in 0..2 {
                for (line, limit) in [(3, 2), (1, 2), (2, 2000), (10, 2000), (11, 1), (1, 1), (400, 5)] {
                    let expected: String = text.split_inclusive('\n').skip(line - 1).take(limit).collect();
                    assert_eq!(
                        read(&stage, "/w/a", line, limit).await,
                        expected,
                        "{what}: {line}, {limit} of {text:?}"
                    );
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_honours_ranges_is_detected_with_one_request() {
    let stage = over(None, TEN).await;
    assert_eq!(read(&stage, "/w/a", 9, 5).await, "nine\nten\n");
    assert_eq!(requests(&stage), 2, "the file and the line that tells");
    assert_eq!(read(&stage, "/w/a", 2, 1).await, "two\n");
    let calls = stage.editor().calls("fs/read_text_file");
    assert_eq!(calls.len(), 3);
    assert_eq!((&calls[2]["line"], &calls[2]["limit"]), (&json!(2), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_joins_lines_without_the_last_end_honours_ranges() {
    for end in ["\n", "\r\n"] {
        let joined: CutRange = Arc::new(|text, line, limit| {
            let lines: Vec<_> = text.split('\n').skip(line.map_or(0, |line| line - 1)).collect();
            lines[..lines.len().min(limit.unwrap_or(usize::MAX))].join("\n")
        });
        let stage = over(Some(joined), &TEN.replace('\n', end)).await;
        assert_eq!(read(&stage, "/w/a", 9, 1).await.trim_end(), "nine");
        assert_eq!(read(&stage, "/w/a", 2, 1).await.trim_end(), "two");
        assert_eq!(requests(&stage), 3, "the second read is one request");
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_unsuitable_for_probing_leaves_ranges_unknown() {
    let stage = over(Some(from(0)), "same\nsame\nsame\nsame\n").await;
    for number in 1..4 {
        assert_eq!(read(&stage, "/w/a", 4, 5).await, "same\n");
        assert_eq!(requests(&stage), number);
    }
    assert_eq!(read(&stage, "/w/ten", 10, 5).await, "ten\n");
    assert_eq!(requests(&stage), 5, "the file that tells, and its line");
    assert_eq!(read(&stage, "/w/ten", 2, 1).await, "two\n");
    assert_eq!(requests(&stage), 6, "it is read whole from then on");
}

#[tokio::test(start_paused = true)]
async fn a_known_editor_gets_range_requests_until_it_returns_more() {
    let script = EditorScript::full().cut_range(from(1));
    let stage = stage(script.buffer("/w/a", TEN)).await;
    assert_eq!(read(&stage, "/w/a", 2, 1).await, "two\n");
    assert_eq!(requests(&stage), 1);
    let script = EditorScript::full().cut_range(Arc::new(|text, _, _| text.to_owned()));
    let stage = super::stage(script.buffer("/w/a", TEN)).await;
    assert_eq!(read(&stage, "/w/a", 9, 1).await, "nine\n");
    assert_eq!(read(&stage, "/w/a", 9, 5).await, "nine\nten\n");
    assert_eq!(requests(&stage), 3);
}

#[tokio::test(start_paused = true)]
async fn a_known_editor_with_wrong_ranges_gets_no_range_requests() {
    let script = EditorScript::full().named(ClientName::As("toad", "0.6.18")).cut_range(from(0));
    let stage = stage(script.buffer("/w/a", TEN)).await;
    assert_eq!(read(&stage, "/w/a", 9, 1).await, "nine\n");
    let calls = stage.editor().calls("fs/read_text_file");
    assert!(calls.len() == 1 && calls[0].get("line").is_none(), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_never_answers_ranges_delays_only_one_read() {
    let script = EditorScript::full().named(ClientName::Not);
    let stage = stage(script.buffer("/w/a", TEN).fault_at(2, Fault::Silence)).await;
    assert_eq!(read(&stage, "/w/a", 9, 1).await, "nine\n");
    let before = tokio::time::Instant::now();
    assert_eq!(read(&stage, "/w/a", 10, 1).await, "ten\n");
    assert_eq!((requests(&stage), before.elapsed()), (3, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn concurrent_reads_share_one_range_probe() {
    let stage = over(Some(from(0)), TEN).await;
    let reads = (1..=8).map(|line| read(&stage, "/w/a", line, 1));
    let lines = futures::future::join_all(reads).await;
    assert_eq!(lines.concat(), TEN.split_inclusive('\n').take(8).collect::<String>());
    let asked =
        stage.editor().calls("fs/read_text_file").into_iter().filter(|call| call.get("line").is_some());
    assert_eq!(asked.count(), 1);
}
