//! Tests with two machines: the agent's own tools act on its machine, `ide_…` on the editor's.

use crate::stage::{Stage, stage_with};
use acp::{
    ClientTools,
    testing::{Answer, ClientName, EditorScript, TerminalScript},
};
use agent::fake::Reply;
use serde_json::{Value, json};
use std::sync::Arc;
use system::fake::Script;

fn two_machines(script: EditorScript, replies: impl IntoIterator<Item = Reply>) -> Stage {
    stage_with(Arc::default(), script, replies, |options| options.machines.client_tools = ClientTools::Ide)
}

fn call(name: &str, arguments: Value) -> Reply {
    Reply::calls(&[(name, arguments)])
}

/// Runs calls, one per round; returns the result given to the model for each.
async fn run(stage: &Stage, session: &str, rounds: usize) -> Vec<String> {
    let before = stage.model.requests().len();
    let ended = stage.editor.prompt(session, "go").await.expect("the turn ends in order");
    assert_eq!(ended["stopReason"], "end_turn");
    let last = stage.model.requests().last().cloned().expect("the model was asked");
    let results: Vec<_> = last
        .messages
        .iter()
        .filter_map(|message| match message {
            agent::Message::Assistant(answer) => Some(answer.calls().map(|call| call.result.text.clone())),
            agent::Message::User(_) => None,
        })
        .flatten()
        .collect();
    assert_eq!(stage.model.requests().len() - before, rounds + 1);
    results[results.len() - rounds..].to_vec()
}

fn offered(stage: &Stage) -> Vec<String> {
    let request = stage.model.requests().last().cloned().expect("the model was asked");
    let names = request.tools.iter().map(|tool| tool.name.clone());
    names.filter(|name| name.starts_with("ide_")).collect()
}

/// Returns the agent's requests to the client, without permissions and with repeated polls
/// collapsed.
fn asked(stage: &Stage) -> Vec<String> {
    let mut asked: Vec<_> = stage
        .editor
        .methods()
        .into_iter()
        .filter(|m| m.starts_with("fs/") || m.starts_with("terminal/"))
        .collect();
    asked.dedup();
    asked
}

