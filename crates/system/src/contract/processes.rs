//! Contract: commands.

use super::{Subject, cases};
use crate::{Command, ExitStatus, Output, Process, SystemError};

cases! {
    Scripts:
        both_outputs_are_one_stream
        exit_codes_are_reported
        a_signal_is_not_success
        an_unknown_program_cannot_be_started
        unread_output_is_kept
        the_oldest_output_is_dropped_with_one_gap
        a_killed_process_has_ended;
    Shell:
        a_command_runs_in_its_directory
        a_missing_directory_is_an_error
        variables_are_added
        prompts_are_disabled
        colours_are_disabled
        arguments_are_not_split
        standard_input_is_closed
        kill_kills_the_grandchildren
        drop_kills_the_grandchildren;
}

/// Prints `abcd`, alternating between stdout and stderr.
pub const MIXED: &str = "printf a; printf b >&2; printf c; printf d >&2";
/// Exits with code 3.
pub const FAILS: &str = "exit 3";
/// Is killed by SIGKILL.
pub const KILLED: &str = "kill -KILL $$";
/// Prints `kept` and a newline.
pub const PRINTS: &str = "echo kept";
/// Prints `line-0` to `line-1999`, one per line.
pub const FLOODS: &str = "i=0; while [ $i -lt 2000 ]; do echo line-$i; i=$((i+1)); done";
/// Prints `ready` on a line and runs until it is killed.
pub const RUNS: &str = "echo ready; exec sleep 600";

const LARGE_LIMIT: usize = 1 << 20;

async fn spawn(s: &Subject, line: &str, limit: usize) -> Box<dyn Process> {
    s.system.spawn(Command::shell(line, s.root.clone(), limit)).await.expect("start")
}

/// Reads the remaining output, with `…` for each gap.
async fn drain(process: &mut dyn Process) -> String {
    let mut all = String::new();
    while let Some(output) = process.next_output().await {
        match output {
            Output::Text(text) => all.push_str(&text),
            Output::Gap => all.push('…'),
        }
    }
    all
}

async fn run(s: &Subject, line: &str) -> (String, ExitStatus) {
    let mut process = spawn(s, line, LARGE_LIMIT).await;
    let text = drain(&mut *process).await;
    (text, process.wait().await.expect("wait"))
}

/// Reads output until it contains `text`; panics if the output ends before.
async fn read_until(process: &mut dyn Process, text: &str) {
    let mut all = String::new();
    while !all.contains(text) {
        match process.next_output().await {
            Some(Output::Text(more)) => all.push_str(&more),
            Some(Output::Gap) => {}
            None => panic!("the output ended before {text:?}: {all:?}"),
        }
    }
}

fn exit(code: i64) -> ExitStatus {
    ExitStatus { code: Some(code), signal: None }
}

async fn both_outputs_are_one_stream(s: &Subject) {
    assert_eq!(run(s, MIXED).await, ("abcd".to_owned(), exit(0)));
}

async fn exit_codes_are_reported(s: &Subject) {
    let (text, status) = run(s, FAILS).await;
    assert_eq!((text.as_str(), &status), ("", &exit(3)));
    assert!(!status.success());
}

async fn a_signal_is_not_success(s: &Subject) {
    let (_, status) = run(s, KILLED).await;
    assert_eq!(status, ExitStatus { code: None, signal: Some("SIGKILL".to_owned()) });
    assert!(!status.success());
}

async fn an_unknown_program_cannot_be_started(s: &Subject) {
    let command = Command::new("tiller-no-such-program", Vec::new(), s.root.clone(), LARGE_LIMIT);
    match s.system.spawn(command).await {
        Err(SystemError::Spawn { program, .. }) => assert_eq!(program, "tiller-no-such-program"),
        // A client that runs the command reports the error in its own words.
        Err(SystemError::Client { path, .. }) => assert_eq!(path, "tiller-no-such-program"),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was started"),
    }
}

async fn unread_output_is_kept(s: &Subject) {
    let mut process = spawn(s, PRINTS, LARGE_LIMIT).await;
    for _ in 0..2 {
        assert_eq!(process.wait().await.expect("wait"), exit(0));
    }
    assert_eq!(drain(&mut *process).await, "kept\n");
    assert_eq!(process.next_output().await, None, "the end stays the end");
}

