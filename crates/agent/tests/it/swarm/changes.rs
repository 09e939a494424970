//! Changes of files that subagents make: they belong to the session that has them.

use super::{Cast, Play, Scene, batch, play, subagent};
use agent::{
    Content, PermissionMode, RewindTarget, SessionEvent, ToolCallUpdate, ToolContent, ToolStatus,
    fake::{FakeClient, Reply},
};
use serde_json::{Value, json};

fn cast() -> Cast {
    Cast { permission_mode: PermissionMode::Prometheus, ..Cast::default() }
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("file_edit", json!({"path": "a.txt", "old_string": old, "new_string": new}))
}

fn write(path: &str) -> (&'static str, Value) {
    ("file_write", json!({"path": path, "content": "new\n"}))
}

/// A subagent that edits a file and creates another one.
async fn changed(mode: &'static str) -> Play {
    let play = play(cast(), move |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, 0) => Reply::calls(&[edit("one", "ONE")]),
        (true, 1) => Reply::calls(&[write("new.txt")]),
        (true, _) => Reply::text("Done."),
        (false, 0) => subagent(json!({"task": "change", "type": "general", "id": "g", "mode": mode})),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    play
}

/// Returns the updates of the session's `subagent` calls that show a diff.
fn with_diffs(client: &FakeClient) -> Vec<ToolCallUpdate> {
    let update = |event| match event {
        SessionEvent::ToolCall(update) if update.name == "subagent" => Some(update),
        _ => None,
    };
    let updates = client.events().into_iter().filter_map(update);
    updates.filter(|update| !diffs(update).is_empty()).collect()
}

fn diffs(update: &ToolCallUpdate) -> Vec<(&str, Option<&str>, Option<&str>)> {
    let shown = update.display.content.iter().flatten();
    let diffs = shown.filter_map(|content| match content {
        ToolContent::Diff(diff) => {
            Some((diff.path.as_str(), diff.old_text.as_deref(), diff.new_text.as_deref()))
        }
        _ => None,
    });
    diffs.collect()
}

fn places(update: &ToolCallUpdate) -> Vec<(&str, Option<usize>)> {
    let locations = update.display.locations.iter().flatten();
    locations.map(|location| (location.path.as_str(), location.line)).collect()
}

#[tokio::test]
async fn rewinds_what_a_subagent_changed() {
    let play = changed("await").await;
    let checkpoints = play.runtime.checkpoints(play.session.id()).await.unwrap();
    let files: Vec<_> =
        checkpoints.iter().flat_map(|checkpoint| &checkpoint.files).map(|path| path.as_str()).collect();
    assert_eq!(files, ["/w/a.txt", "/w/new.txt"]);
    let text = |path: &str| play.system.text_of(path);
    assert_eq!(text("/w/a.txt").as_deref(), Some("ONE\ntwo\n"));
    play.session.rewind(RewindTarget::Turn(0)).await.unwrap();
    assert_eq!((text("/w/a.txt").as_deref(), text("/w/new.txt")), (Some("one\ntwo\n"), None));
    play.session.rewind(RewindTarget::Redo).await.unwrap();
    let after = (text("/w/a.txt"), text("/w/new.txt"));
    assert_eq!(after, (Some("ONE\ntwo\n".to_owned()), Some("new\n".to_owned())));
}

#[tokio::test]
async fn its_call_shows_the_paths_and_the_diffs() {
    let play = changed("await").await;
    let updates = with_diffs(&play.client);
    let last = updates.last().expect("it shows diffs");
    assert_eq!(last.status, Some(ToolStatus::Completed));
    assert_eq!(
        diffs(last),
        [("/w/a.txt", Some("one\ntwo\n"), Some("ONE\ntwo\n")), ("/w/new.txt", None, Some("new\n"))]
    );
    assert_eq!(places(last), [("/w/a.txt", Some(1)), ("/w/new.txt", Some(1))]);
    let by = play.client.events().into_iter().filter_map(|event| match event {
        SessionEvent::FileChanged(change) => change.agent,
        _ => None,
    });
    assert_eq!(by.collect::<Vec<_>>(), ["g", "g"]);
}

