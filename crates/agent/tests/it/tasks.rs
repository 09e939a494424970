//! The tasks of a session: kept with its log, restored by rewinds, known to the model.

use crate::stage::{Setting, Stage, stage, stage_on};
use agent::fake::{FakeClient, FakeModel, FakeModels, Reply};
use agent::{
    Content, CreateSession, ModelInfo, ModelLimits, OpenSession, RewindReport, RewindTarget, Runtime,
    RuntimeOptions, SessionEvent, SessionHandle, Surface, Task, TaskStatus,
};
use serde_json::json;
use std::sync::Arc;
use system::AbsPath;

fn plan(steps: &[(&str, &str)]) -> Reply {
    let steps: Vec<_> = steps.iter().map(|(step, status)| json!({"step": step, "status": status})).collect();
    Reply::calls(&[("update_plan", json!({ "plan": steps }))])
}

/// Subjects and statuses of tasks.
type Brief = Vec<(String, TaskStatus)>;

fn brief(tasks: &[Task]) -> Brief {
    tasks.iter().map(|task| (task.subject.clone(), task.status)).collect()
}

/// The last list of tasks in the stored events of a session.
async fn stored(runtime: &Runtime, session: &SessionHandle) -> Brief {
    let mut last = Brief::new();
    let each = &mut |event: &SessionEvent| {
        if let SessionEvent::Tasks(tasks) = event {
            last = brief(tasks);
        }
    };
    runtime.replay(session.id(), each).await.unwrap();
    last
}

/// The result of `task_list` in another process, in the session or in a fork of it.
async fn elsewhere(stage: &Stage, fork: bool) -> String {
    let script = vec![Reply::calls(&[("task_list", json!({}))]), Reply::text("Seen.")];
    let model = FakeModel::new(script);
    let models = Arc::new(FakeModels(model.clone()));
    let runtime = Runtime::new(stage.store.clone(), models, RuntimeOptions::default());
    let attach = |_: &_| Surface { client: FakeClient::new([]), system: stage.system.clone() };
    let session = match fork {
        true => {
            let cwd = AbsPath::new("/w").unwrap();
            let new = CreateSession { cwd, additional_directories: Vec::new(), servers: Vec::new() };
            runtime.fork(stage.session.id(), new, attach).await.unwrap()
        }
        false => {
            let how = OpenSession { take_over: true, ..OpenSession::default() };
            runtime.open(stage.session.id(), how, attach).await.unwrap()
        }
    };
    session.prompt(vec![Content::text("what is left?")]).await.unwrap();
    let requests = model.requests();
    format!("{:?}", requests.last().unwrap().messages.last().unwrap())
}

