//! Commands: every way to end, the order of updates, and the kept output.

use super::*;
use crate::tools::testing::{Script, Step, call};
use crate::{Content, LiveOutput, ToolCallUpdate, ToolContent, ToolContext, ToolError, ToolOutput};
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
    // An escape sequence, a progress bar and a link, each split across chunks.
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
    // A line that is overwritten after it was shown is shown again on a new line.
    assert_eq!(live.collect::<String>(), "ok\n 1\n100%\nsee\nab\nac");
}

#[tokio::test]
async fn colours_are_kept_beside_the_output_live_and_in_the_end() {
    let painted = |update: &ToolCallUpdate, text: &str| -> Vec<(String, Option<u8>)> {
        let runs = update.colours.runs().iter();
        runs.map(|run| (text[run.bytes.clone()].to_owned(), run.ink.colour)).collect()
    };
    let red = |text: &str| (text.to_owned(), Some(1));
    let steps = [say("a \u{1b}[3"), say("1mred\nstill"), say(" red\u{1b}[0m b\n\u{1b}[31mto the end")];
    let script = Script { steps: steps.into(), status: exit(0), ..Script::default() };
    let (output, shown) = run(script, json!({"command": "x", "timeout": 20_000})).await;
    let output = output.unwrap();
    let text = output.result.text.clone();
    assert_eq!(
        text,
        "(timeout 20000 was read as milliseconds: the limit was 20 s)\na red\nstill red b\nto the end\nExit code: 0"
    );
    let mut ended = ToolCallUpdate::of("c".into(), "bash");
    ended.colours = output.colours;
    assert_eq!(painted(&ended, &text), [red("red"), red("still red"), red("to the end")]);
    let live: Vec<_> = shown
        .iter()
        .filter_map(|update| match &update.output {
            Some(LiveOutput::Text(text)) => Some(painted(update, text)),
            _ => None,
        })
        .collect();
    let words = live.concat().into_iter().map(|(text, colour)| (colour == Some(1)).then_some(text));
    assert_eq!(words.collect::<Option<String>>().unwrap(), "redstill redto the end");
}

#[tokio::test]
async fn the_colours_of_a_long_output_stay_with_what_is_left_of_it() {
    let lines: String =
        (0..40_000).map(|line| format!("\u{1b}[3{}mline {line}\u{1b}[0m\n", line % 8)).collect();
    let script = Script { steps: [say(&lines)].into(), status: exit(0), ..Script::default() };
    let (output, _) = run(script, json!({"command": "x"})).await;
    let output = output.unwrap();
    let runs = output.colours.runs();
    assert!(runs.len() > 1_000, "{}", runs.len());
    for run in runs {
        let line: usize =
            output.result.text[run.bytes.clone()].strip_prefix("line ").unwrap().parse().unwrap();
        assert_eq!(run.ink.colour, Some(u8::try_from(line % 8).unwrap()));
    }
    let last = &output.result.text[runs.last().unwrap().bytes.clone()];
    assert_eq!(last, "line 39999");
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
    let block = "````sh\necho ```\nls\n````";
    for (command, expected) in
        [("echo ```", vec![]), ("echo ```\nls", vec![ToolContent::Content(Content::text(block))])]
    {
        let mut call = tool.parse(json!({"command": command})).unwrap();
        assert_eq!(call.prepare(&cx).await.unwrap(), expected, "{command}");
    }
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
    assert_eq!(shown[0].display.content, expected);
}

/// Returns the live output as one string, and its number of chunks. Every run must begin and end.
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
        (
            json!({"command": "x", "timeout": 9_000}),
            "(timeout 9000 was reduced to 7200 s, the maximum)\nProcess timed out after 7200s",
        ),
        (
            json!({"command": "x", "timeout": 120_000}),
            "(timeout 120000 was read as milliseconds: the limit was 120 s)\nProcess timed out after 120s",
        ),
        (
            json!({"command": "x", "timeout": 99_000_000}),
            "(timeout 99000000 was read as milliseconds: the limit was 7200 s, the maximum)\n\
             Process timed out after 7200s",
        ),
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

/// Creates a context that keeps long results in a directory.
fn keeping(system: &Memory) -> ToolContext {
    let (mut cx, _) = context(system);
    cx.session.outputs = std::sync::Arc::new(crate::Outputs::new(Some(path("/kept"))));
    cx
}

