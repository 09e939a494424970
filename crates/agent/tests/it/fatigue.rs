//! How many permission requests a long task causes.

use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Content, CreateSession, LanguageModel, PermissionMode, PermissionOutcome, Runtime, RuntimeOptions,
    SessionEvent, SessionStart, Surface, ToolStatus,
};
use serde_json::{Value, json};
use std::{collections::HashSet, sync::Arc};
use system::{AbsPath, FakeSystem, SandboxSupport, fake::Script};

/// The calls of a typical task, a feature with its tests: 60 calls, a commit in the middle and one
/// at the end.
fn calls() -> Vec<(&'static str, Value)> {
    let run = |command: &str| ("bash", json!({ "command": command }));
    let file = |index: usize| format!("src/f{index}.rs");
    let mut calls = vec![
        ("task_create", json!({ "subject": "add the feature", "description": "with tests" })),
        run("git status"),
        run("git log --oneline -5"),
        run("ls -la src"),
        ("glob", json!({ "pattern": "src/**/*.rs" })),
    ];
    calls.extend((0..15).map(|index| ("file_read", json!({ "path": file(index) }))));
    calls.extend(["one", "two", "fn"].map(|pattern| ("grep", json!({ "pattern": pattern }))));
    calls.push(run("cargo build"));
    calls.extend((0..10).map(|index| {
        ("file_edit", json!({ "path": file(index), "old_string": "one", "new_string": "two" }))
    }));
    calls.push(run("cargo check && cargo clippy"));
    calls.push(run("mkdir -p tests/data"));
    calls.extend((0..4).map(|index| {
        ("file_write", json!({ "path": format!("tests/t{index}.rs"), "content": "fn t() {}\n" }))
    }));
    calls.extend([run("cargo test"), run("cargo fmt"), run("git diff"), run("git add -A")]);
    calls.push(run("git commit -m half"));
    let patch = "*** Begin Patch\n*** Add File: src/new.rs\n+fn new() {}\n*** End Patch";
    calls.push(("apply_patch", json!({ "patch": patch })));
    calls.extend((10..14).map(|index| {
        ("file_edit", json!({ "path": file(index), "old_string": "one", "new_string": "two" }))
    }));
    calls.extend([run("python3 tools/gen.py"), run("npm test"), run("make docs"), run("cargo test -p x")]);
    calls.extend([run("cat src/f1.rs | head -3"), run("git diff --stat"), run("node tools/check.js")]);
    calls.extend([run("git add src"), run("git commit -m done"), run("git log -1")]);
    calls
}

#[tokio::test]
async fn sixty_calls_in_guardian_ask_three_times_and_about_nothing_twice() {
    let calls = calls();
    assert_eq!(calls.len(), 60);
    let mut script: Vec<_> = calls.chunks(6).map(Reply::calls).collect();
    script.push(Reply::text("done"));
    let model = FakeModel::new(script);
    let support = SandboxSupport {
        landlock_abi: 6,
        seccomp: true,
        namespaces: true,
        processes: true,
        launcher: true,
        in_client: false,
    };
    let system = FakeSystem::new().with_sandbox(support);
    (0..15).for_each(|index| system.add_file(&format!("/w/src/f{index}.rs"), "fn one() {}\n"));
    for program in ["git", "ls", "cargo", "mkdir", "python3", "npm", "make", "cat", "node"] {
        system.on_command(program, |_| Script::exits(0).prints("ok\n"));
    }
    let client = FakeClient::new([Some(PermissionOutcome::AllowAlways); 3]);
    let options = RuntimeOptions {
        start: SessionStart { permission_mode: PermissionMode::Guardian, ..SessionStart::default() },
        ..RuntimeOptions::default()
    };
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, options);
    let surface = Surface { client: client.clone(), system: Arc::new(system) };
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let session = runtime.create(new, |_| surface).await.unwrap();
    session.prompt(vec![Content::text("add the feature")]).await.unwrap();

    let done = |event: &SessionEvent| match event {
        SessionEvent::ToolCall(update) => update.status == Some(ToolStatus::Completed),
        _ => false,
    };
    let failed = client.events().into_iter().filter(|event| match event {
        SessionEvent::ToolCall(update) => update.status == Some(ToolStatus::Failed),
        _ => false,
    });
    assert_eq!(failed.collect::<Vec<_>>(), []);
    assert_eq!(client.events().iter().filter(|event| done(event)).count(), 60);
    let asked: Vec<_> = client.requests().into_iter().map(|request| request.grant_label).collect();
    assert!(asked.len() <= 3, "{asked:?}");
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), asked.len(), "the same thing twice: {asked:?}");
    assert!(
        session.state().sandbox.contains("workspace-write, asks about hosts)"),
        "{}",
        session.state().sandbox
    );
}
