//! Commands of a session: in the background, in another directory, with more output than a result
//! holds.

use crate::stage::{Setting, Stage, stage};
use agent::{
    Content, CreateSession, LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest, OpenSession,
    PermissionMode, PermissionOptions, PermissionOutcome, PermissionRules, Runtime, RuntimeOptions,
    SandboxOptions, SessionEvent, StopReason, Surface,
    fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply},
};
use futures::stream::BoxStream;
use serde_json::json;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use system::{AbsPath, FakeSystem, fake::Script};

fn bash(arguments: serde_json::Value) -> Reply {
    Reply::calls(&[("bash", arguments)])
}

#[tokio::test(start_paused = true)]
async fn a_command_in_the_background_outlives_its_turn_and_not_its_session() {
    let script = vec![
        bash(json!({"command": "npm run dev", "background": true})),
        Reply::text("started"),
        Reply::calls(&[("shell_read", json!({"session_id": "sh_1"}))]),
        Reply::text("runs"),
    ];
    let Stage { model, system, session, .. } =
        &stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    system.on_command("npm run dev", |_| Script::hangs().prints("listening\n"));
    for prompt in ["start it", "does it run?"] {
        let outcome = session.prompt(vec![Content::text(prompt)]).await.unwrap();
        assert_eq!(outcome.stop_reason, StopReason::EndTurn);
        assert_eq!(system.running(), ["npm run dev"]);
    }
    let said = format!("{:?}", model.requests().last().unwrap().messages);
    assert!(said.contains("(no new output)\\n(sh_1 is running)"), "{said}");
    session.close().await;
    assert!(system.running().is_empty(), "{:?}", system.running());
}

#[tokio::test(start_paused = true)]
async fn the_next_request_tells_of_a_background_command_that_ended() {
    let script = vec![
        bash(json!({"command": "npm run dev", "background": true, "timeout": 30})),
        Reply::text("started"),
        Reply::text("I see"),
        Reply::text("yes"),
    ];
    let Stage { model, system, session, .. } =
        &stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    system.on_command("npm run dev", |_| Script::hangs().prints("listening\n"));
    session.prompt(vec![Content::text("start it")]).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    for prompt in ["go on", "and now?"] {
        session.prompt(vec![Content::text(prompt)]).await.unwrap();
        // Once, and from then on as part of the conversation.
        let said = format!("{:?}", model.requests().last().unwrap().messages);
        let news = "[Background bash command 'sh_1' failed (timed out, 30s)]\\nCommand: npm run dev";
        assert_eq!(said.matches(news).count(), 1, "{said}");
    }
}

#[tokio::test]
async fn a_command_in_a_folder_outside_of_the_project_asks_and_one_inside_does_not() {
    let script = vec![
        bash(json!({"command": "pwd", "cwd": "sub"})),
        bash(json!({"command": "pwd", "cwd": "../elsewhere"})),
        Reply::text("done"),
    ];
    let answers = vec![Some(PermissionOutcome::RejectOnce)];
    let stage = stage(Setting { script, answers, ..Setting::default() }).await;
    for folder in ["/w/sub/file", "/elsewhere/file"] {
        stage.system.add_file(folder, "");
    }
    stage.system.on_command("pwd", |command| Script::exits(0).prints(command.cwd.as_str()));
    stage.prompt("where?").await.unwrap();
    let asked: Vec<_> = stage.client.requests().into_iter().map(|request| request.question).collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("'/elsewhere', outside the project root"), "{asked:?}");
    let said = format!("{:?}", stage.model.requests().last().unwrap().messages);
    assert!(said.contains("/w/sub\\nExit code: 0"), "{said}");
}

/// A model that reads the path in the result of its first call.
struct Follows {
    info: ModelInfo,
    requests: Mutex<Vec<String>>,
}