async fn the_oldest_output_is_dropped_with_one_gap(s: &Subject) {
    let mut process = spawn(s, FLOODS, 100).await;
    process.wait().await.expect("wait");
    let all = drain(&mut *process).await;
    let tail = all.strip_prefix('…').unwrap_or_else(|| panic!("no gap in front: {all:?}"));
    assert!(!tail.contains('…') && tail.len() <= 100 && tail.ends_with("line-1999\n"), "{all:?}");
    assert!(tail.len() > 50, "more was dropped than had to be: {all:?}");
}

async fn a_killed_process_has_ended(s: &Subject) {
    let mut process = spawn(s, RUNS, LARGE_LIMIT).await;
    read_until(&mut *process, "ready").await;
    for _ in 0..2 {
        process.kill().await;
    }
    assert!(!process.wait().await.expect("wait").success());
    assert_eq!(process.next_output().await, None);
}

async fn a_command_runs_in_its_directory(s: &Subject) {
    let here = s.seed("a folder/file", "").await.parent().expect("it has a directory");
    let command = Command { cwd: here.clone(), ..Command::shell("pwd -P", s.root.clone(), LARGE_LIMIT) };
    let mut process = s.system.spawn(command).await.expect("start");
    assert_eq!(drain(&mut *process).await.trim_end(), here.as_str());
}

async fn a_missing_directory_is_an_error(s: &Subject) {
    let file = s.seed("file", "").await;
    for cwd in [s.path("missing"), file] {
        assert!(s.system.spawn(Command::shell("true", cwd, LARGE_LIMIT)).await.is_err());
    }
}

async fn variables_are_added(s: &Subject) {
    let env =
        [("TILLER_A", "a b"), ("PAGER", "mine")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let command = Command {
        env: env.to_vec(),
        ..Command::shell(
            r#"printf '%s|%s|%s' "$TILLER_A" "$PAGER" "${PATH:+inherited}""#,
            s.root.clone(),
            LARGE_LIMIT,
        )
    };
    let mut process = s.system.spawn(command).await.expect("start");
    assert_eq!(drain(&mut *process).await, "a b|mine|inherited");
}

async fn prompts_are_disabled(s: &Subject) {
    let (text, _) = run(s, r#"printf '%s|%s' "$GIT_TERMINAL_PROMPT" "$PAGER""#).await;
    assert_eq!(text, "0|cat");
}

async fn colours_are_disabled(s: &Subject) {
    let (text, _) = run(s, r#"printf '%s|%s' "$NO_COLOR" "$TERM""#).await;
    assert_eq!(text, "1|dumb");
    // A line can override the default.
    let (text, _) = run(s, r#"TERM=vt100 sh -c 'printf "%s" "$TERM"'"#).await;
    assert_eq!(text, "vt100");
}

async fn arguments_are_not_split(s: &Subject) {
    let args = ["%s|", "a b", "", "*", "$HOME", "-x;y"].map(str::to_owned).to_vec();
    let command =
        Command { program: "printf".to_owned(), args, ..Command::shell("", s.root.clone(), LARGE_LIMIT) };
    let mut process = s.system.spawn(command).await.expect("start");
    assert_eq!(drain(&mut *process).await, "a b||*|$HOME|-x;y|");
}

async fn standard_input_is_closed(s: &Subject) {
    assert_eq!(run(s, "cat; echo end").await, ("end\n".to_owned(), exit(0)));
}

/// Starts a reader of a named pipe, and a process whose grandchild holds the write end. The reader
/// ends when the grandchild does, so the test needs no polling.
async fn reader_and_writer(s: &Subject) -> (Box<dyn Process>, Box<dyn Process>) {
    let mut reader = spawn(s, "mkfifo held && echo made && cat held && echo gone", LARGE_LIMIT).await;
    read_until(&mut *reader, "made").await;
    let writer = spawn(s, "sh -c 'echo holding; sleep 600 & wait' > held & wait", LARGE_LIMIT).await;
    read_until(&mut *reader, "holding").await;
    (reader, writer)
}

async fn kill_kills_the_grandchildren(s: &Subject) {
    let (mut reader, mut writer) = reader_and_writer(s).await;
    writer.kill().await;
    assert!(!writer.wait().await.expect("wait").success());
    read_until(&mut *reader, "gone").await;
}

async fn drop_kills_the_grandchildren(s: &Subject) {
    let (mut reader, writer) = reader_and_writer(s).await;
    drop(writer);
    read_until(&mut *reader, "gone").await;
}
