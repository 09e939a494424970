//! Which operations need approval, which do not, and the effects of the answer.

use crate::stage::{Setting, Stage, stage};
use agent::fake::Reply;
use agent::{
    Client, Content, CreateSession, PermissionMode, PermissionOutcome, PermissionRequest, SessionEvent,
    StopReason, Surface, ToolContent, ToolStatus,
};
use serde_json::json;
use std::sync::Arc;
use system::{AbsPath, FakeSystem, System};

fn edit() -> Reply {
    Reply::calls(&[("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"}))])
}

async fn argus(script: Vec<Reply>, answers: Vec<PermissionOutcome>) -> Stage {
    let answers = answers.into_iter().map(Some).collect();
    stage(Setting { script, answers, permission_mode: PermissionMode::Argus, ..Setting::default() }).await
}

#[tokio::test]
async fn an_approved_edit_is_shown_before_and_written_after_the_question() {
    let stage = argus(vec![edit(), Reply::text("ok")], vec![PermissionOutcome::AllowOnce]).await;
    stage.prompt("edit").await.unwrap();
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("1\ntwo\n"));
    let request = &stage.client.requests()[0];
    let [ToolContent::Diff(diff)] = request.content.as_slice() else { panic!("{request:?}") };
    assert_eq!((diff.old_text.as_deref(), diff.new_text.as_deref()), (Some("one\ntwo\n"), Some("1\ntwo\n")));
    assert_eq!(request.grant_label, "writing in /w in this session");
}

#[tokio::test]
async fn a_rejected_write_does_not_happen_and_the_model_is_told() {
    for outcome in [PermissionOutcome::RejectOnce, PermissionOutcome::RejectAlways] {
        let stage = argus(vec![edit(), Reply::text("ok")], vec![outcome]).await;
        assert_eq!(stage.prompt("edit").await.unwrap().stop_reason, StopReason::EndTurn);
        assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"));
        assert_eq!(stage.results(), ["User denied permission for 'file_edit'. Try a different approach."]);
        assert_eq!(stage.statuses(), [("tool_0".to_owned(), ToolStatus::Failed)]);
    }
}

#[tokio::test]
async fn a_dismissed_question_ends_the_turn() {
    let stage = argus(vec![edit()], vec![PermissionOutcome::Cancelled]).await;
    assert_eq!(stage.prompt("edit").await.unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"));
}

#[tokio::test]
async fn always_is_remembered_until_the_permission_mode_changes() {
    let test = || Reply::calls(&[("bash", json!({"command": "cargo test"}))]);
    let script = vec![test(), Reply::text("1"), test(), Reply::text("2"), test(), Reply::text("3")];
    let stage = argus(script, vec![PermissionOutcome::AllowAlways, PermissionOutcome::RejectOnce]).await;
    stage.prompt("test").await.unwrap();
    stage.prompt("test").await.unwrap();
    assert_eq!(stage.client.requests().len(), 1);
    assert_eq!(
        stage.client.requests()[0].grant_label,
        "`cargo test …` on this machine, unconfined, in this session"
    );
    stage.session.set_permission_mode(PermissionMode::Guardian).await.unwrap();
    stage.prompt("test").await.unwrap();
    assert_eq!(stage.client.requests().len(), 2);
}

#[tokio::test]
async fn guardian_writes_in_the_project_and_prometheus_runs_but_denials_hold() {
    let script = vec![
        edit(),
        Reply::calls(&[
            ("bash", json!({"command": "cargo test"})),
            ("bash", json!({"command": "cd x && mkfs y"})),
        ]),
        Reply::calls(&[("file_read", json!({"path": ".git/config"}))]),
        Reply::text("ok"),
    ];
    let stage =
        stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    stage.prompt("go").await.unwrap();
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("1\ntwo\n"));
    let statuses: Vec<_> = stage.statuses().into_iter().map(|(_, status)| status).collect();
    use ToolStatus::{Completed, Failed};
    assert_eq!(statuses, [Completed, Completed, Failed, Failed]);
    assert!(stage.client.requests().is_empty());
}

