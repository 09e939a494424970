//! `tiller sessions migrate` that is killed in the middle, again and again.

use crate::{
    home::{Home, stderr, stdout},
    postgres::Server,
};
use agent::{Content, NewSession, SessionEvent, SessionStore as _};
use serde_json::Value;
use std::{
    io::Read as _,
    path::Path,
    process::Stdio,
    sync::mpsc::channel,
    time::{Duration, Instant},
};

/// How many sessions are copied; `TILLER_MIGRATE` sets another number, such as 1000.
const SESSIONS: usize = 40;
/// The first run is killed after this time, and each further one so much later.
const STEP: Duration = Duration::from_millis(60);
/// How long all of it may take: the sessions of a killed process are free after 20 s.
const LONGEST: Duration = Duration::from_secs(300);

fn sessions() -> usize {
    std::env::var("TILLER_MIGRATE").ok().and_then(|count| count.parse().ok()).unwrap_or(SESSIONS)
}

fn fill(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = store::SqliteStore::open(path).unwrap();
        for nth in 0..sessions() {
            let id = format!("s{nth:04}");
            let new = NewSession {
                id: id.as_str().into(),
                cwd: system::AbsPath::new("/work").unwrap(),
                additional_directories: Vec::new(),
                model: "offline/pilot".to_owned(),
                mode: agent::Mode::Edit,
                permission_mode: agent::PermissionMode::Guardian,
                parent: None,
                owner: None,
            };
            let lease = store.create(new).await.unwrap();
            let text = |n| format!("{n} {}", "ü".repeat(if nth % 5 == 0 { 70_000 } else { 100 }));
            let event =
                |n| SessionEvent::UserMessage { id: "m".into(), content: vec![Content::text(text(n))] };
            store.append(&lease, (0..5 + nth % 20).map(event).collect()).await.unwrap();
            store.release(&lease).await.unwrap();
        }
    });
}

/// Runs a command, killed later each time, until one ends by itself and has copied everything.
/// Returns how often it was killed.
fn run_with_kills(home: &Home, args: &[&str]) -> usize {
    let begun = Instant::now();
    let (mut kills, mut wait) = (0, STEP);
    loop {
        let mut child = home.tiller(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let (tell, ended) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = output.read_to_string(&mut text);
            let _ = tell.send(text);
        });
        match ended.recv_timeout(wait) {
            Ok(_) if child.wait().unwrap().success() => return kills,
            // A session that a killed process had open is not free yet.
            Ok(text) => assert!(begun.elapsed() < LONGEST, "{text}"),
            Err(_) => {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
        }
        wait += STEP;
    }
}

fn json(home: &Home, args: &[&str]) -> Value {
    let output = home.run(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}{}", stdout(&output), stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn copies_that_are_killed_again_and_again_are_complete_and_not_doubled() {
    let Some(server) = Server::start() else { return };
    let home = Home::new();
    let url = server.url("postgres");
    json(&home, &["store", "migrate", "--store", &url]);
    let path = home.path().join("first.db");
    fill(&path);
    let [first, second] =
        ["first.db", "second.db"].map(|name| format!("sqlite:{}", home.path().join(name).display()));
    for (from, to) in [(&first, &url), (&url, &second)] {
        let kills =
            run_with_kills(&home, &["sessions", "migrate", "--from", from, "--to", to, "--user", "ada"]);
        assert!(kills >= 3, "killed {kills} times");
        let verified = json(&home, &["store", "verify", "--store", to]);
        assert_eq!(verified["sessions"], sessions(), "{verified}");
        assert_eq!(verified["unsound"].as_array().unwrap().len(), 0, "{verified}");
        // Every digest is that of the original.
        let again = json(&home, &["sessions", "migrate", "--from", from, "--to", to, "--user", "ada"]);
        assert_eq!((&again["present"], &again["copied"]), (&sessions().into(), &0.into()), "{again}");
    }
    let compared = json(&home, &["sessions", "migrate", "--from", &second, "--to", &first]);
    assert_eq!(compared["present"], sessions(), "{compared}");
}