#[tokio::test]
async fn each_tool_is_offered_with_its_capability_and_set_only() {
    for (read, write, terminal) in [
        (false, false, false),
        (true, false, false),
        (false, true, false),
        (false, false, true),
        (true, true, true),
    ] {
        for set in ClientTools::ALL {
            let script = EditorScript::default().offering(read, write, terminal);
            let replies = [Reply::text("x")];
            let stage =
                stage_with(Arc::default(), script, replies, |options| options.machines.client_tools = set);
            let session = stage.editor.session("/w").await;
            run(&stage, &session, 0).await;
            let all = [
                (terminal, "ide_terminal"),
                (read, "ide_read_file"),
                (write, "ide_write_file"),
                (read && write, "ide_edit"),
            ];
            let expected: Vec<_> = all
                .into_iter()
                .filter(|(has, _)| *has && set == ClientTools::Ide)
                .map(|(_, name)| name)
                .collect();
            assert_eq!(offered(&stage), expected, "{set:?}");
            stage.editor.close().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_agents_own_tools_stay_on_its_machine() {
    let sets =
        [(ClientTools::Ide, "on the agent's machine, not on yours"), (ClientTools::Off, "on this machine")];
    for (set, machine) in sets {
        let script = EditorScript::full().allowing().buffer("/w/a.txt", "buffer\n");
        let replies = [
            call("file_read", json!({"path": "a.txt"})),
            call("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"})),
            call("bash", json!({"command": "x"})),
            Reply::text("done"),
        ];
        let stage =
            stage_with(Arc::default(), script, replies, |options| options.machines.client_tools = set);
        stage.disk.on_command("x", |_| Script::exits(0).prints("here"));
        let session = stage.editor.session("/w").await;
        let results = run(&stage, &session, 3).await;
        assert_eq!(results[0], "1\tone\n2\ttwo");
        assert_eq!(results[2], "here\nExit code: 0");
        assert_eq!(stage.disk.text_of("/w/a.txt").as_deref(), Some("1\ntwo\n"));
        assert!(asked(&stage).is_empty(), "{:?}", asked(&stage));
        let question = stage.editor.calls("session/request_permission").pop().unwrap();
        let question = question["toolCall"]["content"].to_string();
        assert!(question.contains(machine) && !question.contains("editor"), "{question}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_on_the_editors_machine_has_the_whole_life_of_a_terminal() {
    let script = EditorScript::full()
        .command("test", TerminalScript::exits("ok\n", 0))
        .command("exit 3 # $X", TerminalScript::exits("bad\n", 3))
        .permissions([Answer::Select("allow_once"), Answer::Select("allow_once")]);
    let argv = json!({"command": "cargo", "args": ["test"], "cwd": "sub", "env": {"B": "2 3", "A": "1"}});
    let replies = [
        call("ide_terminal", argv),
        call("ide_terminal", json!({"command": "exit 3 # $X"})),
        Reply::text("done"),
    ];
    let stage = two_machines(script, replies);
    let session = stage.editor.session("/w").await;
    let results = run(&stage, &session, 2).await;
    let results: Vec<Value> = results.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(results[0], json!({"output": "ok", "exit_code": 0, "truncated": false}));
    assert_eq!(results[1], json!({"output": "bad", "exit_code": 3, "truncated": false}));
    let created = stage.editor.calls("terminal/create");
    let of =
        |at: usize| (created[at]["command"].clone(), created[at]["args"].clone(), created[at]["cwd"].clone());
    assert_eq!(of(0), (json!("cargo"), json!(["test"]), json!("/w/sub")));
    assert_eq!(of(1), (json!("sh"), json!(["-c", "exit 3 # $X"]), json!("/w")), "a line goes to a shell");
    let env = created[0]["env"].as_array().unwrap();
    assert!(
        env.contains(&json!({"name": "A", "value": "1"}))
            && env.contains(&json!({"name": "B", "value": "2 3"}))
    );
    let question = &stage.editor.calls("session/request_permission")[0];
    let text = question["toolCall"]["content"][0]["content"]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "Run this in the editor's terminal (no sandbox), in /w/sub? Argus asks about every command."
    );
    assert_eq!(question["toolCall"]["title"], "Run A=1 B='2 3' cargo test");
    assert_eq!(question["toolCall"]["content"].as_array().unwrap().len(), 1, "the command is shown once");
    let log = stage.editor.log();
    let at = |fits: &dyn Fn(&Value) -> bool| log.iter().position(fits).expect("it happened");
    let method = |name: &'static str| at(&move |message: &Value| message["method"] == name);
    let embedded = at(&|message| message["params"]["update"]["content"][0]["type"] == "terminal");
    let order = [
        method("session/request_permission"),
        method("terminal/create"),
        embedded,
        method("terminal/wait_for_exit"),
        method("terminal/output"),
        method("terminal/release"),
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert!(stage.disk.calls().iter().all(|call| call.operation != "spawn"));
    stage.editor.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn commands_on_the_editors_machine_use_the_editors_form_and_read_no_input() {
    for (name, version, program, line) in [
        (
            "vscode-acp-client",
            "0.2.0",
            ("exec wc -l 'a b' </dev/null", vec![]),
            ("exec sh -c 'wc -l; echo $X' </dev/null", vec![]),
        ),
        ("acpx", "0.19.1", ("wc", vec!["-l", "a b"]), ("sh", vec!["-c", "wc -l; echo $X"])),
    ] {
        let script = EditorScript::full()
            .named(ClientName::As(name, version))
            .start_terminal(Arc::new(|_| TerminalScript::exits("ok\n", 0)))
            .allowing();
        let replies = [
            call("ide_terminal", json!({"command": "wc", "args": ["-l", "a b"]})),
            call("ide_terminal", json!({"command": "wc -l; echo $X"})),
            Reply::text("done"),
        ];
        let stage = two_machines(script, replies);
        let session = stage.editor.session("/w").await;
        run(&stage, &session, 2).await;
        let created = stage.editor.calls("terminal/create");
        let sent: Vec<_> =
            created.iter().map(|call| (call["command"].clone(), call["args"].clone())).collect();
        let expected = [program, line].map(|(command, args)| (json!(command), json!(args)));
        assert_eq!(sent, expected, "{name}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_terminal_probe_is_not_displayed_and_an_unsafe_terminal_disables_the_tool() {
    let script = EditorScript::full()
        .named(ClientName::Not)
        .start_terminal(Arc::new(|_| TerminalScript::exits("", 0)))
        .allowing();
    let replies = [
        call("ide_terminal", json!({"command": "make"})),
        call("ide_terminal", json!({"command": "make"})),
        Reply::text("done"),
    ];
    let stage = two_machines(script, replies);
    let session = stage.editor.session("/w").await;
    for result in run(&stage, &session, 2).await {
        assert_eq!(result, "IDE does not support terminal capability. Use 'bash' tool instead.");
    }
    let created = stage.editor.calls("terminal/create");
    assert_eq!(created.len(), 2, "two forms were tried, once: {created:?}");
    assert!(!created.iter().any(|call| call.to_string().contains("make")), "nothing ran: {created:?}");
    assert_eq!(stage.editor.calls("terminal/release").len(), 2);
    let updates: Vec<_> =
        stage.editor.log().into_iter().filter(|message| message["method"] == "session/update").collect();
    assert!(updates.iter().any(|update| update.to_string().contains("tool_1")), "{updates:?}");
    assert!(!updates.iter().any(|update| update.to_string().contains("term_")), "{updates:?}");
    stage.editor.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_read_on_the_editors_machine_returns_the_requested_lines() {
    let script = EditorScript::full()
        .named(ClientName::Not)
        // Counts from zero.
        .cut_range(Arc::new(|text, line, limit| {
            let lines = text.split_inclusive('\n').skip(line.unwrap_or(0));
            lines.take(limit.unwrap_or(usize::MAX)).collect()
        }))
        .allowing();
    let replies = [
        call("ide_read_file", json!({"path": "b", "line": 2, "limit": 1})),
        call("ide_read_file", json!({"path": "b", "line": 3})),
        call("ide_read_file", json!({"path": "b", "limit": 1})),
        Reply::text("done"),
    ];
    let stage = two_machines(script.buffer("/w/b", "one\ntwo\nthree\nfour\n"), replies);
    let session = stage.editor.session("/w").await;
    assert_eq!(run(&stage, &session, 3).await, ["two\n", "three\nfour\n", "one\n"]);
    stage.editor.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_command_that_times_out_keeps_its_output() {
    let script = EditorScript::full().allowing().command("serve", TerminalScript::hangs("listening\n"));
    let stage = two_machines(
        script,
        [call("ide_terminal", json!({"command": "serve", "timeout": 5})), Reply::text("done")],
    );
    let session = stage.editor.session("/w").await;
    let result: Value = serde_json::from_str(&run(&stage, &session, 1).await[0]).unwrap();
    let expected = json!({"output": "listening", "exit_code": null, "truncated": false, "error": "Process timed out after 5s"});
    assert_eq!(result, expected);
    let asked = asked(&stage);
    assert_eq!(asked[asked.len() - 3..], ["terminal/kill", "terminal/output", "terminal/release"]);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn files_on_the_editors_machine_are_read_and_written_there() {
    let script = EditorScript::full().allowing().buffer("/w/b", "unsaved\n2\n3\n").buffer("/w/empty", "");
    let replies = [
        call("ide_write_file", json!({"path": "b", "content": "blind"})),
        call("ide_read_file", json!({"path": "b", "line": 2, "limit": 1})),
        call("ide_write_file", json!({"path": "b", "content": "blind"})),
        call("ide_read_file", json!({"path": "/w/b"})),
        call("ide_write_file", json!({"path": "b", "content": "seen\n"})),
        call("ide_read_file", json!({"path": "empty"})),
        call("ide_write_file", json!({"path": "new", "content": "n\n"})),
        call("ide_read_file", json!({"path": "none"})),
        Reply::text("done"),
    ];
    let stage = two_machines(script, replies);
    let session = stage.editor.session("/w").await;
    let results = run(&stage, &session, 8).await;
    let refused = "b exists, and you have not read it. Read it with ide_read_file first, then write it. Nothing was written.";
    let partial =
        "b has been read in part only. Read it with ide_read_file first, then write it. Nothing was written.";
    let expected = [
        refused,
        "2\n",
        partial,
        "unsaved\n2\n3\n",
        "Wrote 1 lines to b",
        "empty is empty.",
        "Wrote 1 lines to new",
    ];
    assert_eq!(results[..7], expected);
    assert!(results[7].contains("Resource not found"), "{}", results[7]);
    assert_eq!(stage.editor.text_of("/w/b").as_deref(), Some("seen\n"));
    assert_eq!(stage.editor.text_of("/w/new").as_deref(), Some("n\n"));
    assert_eq!(stage.disk.text_of("/w/new"), None, "the agent's machine is another place");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_unsupported_ide_tool_names_the_alternative_without_asking_for_permission() {
    let calls = [
        (
            "ide_terminal",
            json!({"command": "ls"}),
            "IDE does not support terminal capability. Use 'bash' tool instead.",
        ),
        ("ide_read_file", json!({"path": "a"}), "IDE does not support file reading."),
        ("ide_write_file", json!({"path": "a", "content": ""}), "IDE does not support file writing."),
    ];
    for (script, set) in [
        (EditorScript::default(), ClientTools::Ide),
        (EditorScript::full(), ClientTools::Transparent),
        (EditorScript::full(), ClientTools::Off),
    ] {
        let replies = calls
            .clone()
            .map(|(name, arguments, _)| call(name, arguments))
            .into_iter()
            .chain([Reply::text("done")]);
        let stage =
            stage_with(Arc::default(), script, replies, |options| options.machines.client_tools = set);
        let session = stage.editor.session("/w").await;
        assert_eq!(run(&stage, &session, 3).await, calls.clone().map(|(_, _, text)| text), "{set:?}");
        assert!(stage.editor.calls("session/request_permission").is_empty());
        assert!(asked(&stage).is_empty());
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_refused_permission_touches_nothing_on_the_editors_machine() {
    for answer in [Answer::Select("reject_once"), Answer::Cancelled, Answer::Error] {
        for (name, arguments) in [
            ("ide_terminal", json!({"command": "make"})),
            ("ide_write_file", json!({"path": "n", "content": "x"})),
        ] {
            let goes_on = answer != Answer::Cancelled;
            let script = EditorScript::full().permissions([answer.clone()]);
            let replies = [call(name, arguments)].into_iter().chain(goes_on.then(|| Reply::text("well")));
            let stage = two_machines(script, replies);
            let session = stage.editor.session("/w").await;
            let ended = stage.editor.prompt(&session, "go").await.unwrap();
            assert_eq!(ended["stopReason"], if goes_on { "end_turn" } else { "cancelled" });
            let asked = asked(&stage);
            assert!(asked.iter().all(|method| method == "fs/read_text_file"), "{answer:?}: {asked:?}");
            assert_eq!(stage.editor.text_of("/w/n"), None);
            stage.editor.close().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_tool_set_can_be_changed_and_drops_earlier_grants() {
    let script = EditorScript::full().command("make", TerminalScript::exits("there\n", 0)).permissions([
        Answer::Select("allow_always"),
        Answer::Select("allow_once"),
        Answer::Select("allow_once"),
    ]);
    let bash = || call("bash", json!({"command": "make"}));
    let ide = call("ide_terminal", json!({"command": "make"}));
    let stage = stage_with(
        Arc::default(),
        script,
        [bash(), bash(), Reply::text("x"), bash(), ide, Reply::text("x")],
        |_| {},
    );
    stage.disk.on_command("make", |_| Script::exits(0).prints("here\n"));
    let session = stage.editor.session("/w").await;
    let results = run(&stage, &session, 2).await;
    assert_eq!(results, ["there\nExit code: 0", "there\nExit code: 0"]);
    let set = |value: &str| json!({"sessionId": session, "configId": "client_tools", "value": value});
    let options = stage.editor.ok("session/set_config_option", set("ide")).await;
    let current = |answer: &Value| {
        let options = answer["configOptions"].as_array().unwrap();
        options.iter().find(|option| option["id"] == "client_tools").unwrap()["currentValue"].clone()
    };
    assert_eq!(current(&options), "ide");
    let update = stage.editor.updates("config_option_update").pop().unwrap();
    assert_eq!(current(&update), "ide");
    let results = run(&stage, &session, 2).await;
    assert_eq!(results[0], "here\nExit code: 0");
    assert!(results[1].contains("there"), "{}", results[1]);
    assert_eq!(stage.editor.error("session/set_config_option", set("auto")).await.0, -32602);
    stage.editor.close().await.unwrap();
}