#[tokio::test]
async fn a_file_that_changes_while_the_question_is_open_is_not_overwritten() {
    let answers = vec![Some(PermissionOutcome::AllowOnce)];
    let script = vec![edit(), Reply::text("ok")];
    let stage =
        stage(Setting { script, answers, permission_mode: PermissionMode::Argus, ..Setting::default() })
            .await;
    let prompt = stage.prompt("edit");
    let meddle = async {
        stage
            .client
            .until(|client| {
                client.events().iter().any(|e| matches!(e, SessionEvent::PermissionRequested { .. }))
            })
            .await;
        stage.system.add_file("/w/a.txt", "the user wrote this\n");
    };
    let (outcome, ()) = tokio::join!(prompt, meddle);
    outcome.unwrap();
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("the user wrote this\n"));
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_is_a_refusal_in_the_end() {
    let script = vec![edit(), Reply::text("ok")];
    let stage = stage(Setting {
        script,
        answers: vec![None],
        permission_mode: PermissionMode::Argus,
        ..Setting::default()
    })
    .await;
    assert_eq!(stage.prompt("edit").await.unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(stage.statuses(), [("tool_0".to_owned(), ToolStatus::Failed)]);
}

/// A client that approves, but first replaces a directory with a link.
struct Meddler(Arc<FakeSystem>);

#[async_trait::async_trait]
impl Client for Meddler {
    fn notify(&self, _: &SessionEvent) {}

    async fn request_permission(&self, _: PermissionRequest) -> PermissionOutcome {
        self.0.remove(&AbsPath::new("/w/out").unwrap()).await.unwrap();
        self.0.add_link("/w/out", "/etc");
        PermissionOutcome::AllowOnce
    }
}

#[tokio::test]
async fn what_was_approved_must_still_be_what_happens() {
    let write = Reply::calls(&[("file_write", json!({"path": "out/a.txt", "content": "x"}))]);
    let script = vec![write, Reply::text("ok")];
    let stage = stage(Setting { script, permission_mode: PermissionMode::Argus, ..Setting::default() }).await;
    stage.system.add_dir("/w/out");
    stage.system.add_dir("/etc");
    let client = Arc::new(Meddler(stage.system.clone()));
    let surface = Surface { client, system: stage.system.clone() };
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let session = stage.runtime.create(new, |_| surface).await.unwrap();
    session.prompt(vec![Content::text("write")]).await.unwrap();
    assert_eq!(stage.system.text_of("/etc/a.txt"), None);
    assert!(
        stage.results()[0].contains("changed while the user's approval was pending"),
        "{:?}",
        stage.results()
    );
}

#[tokio::test]
async fn every_decision_is_recorded_with_its_rule() {
    let script = vec![
        Reply::calls(&[("file_read", json!({"path": "a.txt"})), ("bash", json!({"command": "mkfs x"}))]),
        Reply::text("ok"),
    ];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("look").await.unwrap();
    let rules: Vec<_> = stage
        .stored()
        .await
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::PermissionResolved { outcome, rule, .. } => Some((outcome, rule)),
            _ => None,
        })
        .collect();
    assert_eq!(
        rules,
        [
            (PermissionOutcome::AllowOnce, "SafeTools".to_owned()),
            (PermissionOutcome::RejectOnce, "DenyPattern".to_owned())
        ]
    );
}

#[tokio::test]
async fn s33_what_a_client_is_shown_holds_no_sequence_and_the_model_reads_it_as_it_is() {
    let read = Reply::calls(&[("file_read", json!({"path": "evil.txt"}))]);
    let stage =
        stage(Setting { script: vec![read, Reply::text("a\u{1b}]0;x\u{7}b")], ..Setting::default() }).await;
    stage.system.add_file("/w/evil.txt", "\u{1b}[2Jgone\u{202e}\n");
    stage.prompt("read").await.unwrap();
    assert!(stage.results()[0].contains("\u{1b}[2J"), "{:?}", stage.results());
    let shown = format!("{:?}", stage.client.events());
    assert!(!shown.contains("u{1b}") && !shown.contains("u{202e}") && shown.contains("gone"), "{shown}");
    assert_eq!(stage.client.text(), "ab");
}

