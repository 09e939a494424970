//! Three nodes of one database, while nodes are killed, stopped and ended in order at random, and
//! the database is killed or out of reach: each answered prompt is in its session, and no command
//! runs twice.
//!
//! `TILLER_CHAOS` sets the seconds, `TILLER_CHAOS_SESSIONS` the sessions, `TILLER_CHAOS_STOPPED`
//! for how long nodes are stopped or cut off, and `TILLER_SEED` repeats a run. `cargo xtask
//! serve-ci` runs it for longer.

use crate::{
    nodes::{Cluster, Ports},
    team::{Client, Server, prompt},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    env,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

const NODES: usize = 3;
const CLIENTS: usize = 6;
/// For how many seconds a node is stopped, or all are cut off from the database: longer than leases
/// last.
const STOPPED: u64 = 24;
/// How soon every session is usable after the last fault.
const USABLE: Duration = Duration::from_secs(45);
/// How long a session may fail to be created, through several faults.
const PATIENCE: Duration = Duration::from_secs(300);

fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// Random numbers that a seed repeats (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

/// Lets real time pass: the faults are those of real processes.
pub(crate) fn pause(time: Duration) {
    // Nothing is sent.
    let (_sender, nothing) = channel::<()>();
    let _ = nothing.recv_timeout(time);
}

/// What a client was answered: the marks of prompts by session, with whether they succeeded.
type Answered = Mutex<Vec<(String, String, bool)>>;

#[test]
fn no_answer_is_lost_and_no_command_runs_twice_whatever_happens_to_the_nodes() {
    let Some(cluster) = Cluster::start() else { return };
    let seconds = Duration::from_secs(number("TILLER_CHAOS", 30));
    let sessions = usize::try_from(number("TILLER_CHAOS_SESSIONS", 18)).unwrap();
    let stopped = Duration::from_secs(number("TILLER_CHAOS_STOPPED", STOPPED));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("TILLER_SEED", u64::from(now.subsec_nanos()));
    println!("TILLER_SEED={seed}");
    let ports: Vec<Ports> = (0..NODES).map(|_| Ports::free()).collect();
    let nodes: Vec<Mutex<Server>> = ports.iter().map(|ports| Mutex::new(cluster.node_at(ports))).collect();
    let cluster = Mutex::new(cluster);
    let answered = Answered::default();
    let over = AtomicBool::new(false);
    let marks = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (cluster, nodes, answered, over, marks) = (&cluster, &nodes, &answered, &over, &marks);
            let mut random = Random(seed ^ (number as u64 + 1));
            scope.spawn(move || {
                // The lock is free while a client waits: the database comes back by it.
                let (mut client, project) = {
                    let cluster = cluster.lock().unwrap();
                    (cluster.client(&nodes[number % NODES].lock().unwrap()), cluster.home().project())
                };
                let own: Vec<String> =
                    (0..sessions / CLIENTS).map(|_| create_patiently(&project, &mut client)).collect();
                while !over.load(Ordering::Relaxed) {
                    let session = &own[random.below(own.len())];
                    let mark = format!("mark-{}", marks.fetch_add(1, Ordering::Relaxed));
                    let text = format!("run echo {mark} >> calls.txt");
                    let answer = client.request("session/prompt", prompt(session, &text));
                    answered.lock().unwrap().push((session.clone(), mark, answer.is_ok()));
                }
            });
        }
        let begun = Instant::now();
        let mut random = Random(seed);
        while begun.elapsed() < seconds {
            pause(Duration::from_secs(3));
            let node = random.below(NODES);
            let pid = nodes[node].lock().unwrap().pid();
            let signal = |signal| kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
            let fault = random.below(10);
            println!("{:>4} s: fault {fault} at node {node}", begun.elapsed().as_secs());
            match fault {
                0..3 => signal(Signal::KILL),
                3..5 => signal(Signal::TERM),
                5 => {
                    signal(Signal::STOP);
                    pause(stopped);
                    signal(Signal::CONT);
                    continue;
                }
                6 | 7 => {
                    cluster.lock().unwrap().cut_off(true);
                    pause(stopped);
                    cluster.lock().unwrap().cut_off(false);
                    continue;
                }
                _ => {
                    cluster.lock().unwrap().kill_database();
                    continue;
                }
            }
            let mut held = nodes[node].lock().unwrap();
            held.wait();
            *held = cluster.lock().unwrap().node_at(&ports[node]);
        }
        over.store(true, Ordering::Relaxed);
    });
    let cluster = cluster.into_inner().unwrap();
    let answered = answered.into_inner().unwrap();
    let succeeded = answered.iter().filter(|(_, _, ok)| *ok).count();
    println!("{} prompts, {succeeded} of them answered without an error", answered.len());
    assert!(succeeded > 0);
    let calls = std::fs::read_to_string(cluster.home().project().join("calls.txt")).unwrap();
    let mut times: HashMap<&str, usize> = HashMap::new();
    calls.lines().for_each(|mark| *times.entry(mark).or_default() += 1);
    for (session, mark, _) in &answered {
        let times = times.get(mark.as_str()).copied().unwrap_or_default();
        assert!(times <= 1, "{mark} of {session} was run {times} times");
    }
    let recovered = Instant::now();
    let mut client = cluster.client(&nodes[0].lock().unwrap());
    let mut whole: HashMap<&str, String> = HashMap::new();
    for (session, mark, ok) in &answered {
        let history = whole.entry(session).or_insert_with(|| history(&cluster, &mut client, session));
        assert!(!ok || history.contains(mark.as_str()), "{mark} is missing in session {session}");
        // A command that is stopped at the deadline of its node's lease fails, and its turn may end
        // with an answer that says so.
        let is_answered = !ok || times.contains_key(mark.as_str()) || has_failed(history, mark);
        assert!(is_answered, "{mark} of {session} was answered and not run:\n{history}");
    }
    for session in whole.keys() {
        client.request("session/prompt", prompt(session, "help")).unwrap();
    }
    assert!(recovered.elapsed() < USABLE + Duration::from_millis(200) * u32::try_from(sessions).unwrap());
}

