//! Whether the holder of a lease is alive is decided by its lock, regardless of process ids, host
//! names and clocks.

use crate::{database_path, session, user_message};
use agent::{Lease, SessionStore as _, StoreError};
use rusqlite::Connection;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use store::{Holder, Machine, SqliteStore};
use system::ProcessTable;

/// Returns a machine that reports nothing about its processes.
fn silent_machine() -> Machine {
    Machine { processes: ProcessTable::Directory("/nowhere".into()), ..Machine::here().clone() }
}

/// Returns a machine whose file system has no locks.
fn lockless_machine() -> Machine {
    Machine { locks: false, ..Machine::here().clone() }
}

/// Returns another process on a machine, with a process id that is in use.
fn on(machine: Machine) -> Holder {
    Holder { machine, ..Holder::like_this_process() }
}

/// Returns a process on a machine whose processes and locks are invisible here.
fn elsewhere() -> Holder {
    let machine = Machine {
        host: "elsewhere".to_owned(),
        marks: vec!["0123456789abcdef".to_owned()],
        ..lockless_machine()
    };
    Holder { pid: 1, start: 1, ..on(machine) }
}

fn open(path: &Path, holder: Holder) -> SqliteStore {
    SqliteStore::open_as(path, holder).unwrap()
}

async fn is_held(path: &Path, by: Holder) -> bool {
    match open(path, by).acquire(&"s1".into(), false).await {
        Ok(_) => false,
        Err(StoreError::Held { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn the_leases_in_a_file_are_listed_with_whether_their_holder_lives() {
    let (_directory, path) = database_path();
    assert_eq!(store::leases(&path).unwrap(), []);
    let live = open(&path, Holder::like_this_process());
    for id in ["s1", "s2"] {
        live.create(session(id)).await.unwrap();
    }
    let held = || {
        let leases = store::leases(&path).unwrap();
        leases.into_iter().map(|lease| (lease.session, lease.is_alive)).collect::<Vec<_>>()
    };
    assert_eq!(held(), [("s1".into(), true), ("s2".into(), true)]);
    let lease = live.acquire(&"s2".into(), false).await.unwrap();
    live.release(&lease).await.unwrap();
    assert_eq!(held(), [("s1".into(), true)]);
    drop(live);
    // Its lock is gone with it, its row is not.
    assert_eq!(held(), [("s1".into(), false)]);
}

fn silent_for(path: &Path, seconds: i64) {
    let raw = Connection::open(path).unwrap();
    raw.execute("UPDATE sessions SET lease_seen = lease_seen - ?1", [seconds * 1000]).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the files of holders are looked at from outside")]
fn files(path: &Path) -> Vec<PathBuf> {
    let directory = fs::read_dir(path.with_file_name("holders")).into_iter().flatten();
    directory.map(|entry| entry.unwrap().path()).collect()
}

/// Leaves a holder's file as a killed process does: present, and not locked.
#[expect(clippy::disallowed_methods, reason = "the files of holders are changed from outside")]
fn replace_unlocked(file: &Path) {
    let copy = file.with_extension("copy");
    fs::copy(file, &copy).unwrap();
    fs::rename(copy, file).unwrap();
}

#[tokio::test]
async fn the_lease_of_a_dead_holder_is_acquired_without_a_takeover() {
    for machine in [Machine::here().clone(), silent_machine()] {
        let (_directory, path) = database_path();
        let killed = open(&path, Holder { start: 0, ..on(machine.clone()) });
        let lease = killed.create(session("s1")).await.unwrap();
        replace_unlocked(&files(&path)[0]);
        drop(killed);
        assert_eq!(files(&path).len(), 1, "it is left behind");
        let store = open(&path, on(machine));
        assert_eq!(store.acquire(&lease.session, false).await.unwrap().epoch, lease.epoch + 1);
    }
}

#[tokio::test]
async fn without_locks_process_id_and_start_time_decide_whether_a_holder_is_alive() {
    let observer = on(lockless_machine());
    let gone = Holder { pid: i32::MAX as u32, ..observer.clone() };
    let number_used_again = Holder { start: observer.start + 1, ..observer.clone() };
    let alive = Holder { machine: lockless_machine(), ..process(std::os::unix::process::parent_id()) };
    let cannot_tell = Holder { start: 0, ..alive.clone() };
    let renamed =
        Holder { machine: Machine { host: "before".into(), ..lockless_machine() }, ..alive.clone() };
    for (holder, is_alive) in
        [(gone, false), (number_used_again, false), (alive, true), (cannot_tell, true), (renamed, true)]
    {
        let (_directory, path) = database_path();
        open(&path, holder.clone()).create(session("s1")).await.unwrap();
        silent_for(&path, 61);
        assert_eq!(is_held(&path, observer.clone()).await, is_alive, "{holder:?}");
        assert!(files(&path).is_empty());
    }
}

/// Returns a running process.
fn process(pid: u32) -> Holder {
    let start = ProcessTable::here().state(pid).map_or(0, |state| state.start);
    Holder { pid, start, ..Holder::like_this_process() }
}

#[tokio::test]
async fn sessions_open_where_files_cannot_be_locked() {
    let (_directory, path) = database_path();
    fs::File::create_new(path.with_file_name("holders")).unwrap();
    let store = open(&path, process(std::os::unix::process::parent_id()));
    let lease = store.create(session("s1")).await.unwrap();
    assert_eq!(store.append(&lease, vec![user_message("1")]).await, Ok(1));
    assert!(is_held(&path, Holder::this_process()).await);
}

#[tokio::test]
async fn a_renamed_host_does_not_end_a_lease() {
    for machine in [Machine::here().clone(), silent_machine()] {
        let (_directory, path) = database_path();
        let renamed = Machine { host: "before".to_owned(), ..machine.clone() };
        let holder = Holder { pid: i32::MAX as u32, start: 0, ..on(renamed) };
        let live = open(&path, holder.clone());
        let lease = live.create(session("s1")).await.unwrap();
        silent_for(&path, 3600);

        let second = open(&path, on(machine.clone()));
        let refused = |answer| matches!(answer, Err(StoreError::Held { .. }));
        assert!(refused(second.acquire(&lease.session, false).await.map(drop)));
        assert!(refused(second.delete(&lease.session).await));
        assert!(refused(second.set_archived(&lease.session, true).await));
        assert_eq!(live.append(&lease, vec![user_message("1")]).await, Ok(1));
        // The process itself under the new host name is the same holder.
        let itself = open(&path, Holder { machine, ..holder });
        assert_eq!(itself.acquire(&lease.session, false).await.unwrap().epoch, lease.epoch + 1);
    }
}

#[tokio::test]
async fn a_remote_holder_is_alive_while_it_writes() {
    let (_directory, path) = database_path();
    let remote = open(&path, elsewhere());
    let lease = remote.create(session("s1")).await.unwrap();
    let store = SqliteStore::open(&path).unwrap();

    silent_for(&path, 61);
    remote.append(&lease, vec![user_message("still here")]).await.unwrap();
    let Err(StoreError::Held { holder, .. }) = store.acquire(&lease.session, false).await else {
        panic!("the holder has just written")
    };
    assert!(holder.to_string().starts_with("process 1 on elsewhere since 20"), "{holder}");

    silent_for(&path, 61);
    let taken = store.acquire(&lease.session, false).await.unwrap();
    assert_eq!(
        remote.append(&lease, vec![user_message("late")]).await,
        Err(StoreError::Fenced(lease.session))
    );
    assert_eq!(store.append(&taken, vec![user_message("2")]).await, Ok(2));
}

#[tokio::test]
async fn a_remote_lock_counts_only_if_it_is_visible() {
    let (_directory, path) = database_path();
    let holder = elsewhere();
    let remote = open(&path, Holder { machine: Machine { locks: true, ..holder.machine.clone() }, ..holder });
    remote.create(session("s1")).await.unwrap();
    silent_for(&path, 61);
    assert!(is_held(&path, Holder::this_process()).await, "its lock is taken");
    // Simulates a file system that keeps the locks of each machine local.
    replace_unlocked(&files(&path)[0]);
    silent_for(&path, -30);
    assert!(is_held(&path, Holder::this_process()).await, "it wrote 31 s ago");
    silent_for(&path, 30);
    assert!(!is_held(&path, Holder::this_process()).await);
}

#[tokio::test]
async fn a_wrong_clock_does_not_prolong_a_lease() {
    let (_directory, path) = database_path();
    open(&path, elsewhere()).create(session("s1")).await.unwrap();
    silent_for(&path, -365 * 24 * 3600);
    assert!(is_held(&path, Holder::this_process()).await, "it may live");
    silent_for(&path, 61);
    assert!(!is_held(&path, Holder::this_process()).await, "nothing was written for 61 s since");
}

#[tokio::test]
async fn only_the_lock_files_of_dead_holders_are_removed() {
    let (_directory, path) = database_path();
    let live = open(&path, Holder::like_this_process());
    live.create(session("s1")).await.unwrap();
    let dead = files(&path)[0].with_file_name("dead.0");
    fs::copy(&files(&path)[0], &dead).unwrap();
    let foreign = dead.with_file_name("foreign.0");
    let mut file = fs::File::create_new(&foreign).unwrap();
    writeln!(file, "0123456789abcdef\n1@elsewhere").unwrap();
    let unfinished = dead.with_file_name("unfinished.0");
    fs::File::create_new(&unfinished).unwrap();

    let store = open(&path, Holder::like_this_process());
    assert_eq!(files(&path).len(), 4, "nobody sweeps who takes no lease");
    store.create(session("s2")).await.unwrap();
    let left = files(&path);
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(!left.contains(&dead) && left.contains(&foreign) && left.contains(&unfinished), "{left:?}");
    assert!(is_held(&path, Holder::like_this_process()).await, "the one that lives was left alone");
    drop((live, store));
    assert_eq!(files(&path).len(), 2, "who ends by itself leaves nothing");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the files of holders are changed from outside")]
async fn a_removed_lock_file_is_recreated_for_the_next_lease() {
    let (_directory, path) = database_path();
    let store = open(&path, Holder::like_this_process());
    store.create(session("s0")).await.unwrap();
    fs::remove_dir_all(path.with_file_name("holders")).unwrap();
    store.create(session("s1")).await.unwrap();
    assert!(is_held(&path, Holder::like_this_process()).await);
}

/// An older program without locks, and one that still had the file open when the columns for locks
/// were added.
#[tokio::test]
async fn a_lease_of_an_older_program_is_respected() {
    const TAKE: &str = "UPDATE sessions SET lease_epoch = lease_epoch + 1, lease_owner = 'them', lease_host = ?1, lease_pid = ?2, \
                        lease_start = ?3, lease_since = 1, lease_seen = 1";
    let alive = process(std::os::unix::process::parent_id());
    let gone = Holder { pid: i32::MAX as u32, ..alive.clone() };
    for (older, is_alive) in [(alive, true), (gone, false)] {
        let (_directory, path) = database_path();
        let before = open(&path, Holder::like_this_process());
        let lease = before.create(session("s1")).await.unwrap();
        let raw = Connection::open(&path).unwrap();
        raw.execute(TAKE, (&older.machine.host, older.pid, older.start.cast_signed())).unwrap();
        assert_eq!(
            before.append(&lease, vec![user_message("late")]).await,
            Err(StoreError::Fenced("s1".into()))
        );
        // The lock of the previous lease suggests the opposite; it must not affect the current
        // lease.
        let _taken = (!is_alive).then_some(before);
        assert_eq!(is_held(&path, Holder::like_this_process()).await, is_alive);
    }
}

const CHILD: &str = "STORE_TEST_HOLDS";

/// Runs this test again as the process that will be killed, with a child that outlives it.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a process must be killed, and it is this very test")]
async fn a_killed_process_loses_its_sessions_even_as_a_zombie_with_live_children() {
    if let Some(path) = std::env::var_os(CHILD) {
        return hold_until_killed(Path::new(&path)).await;
    }
    let (_directory, path) = database_path();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holders::a_killed_process_loses_its_sessions_even_as_a_zombie_with_live_children"])
        .arg("--nocapture")
        .env(CHILD, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line == "holds"));
    let silent = || Holder { machine: silent_machine(), ..Holder::this_process() };
    assert!(is_held(&path, silent()).await && is_held(&path, Holder::this_process()).await);

    child.kill().unwrap();
    // Its end of the pipe is closed when it is dead. It is not reaped yet, so it stays a zombie.
    wait_until_killed(&child);
    let store = open(&path, silent());
    let lease = acquired(&store).await;
    assert_eq!(store.append(&lease, vec![user_message("on")]).await, Ok(1));

    writeln!(child.stdin.take().unwrap(), "still here").unwrap();
    assert!(lines.any(|line| line == "still here"), "its own child has lived on");
    child.wait().unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a process must have a child that outlives it")]
async fn hold_until_killed(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    store.create(session("s1")).await.unwrap();
    // The child echoes what it reads from the test.
    let mut child = Command::new("cat").spawn().unwrap();
    writeln!(std::io::stdout().lock(), "holds").unwrap();
    child.wait().unwrap();
}

/// Returns the lease of the killed process's session. The main thread may be a zombie while the
/// other threads are still ending; the last of them closes the files.
async fn acquired(store: &SqliteStore) -> Lease {
    for _ in 0..100_000 {
        match store.acquire(&"s1".into(), false).await {
            Err(StoreError::Held { .. }) => std::thread::yield_now(),
            acquired => return acquired.unwrap(),
        }
    }
    panic!("the killed process still holds the session");
}

fn wait_until_killed(child: &Child) {
    let table = ProcessTable::here();
    while table.state(child.id()).is_some_and(|state| !state.ended) {
        std::thread::yield_now();
    }
}
