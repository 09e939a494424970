//! Background commands: their output, their input and their end.

use super::*;
use crate::{
    Access, AnyCall, ToolContext,
    tools::testing::{Script, Step, call},
};
use std::time::Duration;
use system::{ExitStatus, Output, TerminalId};

fn say(text: &str) -> Step {
    Step::Say(Output::Text(text.to_owned()))
}

fn exit(code: i64) -> Option<ExitStatus> {
    Some(ExitStatus { code: Some(code), signal: None })
}

/// Starts one background command per script.
async fn started(scripts: impl IntoIterator<Item = Script>) -> (Memory, ToolContext, Vec<String>) {
    let system = Memory::default();
    let (cx, _) = context(&system);
    let mut said = Vec::new();
    for script in scripts {
        system.world().scripts.push_back(script);
        said.push(text(&cx, "bash", json!({"command": "serve", "background": true})).await);
    }
    (system, cx, said)
}

fn server() -> Script {
    Script { steps: [say("listening\n"), Step::Hang("bye\n")].into(), ..Script::default() }
}

#[tokio::test(start_paused = true)]
async fn a_command_in_the_background_is_read_told_and_stopped_by_its_id() {
    let script = Script {
        steps: [say("name? "), Step::Await("hello x\n"), Step::Hang("bye\n")].into(),
        ..Script::default()
    };
    let (system, cx, said) = started([script]).await;
    assert_eq!(said, ["Runs in the background as sh_1. Its output so far:\nname? "]);
    for (arguments, expected) in [
        (json!({"action": "output", "id": "sh_1"}), "(no new output)\n(sh_1 is running)"),
        (json!({"action": "input", "id": "sh_1", "text": "x"}), "hello x\n(sh_1 is running)"),
        (json!({"action": "list"}), "sh_1 runs for 1 s: serve"),
        (json!({"action": "stop", "id": "sh_1"}), "bye\n(sh_1) Stopped"),
        (json!({"action": "output", "id": "sh_1"}), "(no new output)\n(sh_1) Stopped"),
        (json!({"action": "input", "id": "sh_1", "text": "y"}), "! sh_1 has ended and takes no input."),
        (
            json!({"action": "output", "id": "sh_7"}),
            "! There is no background command 'sh_7'. There are: sh_1.",
        ),
    ] {
        assert_eq!(text(&cx, "shell", arguments.clone()).await, expected, "{arguments}");
    }
    assert!(system.world().log.contains(&"input \"x\\n\"".to_owned()), "{:?}", system.world().log);
    assert_eq!(cx.session.shells.take_ended(), None, "what was stopped is known");
}

#[tokio::test(start_paused = true)]
async fn an_early_failure_is_the_result_of_the_start() {
    let script = Script { steps: [say("port is taken\n")].into(), status: exit(1), terminal: None };
    let system = Memory::default();
    system.world().scripts.push_back(script);
    let (cx, _) = context(&system);
    let output = call(&cx, "bash", json!({"command": "serve", "background": true})).await.unwrap();
    assert_eq!(output.result.text, "port is taken\nExit code: 1");
    assert!(output.result.is_error);
}

#[tokio::test(start_paused = true)]
async fn the_model_is_told_once_of_a_command_that_ended_by_itself() {
    let steps = [say("listening\n"), Step::Sleep(Duration::from_secs(5)), say("oh no\n")].into();
    let (_, cx, _) = started([Script { steps, status: exit(3), terminal: None }, server()]).await;
    assert_eq!(cx.session.shells.take_ended(), None);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let expected = "[Background bash command 'sh_1' failed (exit 3, 5s)]\nCommand: serve\n\
                    The end of its output (all of it: shell with action output):\noh no";
    assert_eq!(cx.session.shells.take_ended().as_deref(), Some(expected));
    assert_eq!(cx.session.shells.take_ended(), None, "once");
    let read = text(&cx, "shell_read", json!({"session_id": "sh_1"})).await;
    assert_eq!(read, "oh no\n(sh_1 has ended)\nExit code: 3");
}

