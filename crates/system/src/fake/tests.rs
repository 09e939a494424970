//! Runs the contract over the fake, and tests the features that only the fake has.

use super::{FakeSystem, Script};
use crate::contract::processes::{FAILS, FLOODS, KILLED, MIXED, PRINTS, RUNS};
use crate::contract::{self, Processes, Subject};
use crate::{AbsPath, Command, Output, System, SystemError};
use futures::FutureExt;
use std::sync::Arc;

fn subject() -> Subject {
    let fake = Arc::new(FakeSystem::new());
    fake.add_dir("/work");
    fake.on_command(MIXED, |_| Script::exits(0).prints("ab").prints("cd"));
    fake.on_command(FAILS, |_| Script::exits(3));
    fake.on_command(KILLED, |_| Script::dies("SIGKILL"));
    fake.on_command(PRINTS, |_| Script::exits(0).prints("kept\n"));
    fake.on_command(FLOODS, |_| {
        (0..2000).fold(Script::exits(0), |script, number| script.prints(&format!("line-{number}\n")))
    });
    fake.on_command(RUNS, |_| Script::hangs().prints("ready\n"));
    let links = Arc::clone(&fake);
    let system: Arc<dyn System> = fake;
    Subject {
        setup: Arc::clone(&system),
        system,
        root: AbsPath::new("/work").unwrap(),
        writes: true,
        link: Some(Box::new(move |path, target| links.add_link(path.as_str(), target))),
        processes: Processes::Scripted,
        keep: Box::new(()),
    }
}

fn at(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

#[tokio::test]
async fn keeps_the_contract() {
    let ran = contract::check(async || subject()).await;
    assert!(ran.len() > 30, "{ran:?}");
}

#[tokio::test]
async fn calls_are_recorded_and_planned_faults_occur() {
    let fake = FakeSystem::new();
    fake.add_file("/w/a", "a");
    fake.fail_nth(2);
    fake.hang_nth(3);
    assert_eq!(fake.read_text(&at("/w/a"), None).await.unwrap(), "a");
    let error = fake.replace_text(&at("/w/a"), Some("a"), "b").await.unwrap_err();
    assert!(matches!(error, SystemError::Io { .. }), "{error}");
    assert!(fake.replace_text(&at("/w/a"), Some("a"), "b").now_or_never().is_none());
    assert_eq!(fake.text_of("/w/a").as_deref(), Some("a"));
    fake.fail_nth(1);
    assert!(fake.spawn(Command::shell("x", at("/w"), 10)).await.is_err());
    fake.write(&at("/w/a"), b"c").await.unwrap();
    let calls: Vec<_> = fake.calls().iter().map(ToString::to_string).collect();
    assert_eq!(calls, ["read_text /w/a", "replace_text /w/a", "replace_text /w/a", "spawn x", "write /w/a"]);
}

#[tokio::test]
async fn scripts_are_found_by_their_command_line() {
    let fake = FakeSystem::new();
    fake.on_command("cargo test", |command| Script::exits(0).prints(&command.args.join(" ")));
    fake.on_command("cargo test --all", |_| Script::exits(1).writes("/out", "x").in_terminal("t1"));
    let run = |program: &str, args: &[&str]| {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        fake.spawn(Command::new(program, args, at("/"), 100))
    };
    let mut process = run("cargo", &["test", "-q"]).await.unwrap();
    assert_eq!(process.next_output().await, Some(Output::Text("test -q".to_owned())));
    let mut process = run("sh", &["-c", "cargo test --all"]).await.unwrap();
    assert_eq!(process.terminal().map(|id| id.0.as_str()), Some("t1"));
    assert_eq!(process.wait().await.unwrap().code, Some(1));
    assert_eq!(fake.text_of("/out").as_deref(), Some("x"));
    assert!(run("cargo", &["tests"]).await.is_err());
}

#[tokio::test]
async fn a_process_left_running_fails_the_test() {
    let start = async || {
        let fake = FakeSystem::new();
        fake.on_command("serve", |_| Script::hangs());
        let process = fake.spawn(Command::shell("serve", at("/"), 10)).await.unwrap();
        (fake, process)
    };
    let (fake, process) = start().await;
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(fake))).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("serve"));
    drop(process);

    let (fake, mut process) = start().await;
    process.kill().await;
    drop(fake);
    assert_eq!(process.wait().await.unwrap().signal.as_deref(), Some("SIGTERM"));
}
