//! Commands: every end, the order of what is shown, and what is kept of the output.

use super::*;
use crate::tools::testing::{Script, Step, call};
use crate::{Content, LiveOutput, ToolCallUpdate, ToolContent, ToolError, ToolOutput};
use std::time::Duration;
use system::{ExitStatus, Output, TerminalId};

fn say(text: &str) -> Step {
    Step::Say(Output::Text(text.to_owned()))
}

fn exit(code: i64) -> Option<ExitStatus> {
    Some(ExitStatus { code: Some(code), signal: None })
}

async fn run(
    script: Script,
    arguments: serde_json::Value,
) -> (Result<ToolOutput, ToolError>, Vec<ToolCallUpdate>) {
    let system = Memory::default();
    system.world().scripts.push_back(script);
    let (cx, shown) = context(&system);
    let output = call(&cx, "bash", arguments).await;
    let shown = shown.lock().unwrap().clone();
    (output, shown)
}

#[tokio::test]
async fn tells_every_end() {
    let gap = || Step::Say(Output::Gap);
    for (steps, status, expected, is_error) in [
        (vec![say("hi\n")], exit(0), "hi\nExit code: 0", false),
        (vec![say("a"), say("b")], exit(3), "ab\nExit code: 3", true),
        (vec![], exit(0), "(no output)\nExit code: 0", false),
        (
            vec![say("x")],
            Some(ExitStatus { code: None, signal: Some("SIGKILL".into()) }),
            "x\nKilled by signal: SIGKILL",
            true,
        ),
        (
            vec![say("x")],
            Some(ExitStatus { code: Some(0), signal: Some("SIGTERM".into()) }),
            "x\nKilled by signal: SIGTERM",
            true,
        ),
        (vec![say("x")], None, "x\nExit status unknown", true),
        (vec![gap(), say("end\n")], exit(0), "[output truncated]\nend\nExit code: 0", false),
        (
            vec![say("a"), gap(), say("b\n"), gap(), say("c")],
            exit(0),
            "a\n[output truncated]\nb\n[output truncated]\nc\nExit code: 0",
            false,
        ),
    ] {
        let script = Script { steps: steps.into(), status, ..Script::default() };
        let (output, _) = run(script, json!({"command": "x"})).await;
        let output = output.unwrap();
        assert_eq!((output.result.text.as_str(), output.result.is_error), (expected, is_error));
        assert_eq!(output.shown, None);
    }
    for command in [json!({}), json!({"command": " \n"})] {
        assert_eq!(run(Script::default(), command).await.0.unwrap_err().to_string(), "No command provided");
    }
}

#[tokio::test]
async fn output_is_plain_text_for_the_model_and_for_those_who_watch() {
    // A sequence, a progress bar and a link, each cut in the middle.
    let steps = [
        "\u{1b}[1;3",
        "2mok\u{1b}[0m\r\n 1",
        "0%\r 50",
        "%\r100%",
        "\nse\u{1b}]8;;http://x\u{1b}",
        "\\e\u{1b}]8;;\u{7}\nab",
        "\u{8}c",
    ];
    let steps = steps.map(say);
    let script = Script { steps: steps.into(), status: exit(0), ..Script::default() };
    let (output, shown) = run(script, json!({"command": "x"})).await;
    assert_eq!(output.unwrap().result.text, "ok\n100%\nsee\nac\nExit code: 0");
    let live = shown.into_iter().filter_map(|update| match update.output {
        Some(LiveOutput::Text(text)) => Some(text),
        _ => None,
    });
    // What was shown before it was written over is told again on a line of its own.
    assert_eq!(live.collect::<String>(), "ok\n 1\n100%\nsee\nab\nac");
}

#[tokio::test]
async fn runs_a_shell_line_in_the_project_folder() {
    let system = Memory::default();
    system.world().scripts.push_back(Script { status: exit(0), ..Script::default() });
    let (cx, _) = context(&system);
    text(&cx, "bash", json!({"command": "echo 'a  b' | cat"})).await;
    assert_eq!(system.world().log, ["spawn sh -c echo 'a  b' | cat"]);
    let missing = text(&cx, "bash", json!({"command": "x"})).await;
    assert_eq!(missing, "! cannot run sh: no script");
}

#[tokio::test]
async fn names_itself_in_one_line() {
    let tool = crate::tools::builtin().into_iter().find(|tool| tool.spec().name == "bash").unwrap();
    for (command, expected) in [
        ("cargo test", "Run cargo test".to_owned()),
        ("a\n  b", "Run a b".to_owned()),
        (&"ü".repeat(81), format!("Run {}...", "ü".repeat(80))),
    ] {
        assert_eq!(tool.parse(json!({"command": command})).unwrap().describe(&path("")).title, expected);
    }
    let (cx, _) = context(&Memory::default());
    let mut call = tool.parse(json!({"command": "echo ```"})).unwrap();
    let shown = call.prepare(&cx).await.unwrap();
    let expected = "````sh\necho ```\n````\n\nRuns on this machine, in /w";
    assert_eq!(shown, [ToolContent::Content(Content::text(expected))]);
}