#[tokio::test]
async fn tasks_are_there_after_a_restart_and_in_a_fork() {
    let script = vec![plan(&[("build", "in_progress"), ("test", "pending")]), Reply::text("Planned.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("plan").await.unwrap();
    let events = stage.stored().await;
    let at = |is: &dyn Fn(&SessionEvent) -> bool| events.iter().position(is).unwrap();
    let ended = at(&|event| matches!(event, SessionEvent::ToolCall(update) if update.result.is_some()));
    assert_eq!(at(&|event| matches!(event, SessionEvent::Tasks(_))), ended + 1, "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, SessionEvent::Plan(_))), "stored once");
    let live = stage.client.events().into_iter().find_map(|event| match event {
        SessionEvent::Tasks(tasks) => Some(brief(&tasks)),
        _ => None,
    });
    assert_eq!(live, Some(stored(&stage.runtime, &stage.session).await));
    for fork in [true, false] {
        let list = elsewhere(&stage, fork).await;
        assert!(list.contains(" build") && list.contains("○"), "{fork} {list}");
        assert!(!list.contains("No tasks."), "{fork} {list}");
    }
}

#[tokio::test]
async fn a_rewind_restores_the_tasks_and_a_redo_undoes_that() {
    use TaskStatus::{Completed, InProgress, Pending};
    let script = vec![
        plan(&[("build", "in_progress"), ("test", "pending")]),
        Reply::text("1"),
        plan(&[("build", "completed"), ("test", "in_progress")]),
        Reply::text("2"),
        plan(&[("ship", "pending")]),
        Reply::text("3"),
    ];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    for prompt in ["one", "two"] {
        stage.prompt(prompt).await.unwrap();
    }
    let now = async || stored(&stage.runtime, &stage.session).await;
    let list = |all: &[(&str, TaskStatus)]| -> Brief {
        all.iter().map(|(subject, status)| ((*subject).to_owned(), *status)).collect()
    };
    let restored = RewindReport { tasks: Some(true), ..RewindReport::default() };
    let rewind = async |target| stage.session.rewind(target).await.unwrap();
    assert_eq!(rewind(RewindTarget::Turn(1)).await, restored);
    assert_eq!(now().await, list(&[("build", InProgress), ("test", Pending)]));
    assert_eq!(rewind(RewindTarget::Turn(1)).await, RewindReport::default(), "it is so already");
    assert_eq!(rewind(RewindTarget::Turn(0)).await, restored);
    assert_eq!(now().await, list(&[]));
    for _ in 0..2 {
        assert_eq!(rewind(RewindTarget::Redo).await, restored);
    }
    assert_eq!(now().await, list(&[("build", Completed), ("test", InProgress)]));
    // Through the slash command, and with a change of the tasks in between.
    stage.prompt("/rewind 1").await.unwrap();
    assert!(stage.client.text().contains("- restored the task list"), "{}", stage.client.text());
    stage.prompt("three").await.unwrap();
    assert_eq!(rewind(RewindTarget::Redo).await.tasks, Some(false));
    assert_eq!(now().await, list(&[("ship", Pending)]));
    let known = format!("{:?}", stage.model.requests().last().unwrap().messages);
    assert!(known.contains("[The user changed the task list. Open tasks now:"), "{known}");
}

#[tokio::test]
async fn the_user_lists_and_clears_the_tasks_and_the_model_knows() {
    let script =
        vec![plan(&[("build ``` it", "in_progress")]), Reply::text("Planned."), Reply::text("I see.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("/tasks").await.unwrap();
    assert!(stage.client.text().ends_with("There are no tasks."), "{}", stage.client.text());
    stage.prompt("plan").await.unwrap();
    stage.prompt("/tasks").await.unwrap();
    assert!(stage.client.text().contains("build ` ` ` it\n```"), "{}", stage.client.text());
    stage.prompt("/tasks clear").await.unwrap();
    assert!(stage.client.text().ends_with("Cleared 1 tasks."), "{}", stage.client.text());
    assert_eq!(stored(&stage.runtime, &stage.session).await, []);
    stage.prompt("and now?").await.unwrap();
    let known = format!("{:?}", stage.model.requests().last().unwrap().messages);
    assert_eq!(known.matches("No task is open").count(), 1, "{known}");
}

#[tokio::test]
async fn the_model_is_told_of_open_tasks_that_a_summary_left_out() {
    let says = Reply::text;
    let script = vec![
        plan(&[("build", "completed"), ("test the parser", "in_progress")]),
        says("Planned."),
        says("A."),
        says("B."),
        says("C."),
        says("A summary."),
        says("On."),
        says("And on."),
    ];
    let info = ModelInfo {
        id: "fake/model".to_owned(),
        name: "Fake".to_owned(),
        limits: ModelLimits { context_size: 100_000, max_output: 4_096, silence: None },
        ..ModelInfo::default()
    };
    let Setting { answers, permission_mode, limits, store, .. } = Setting::default();
    let stage = stage_on(FakeModel::with_info(info, script), answers, permission_mode, limits, store).await;
    // The last three turns stay as they are.
    for prompt in [&*"plan ".repeat(8_000), "a", "b", "c"] {
        stage.prompt(prompt).await.unwrap();
    }
    stage.prompt("/compact").await.unwrap();
    for prompt in ["go on", "and on"] {
        stage.prompt(prompt).await.unwrap();
        let known = format!("{:?}", stage.model.requests().last().unwrap().messages);
        assert_eq!(known.matches("<tasks>").count(), 1, "{known}");
        assert!(known.contains("test the parser") && !known.contains("build"), "{known}");
    }
}
