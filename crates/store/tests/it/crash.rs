//! A killed process loses nothing that was acknowledged.

use crate::{database_path, session, user_message};
use agent::SessionStore as _;
use std::{
    fs::OpenOptions,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
};
use store::SqliteStore;

const CHILD: &str = "STORE_TEST_APPENDS_TO";

/// Runs this test again as the process that will be killed.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a process must be killed, and it is this very test")]
async fn acknowledged_events_survive_a_kill() {
    if let Some(path) = std::env::var_os(CHILD) {
        return append_until_killed(Path::new(&path)).await;
    }
    let (_directory, path) = database_path();
    let mut killed = 0;
    for round in 1..=3u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::acknowledged_events_survive_a_kill", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        let mut read = |until: u64| {
            for line in lines.by_ref() {
                if let Some(seq) = line.unwrap().strip_prefix("acknowledged ") {
                    acknowledged = seq.parse().unwrap();
                    if acknowledged >= until {
                        break;
                    }
                }
            }
        };
        read(killed + 40 * round);
        child.kill().unwrap();
        // What it acknowledged before it died counts too.
        read(u64::MAX);
        child.wait().unwrap();

        let store = SqliteStore::open(&path).unwrap();
        let events = store.events(&"s1".into(), 0, usize::MAX).await.unwrap();
        let kept = events.len() as u64;
        assert!(kept >= acknowledged, "{acknowledged} acknowledged, {kept} kept");
        for (expected, (seq, event)) in (1..).zip(events) {
            assert_eq!((seq, event), (expected, user_message(&expected.to_string())));
        }
        assert_eq!(store.get(&"s1".into()).await.unwrap().last_seq, kept);
        killed = kept;
    }
}

#[expect(clippy::disallowed_methods, reason = "what this process says goes to the test that kills it")]
async fn append_until_killed(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let (lease, mut seq) = match store.get(&"s1".into()).await {
        // Its holder was killed, so no takeover is needed.
        Ok(record) => (store.acquire(&record.id, false).await.unwrap(), record.last_seq),
        Err(_) => (store.create(session("s1")).await.unwrap(), 0),
    };
    loop {
        seq += 1;
        assert_eq!(store.append(&lease, vec![user_message(&seq.to_string())]).await, Ok(seq));
        writeln!(std::io::stdout().lock(), "acknowledged {seq}").unwrap();
    }
}

#[tokio::test]
async fn a_torn_tail_is_dropped() {
    let (directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    for n in 1..=10 {
        store.append(&lease, vec![user_message(&n.to_string())]).await.unwrap();
    }
    // The files as a crash in the middle of the last write would leave them, truncated at several
    // places.
    for torn in [1, 100, 4_096, 20_000] {
        let crashed = directory.path().join(format!("torn-{torn}.db"));
        for side in ["", "-wal"] {
            let from = format!("{}{side}", path.display());
            std::fs::copy(from, format!("{}{side}", crashed.display())).unwrap();
        }
        let log = OpenOptions::new().write(true).open(format!("{}-wal", crashed.display())).unwrap();
        log.set_len(log.metadata().unwrap().len() - torn).unwrap();

        let reopened = SqliteStore::open(&crashed).unwrap();
        let kept = reopened.get(&lease.session).await.unwrap().last_seq;
        assert!((1..10).contains(&kept), "{kept}");
        let events = reopened.events(&lease.session, 0, 100).await.unwrap();
        assert!(events.into_iter().eq((1..=kept).map(|n| (n, user_message(&n.to_string())))));
        let lease = reopened.acquire(&lease.session, false).await.unwrap();
        assert_eq!(reopened.append(&lease, vec![user_message("on")]).await, Ok(kept + 1));
    }
}

/// The next start reads what a killed process left in the log, so the log must stay short.
#[tokio::test]
async fn the_write_ahead_log_stays_short() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    for _ in 0..150 {
        store.append(&lease, vec![user_message(&"x".repeat(40_000))]).await.unwrap();
    }
    let log = path.with_extension("db-wal").symlink_metadata().unwrap().len();
    assert!((1..2_000_000).contains(&log), "{log} bytes of about six million written");
}
