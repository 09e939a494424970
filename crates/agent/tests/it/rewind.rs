//! Rewinds: the user undoes changes that tools made to files.

use crate::stage::{Setting, Stage, stage};
use agent::fake::{FakeClient, FakeModel, FakeModels, Reply};
use agent::{
    Content, Message, OpenSession, PermissionMode, RewindError, RewindReport, RewindTarget, Runtime,
    RuntimeOptions, SessionEvent, Surface,
};
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, System};

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("file_write", json!({"path": path, "content": content}))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("file_edit", json!({"path": path, "old_string": old, "new_string": new}))
}

fn patch(patch: &str) -> (&'static str, Value) {
    ("apply_patch", json!({"patch": format!("*** Begin Patch\n{patch}\n*** End Patch")}))
}

/// A session with one turn per call, after a turn with a command whose changes are not recorded.
async fn turns(calls: &[(&str, Value)]) -> Stage {
    let mut script = vec![Reply::calls(&[("bash", json!({"command": "touch"}))]), Reply::text("ok")];
    for call in calls {
        script.extend([Reply::calls(std::slice::from_ref(call)), Reply::text("ok")]);
    }
    script.push(Reply::text("last"));
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script, permission_mode, ..Setting::default() }).await;
    stage.system.on_command("touch", |_| system::fake::Script::exits(0));
    for turn in 0..=calls.len() {
        stage.prompt(&format!("turn {}", turn + 1)).await.unwrap();
    }
    stage.system.add_file("/w/by_hand.txt", "mine\n");
    stage
}

/// Sends one more prompt and returns the messages of the request that follows.
async fn end(stage: &Stage) -> Vec<Message> {
    stage.prompt("on").await.unwrap();
    stage.model.requests().last().unwrap().messages.clone()
}

fn files(stage: &Stage) -> Vec<(&'static str, Option<String>)> {
    ["/w/a.txt", "/w/b.txt", "/w/new.txt", "/w/moved.txt", "/w/by_hand.txt"]
        .map(|path| (path, stage.system.text_of(path)))
        .to_vec()
}

fn names(paths: &[AbsPath]) -> Vec<&str> {
    paths.iter().map(|path| path.as_str()).collect()
}

async fn rewind(stage: &Stage, to: u64) -> RewindReport {
    stage.session.rewind(RewindTarget::Turn(to)).await.unwrap()
}

#[tokio::test]
async fn a_rewind_restores_what_tools_changed_and_a_redo_undoes_it() {
    let stage = turns(&[
        edit("a.txt", "one", "ONE"),
        write("new.txt", "new\n"),
        patch("*** Update File: a.txt\n@@\n-two\n+TWO\n*** Delete File: b.txt"),
        patch("*** Update File: new.txt\n*** Move to: moved.txt\n@@\n-new\n+moved"),
    ])
    .await;
    let checkpoints = stage.runtime.checkpoints(stage.session.id()).await.unwrap();
    let listed: Vec<_> = checkpoints.iter().map(|c| (c.turn, c.prompt.as_str(), names(&c.files))).collect();
    assert_eq!(
        listed,
        [
            (2, "turn 2", vec!["/w/a.txt"]),
            (3, "turn 3", vec!["/w/new.txt"]),
            (4, "turn 4", vec!["/w/a.txt", "/w/b.txt"]),
            (5, "turn 5", vec!["/w/moved.txt", "/w/new.txt"]),
        ]
    );
    let after = files(&stage);
    assert_eq!(after[3].1.as_deref(), Some("moved\n"));

    let report = rewind(&stage, 3).await;
    assert_eq!(names(&report.restored), ["/w/a.txt", "/w/b.txt", "/w/moved.txt", "/w/new.txt"]);
    let text = |path: &str| stage.system.text_of(path);
    assert_eq!(text("/w/a.txt").as_deref(), Some("ONE\ntwo\n"));
    assert_eq!(text("/w/b.txt").as_deref(), Some("three\n"));
    assert_eq!((text("/w/new.txt").as_deref(), text("/w/moved.txt")), (Some("new\n"), None));

    let report = rewind(&stage, 0).await;
    assert_eq!(names(&report.restored), ["/w/a.txt", "/w/new.txt"]);
    assert_eq!((text("/w/a.txt").as_deref(), text("/w/new.txt")), (Some("one\ntwo\n"), None));
    assert_eq!(text("/w/by_hand.txt").as_deref(), Some("mine\n"), "nobody's business");
    assert_eq!(rewind(&stage, 0).await, RewindReport::default(), "it is so already");

    for _ in 0..2 {
        stage.session.rewind(RewindTarget::Redo).await.unwrap();
    }
    assert_eq!(files(&stage), after);
    assert_eq!(stage.session.rewind(RewindTarget::Redo).await, Err(RewindError::NothingToRedo));
    let no_turn = Err(RewindError::NoTurn { turn: 6, last: 5 });
    assert_eq!(stage.session.rewind(RewindTarget::Turn(6)).await, no_turn);
    let messages = end(&stage).await;
    let notes = messages.iter().filter(|message| {
        matches!(message, Message::User(content) if matches!(&content[..], [Content::Text(text)] if text.starts_with("[The user")))
    });
    assert_eq!(notes.count(), 4, "the model knows");
}

