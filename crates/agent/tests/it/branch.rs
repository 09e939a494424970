//! What git has checked out in a session's directory: read without git, sent to the client, stored.

use crate::stage::{Setting, Stage, stage};
use agent::{SessionEvent, SessionStore as _, fake::Reply};

/// The branches that were sent to the client.
fn sent(stage: &Stage) -> Vec<Option<String>> {
    let events = stage.client.events().into_iter();
    let branch = |event| match event {
        SessionEvent::BranchChanged(branch) => Some(branch),
        _ => None,
    };
    events.filter_map(branch).collect()
}

/// Waits until the store has this branch; the session's state, and what was sent to the client must
/// agree.
async fn stores(stage: &Stage, branch: &str) {
    loop {
        let record = stage.store.get(stage.session.id()).await.unwrap();
        if record.branch.as_deref() == Some(branch) {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.session.state().branch.as_deref(), Some(branch));
    assert_eq!(sent(stage).last(), Some(&Some(branch.to_owned())));
}

#[tokio::test]
async fn the_branch_is_read_when_a_session_begins_and_when_a_turn_ends() {
    let script = vec![Reply::text("one"), Reply::text("two"), Reply::text("three")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.system.add_file("/w/.git/HEAD", "ref: refs/heads/main\n");
    // The session's task has not run yet, so this is there when it begins.
    stores(&stage, "main").await;
    stage.prompt("a").await.unwrap();
    stage.system.add_file("/w/.git/HEAD", "ref: refs/heads/feature/x\n");
    stage.prompt("b").await.unwrap();
    stores(&stage, "feature/x").await;
    stage.system.add_file("/w/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
    stage.prompt("c").await.unwrap();
    stores(&stage, "(0123456)").await;
    let expected = ["main", "feature/x", "(0123456)"].map(|branch| Some(branch.to_owned()));
    assert_eq!(sent(&stage), expected, "only changes are sent");
}

#[tokio::test]
async fn a_directory_without_a_repository_has_no_branch() {
    let stage = stage(Setting { script: vec![Reply::text("one")], ..Setting::default() }).await;
    stage.prompt("a").await.unwrap();
    stage.runtime.shutdown().await;
    assert_eq!(sent(&stage), []);
    assert_eq!(stage.store.get(stage.session.id()).await.unwrap().branch, None);
}
