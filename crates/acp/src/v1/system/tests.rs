//! Tests of the workspace with a scripted editor, over a real pipe.

mod clients;

use super::*;
use crate::{
    Pipe, TerminalPlace, limits,
    testing::{Editor, EditorScript, Fault, TerminalScript},
    transport::{Backpressure, incoming, write_lines},
};
use agent_client_protocol::{Agent, Builder, Lines, NullHandler};
use serde_json::json;
use std::time::Duration;
use system::{
    ExitStatus, FakeSystem, Output, TerminalId,
    contract::{Processes, Subject, check, lines},
    fake::Script,
};
use tokio::sync::oneshot;

mod ranges;
mod shells;
mod terminal_command;
mod terminals;

/// An editor and a session's workspace through it.
struct Stage {
    system: Arc<AcpSystem>,
    disk: Arc<FakeSystem>,
    editor: Option<Editor>,
    _end: oneshot::Sender<()>,
}

impl Stage {
    fn editor(&self) -> &Editor {
        self.editor.as_ref().expect("the editor is there until the end")
    }

    /// Returns the number of commands that ran locally.
    fn spawned(&self) -> usize {
        self.disk.calls().iter().filter(|call| call.operation == "spawn").count()
    }

    /// Waits until queued messages have reached the editor, by a round trip after them.
    async fn settle(&self) {
        let seen = self.editor().log().len();
        let message = acp::WriteTextFileRequest::new("s", "/settle", "");
        let _answer = self.system.caller.call("fs/write_text_file", &message).await;
        self.editor().until(|editor| editor.log().len() > seen).await;
    }
}

async fn stage(script: EditorScript) -> Stage {
    stage_over(script, |disk| disk.add_dir("/w")).await
}

async fn stage_over(script: EditorScript, set_up: impl FnOnce(&FakeSystem)) -> Stage {
    let disk = FakeSystem::new();
    set_up(&disk);
    let disk = Arc::new(disk);
    let advertised = Advertised {
        read: script.advertises("fs/read_text_file"),
        write: script.advertises("fs/write_text_file"),
        terminal: script.advertises("terminal/create"),
    };
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let backpressure = Arc::new(Backpressure::default());
    let (sink, write) = write_lines(writer, backpressure.clone());
    tokio::spawn(write);
    let lines = futures::StreamExt::map(incoming(reader, limits::FRAME_BYTES), |read| {
        Ok::<_, std::io::Error>(read.message())
    });
    let (give, get) = oneshot::channel();
    let (end, ended) = oneshot::channel::<()>();
    tokio::spawn(Builder::new_with(Agent, NullHandler).connect_with(
        Lines::new(sink, lines),
        async move |connection| {
            give.send(connection).unwrap();
            let _ = ended.await;
            Ok(())
        },
    ));
    let connection = get.await.unwrap();
    let (reader, writer) = tokio::io::split(ours);
    let system = AcpSystem::new(
        disk.clone(),
        "s".into(),
        connection.clone(),
        Outbox::new(connection, backpressure, Arc::default()),
        UsedCapabilities {
            advertised,
            withdrawn: Arc::default(),
            behaviour: Arc::new(ClientBehaviour::new(script.facts())),
            place: TerminalPlace::Client,
            tools: Arc::default(),
        },
        Deadline { limit: limits::CLIENT_TIMEOUT, link: Arc::new(Pipe) },
    );
    let editor = Some(Editor::over(reader, writer, script.over(disk.clone())));
    Stage { system: Arc::new(system), disk, editor, _end: end }
}

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn command(line: &str) -> Command {
    Command::shell(line, path("/w"), 1000)
}

/// Collects all output; a gap is shown as `~`.
async fn output(process: &mut Box<dyn Process>) -> String {
    let mut all = String::new();
    while let Some(piece) = process.next_output().await {
        match piece {
            Output::Text(text) => all.push_str(&text),
            Output::Gap => all.push('~'),
        }
    }
    all
}