/// Whether the call of the command with a mark is shown as failed.
fn has_failed(history: &str, mark: &str) -> bool {
    let update = |line: &str| {
        let message: Value = serde_json::from_str(line).unwrap();
        let update = &message["params"]["update"];
        (update["toolCallId"].clone(), update["status"] == "failed")
    };
    let of_mark: Vec<_> =
        history.lines().filter(|line| line.contains(mark)).map(|line| update(line).0).collect();
    history.lines().map(update).any(|(id, failed)| failed && of_mark.contains(&id))
}

/// Loads a session and returns all updates of it, a line each.
fn history(cluster: &Cluster, client: &mut Client, session: &str) -> String {
    let begun = Instant::now();
    loop {
        let id = client.start("session/load", cluster.load(session));
        let mut seen = String::new();
        let answer = client.until(|message| {
            if message["params"]["sessionId"] == session {
                seen.push_str(&format!("{message}\n"));
            }
            message["id"] == id && message.get("method").is_none()
        });
        match answer.get("error") {
            None => return seen,
            Some(error) => {
                assert!(begun.elapsed() < USABLE, "session {session} cannot be loaded: {error}");
                pause(Duration::from_millis(200));
            }
        }
    }
}

/// Creates a session, however often that fails meanwhile.
fn create_patiently(project: &Path, client: &mut Client) -> String {
    let begun = Instant::now();
    loop {
        match client.request("session/new", json!({ "cwd": project, "mcpServers": [] })) {
            Ok(created) => return Value::as_str(&created["sessionId"]).unwrap().to_owned(),
            Err(error) => assert!(begun.elapsed() < PATIENCE, "no session can be created: {error}"),
        }
    }
}