#[tokio::test]
async fn a_background_call_shows_them_when_it_ends() {
    let play = changed("background").await;
    let updates = with_diffs(&play.client);
    let last = updates.last().expect("it shows diffs");
    assert_eq!((last.status, diffs(last).len()), (Some(ToolStatus::Completed), 2));
    assert_eq!(last.result.as_ref().unwrap().text, "Subagent 'g' changed 2 files.");
    let mut stored = Vec::new();
    play.runtime.replay(play.session.id(), &mut |event| stored.push(event.clone())).await.unwrap();
    assert!(stored.contains(&SessionEvent::ToolCall(last.clone())), "a replay shows them too");
}

#[tokio::test]
async fn changes_of_every_level_belong_to_the_session() {
    let play = play(cast(), |scene: &Scene| match scene.round {
        0 if scene.is("outer") => subagent(json!({"task": "inner", "type": "general"})),
        0 if scene.is("inner") => Reply::calls(&[write("new.txt")]),
        _ if scene.is_subagent() => Reply::text("Done."),
        0 => batch(json!([{"task": "outer", "type": "general"}])),
        _ => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let updates = with_diffs(&play.client);
    assert_eq!(diffs(updates.last().unwrap()), [("/w/new.txt", None, Some("new\n"))]);
    play.session.rewind(RewindTarget::Turn(0)).await.unwrap();
    assert_eq!(play.system.text_of("/w/new.txt"), None);
}

#[tokio::test]
async fn a_dead_process_loses_no_change_of_a_subagent() {
    let first = play(cast(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, 0) => Reply::calls(&[edit("one", "ONE")]),
        (true, _) => Reply::Hang(Vec::new()),
        (false, _) => subagent(json!({"task": "change", "type": "general"})),
    })
    .await;
    let _running = first.session.start(vec![Content::text("Go")]);
    first.until(|scene| scene.is_subagent() && scene.round == 1).await;
    let second = first.reopen(|_: &Scene| Reply::text("Ended.")).await;
    let checkpoints = second.runtime.checkpoints(second.session.id()).await.unwrap();
    let files: Vec<_> = checkpoints.iter().flat_map(|one| &one.files).map(|path| path.as_str()).collect();
    assert_eq!(files, ["/w/a.txt"]);
    second.system.add_file("/w/a.txt", "ONE\ntwo\n");
    second.session.rewind(RewindTarget::Turn(0)).await.unwrap();
    assert_eq!(second.system.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"));
}

#[tokio::test]
async fn a_cancelled_batch_keeps_what_has_ended() {
    let play = play(cast(), |scene: &Scene| match scene.round {
        0 if scene.is("quick") => Reply::calls(&[write("new.txt")]),
        _ if scene.is("quick") => Reply::text("Quick answer."),
        _ if scene.is("slow") => Reply::Hang(Vec::new()),
        0 => batch(json!([
            {"task": "quick", "type": "general", "id": "q"},
            {"task": "slow", "id": "s"},
        ])),
        _ => Reply::text("Ended."),
    })
    .await;
    let mut turn = play.session.start(vec![Content::text("Go")]);
    let ended = |event: &SessionEvent| matches!(event, SessionEvent::Subagent(state) if state.id == "q" && state.result.is_some());
    play.client.until(|client| client.events().iter().any(ended)).await;
    play.session.cancel();
    turn.settled().await.unwrap();
    let updates = with_diffs(&play.client);
    let last = updates.last().expect("it shows diffs");
    assert_eq!(last.status, Some(ToolStatus::Cancelled));
    play.prompt("On").await;
    let text = &last.result.as_ref().unwrap().text;
    assert!(text.starts_with("The call was cancelled. Until then:\n"), "{text}");
    assert!(text.contains("Agent 'q' completed:\nQuick answer."), "{text}");
    assert!(text.contains("Agent 's' failed: it was cancelled"), "{text}");
    assert!(!play.received()[0].contains("Quick answer."), "the result is not delivered twice");
}
