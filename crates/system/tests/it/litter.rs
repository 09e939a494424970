//! What a killed process leaves behind, and its removal by another process.

use crate::birth::{LENGTH, helper};
use rustix::process::{Signal, kill_process};
use std::fs;
use std::time::{Duration, Instant};
use system::{AbsPath, LocalSystem, Sandbox, System};

/// How many processes are killed until one leaves something behind, and the timeout for its removal
/// (another process may be the one that removes it).
const TRIES: usize = 50;
const WAIT: Duration = Duration::from_secs(10);

fn temporary_files(directory: &AbsPath) -> usize {
    let entries = fs::read_dir(directory.as_std()).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tiller-")).count()
}

/// Yields until a condition holds, or the timeout is over.
async fn until(holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !holds() && began.elapsed() < WAIT {
        tokio::task::yield_now().await;
    }
    holds()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn temporary_files_of_a_killed_process_are_removed_by_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let project = AbsPath::from_os(&directory.path().canonicalize().unwrap()).unwrap();
    let file = project.join("file");
    let mine = project.join(".tiller-mine.tmp");
    fs::write(mine.as_std(), "mine").unwrap();
    fs::write(file.as_std(), "b".repeat(LENGTH)).unwrap();
    let mut left = false;
    for _ in 0..TRIES {
        let (mut helper, pid) = helper("writes", false, file.as_str()).await;
        assert!(until(|| temporary_files(&project) > 1).await, "it writes nothing");
        kill_process(pid, Signal::KILL).unwrap();
        helper.wait().await.unwrap();
        if temporary_files(&project) > 1 {
            left = true;
            break;
        }
    }
    assert!(left, "no process was killed while it wrote");
    LocalSystem::new().sweep(&Sandbox::default()).await;
    assert!(until(|| temporary_files(&project) == 1).await, "temporary files could not be removed");
    assert_eq!(fs::read_to_string(mine.as_std()).unwrap(), "mine");
    let text = fs::read_to_string(file.as_std()).unwrap();
    assert!(text == "a".repeat(LENGTH) || text == "b".repeat(LENGTH), "it is a mixture");
}