impl LanguageModel for Follows {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let said = format!("{:?}", request.messages);
        let place = said.split_once("All of it is in ").map(|(_, rest)| rest.split(':').next().unwrap());
        let mut requests = self.requests.lock().unwrap();
        let reply = match (requests.len(), place) {
            (0, _) => bash(json!({"command": "cargo build"})),
            (1, Some(place)) => Reply::calls(&[
                ("file_read", json!({"path": place, "offset": 3_000, "limit": 1})),
                ("grep", json!({"path": place, "pattern": "line 3500$"})),
            ]),
            _ => Reply::text("done"),
        };
        requests.push(said.clone());
        FakeModel::new([reply]).stream(request)
    }
}

#[tokio::test]
async fn what_a_long_result_leaves_out_is_read_and_searched_without_a_question() {
    let info = FakeModel::new([]).info().clone();
    let model = Arc::new(Follows { info, requests: Mutex::default() });
    let system = Arc::new(FakeSystem::new());
    system.add_file("/w/a.txt", "one\n");
    let all: String = (1..=5_000).map(|line| format!("line {line}\n")).collect();
    system.on_command("cargo build", move |_| Script::exits(0).prints(&all));
    let options = RuntimeOptions {
        permissions: PermissionOptions {
            rules: PermissionRules {
                allow: vec!["bash(cargo *)".parse().unwrap()],
                ..PermissionRules::default()
            },
            ..PermissionOptions::default()
        },
        sandbox: SandboxOptions { temp: AbsPath::new("/kept").ok(), ..SandboxOptions::default() },
        ..RuntimeOptions::default()
    };
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, options);
    // The client answers no permission request: there must be none.
    let surface = Surface { client: FakeClient::new([]), system: system.clone() };
    let cwd = AbsPath::new("/w").unwrap();
    let new = CreateSession { cwd, additional_directories: Vec::new(), servers: Vec::new() };
    let session = runtime.create(new, |_| surface).await.unwrap();
    session.prompt(vec![Content::text("build")]).await.unwrap();
    let requests = model.requests.lock().unwrap().clone();
    let id = session.id().as_str();
    let place = format!("/kept/{}/outputs/", id.splitn(4, '-').last().unwrap());
    assert!(requests[1].contains(&place) && requests[1].contains("line 1\\n"), "{}", requests[1]);
    assert!(requests[1].contains("line 5000\\n") && !requests[1].contains("line 3500\\n"));
    assert!(requests[2].contains("3000\\tline 3000"), "{}", requests[2]);
    assert!(requests[2].contains(":3500:line 3500"), "{}", requests[2]);
}

