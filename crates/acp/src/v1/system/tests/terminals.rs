//! Tests of commands in terminals of editors that interpret them differently.

use super::{
    shells::{Joins, run},
    *,
};
use crate::testing::{ClientName, StartTerminal};
use serde_json::Value;

fn encode_command(params: &Value) -> Vec<String> {
    let args = params["args"].as_array().into_iter().flatten();
    std::iter::once(&params["command"]).chain(args).map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Runs a command to its exit, as a fast terminal would, with a terminal's line endings.
fn run_for_real(joins: Joins) -> StartTerminal {
    Arc::new(move |params| match run(joins, &encode_command(params)) {
        Some((output, code)) => {
            TerminalScript::exits(&output.replace('\n', "\r\n"), code.map_or(-1, i64::from))
        }
        None => TerminalScript::hangs(""),
    })
}

async fn unknown_editor(start_terminal: StartTerminal) -> Stage {
    let script = EditorScript::full().named(ClientName::Not).start_terminal(start_terminal);
    stage_over(script, |disk| {
        disk.add_dir("/w");
        disk.on_command("echo x", |_| Script::exits(0).prints("here"));
    })
    .await
}

async fn run_and_collect(stage: &Stage, line: &str) -> (String, Option<i64>) {
    let mut process = stage.system.spawn(command(line)).await.unwrap();
    let output = output(&mut process).await.replace("\r\n", "\n");
    (output, process.wait().await.unwrap().code)
}

fn created(stage: &Stage) -> Vec<Value> {
    stage.editor().calls("terminal/create")
}

#[tokio::test(start_paused = true)]
async fn unknown_editors_run_the_exact_line_after_one_probe() {
    for (joins, probes) in [(Joins::Not, 1), (Joins::Quoted, 1), (Joins::Unquoted, 2)] {
        let stage = unknown_editor(run_for_real(joins)).await;
        for (line, expected, code) in [
            ("cd /tmp && pwd", "/tmp\n", 0),
            ("wc -c", "0\n", 0),
            ("sh -c 'echo x'; exit 3", "x\n", 3),
            ("printf '%s|' \"it's\" '$HOME' '*' '\\' \"a\nb\"", "it's|$HOME|*|\\|a\nb|", 0),
            ("cat <<'END'\n$x\nEND", "$x\n", 0),
        ] {
            assert_eq!(
                run_and_collect(&stage, line).await,
                (expected.to_owned(), Some(code)),
                "{joins:?}: {line}"
            );
        }
        stage.settle().await;
        assert_eq!(created(&stage).len(), probes + 5, "{joins:?}");
        assert_eq!(stage.editor().calls("terminal/release").len(), probes + 5, "{joins:?}");
        assert_eq!(stage.spawned(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn known_editors_get_the_form_that_the_table_states() {
    for (name, version, joins) in [
        ("vscode-acp-client", "0.2.0", Joins::Unquoted),
        ("zed", "0.215.0", Joins::Unquoted),
        ("toad", "0.6.18", Joins::QuotedArguments),
        ("obsidian-agent-client", "0.10.6", Joins::QuotedArguments),
        ("acpx", "0.19.1", Joins::Not),
    ] {
        let start_terminal = run_for_real(joins);
        let script = EditorScript::full().named(ClientName::As(name, version)).start_terminal(start_terminal);
        let stage = stage(script).await;
        assert_eq!(run_and_collect(&stage, "cd /tmp && sh -c 'pwd'").await.0, "/tmp\n", "{name}");
        stage.settle().await;
        assert_eq!(created(&stage).len(), 1, "{name} is not asked anything first");
        let line = created(&stage)[0]["command"].as_str().unwrap().to_owned();
        let whole = line == "exec sh -c 'cd /tmp && sh -c '\"'\"'pwd'\"'\"'' </dev/null";
        assert_eq!(whole, joins != Joins::Not, "{name}: {line}");
    }
}

#[tokio::test(start_paused = true)]
async fn commands_run_locally_if_no_form_is_safe() {
    for (joins, expected) in [(Joins::Blanks, 2), (Joins::CommandOnly, 2)] {
        let stage = unknown_editor(run_for_real(joins)).await;
        let before = tokio::time::Instant::now();
        assert_eq!(run_and_collect(&stage, "echo x").await, ("here".to_owned(), Some(0)), "{joins:?}");
        assert!(before.elapsed() < Duration::from_secs(15), "{joins:?}: {:?}", before.elapsed());
        assert_eq!(stage.system.routes().spawn, Route::Local);
        assert_eq!(run_and_collect(&stage, "echo x").await, ("here".to_owned(), Some(0)));
        stage.settle().await;
        assert_eq!((created(&stage).len(), stage.spawned()), (expected, 2), "{joins:?}");
        assert_eq!(stage.editor().calls("terminal/release").len(), expected, "{joins:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_requires_the_output_and_not_only_the_exit_code() {
    let stage = unknown_editor(Arc::new(|_| TerminalScript::exits("", 0))).await;
    assert_eq!(run_and_collect(&stage, "echo x").await.0, "here");
    assert_eq!((stage.spawned(), stage.system.routes().spawn), (1, Route::Local));
    stage.settle().await;
}

#[tokio::test(start_paused = true)]
async fn concurrent_commands_share_one_terminal_probe() {
    let stage = unknown_editor(run_for_real(Joins::Unquoted)).await;
    let lines = ["echo 1", "echo 2", "echo 3"];
    let outputs = futures::future::join_all(lines.map(|line| run_and_collect(&stage, line))).await;
    assert_eq!(outputs.into_iter().map(|(text, _)| text).collect::<String>(), "1\n2\n3\n");
    assert_eq!(created(&stage).len(), 2 + 3);
    stage.settle().await;
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_terminal_probe_is_released_and_repeated() {
    let start_terminal: StartTerminal =
        Arc::new(|params| match encode_command(params).iter().any(|word| word.contains("exit 7")) {
            true => TerminalScript::hangs(""),
            false => TerminalScript::exits("", 0),
        });
    let stage = unknown_editor(start_terminal).await;
    for number in 1..=2 {
        let system = stage.system.clone();
        let spawning = tokio::spawn(async move { system.spawn(command("echo x")).await.map(drop) });
        stage.editor().until(|editor| editor.calls("terminal/wait_for_exit").len() == number).await;
        spawning.abort();
        stage.editor().until(|editor| editor.calls("terminal/release").len() == number).await;
    }
    stage.settle().await;
    assert_eq!((created(&stage).len(), stage.spawned()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_refused_terminal_leaves_the_form_unknown() {
    let script = EditorScript::full().named(ClientName::Not).start_terminal(run_for_real(Joins::Not));
    let stage = stage(script.fault_at(1, Fault::Error(-32603, "the user said no"))).await;
    let Err(error) = stage.system.spawn(command("echo x")).await else { panic!("it ran") };
    assert!(error.to_string().contains("the user said no"), "{error}");
    assert_eq!(run_and_collect(&stage, "echo x").await.0, "x\n");
    assert_eq!((stage.spawned(), stage.system.routes().spawn), (0, Route::Client));
    stage.settle().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_without_terminal_support_gets_one_request() {
    let script = EditorScript::full().named(ClientName::Not);
    let script = script.fault("terminal/create", Fault::Error(-32601, "Method not found"));
    let stage = stage_over(script, |disk| {
        disk.add_dir("/w");
        disk.on_command("echo x", |_| Script::exits(0).prints("here"));
    })
    .await;
    assert_eq!(run_and_collect(&stage, "echo x").await.0, "here");
    assert_eq!((created(&stage).len(), stage.spawned()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn terminals_beyond_the_limit_fail_until_one_ends() {
    let stage = stage(EditorScript::full().command("hang", TerminalScript::hangs(""))).await;
    let mut open = Vec::new();
    for _ in 0..TERMINALS {
        open.push(stage.system.spawn(command("hang")).await.unwrap());
    }
    let error = stage.system.spawn(command("hang")).await.err().unwrap().to_string();
    assert!(error.contains("32 of its terminals are open in this session already"), "{error}");
    assert_eq!(created(&stage).len(), TERMINALS, "the client was not asked");
    assert_eq!(stage.spawned(), 0, "nor does it run here");
    open.pop();
    stage.system.spawn(command("hang")).await.unwrap();
    drop(open);
    stage.settle().await;
    assert_eq!(stage.editor().calls("terminal/release").len(), TERMINALS + 1);
}
