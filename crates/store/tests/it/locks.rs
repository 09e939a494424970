//! A file system without locks, simulated by a system call filter: a healthy file is not reported
//! as damaged there, and stays where it is.

#![cfg(target_os = "linux")]

use crate::{database_path, session, user_message};
use agent::{SessionStore as _, StoreError};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::{collections::BTreeMap, path::Path, thread::JoinHandle};
use store::{Holder, SqliteStore};
use system::ProcessTable;

/// Makes a system call fail with an error on this thread and those that it starts: always, or with
/// these values of the second argument.
fn fail(call: i64, arguments: &[i32], error: i32) {
    let with = |argument: &i32| {
        let argument = u64::try_from(*argument).unwrap();
        let condition =
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, argument).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    };
    let rules = BTreeMap::from([(call, arguments.iter().map(with).collect())]);
    let action = SeccompAction::Errno(error.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

/// Runs work on a thread of its own, with its own runtime.
fn on_own_thread<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let run = move || tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work());
    std::thread::spawn(run)
}

/// Creates a healthy file that contains a session.
async fn healthy(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, vec![user_message("1")]).await.unwrap();
}

/// Returns whether the file is in its place, next to nothing but its side files.
fn is_kept(directory: &Path) -> bool {
    let names = directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    let sides = ["sessions.db", "sessions.db-wal", "sessions.db-shm", "sessions.db.lock", "holders"];
    names.contains(&sides[0].to_owned()) && names.iter().all(|name| sides.contains(&name.as_str()))
}

#[tokio::test]
async fn without_flock_the_locks_of_sqlite_suffice() {
    for error in [libc::ENOLCK, libc::EOPNOTSUPP, libc::ENOSYS] {
        let (_directory, path) = database_path();
        healthy(&path).await;
        let at = path.clone();
        let events = on_own_thread(async move || {
            fail(libc::SYS_flock, &[], error);
            let store = SqliteStore::open_in_background(&at).unwrap();
            store.create(session("s2")).await?;
            store.events(&"s1".into(), 0, 9).await
        });
        let events = events.join().unwrap();
        assert_eq!(events, Ok(vec![(1, user_message("1"))]), "error {error}");
    }
}

#[tokio::test]
async fn without_flock_a_holder_is_identified_by_process_id_and_start_time() {
    let (directory, path) = database_path();
    let refused = on_own_thread(async move || {
        fail(libc::SYS_flock, &[], libc::ENOLCK);
        let parent = std::os::unix::process::parent_id();
        for (pid, session_id) in [(parent, "lives"), (i32::MAX as u32, "gone")] {
            let start = ProcessTable::here().state(parent).unwrap().start;
            let holder = Holder { pid, start, ..Holder::like_this_process() };
            SqliteStore::open_as(&path, holder).unwrap().create(session(session_id)).await.unwrap();
        }
        let store = SqliteStore::open(&path).unwrap();
        assert!(store.acquire(&"gone".into(), false).await.is_ok());
        store.acquire(&"lives".into(), false).await
    });
    let refused = refused.join().unwrap();
    assert!(matches!(refused, Err(StoreError::Held { .. })), "{refused:?}");
    let left = directory.path().join("holders").read_dir().unwrap().count();
    assert_eq!(left, 0, "a file that cannot be locked is not left behind");
}

#[tokio::test]
async fn without_any_locks_a_healthy_file_is_not_reported_as_damaged() {
    // SQLite takes the first error for a lock of another process, and the others for a failing
    // disk.
    let mut tries = Vec::new();
    for error in [libc::ENOLCK, libc::EOPNOTSUPP, libc::ENOSYS] {
        let (directory, path) = database_path();
        healthy(&path).await;
        let at = path.clone();
        let trying = on_own_thread(async move || {
            fail(libc::SYS_flock, &[], error);
            fail(libc::SYS_fcntl, &[libc::F_SETLK, libc::F_SETLKW, libc::F_GETLK], error);
            SqliteStore::open_in_background(&at).unwrap().create(session("s2")).await
        });
        tries.push((error, directory, path, trying));
    }
    for (error, directory, path, trying) in tries {
        let refused = trying.join().unwrap();
        let Err(StoreError::Io(message)) = &refused else { panic!("error {error}: {refused:?}") };
        let path = path.to_str().unwrap();
        for expected in [path, "without file locks", "not damaged", "TILLER_HOME"] {
            assert!(message.contains(expected), "error {error}: {expected}: {message}");
        }
        assert!(is_kept(directory.path()), "nothing is set aside");
    }
}

#[tokio::test]
async fn without_locks_a_damaged_file_is_not_moved() {
    let (directory, path) = database_path();
    let bytes = b"no database at all\n".repeat(1000);
    std::io::Write::write_all(
        &mut std::fs::OpenOptions::new().write(true).create_new(true).open(&path).unwrap(),
        &bytes,
    )
    .unwrap();
    let at = path.clone();
    let refused = on_own_thread(async move || {
        fail(libc::SYS_flock, &[], libc::ENOLCK);
        SqliteStore::open(&at).map(drop)
    });
    let refused = refused.join().unwrap();
    assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("TILLER_HOME")), "{refused:?}");
    assert!(is_kept(directory.path()));
}