#[tokio::test]
async fn long_output_keeps_its_beginning_and_its_end_and_the_whole_in_a_file() {
    for (piece, count) in [("0123456789 ü\n", 20_000), ("x", 200_000), ("\n", 9_000)] {
        let system = Memory::default();
        let steps = (0..count / 100).map(|_| say(&piece.repeat(100)));
        let steps = std::iter::once(say("the beginning\n")).chain(steps).chain([say("the end")]).collect();
        system.world().scripts.push_back(Script { steps, status: exit(0), terminal: None });
        let cx = keeping(&system);
        let shown = text(&cx, "bash", json!({"command": "x"})).await;
        assert!(shown.len() <= 50_000 && shown.lines().count() <= 2_000, "{} bytes", shown.len());
        assert!(shown.starts_with("the beginning\n") && shown.ends_with("the end\nExit code: 0"));
        let (_, note) = shown.split_once("[output truncated: ").unwrap();
        let (note, _) = note.split_once(']').unwrap();
        assert!(note.ends_with(
            "are left out here. All of it is in /kept/tool_0.txt: read it with file_read or grep"
        ));
        let whole = format!("the beginning\n{}the end", piece.repeat(count));
        assert_eq!(system.seen("/kept/tool_0.txt").as_deref(), Some(whole.as_str()));
        let left_out: usize =
            note.split(['(', ' ']).find_map(|word| word.parse().ok().filter(|n| *n > 100)).unwrap();
        assert!(left_out > 1_000, "{note}");
    }
}

#[tokio::test]
async fn what_is_kept_of_a_flood_has_an_end_and_its_count_is_right() {
    let system = Memory::default();
    let block = "0123456789\n".repeat(1_000);
    let steps = (0..2_000).map(|_| say(&block)).chain([say("the end\n")]).collect();
    system.world().scripts.push_back(Script { steps, status: exit(0), terminal: None });
    let cx = keeping(&system);
    let shown = text(&cx, "bash", json!({"command": "x"})).await;
    let kept = system.seen("/kept/tool_0.txt").unwrap();
    assert!(kept.len() < 9 * 1024 * 1024, "{} bytes", kept.len());
    assert!(kept.contains("bytes are not kept]\n") && shown.contains("More of it is in /kept/tool_0.txt"));
    let lines = shown.lines().count() - 2;
    let expected = format!("[output truncated: {} lines", 2_000_001 - lines);
    // The note in the kept text takes up a line or two.
    let (_, rest) = shown.split_once("[output truncated: ").unwrap();
    let count: usize = rest.split(' ').next().unwrap().parse().unwrap();
    assert!(count.abs_diff(2_000_001 - lines) <= 4, "{expected} but {count}");
}

#[tokio::test]
async fn a_session_keeps_so_many_long_results_and_no_more() {
    let system = Memory::default();
    let mut cx = keeping(&system);
    for call in 0..40 {
        let steps = [say(&"x\n".repeat(3_000))].into();
        system.world().scripts.push_back(Script { steps, status: exit(0), terminal: None });
        cx.call.id = format!("tool_{call}").as_str().into();
        text(&cx, "bash", json!({"command": "x"})).await;
    }
    let kept: Vec<_> = system.world().disk.keys().map(ToString::to_string).collect();
    assert_eq!(kept.len(), 32, "{kept:?}");
    assert!(kept.contains(&"/kept/tool_39.txt".to_owned()) && !kept.contains(&"/kept/tool_7.txt".to_owned()));
}

#[tokio::test]
async fn a_command_runs_in_the_folder_that_it_names() {
    let system = Memory::default();
    let (cx, _) = context(&system);
    let tool = crate::tools::builtin().into_iter().find(|tool| tool.name() == "bash").unwrap();
    for (cwd, expected) in [("sub/dir", "/w/sub/dir"), ("../other", "/other"), ("/etc", "/etc"), ("", "/w")] {
        let arguments = json!({"command": "ls", "cwd": cwd});
        let call = tool.parse(arguments.clone()).unwrap();
        let accesses = call.accesses(&path(""));
        let [crate::Access::Execute { cwd: judged, .. }] = accesses.as_slice() else {
            panic!("{accesses:?}")
        };
        assert_eq!(judged.as_str(), expected, "{cwd}");
        system.world().scripts.push_back(Script { status: exit(0), ..Script::default() });
        text(&cx, "bash", arguments).await;
        let place = if expected == "/w" { String::new() } else { format!(" in {expected}") };
        assert_eq!(system.world().log.last(), Some(&format!("spawn sh -c ls{place}")));
    }
    let gone = text(&cx, "bash", json!({"command": "ls", "cwd": "gone"})).await;
    assert!(
        gone.contains("the folder /w/gone does not exist") && gone.contains("relative to the project"),
        "{gone}"
    );
}