#[tokio::test]
async fn a_search_passes_over_blocked_files() {
    let grep = Reply::calls(&[
        ("grep", json!({"pattern": "canary"})),
        ("glob", json!({"pattern": "**/*"})),
        ("grep", json!({"pattern": "canary", "path": "server.pem"})),
    ]);
    let stage = stage(Setting { script: vec![grep, Reply::text("ok")], ..Setting::default() }).await;
    stage.system.add_file("/w/server.pem", "canary\n");
    stage.system.add_file("/w/deep/my.key", "canary\n");
    stage.system.add_file("/w/plain.txt", "canary\n");
    stage.prompt("search").await.unwrap();
    let results = stage.results();
    assert!(results[0].contains("plain.txt") && !results[0].contains("my.key"), "{results:?}");
    assert!(!results[1].contains("server.pem") && results[1].contains("plain.txt"), "{results:?}");
    assert!(results[2].contains("blocked by policy"), "{results:?}");
}

#[tokio::test]
async fn a_request_names_what_would_allow_it() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n";
    for (mode, tool, arguments, rules, paths, in_prometheus) in [
        (
            PermissionMode::Argus,
            "bash",
            json!({ "command": "git push" }),
            &["bash(git push)"][..],
            &[][..],
            false,
        ),
        (
            PermissionMode::Argus,
            "bash",
            json!({ "command": "make x && git status -s" }),
            &["bash(make x)", "bash(git status -s)"],
            &[],
            true,
        ),
        (
            PermissionMode::Argus,
            "bash",
            json!({ "command": "echo hi > b.txt" }),
            &["bash(echo hi > b.txt)"],
            &[],
            true,
        ),
        (
            PermissionMode::Argus,
            "file_edit",
            json!({ "path": "a.txt", "old_string": "one", "new_string": "2" }),
            &["file_edit(a.txt)"],
            &[],
            true,
        ),
        (PermissionMode::Argus, "apply_patch", json!({ "patch": patch }), &["apply_patch(a.txt)"], &[], true),
        (PermissionMode::Guardian, "file_read", json!({ "path": "/etc/hosts" }), &[], &["/etc/hosts"], true),
        (
            PermissionMode::Guardian,
            "file_write",
            json!({ "path": "/srv/x", "content": "" }),
            &["file_write(/srv/x)"],
            &["/srv/x"],
            true,
        ),
        (PermissionMode::Guardian, "file_write", json!({ "path": ".envrc", "content": "" }), &[], &[], false),
    ] {
        let script = vec![Reply::calls(&[(tool, arguments.clone())]), Reply::text("Done.")];
        let answers = vec![Some(PermissionOutcome::RejectOnce)];
        let stage = stage(Setting { script, answers, permission_mode: mode, ..Setting::default() }).await;
        stage.system.add_file("/etc/hosts", "localhost\n");
        stage.prompt("go").await.unwrap();
        let requests = stage.client.requests();
        let [request] = requests.as_slice() else { panic!("{tool} {arguments}: {:?}", stage.results()) };
        let remedy = &request.remedy;
        let shown: Vec<_> = remedy.rules.iter().map(ToString::to_string).collect();
        let places: Vec<_> = remedy.paths.iter().map(ToString::to_string).collect();
        assert_eq!(
            (shown, places, remedy.in_prometheus),
            (
                rules.iter().map(ToString::to_string).collect(),
                paths.iter().map(ToString::to_string).collect(),
                in_prometheus,
            ),
            "{tool} {arguments}"
        );
    }
}