/// A stage that is dropped immediately: messages queued last, such as a release, never reach the
/// editor.
struct DropWithoutSettling(Stage);

impl Drop for DropWithoutSettling {
    fn drop(&mut self) {
        if let Some(editor) = self.0.editor.take() {
            let violations = editor.violations();
            std::mem::forget(editor);
            assert!(std::thread::panicking() || violations.is_empty(), "{violations:?}");
        }
    }
}

/// Runs the contract of `System` with every combination of client capabilities: reads, writes that
/// it saves, commands in its terminals.
#[tokio::test(start_paused = true)]
async fn acp_system_satisfies_the_system_contract() {
    let tail = (0..2000).map(|i| format!("line-{i}\n")).collect::<String>();
    let tail = tail[tail.len() - 99..].to_owned();
    for flags in 0..8 {
        let (read, write, terminal) = (flags & 1 > 0, flags & 2 > 0, flags & 4 > 0);
        let ends = |exit| TerminalScript { polls: Vec::new(), exit: Some(exit), ignores_kill: false };
        let ran = check(async || {
            let script = EditorScript::default()
                .offering(read, write, terminal)
                .saving()
                .command(lines::MIXED, TerminalScript::exits("abcd", 0))
                .command(lines::FAILS, TerminalScript::exits("", 3))
                .command(lines::KILLED, ends(json!({"signal": "SIGKILL"})))
                .command(lines::PRINTS, TerminalScript::exits("kept\n", 0))
                .command(
                    lines::FLOODS,
                    TerminalScript {
                        polls: vec![(tail.clone(), true)],
                        exit: Some(json!({"exitCode": 0})),
                        ignores_kill: false,
                    },
                )
                .command(lines::RUNS, TerminalScript::hangs("ready\n"));
            let stage = stage(script).await;
            Subject {
                system: stage.system.clone(),
                setup: stage.disk.clone(),
                root: path("/w"),
                writes: true,
                link: {
                    let disk = stage.disk.clone();
                    Some(Box::new(move |at, to| disk.add_link(at.as_str(), to)))
                },
                processes: if terminal { Processes::Scripted } else { Processes::None },
                keep: Box::new(Mutex::new(DropWithoutSettling(stage))),
            }
        })
        .await;
        assert!(ran.len() > if terminal { 35 } else { 25 }, "{flags}: {} {ran:?}", ran.len());
    }
}

#[tokio::test]
async fn without_capabilities_no_request_is_sent_to_the_client() {
    let stage = stage_over(EditorScript::default(), |disk| {
        disk.add_file("/w/a", "disk");
        disk.on_command("ls", |_| Script::exits(0).prints("a"));
    })
    .await;
    assert_eq!(stage.system.routes(), Routes::LOCAL);
    assert_eq!(stage.system.read_text(&path("/w/a"), None).await.unwrap(), "disk");
    stage.system.replace_text(&path("/w/b"), None, "new").await.unwrap();
    let mut process = stage.system.spawn(command("ls")).await.unwrap();
    assert!(process.wait().await.unwrap().success());
    assert_eq!(stage.disk.text_of("/w/b").as_deref(), Some("new"));
    assert!(stage.editor().log().is_empty());
}