#[tokio::test]
async fn what_the_user_changed_since_stays_and_conflicts_are_told() {
    let stage = turns(&[
        write("new.txt", "1\n2\n3\n4\n5\n6\n"),
        edit("new.txt", "2\n", "two\n"),
        edit("a.txt", "one", "ONE"),
        edit("b.txt", "three", "THREE"),
    ])
    .await;
    stage.system.add_file("/w/new.txt", "1\ntwo\n3\n4\n5\nsix\n");
    stage.system.add_file("/w/a.txt", "mine\ntwo\n");
    let report = rewind(&stage, 2).await;
    assert_eq!(names(&report.merged), ["/w/new.txt"]);
    assert_eq!(names(&report.restored), ["/w/b.txt"]);
    assert_eq!(report.left.len(), 1);
    assert!(report.left[0].0.as_str() == "/w/a.txt" && report.left[0].1.contains("same lines"), "{report:?}");
    assert_eq!(stage.system.text_of("/w/new.txt").as_deref(), Some("1\n2\n3\n4\n5\nsix\n"));
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("mine\ntwo\n"));
    // A file that tools created and the user changed is not removed.
    let report = rewind(&stage, 0).await;
    assert!(
        report.left.iter().any(|(path, reason)| path.as_str() == "/w/new.txt" && reason.contains("manually"))
    );
    stage.session.rewind(RewindTarget::Redo).await.unwrap();
    assert_eq!(stage.system.text_of("/w/new.txt").as_deref(), Some("1\ntwo\n3\n4\n5\nsix\n"));
    end(&stage).await;
}

#[tokio::test]
async fn s12_a_link_in_the_way_is_not_followed() {
    let stage = turns(&[write("new.txt", "new\n"), edit("a.txt", "one", "ONE")]).await;
    stage.system.add_file("/elsewhere/a.txt", "ONE\ntwo\n");
    stage.system.remove(&AbsPath::new("/w/a.txt").unwrap()).await.unwrap();
    stage.system.add_link("/w/a.txt", "/elsewhere/a.txt");
    stage.system.remove(&AbsPath::new("/w/new.txt").unwrap()).await.unwrap();
    stage.system.add_file("/elsewhere/new.txt", "new\n");
    stage.system.add_link("/w/new.txt", "/elsewhere/new.txt");
    let report = rewind(&stage, 0).await;
    assert_eq!((report.left.len(), report.restored.len()), (2, 0), "{report:?}");
    assert_eq!(stage.system.text_of("/elsewhere/a.txt").as_deref(), Some("ONE\ntwo\n"));
    assert_eq!(stage.system.text_of("/elsewhere/new.txt").as_deref(), Some("new\n"));
    end(&stage).await;
}

