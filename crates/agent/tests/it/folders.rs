//! Projects below symbolic links: the real path decides, the spelled one is shown.

use crate::stage::{Setting, Stage, stage};
use agent::fake::{FakeClient, Reply};
use agent::{
    Content, CreateSession, PermissionMode, PermissionOutcome, SessionEvent, SessionHandle, Surface,
};
use serde_json::{Value, json};
use std::sync::Arc;
use system::AbsPath;

fn write(path: &str) -> (&'static str, Value) {
    ("file_write", json!({"path": path, "content": "new\n"}))
}

/// Opens a session in `/link/w`, where `/link` leads to `/real`, and lets it make these calls.
async fn linked(calls: &[(&'static str, Value)]) -> (Stage, SessionHandle, Arc<FakeClient>) {
    let script = vec![Reply::text("begun"), Reply::calls(calls), Reply::text("ok")];
    let permission_mode = PermissionMode::Guardian;
    let stage = stage(Setting { script, permission_mode, ..Setting::default() }).await;
    stage.system.add_file("/real/w/a.txt", "one\n");
    stage.system.add_file("/else/b.txt", "two\n");
    stage.system.add_link("/link", "/real");
    stage.system.add_link("/real/w/out", "/else");
    stage.system.add_link("/real/w/in", "/real/w/sub");
    let client = FakeClient::new([Some(PermissionOutcome::RejectOnce); 2]);
    let surface = Surface { client: client.clone(), system: stage.system.clone() };
    let new = CreateSession {
        cwd: AbsPath::new("/link/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let session = stage.runtime.create(new, |_| surface).await.unwrap();
    session.prompt(vec![Content::text("Begin")]).await.unwrap();
    (stage, session, client)
}

fn questions(client: &FakeClient) -> Vec<String> {
    let question = |event| match event {
        SessionEvent::PermissionRequested { question, .. } => Some(question),
        _ => None,
    };
    client.events().into_iter().filter_map(question).collect()
}

#[tokio::test]
async fn edits_below_a_linked_project_are_not_asked_about() {
    let calls = [write("new.txt"), write("/link/w/sub/x.txt"), write("/real/w/y.txt")];
    let (stage, session, client) = linked(&calls).await;
    session.prompt(vec![Content::text("Go")]).await.unwrap();
    assert_eq!(questions(&client), Vec::<String>::new());
    for path in ["/real/w/new.txt", "/real/w/sub/x.txt", "/real/w/y.txt"] {
        assert_eq!(stage.system.text_of(path).as_deref(), Some("new\n"), "{path}");
    }
}

#[tokio::test]
async fn links_that_lead_out_of_it_are_asked_about() {
    let (stage, session, client) = linked(&[write("out/new.txt"), write("in/c.txt")]).await;
    session.prompt(vec![Content::text("Go")]).await.unwrap();
    let questions = questions(&client);
    assert_eq!(
        questions.first().map(String::as_str),
        Some("Path '/link/w/out/new.txt' is outside the project root. Allow?")
    );
    assert_eq!(stage.system.text_of("/else/new.txt"), None);
}

#[tokio::test]
async fn a_link_changed_later_leads_the_session_nowhere() {
    let (stage, session, client) = linked(&[write("new.txt")]).await;
    stage.system.add_file("/other/w/a.txt", "theirs\n");
    stage.system.add_link("/link", "/other");
    session.prompt(vec![Content::text("Go")]).await.unwrap();
    assert!(!questions(&client).is_empty(), "it is another folder now");
    assert_eq!(stage.system.text_of("/other/w/new.txt"), None);
}