#[tokio::test]
async fn embeds_the_terminal_before_any_output_and_keeps_it() {
    let terminal = TerminalId("t1".into());
    let steps = [say("out\n"), say("more\n")].into();
    let (output, shown) =
        run(Script { terminal: Some(terminal.clone()), steps, status: exit(1) }, json!({"command": "x"}))
            .await;
    let expected = Some(vec![ToolContent::Terminal(terminal)]);
    let output = output.unwrap();
    assert_eq!(output.result.text, "out\nmore\nExit code: 1");
    assert_eq!(output.shown, expected);
    assert_eq!(shown.len(), 1, "the terminal shows the output itself");
    assert_eq!(shown[0].content, expected);
}

/// What was shown live, in one, and in how many pieces; every run begins and ends.
fn live(shown: &[ToolCallUpdate]) -> (String, usize) {
    let outputs: Vec<_> = shown.iter().map(|update| update.output.clone().unwrap()).collect();
    assert!(matches!(outputs.first(), Some(LiveOutput::Started { .. })), "{outputs:?}");
    assert!(matches!(outputs.last(), Some(LiveOutput::Ended(_))), "{outputs:?}");
    let pieces: Vec<_> = outputs
        .into_iter()
        .filter_map(|output| match output {
            LiveOutput::Text(text) => Some(text),
            _ => None,
        })
        .collect();
    (pieces.concat(), pieces.len())
}

#[tokio::test(start_paused = true)]
async fn shows_all_output_once_at_most_25_times_a_second() {
    let mut steps = std::collections::VecDeque::new();
    let mut all = String::new();
    for line in 0..35_000 {
        all.push_str(&format!("{line}\n"));
        steps.push_back(say(&format!("{line}\n")));
        if line % 10 == 0 {
            steps.push_back(Step::Sleep(Duration::from_millis(1)));
        }
    }
    let (output, shown) =
        run(Script { steps, status: exit(0), terminal: None }, json!({"command": "x"})).await;
    assert!(output.unwrap().result.text.ends_with("34999\nExit code: 0"));
    let (text, pieces) = live(&shown);
    assert_eq!(text, all, "all of it, nothing twice");
    assert!(pieces <= 100, "{pieces} pieces in about four seconds");
}

#[tokio::test(start_paused = true)]
async fn shows_extracts_of_a_flood() {
    let mut steps = std::collections::VecDeque::new();
    for _ in 0..3_000 {
        steps.push_back(say(&"y\n".repeat(10_000)));
        steps.push_back(Step::Sleep(Duration::from_millis(10)));
    }
    steps.push_back(say("the end\n"));
    let (_, shown) = run(Script { steps, status: exit(0), terminal: None }, json!({"command": "yes"})).await;
    let (text, pieces) = live(&shown);
    assert!(text.len() < 500_000, "{} bytes of 60 MB", text.len());
    assert!(pieces < 120 && text.contains("[output truncated]") && text.ends_with("the end\n"), "{pieces}");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_kills_and_keeps_what_was_said() {
    for (steps, expected) in [
        (
            vec![say("partial\n"), Step::Hang("last words\n")],
            "partial\nlast words\nProcess timed out after 5s",
        ),
        (vec![Step::Hang("")], "Process timed out after 5s"),
    ] {
        let script = Script { steps: steps.into(), ..Script::default() };
        let began = tokio::time::Instant::now();
        let (output, _) = run(script, json!({"command": "x", "timeout": "5"})).await;
        let output = output.unwrap();
        assert_eq!((output.result.text.as_str(), output.result.is_error), (expected, true));
        assert_eq!(began.elapsed().as_secs(), 5);
    }
    let script = || Script { steps: vec![Step::Hang("")].into(), ..Script::default() };
    for (arguments, expected) in [
        (json!({"command": "x"}), "Process timed out after 120s"),
        (json!({"command": "x", "timeout": 99_999}), "Process timed out after 7200s"),
        (json!({"command": "x", "timeout": 0}), "Process timed out after 1s"),
    ] {
        assert_eq!(run(script(), arguments).await.0.unwrap().result.text, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn cancel_kills_and_tells_what_was_said() {
    let system = Memory::default();
    let steps = vec![say("begun\n"), Step::Hang("stopped\n")].into();
    system.world().scripts.push_back(Script { steps, ..Script::default() });
    let (cx, _) = context(&system);
    let cancel = cx.cancel.clone();
    let (result, ()) = tokio::join!(call(&cx, "bash", json!({"command": "x"})), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    match result {
        Err(ToolError::Cancelled(Some(said))) => assert_eq!(said, "begun\nstopped"),
        other => panic!("{other:?}"),
    }
    assert_eq!(system.world().log.last().map(String::as_str), Some("kill"));
}

#[tokio::test]
async fn long_output_keeps_its_end_within_the_limits() {
    for (piece, count) in [("0123456789 ü\n", 20_000), ("x", 200_000), ("\n", 9_000)] {
        let steps = (0..count / 100).map(|_| say(&piece.repeat(100))).chain([say("the end")]).collect();
        let (output, _) =
            run(Script { steps, status: exit(0), terminal: None }, json!({"command": "x"})).await;
        let text = output.unwrap().result.text;
        assert!(
            text.len() <= 50_000 && text.lines().count() <= 2_000,
            "{} {}",
            text.len(),
            text.lines().count()
        );
        assert!(text.starts_with("[output truncated]\n") && text.ends_with("the end\nExit code: 0"));
        assert_eq!(text.matches("[output truncated]").count(), 1);
    }
}
