//! Sessions, their subagents and rewinds change one file at once, in an order that a seed
//! determines: what was reported is what is in the file.

use super::{Scene, batch, runtime};
use crate::faulty::{FaultySystem, Plan};
use agent::{
    Content, CreateSession, Limits, PermissionMode, RewindReport, RewindTarget, Runtime, SessionHandle,
    Surface,
    fake::{FakeClient, MemoryStore, Reply},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use system::{AbsPath, FakeSystem};

/// The number of seeds.
const SEEDS: u64 = 100;
/// The lines that subagents of one session change, and those that another session changes itself.
const OF_SUBAGENTS: [&str; 3] = ["x", "y", "z"];
const OF_SESSION: [&str; 2] = ["p", "q"];

/// The calls so far, by the line that they change: whether each was reported as done.
type Reported = Arc<Mutex<BTreeMap<&'static str, bool>>>;

fn edit(line: &str) -> Reply {
    let (old, new) = (format!("{line} to do"), format!("{line} done"));
    Reply::calls(&[("file_edit", json!({ "path": "a.txt", "old_string": old, "new_string": new }))])
}

/// Plays both sessions and the subagents.
fn act(scene: &Scene, reported: &Reported) -> Reply {
    let note = |line| {
        let before = reported.lock().unwrap().insert(line, !scene.failed);
        assert_eq!(before, None, "{line} is changed once");
    };
    if let Some(line) = OF_SUBAGENTS.into_iter().find(|line| scene.is(line)) {
        if scene.round == 0 {
            return edit(line);
        }
        note(line);
        return Reply::text("Ended.");
    }
    match (scene.task.ends_with("have it done"), scene.round) {
        (true, 0) => {
            let agents = OF_SUBAGENTS.map(|line| json!({ "task": line, "type": "general", "id": line }));
            batch(json!(agents))
        }
        (false, round @ (0 | 2)) => edit(OF_SESSION[round / 2]),
        (false, round @ (1 | 3)) => {
            note(OF_SESSION[round / 2]);
            Reply::text("Ended.")
        }
        _ => Reply::text("Ended."),
    }
}

async fn session(runtime: &Arc<Runtime>, system: &Arc<FaultySystem>) -> SessionHandle {
    let surface = Surface { client: FakeClient::new([]), system: system.clone() };
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    runtime.create(new, |_| surface).await.unwrap()
}

/// Sends prompts, and then undoes the last turn if `undoes` is set.
async fn work(session: SessionHandle, prompts: &[&str], undoes: bool) -> RewindReport {
    for prompt in prompts {
        session.prompt(vec![Content::text(*prompt)]).await.unwrap();
    }
    match undoes {
        true => session.rewind(RewindTarget::Turn(prompts.len() as u64 - 1)).await.unwrap(),
        false => RewindReport::default(),
    }
}

/// Returns how many lines were changed, refused and undone.
async fn together(seed: u64) -> [usize; 3] {
    let inner = Arc::new(FakeSystem::new());
    let lines = OF_SUBAGENTS.iter().chain(&OF_SESSION);
    // Changes of adjoining lines cannot be merged, so some are left alone by a rewind.
    let between = if seed.is_multiple_of(5) { "" } else { "\n-\n" };
    let text: String = lines.clone().map(|line| format!("{line} to do\n{between}")).collect();
    inner.add_file("/w/a.txt", &text);
    let system = Arc::new(FaultySystem { inner: inner.clone(), plan: Plan::slow(seed) });
    let reported = Reported::default();
    let (mode, noting) = (PermissionMode::Prometheus, reported.clone());
    let store = Arc::new(MemoryStore::default());
    let (runtime, ..) = runtime(&store, Limits::default(), mode, move |scene| act(scene, &noting));
    let (first, second) = (session(&runtime, &system).await, session(&runtime, &system).await);
    let (of_first, of_second) = tokio::join!(
        work(first, &["have it done"], seed.is_multiple_of(3)),
        work(second, &["do p", "do q"], seed.is_multiple_of(2))
    );
    let undone = |report: &RewindReport| !report.restored.is_empty() || !report.merged.is_empty();
    let is_undone = |line: &str| match line {
        "p" => false,
        "q" => undone(&of_second),
        _ => undone(&of_first),
    };
    let text = inner.text_of("/w/a.txt").unwrap();
    let reported = reported.lock().unwrap().clone();
    let mut counts = [0; 3];
    for line in lines {
        let done = reported[line] && !is_undone(line);
        let (expected, not) = if done { ("done", "to do") } else { ("to do", "done") };
        let has = |state: &str| text.contains(&format!("{line} {state}\n"));
        assert!(
            has(expected) && !has(not),
            "seed {seed}: {line} is not {expected}: {reported:?} {of_first:?} {of_second:?}\n{text}"
        );
        counts[if !reported[line] { 1 } else { usize::from(is_undone(line)) * 2 }] += 1;
    }
    runtime.shutdown().await;
    counts
}

#[tokio::test]
async fn what_sessions_subagents_and_rewinds_report_is_so() {
    let mut sum = [0; 3];
    for seed in 0..SEEDS {
        for (sum, count) in sum.iter_mut().zip(together(seed).await) {
            *sum += count;
        }
    }
    let [done, refused, undone] = sum;
    assert!(done > 150 && undone > 50, "{done} done, {refused} refused, {undone} undone");
}