/// The messages about background commands that the client received.
fn changes(stage: &Stage) -> Vec<String> {
    let change = |event| match event {
        SessionEvent::Shell(shell) => Some(shell.message()),
        _ => None,
    };
    stage.client.events().into_iter().filter_map(change).collect()
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_background_command_is_shown_between_turns_and_known_to_the_model() {
    let script = vec![
        bash(json!({"command": "npm test", "background": true, "timeout": 5})),
        Reply::text("started"),
        Reply::text("I see"),
    ];
    let stage =
        stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    stage.system.on_command("npm test", |_| Script::hangs().prints("one\n"));
    stage.prompt("start it").await.unwrap();
    let end = "[Background bash command 'sh_1' failed (timed out, 5s)]\nCommand: npm test";
    stage.client.until(|client| client.events().iter().any(|e| matches!(e, SessionEvent::Notice { title, .. } if title == "Background command sh_1 failed (timed out, 5s)"))).await;
    assert_eq!(changes(&stage), ["[Background bash command 'sh_1' runs (1s)]\nCommand: npm test", end]);
    stage.prompt("/shells").await.unwrap();
    assert!(stage.client.text().ends_with("- `sh_1` failed (timed out, 5s): `npm test`\n"));
    stage.prompt("go on").await.unwrap();
    let known = format!("{:?}", stage.model.requests().last().unwrap().messages);
    assert!(known.contains(&format!("<background>\\n{}", end.replace('\n', "\\n"))), "{known}");
}

#[tokio::test(start_paused = true)]
async fn the_user_looks_at_a_background_command_and_stops_it() {
    let script = vec![
        bash(json!({"command": "npm run dev", "background": true})),
        Reply::text("started"),
        Reply::text("I see"),
    ];
    let stage =
        stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    stage.system.on_command("npm run dev", |_| Script::hangs().prints("listening\n"));
    stage.prompt("/shells").await.unwrap();
    assert!(stage.client.text().ends_with("There are no background commands."));
    stage.prompt("start it").await.unwrap();
    stage.prompt("/shells show sh_1").await.unwrap();
    assert!(stage.client.text().ends_with("`npm run dev`\n```\nlistening\n```\n"), "{}", stage.client.text());
    let (shell, output) = stage.session.shell_output("sh_1").unwrap();
    assert_eq!((shell.end, output.as_str()), (None, "listening\n"), "what was read is still shown");
    stage.prompt("/shells stop sh_2").await.unwrap();
    assert!(stage.client.text().ends_with("There is no background command 'sh_2'. There are: sh_1."));
    stage.prompt("/shells stop all").await.unwrap();
    assert!(stage.system.running().is_empty());
    stage.prompt("/shells stop all").await.unwrap();
    assert!(stage.client.text().ends_with("No background command was running."));
    stage.prompt("go on").await.unwrap();
    let known = format!("{:?}", stage.model.requests().last().unwrap().messages);
    assert!(known.contains("[Background bash command 'sh_1' was stopped ("), "{known}");
}

#[tokio::test(start_paused = true)]
async fn a_kept_command_outlives_its_session_and_not_its_process() {
    let keep = || bash(json!({"command": "npm run dev", "background": true, "keep": true}));
    let script = vec![
        keep(),
        bash(json!({"command": "watch", "background": true})),
        Reply::text("started"),
        Reply::calls(&[("shell", json!({"action": "list"}))]),
        keep(),
        Reply::text("runs"),
    ];
    let stage =
        stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    for command in ["npm run dev", "watch"] {
        stage.system.on_command(command, |_| Script::hangs());
    }
    stage.prompt("start it").await.unwrap();
    let titles = stage.client.events().into_iter().filter_map(|event| match event {
        SessionEvent::ToolCall(update) => update.display.title,
        _ => None,
    });
    assert_eq!(titles.collect::<Vec<_>>()[0], "Run npm run dev (keeps running)");
    stage.session.close().await;
    assert_eq!(stage.system.running(), ["npm run dev"]);
    let surface = Surface { client: stage.client.clone(), system: stage.system.clone() };
    let session = stage.runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    session.prompt(vec![Content::text("does it run?")]).await.unwrap();
    let known = format!("{:?}", stage.model.requests().last().unwrap().messages);
    assert!(known.contains("sh_1 runs for") && !known.contains("sh_2 runs for"), "{known}");
    assert!(known.contains("Runs in the background as sh_2. It keeps running"), "{known}");
    stage.runtime.shutdown().await;
    assert!(stage.system.running().is_empty(), "{:?}", stage.system.running());
}

#[tokio::test]
async fn keeping_an_unconfined_command_asks_whatever_it_is() {
    let script = vec![
        bash(json!({"command": "ls", "background": true})),
        bash(json!({"command": "ls", "background": true, "keep": true})),
        Reply::text("done"),
    ];
    let answers = vec![Some(PermissionOutcome::RejectOnce)];
    let stage = stage(Setting { script, answers, ..Setting::default() }).await;
    stage.system.on_command("ls", |_| Script::exits(0));
    stage.prompt("go").await.unwrap();
    let asked: Vec<_> = stage.client.requests().into_iter().map(|request| request.question).collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("it keeps running when the session closes"), "{asked:?}");
}