#[tokio::test]
async fn reads_buffers_including_empty_and_unsaved_ones() {
    let script =
        EditorScript::full().buffer("/w/a", "buffer").buffer("/w/empty", "").buffer("/w/new", "only");
    let stage = stage_over(script, |disk| {
        disk.add_file("/w/a", "disk");
        disk.add_file("/w/empty", "disk");
        disk.add_file("/w/b", "1\n2\n3\n4\n");
    })
    .await;
    for (name, expected) in [("a", "buffer"), ("empty", ""), ("new", "only"), ("b", "1\n2\n3\n4\n")] {
        let text = stage.system.read_text(&path("/w").join(name), None).await.unwrap();
        assert_eq!(text, expected, "{name}");
    }
    let range = Some(TextRange { line: 2, limit: 2 });
    assert_eq!(stage.system.read_text(&path("/w/b"), range).await.unwrap(), "2\n3\n");
    let asked = stage.editor().calls("fs/read_text_file");
    assert_eq!((&asked[4]["line"], &asked[4]["limit"]), (&json!(2), &json!(2)));
    assert!(asked[0].get("line").is_none());
    let missing = stage.system.read_text(&path("/w/none"), None).await.unwrap_err();
    assert!(missing.is_not_found(), "{missing}");
    let on_disk = stage.system.read_text_on_disk(&path("/w/a")).await.unwrap();
    assert_eq!(on_disk.as_deref(), Some("disk"));
}