#[tokio::test]
async fn the_slash_command_rewinds_and_is_no_news_to_the_model_but_its_effect_is() {
    let stage = turns(&[edit("a.txt", "one", "ONE")]).await;
    stage.prompt("/rewind").await.unwrap();
    assert!(stage.client.text().contains("- 2: turn 2 (`/w/a.txt`)"), "{}", stage.client.text());
    stage.prompt("/rewind 1").await.unwrap();
    assert!(stage.client.text().contains("restored `/w/a.txt`"));
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"));
    stage.prompt("/rewind 99").await.unwrap();
    assert!(stage.client.text().contains("Nothing was changed: there is no turn 99"));
    stage.runtime.shutdown().await;

    // The same, read from the log by another process.
    let model = FakeModel::new([Reply::text("on")]);
    let models = Arc::new(FakeModels(model.clone()));
    let runtime = Runtime::new(stage.store.clone(), models, RuntimeOptions::default());
    let surface = Surface { client: FakeClient::new([]), system: stage.system.clone() };
    let session = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    session.rewind(RewindTarget::Redo).await.unwrap();
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("ONE\ntwo\n"));
    session.prompt(vec![Content::text("on")]).await.unwrap();
    let users: Vec<String> = model.requests()[0]
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::User(content) => Some(format!("{content:?}")),
            Message::Assistant(_) => None,
        })
        .collect();
    assert!(users.iter().all(|text| !text.contains("/rewind")), "{users:?}");
    assert_eq!(users.iter().filter(|text| text.contains("/w/a.txt")).count(), 2, "{users:?}");
    let _ = stage.model.requests();
    drop(session);
    let unused =
        stage.runtime.open(stage.session.id(), OpenSession { take_over: true, ..Default::default() }, |_| {
            Surface { client: FakeClient::new([]), system: stage.system.clone() }
        });
    unused.await.unwrap().prompt(vec![Content::text("on")]).await.unwrap();
}

/// Applies a patch of two files in which the operation with this number fails; returns the
/// operations.
async fn patched(failing: Option<usize>) -> (Stage, Vec<&'static str>) {
    let both = patch("*** Update File: a.txt\n@@\n-one\n+ONE\n*** Update File: b.txt\n@@\n-three\n+THREE");
    let script = vec![Reply::calls(&[both]), Reply::text("ok")];
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script, permission_mode, ..Setting::default() }).await;
    let before = stage.system.calls().len();
    failing.into_iter().for_each(|nth| stage.system.fail_nth(nth));
    stage.prompt("go").await.unwrap();
    let operations = stage.system.calls()[before..].iter().map(|call| call.operation).collect();
    (stage, operations)
}

#[tokio::test]
async fn what_a_call_changed_before_it_failed_is_taken_back_too() {
    let (_, operations) = patched(None).await;
    let last_write = operations.iter().rposition(|operation| *operation == "replace_text").unwrap();
    let (stage, _) = patched(Some(last_write + 1)).await;
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("ONE\ntwo\n"));
    let changes = stage.stored().await.into_iter().filter_map(|event| match event {
        SessionEvent::FileChanged(change) => Some(change.path),
        _ => None,
    });
    assert_eq!(names(&changes.collect::<Vec<_>>()), ["/w/a.txt"]);
    rewind(&stage, 0).await;
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"));
}

#[tokio::test]
async fn nothing_is_taken_back_under_a_running_turn() {
    let script = vec![Reply::Hang(vec![])];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let busy = async {
        let asked = |e: &SessionEvent| matches!(e, SessionEvent::Phase(agent::Phase::Thinking));
        stage.client.until(|client| client.events().iter().any(asked)).await;
        assert_eq!(stage.session.rewind(RewindTarget::Turn(0)).await, Err(RewindError::Busy));
        stage.session.cancel();
    };
    let (_, ()) = tokio::join!(stage.prompt("go"), busy);
    stage.session.close().await;
    assert_eq!(stage.session.rewind(RewindTarget::Turn(0)).await, Err(RewindError::Closed));
}