#[tokio::test(start_paused = true)]
async fn only_so_many_run_and_all_of_them_end_with_the_session() {
    let (system, cx, said) = started((0..9).map(|_| server())).await;
    let refused = "! Not run: 8 commands run in the background already (sh_1, sh_2, sh_3, sh_4, sh_5, sh_6, sh_7, sh_8). \
                   Stop one with shell first.";
    assert_eq!(said[8], refused);
    cx.session.shells.end().await;
    let kills = system.world().log.iter().filter(|line| *line == "kill").count();
    assert_eq!(kills, 8);
    assert_eq!(text(&cx, "shell", json!({"action": "list"})).await, "No background commands.");
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_turn_leaves_it_running_and_a_time_limit_does_not() {
    let system = Memory::default();
    system.world().scripts.push_back(server());
    let (cx, _) = context(&system);
    let arguments = json!({"command": "serve", "background": true, "timeout": 30});
    text(&cx, "bash", arguments).await;
    cx.cancel.cancel();
    let (later, _) = context(&system);
    let later = ToolContext { session: cx.session.clone(), ..later };
    let read = |wait: u64| {
        let later = &later;
        async move { text(later, "shell", json!({"action": "output", "id": "sh_1", "wait_ms": wait})).await }
    };
    assert_eq!(read(10).await, "(no new output)\n(sh_1 is running)");
    assert_eq!(read(60_000).await, "bye\n(sh_1) Stopped: it reached its time limit");
}

#[tokio::test(start_paused = true)]
async fn a_flood_that_nobody_reads_takes_a_bounded_memory() {
    let mut steps: std::collections::VecDeque<_> =
        (0..400).map(|_| say(&"0123456789\n".repeat(1_000))).collect();
    steps.push_back(Step::Hang(""));
    let (_, cx, said) = started([Script { steps, ..Script::default() }]).await;
    assert!(said[0].contains("[output truncated: ") && said[0].len() < 51_000, "{} bytes", said[0].len());
    let shell = cx.session.shells.find("sh_1").unwrap();
    assert!(shell.is_running() && shell.take().said.is_empty());
}

#[tokio::test(start_paused = true)]
async fn in_the_users_terminal_only_the_user_types() {
    let terminal = Some(TerminalId("t1".to_owned()));
    let (_, cx, _) = started([Script { terminal, ..server() }]).await;
    let said = text(&cx, "shell", json!({"action": "input", "id": "sh_1", "text": "x"})).await;
    assert_eq!(said, "! sh_1 runs in the user's terminal, where only the user can type: ask the user to.");
}

/// Input to a running command is judged as a command, in that command's directory.
#[test]
fn input_is_judged_as_a_command_and_looking_as_nothing() {
    let parse = |name: &str, arguments: serde_json::Value| -> Box<dyn AnyCall> {
        let tool = crate::tools::builtin().into_iter().find(|tool| tool.name() == name).unwrap();
        tool.parse(arguments).unwrap()
    };
    let judged = |name: &str, arguments| match parse(name, arguments).accesses(&path("")).as_slice() {
        [Access::Execute { command, unconfined, .. }] => Some((command.clone(), *unconfined)),
        _ => None,
    };
    let input = |id: &str| json!({"action": "input", "id": id, "text": "rm -rf x"});
    assert_eq!(judged("shell", input("sh_1")), Some(("rm -rf x".to_owned(), false)));
    assert_eq!(judged("shell", input("out_2")), Some(("rm -rf x".to_owned(), true)));
    let write = json!({"session_id": "out_2", "input": "ls"});
    assert_eq!(judged("shell_write", write), Some(("ls".to_owned(), true)));
    for action in ["output", "stop", "list"] {
        assert_eq!(judged("shell", json!({"action": action, "id": "sh_1"})), None);
    }
}