#[tokio::test]
async fn an_unsupported_capability_is_requested_once() {
    for fault in [
        Fault::Error(-32601, "Method not found"),
        Fault::Result(json!({})),
        Fault::Result(Value::Null),
        Fault::Result(json!({ "content": null })),
    ] {
        let script = EditorScript::full().fault("fs/read_text_file", fault.clone());
        let stage = stage_over(script, |disk| disk.add_file("/w/a", "disk")).await;
        assert_eq!(stage.system.routes().read_text, Route::Client);
        for _ in 0..2 {
            assert_eq!(stage.system.read_text(&path("/w/a"), None).await.unwrap(), "disk", "{fault:?}");
        }
        assert_eq!(stage.system.routes().read_text, Route::Local);
        assert_eq!(stage.system.routes().write_text, Route::Client, "the flags are independent");
        assert_eq!(stage.editor().calls("fs/read_text_file").len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn writes_go_to_the_client_and_null_is_a_success() {
    let stage = stage(EditorScript::full()).await;
    stage.system.replace_text(&path("/w/deep/a"), None, "text").await.unwrap();
    assert_eq!(stage.editor().text_of("/w/deep/a").as_deref(), Some("text"));
    assert_eq!(stage.disk.text_of("/w/deep/a"), None);
    let refusing = EditorScript::full().fault("fs/write_text_file", Fault::Error(-32000, "read-only buffer"));
    let stage = stage_over(refusing, |disk| disk.add_dir("/w")).await;
    let error = stage.system.replace_text(&path("/w/a"), None, "text").await.unwrap_err();
    assert!(error.to_string().contains("read-only buffer"), "{error}");
    assert_eq!(stage.disk.text_of("/w/a"), None, "a refused write is not done behind the editor's back");
}

/// Within a call, a directory that is known to exist is not checked again; one that was deleted
/// since is created.
#[tokio::test]
async fn the_directory_of_a_known_file_is_not_checked_again() {
    let stage = stage_over(EditorScript::full(), |disk| disk.add_file("/w/sub/a", "disk")).await;
    let AcpSystem { caller, capabilities, marks, .. } = stage.system.as_ref();
    let (caller, capabilities, marks) = (caller.clone(), capabilities.clone(), marks.clone());
    let disk_cache = Some(Mutex::default());
    let call = AcpSystem { local: stage.disk.clone(), caller, capabilities, marks, disk_cache };
    let file = path("/w/sub/a");
    let checks = || stage.disk.calls().iter().filter(|call| call.subject == "/w/sub").count();
    call.replace_text(&file, Some("disk"), "one").await.unwrap();
    assert_eq!(checks(), 1, "nothing is known yet");
    assert_eq!(call.read_disk_snapshot(&file).await.metadata.unwrap().size, 4);
    call.replace_text(&file, Some("one"), "two").await.unwrap();
    assert_eq!(checks(), 1);
    stage.disk.remove(&path("/w/sub")).await.unwrap();
    call.read_disk_snapshot(&file).await.metadata.unwrap_err();
    call.replace_text(&file, Some("two"), "three").await.unwrap();
    assert_eq!(stage.disk.metadata(&path("/w/sub")).await.unwrap().kind, FileKind::Directory);
    assert_eq!(stage.editor().text_of("/w/sub/a").as_deref(), Some("three"));
}

#[tokio::test]
async fn bytes_directories_and_walks_stay_on_this_machine() {
    let stage = stage_over(EditorScript::full().buffer("/w/b", "buffer"), |disk| {
        disk.add_file("/w/a", "disk");
    })
    .await;
    let (system, root) = (&stage.system, path("/w"));
    system.write(&path("/w/c"), b"bytes").await.unwrap();
    system.rename(&path("/w/c"), &path("/w/d")).await.unwrap();
    assert_eq!(system.read(&path("/w/d")).await.unwrap(), b"bytes");
    system.remove(&path("/w/d")).await.unwrap();
    system.create_dir_all(&path("/w/sub")).await.unwrap();
    assert_eq!(system.metadata(&path("/w/a")).await.unwrap().size, 4);
    assert_eq!(system.resolve(&path("/w/a")).await.unwrap(), path("/w/a"));
    assert_eq!(system.read_dir(&root).await.unwrap().len(), 2);
    let options = WalkOptions { limit: 9, include_ignored: false };
    assert_eq!(system.walk(&root, options).await.unwrap(), [path("/w/a")]);
    assert!(stage.editor().log().is_empty());
}

/// Some clients reject a range that begins beyond the end, which is the empty text.
#[tokio::test]
async fn a_refused_range_past_the_end_is_the_empty_text() {
    let refusal = Fault::Error(-32602, "Line out of range");
    let script = EditorScript::full().buffer("/w/a", "1\n2\n").fault_at(1, refusal);
    let stage = stage(script).await;
    let range = |line| Some(TextRange { line, limit: 10 });
    assert_eq!(stage.system.read_text(&path("/w/a"), range(9)).await.unwrap(), "");
    assert_eq!(stage.system.read_text(&path("/w/a"), range(2)).await.unwrap(), "2\n");
    assert_eq!(stage.system.routes().read_text, Route::Client, "it still reads");
}

#[tokio::test]
async fn a_write_that_the_client_does_not_support_is_done_locally() {
    let script = EditorScript::full().fault("fs/write_text_file", Fault::Error(-32601, "Method not found"));
    let stage = stage(script).await;
    stage.system.replace_text(&path("/w/a"), None, "text").await.unwrap();
    stage.system.replace_text(&path("/w/b"), None, "text").await.unwrap();
    assert_eq!(stage.disk.text_of("/w/a").as_deref(), Some("text"));
    assert_eq!(stage.editor().calls("fs/write_text_file").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_runs_into_the_deadline() {
    let script = EditorScript::full().fault("fs/read_text_file", Fault::Silence);
    let stage = stage_over(script, |disk| disk.add_file("/w/a", "disk")).await;
    let error = stage.system.read_text(&path("/w/a"), None).await.unwrap_err();
    assert!(matches!(error, SystemError::ClientTimeout { .. }), "{error}");
    stage.editor().until(|editor| editor.methods().contains(&"$/cancel_request".to_owned())).await;
}

#[tokio::test(start_paused = true)]
async fn a_command_runs_in_the_clients_terminal_as_an_argument_vector() {
    let script = EditorScript::full().command("make", TerminalScript::exits("built\n", 0));
    let stage = stage(script).await;
    let mut spec = command("make");
    spec.env = vec![("A".to_owned(), "1".to_owned())];
    let mut process = stage.system.spawn(spec).await.unwrap();
    assert_eq!(process.terminal(), Some(&TerminalId("term_1".to_owned())));
    assert_eq!(process.wait().await.unwrap(), ExitStatus { code: Some(0), signal: None });
    assert_eq!(output(&mut process).await, "built\n");
    drop(process);
    stage.settle().await;
    let created = &stage.editor().calls("terminal/create")[0];
    // A list of pairs. Prompts and pagers are disabled there as well.
    let env = created["env"].as_array().unwrap();
    assert!(env.contains(&json!({"name": "A", "value": "1"})), "{env:?}");
    assert!(env.contains(&json!({"name": "GIT_TERMINAL_PROMPT", "value": "0"})), "{env:?}");
    let mut rest = created.clone();
    rest.as_object_mut().unwrap().remove("env");
    assert_eq!(
        rest,
        json!({"sessionId": "s", "command": "sh", "args": ["-c", "make"], "cwd": "/w", "outputByteLimit": 1000})
    );
    assert_eq!(stage.editor().calls("terminal/release").len(), 1);
    assert_eq!(stage.spawned(), 0);
}

#[tokio::test(start_paused = true)]
async fn exit_statuses_are_reported_unchanged() {
    for (exit, expected) in [
        (json!({"exitCode": 3}), ExitStatus { code: Some(3), signal: None }),
        (
            json!({"exitCode": null, "signal": "SIGTERM"}),
            ExitStatus { code: None, signal: Some("SIGTERM".into()) },
        ),
        (json!({"exitCode": null, "signal": null}), ExitStatus::default()),
        (json!({}), ExitStatus::default()),
        // Windows has unsigned 32-bit exit codes.
        (json!({"exitCode": 3_221_225_786_u32}), ExitStatus { code: Some(3_221_225_786), signal: None }),
        (json!({"exitCode": 4_294_967_295_u32}), ExitStatus { code: Some(4_294_967_295), signal: None }),
        (json!({"exitCode": -1}), ExitStatus { code: Some(-1), signal: None }),
        (json!({"exitCode": 3.0}), ExitStatus { code: Some(3), signal: None }),
        (json!({"exitCode": 0.5}), ExitStatus::default()),
        (json!({"exitCode": 1e300}), ExitStatus::default()),
        (json!({"exitCode": u64::MAX}), ExitStatus::default()),
    ] {
        let terminal = TerminalScript { polls: Vec::new(), exit: Some(exit.clone()), ignores_kill: false };
        let stage = stage(EditorScript::full().command("x", terminal)).await;
        let mut process = stage.system.spawn(command("x")).await.unwrap();
        let status = process.wait().await.unwrap();
        assert_eq!(status, expected, "{exit}");
        assert!(!status.success());
        drop(process);
        stage.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn output_of_a_ring_buffer_is_reported_once_with_its_gaps() {
    let polls = [("abcdef", false), ("defghi", true), ("xyz", true), ("xyz1", true)];
    let terminal = TerminalScript {
        polls: polls.map(|(text, truncated)| (text.to_owned(), truncated)).to_vec(),
        exit: Some(json!({"exitCode": 0})),
        ignores_kill: false,
    };
    let stage = stage(EditorScript::full().command("x", terminal)).await;
    let mut process = stage.system.spawn(command("x")).await.unwrap();
    assert_eq!(output(&mut process).await, "abcdefghi~xyz1");
    drop(process);
    stage.settle().await;
}

#[tokio::test(start_paused = true)]
async fn a_killed_command_keeps_its_output_and_is_released_once() {
    for ignores_kill in [false, true] {
        let terminal = TerminalScript { ignores_kill, ..TerminalScript::hangs("partial") };
        let stage = stage(EditorScript::full().command("x", terminal)).await;
        let mut process = stage.system.spawn(command("x")).await.unwrap();
        assert_eq!(process.next_output().await, Some(Output::Text("partial".to_owned())));
        process.kill().await;
        let status = process.wait().await.unwrap();
        let signal = (!ignores_kill).then(|| "SIGKILL".to_owned());
        assert_eq!(status, ExitStatus { code: None, signal });
        assert_eq!(process.next_output().await, None);
        drop(process);
        stage.settle().await;
        assert_eq!(stage.editor().calls("terminal/release").len(), 1);
    }
}

/// Creates a stage where `terminal/create` has a fault and the command would run locally.
async fn without_a_terminal(fault: Fault) -> Stage {
    let script = EditorScript::full().fault("terminal/create", fault);
    stage_over(script, |disk| {
        disk.add_dir("/w");
        disk.on_command("x", |_| Script::exits(0).prints("here"));
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_command_runs_locally_once_if_terminals_turn_out_unsupported() {
    let stage = without_a_terminal(Fault::Error(-32601, "Method not found")).await;
    let mut process = stage.system.spawn(command("x")).await.unwrap();
    assert_eq!(output(&mut process).await, "here");
    assert!(process.terminal().is_none());
    assert_eq!((stage.spawned(), stage.system.routes().spawn), (1, Route::Local));
}

#[tokio::test(start_paused = true)]
async fn an_approved_command_does_not_move_to_this_machine() {
    let stage = without_a_terminal(Fault::Error(-32601, "Method not found")).await;
    let approved = Command { executor_approved: true, ..command("x") };
    let Err(error) = stage.system.spawn(approved.clone()).await else { panic!("it ran") };
    assert!(matches!(error, SystemError::OtherExecutor), "{error}");
    assert_eq!((stage.spawned(), stage.system.routes().spawn), (0, Route::Local));
    // The user is asked again, about this machine.
    assert!(stage.system.spawn(approved).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn e02_a_refused_terminal_is_not_replaced_by_a_local_command() {
    let stage = without_a_terminal(Fault::Error(-32603, "the user said no")).await;
    let Err(error) = stage.system.spawn(command("x")).await else { panic!("it ran") };
    assert!(error.to_string().contains("the user said no"), "{error}");
    assert_eq!((stage.spawned(), stage.system.routes().spawn), (0, Route::Client));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_may_have_run_never_runs_again() {
    for fault in [Fault::Result(json!({})), Fault::Silence] {
        let script = EditorScript::full().fault("terminal/create", fault.clone());
        let stage = stage(script).await;
        assert!(stage.system.spawn(command("x")).await.is_err(), "{fault:?}");
        assert_eq!(stage.spawned(), 0, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_exit_is_detected_by_polling_if_waiting_fails() {
    for fault in [Fault::Error(-32603, "no"), Fault::Silence] {
        let script = EditorScript::full()
            .command("x", TerminalScript::exits("out", 2))
            .fault("terminal/wait_for_exit", fault);
        let stage = stage(script).await;
        let mut process = stage.system.spawn(command("x")).await.unwrap();
        assert_eq!(process.wait().await.unwrap().code, Some(2));
        assert_eq!(output(&mut process).await, "out");
        drop(process);
        stage.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_command_is_released() {
    let script = EditorScript::full().command("x", TerminalScript::hangs(""));
    let stage = stage(script).await;
    // Dropped while the terminal is being created: the response comes too late, but its terminal is
    // released.
    let system = stage.system.clone();
    let spawning = tokio::spawn(async move { system.spawn(command("x")).await.map(drop) });
    stage.editor().until(|editor| !editor.calls("terminal/create").is_empty()).await;
    spawning.abort();
    stage.editor().until(|editor| editor.calls("terminal/release").len() == 1).await;
    // Dropped while it runs.
    let mut process = stage.system.spawn(command("x")).await.unwrap();
    let waiting = tokio::spawn(async move { process.wait().await });
    stage.editor().until(|editor| editor.calls("terminal/wait_for_exit").len() == 1).await;
    waiting.abort();
    stage.editor().until(|editor| editor.calls("terminal/release").len() == 2).await;
    stage.settle().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_releases_the_terminal() {
    let stage = stage(EditorScript::full().command("x", TerminalScript::hangs(""))).await;
    let process = stage.system.spawn(command("x")).await.unwrap();
    let holder = tokio::spawn(async move {
        let _process = process;
        panic!("on purpose");
    });
    assert!(holder.await.unwrap_err().is_panic());
    stage.settle().await;
    assert_eq!(stage.editor().calls("terminal/release").len(), 1);
}

/// Twenty concurrent commands, polled for a minute and then ended.
#[tokio::test(start_paused = true)]
async fn terminals_are_polled_at_most_five_times_a_second_and_not_after_their_end() {
    let stage = stage(EditorScript::full().command("x", TerminalScript::hangs("running"))).await;
    let polls = || stage.editor().calls("terminal/output");
    let mut running = Vec::new();
    for _ in 0..20 {
        let mut process = stage.system.spawn(command("x")).await.unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let watched = tokio::spawn(async move {
            let watching = async { while process.next_output().await.is_some() {} };
            tokio::select! {
                () = watching => panic!("it ended by itself"),
                _ = ended => {}
            }
            process.kill().await;
            process
        });
        running.push((end, watched));
    }
    let mut before = 0;
    let mut seconds = Vec::new();
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = polls();
        for number in 1..=20 {
            let of = |poll: &&Value| poll["terminalId"] == format!("term_{number}");
            let polls = now[before..].iter().filter(of).count();
            assert!(polls <= 5, "term_{number} was polled {polls} times in a second");
        }
        seconds.push(now.len() - before);
        before = now.len();
    }
    assert!(seconds[59] <= 20, "an old command is looked at once a second: {seconds:?}");
    let mut ended = Vec::new();
    for (end, watched) in running {
        end.send(()).unwrap();
        ended.push(watched.await.unwrap());
    }
    let after = polls().len();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(polls().len(), after, "polling stopped");
    drop(ended);
    stage.settle().await;
}

#[tokio::test(start_paused = true)]
async fn errors_of_kill_and_release_are_not_fatal() {
    let script = EditorScript::full()
        .command("x", TerminalScript::exits("out", 0))
        .fault("terminal/kill", Fault::Error(-32603, "no"));
    let stage = stage(script).await;
    let mut process = stage.system.spawn(command("x")).await.unwrap();
    process.kill().await;
    assert_eq!(process.wait().await.unwrap().code, Some(0));
    drop(process);
    stage.settle().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_disconnects_ends_the_command() {
    let script = EditorScript::full().command("x", TerminalScript::hangs(""));
    let mut stage = stage(script).await;
    let mut process = stage.system.spawn(command("x")).await.unwrap();
    // It disconnects without a response; its terminals end with it.
    std::mem::forget(stage.editor.take().map(Editor::close));
    let _end = std::mem::replace(&mut stage._end, oneshot::channel().0);
    drop(_end);
    let error = process.wait().await.unwrap_err();
    assert!(error.to_string().contains("closed the connection"), "{error}");
    assert_eq!(output(&mut process).await, "");
}

/// Programs that this program itself needs, such as git for worktrees, run beside the files.
#[tokio::test]
async fn piped_programs_run_beside_the_files() {
    let git = || PipedCommand {
        program: "git".to_owned(),
        args: vec!["status".to_owned()],
        cwd: AbsPath::new("/w").unwrap(),
        inherit: Vec::new(),
        env: Vec::new(),
        error_limit: 100,
        confinement: Confinement::Lifted,
        apart_from: Vec::new(),
    };
    let started = |stage: &Stage| {
        let calls = stage.disk.calls();
        calls.iter().filter(|call| call.operation == "spawn_piped").count()
    };
    let stage = stage(EditorScript::full()).await;
    // The fake machine itself has no pipes.
    assert!(matches!(stage.system.spawn_piped(git()).await, Err(SystemError::NoPipes { .. })));
    assert_eq!(started(&stage), 1, "on the local machine");
    stage.system.capabilities.tools.change(ClientTools::Ide);
    assert!(matches!(stage.system.spawn_piped(git()).await, Err(SystemError::NoPipes { .. })));
    assert_eq!(started(&stage), 1, "the editor's files are elsewhere");
}
