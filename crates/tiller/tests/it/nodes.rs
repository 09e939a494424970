//! Several nodes of one database: `tiller serve --node-listen`.

use crate::{
    blackhole::Blackhole,
    chaos::pause,
    home::{Home, stderr},
    postgres,
    team::{Client, Server, prompt, token},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use std::{
    net::TcpListener,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

/// The ports of a node.
pub(crate) struct Ports {
    client: u16,
    node: u16,
}

impl Ports {
    /// Returns ports that nothing uses.
    pub(crate) fn free() -> Self {
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [client, node] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
        Self { client, node }
    }
}

/// A database, and what nodes need to work on it together.
pub(crate) struct Cluster {
    home: Home,
    token: String,
    url: String,
    /// The number of nodes that were started.
    started: AtomicU32,
    /// The nodes' way to the database.
    blackhole: Blackhole,
    // Dropped last: the nodes end before their database.
    database: postgres::Server,
}

impl Cluster {
    /// Starts a database; `None` if this machine has none.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with("")
    }

    /// Starts a database for nodes with these settings of `serve`; `None` if this machine has none.
    pub(crate) fn start_with(settings: &str) -> Option<Self> {
        let database = postgres::Server::start()?;
        let home = Home::new();
        home.settings(&format!(
            "[providers.local]\ndiscover = false\n[serve]\n{settings}\n[serve.quota.user]\nprompts_per_minute = 100000\n\
             running_turns = 1000\nopen_sessions = 1000\nconnections = 1000\n"
        ));
        let blackhole = Blackhole::start(&database.socket());
        let url = blackhole.url("postgres");
        assert!(home.run(&["store", "migrate", "--store", &url]).status.success());
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let node = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let node = node.signed_by(&key, &authority).unwrap();
        home.write("ca.pem", &authority.pem());
        home.write("node.pem", &node.pem());
        home.write("node.key", &key.serialize_pem());
        let token = token(&home, "ada", &["--store", &url]);
        Some(Self { home, token, url, started: AtomicU32::new(0), blackhole, database })
    }

    /// Starts a node at ports of its own.
    fn node(&self) -> Server {
        self.node_at(&Ports { client: 0, node: 0 })
    }

    /// Starts a node.
    pub(crate) fn node_at(&self, ports: &Ports) -> Server {
        self.node_with(ports, &[])
    }

    /// Starts a node whose folders have a name.
    fn node_of(&self, folders: &str) -> Server {
        self.node_with(&Ports { client: 0, node: 0 }, &["--node-folders", folders])
    }

    fn node_with(&self, ports: &Ports, arguments: &[&str]) -> Server {
        let [ca, cert, key] = ["ca.pem", "node.pem", "node.key"].map(|name| self.home.file(name));
        let [client, node] = [ports.client, ports.node].map(|port| format!("tcp:127.0.0.1:{port}"));
        let listen = ["--listen", &client, "--node-listen", &node, "--store", &self.url];
        let files = ["--node-cert", &cert, "--node-key", &key, "--node-ca", &ca];
        let more = ["--permission-mode", "prometheus", "--model", "offline/pilot"];
        // Each node of this machine has a Unix socket of its own, for its administrator.
        let runtime = self.home.path().join(format!("run-{}", self.started.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&runtime).unwrap();
        let environment = [("XDG_RUNTIME_DIR", runtime.to_str().unwrap())];
        Server::start_with(&self.home, &[&listen[..], &files, &more, arguments].concat(), &environment)
    }

    pub(crate) fn client(&self, node: &Server) -> Client {
        Client::connect(&self.home, Some((node, &self.token)))
    }

    /// Runs a command of an administrator at a node: the one that was started as number `node`.
    fn administer(&self, node: u32, command: &[&str]) -> Value {
        let socket = self.home.file(&format!("../run-{node}/tiller/serve.sock"));
        let output = self.home.run(&[&["serve"], command, &["--json", "--socket", &socket]].concat());
        assert!(output.status.success(), "{command:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns what the audit has of an event: what each record is about.
    fn audited(&self, event: &str) -> Vec<Value> {
        let output = self.home.run(&["serve", "audit", "--json", "--store", &self.url]);
        let trail: Value = serde_json::from_slice(&output.stdout).unwrap();
        let records = trail["records"].as_array().unwrap().iter();
        records.filter(|record| record["what"] == event).map(|record| record["about"].clone()).collect()
    }

    /// Waits until a file of the project has a whole line.
    fn until_line(&self, file: &str) {
        let path = self.home.file(file);
        while !std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')) {
            std::thread::yield_now();
        }
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Kills the database with SIGKILL, and starts it again.
    pub(crate) fn kill_database(&mut self) {
        self.database.kill_and_start();
    }

    /// Cuts the nodes off from the database, or not any more: nothing is refused.
    pub(crate) fn cut_off(&self, is_cut_off: bool) {
        self.blackhole.swallow(is_cut_off);
    }

    fn project(&self) -> Value {
        json!({ "cwd": self.home.project(), "mcpServers": [] })
    }

    pub(crate) fn load(&self, session: &str) -> Value {
        json!({ "cwd": self.home.project(), "mcpServers": [], "sessionId": session })
    }

    fn create(&self, client: &mut Client) -> String {
        let created = client.request("session/new", self.project()).unwrap();
        created["sessionId"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_client_of_any_node_uses_a_session_that_another_node_holds() {
    let Some(cluster) = Cluster::start() else { return };
    let (a, b) = (cluster.node(), cluster.node());
    let (mut at_a, mut at_b) = (cluster.client(&a), cluster.client(&b));
    let session = cluster.create(&mut at_a);
    at_a.request("session/prompt", prompt(&session, "help")).unwrap();
    at_b.request("session/load", cluster.load(&session)).unwrap();
    at_b.request("session/prompt", prompt(&session, "run echo from-b")).unwrap();
    let shown = at_a.until(|message| message.to_string().contains("from-b"));
    assert_eq!(shown["params"]["sessionId"], session.as_str(), "each client sees what the other does");
    let listed = at_b.request("session/list", json!({})).unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    at_a.request("session/close", json!({ "sessionId": session })).unwrap();
    assert!(
        at_b.request("session/prompt", prompt(&session, "help")).is_ok(),
        "it is still open for the other"
    );
}

#[test]
fn a_session_goes_on_at_another_node_when_its_own_is_killed() {
    let Some(cluster) = Cluster::start() else { return };
    let (a, b) = (cluster.node(), cluster.node());
    let mut at_b = cluster.client(&b);
    let session = {
        let mut at_a = cluster.client(&a);
        let session = cluster.create(&mut at_a);
        at_a.request("session/prompt", prompt(&session, "run echo first")).unwrap();
        session
    };
    at_b.request("session/load", cluster.load(&session)).unwrap();
    let marker = cluster.home.file("ran");
    let open = at_b.start("session/prompt", prompt(&session, "run `echo x >> ran; sleep 300`"));
    while !std::fs::read_to_string(&marker).is_ok_and(|text| text.ends_with('\n')) {
        std::thread::yield_now();
    }
    drop(a);
    let killed = Instant::now();
    let answer = at_b.until(|message| message["id"] == open && message.get("method").is_none());
    assert_eq!(answer["error"]["data"]["reason"], "owner_lost", "{answer}");
    at_b.request("session/prompt", prompt(&session, "run echo second")).unwrap();
    assert!(killed.elapsed() < Duration::from_secs(30), "{:?}", killed.elapsed());
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "x\n", "nothing is run twice");
}

#[test]
fn a_node_that_is_ended_in_order_interrupts_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    let (mut a, b) = (cluster.node(), cluster.node());
    let (mut at_a, mut at_b) = (cluster.client(&a), cluster.client(&b));
    let [own, foreign] = [(); 2].map(|()| cluster.create(&mut at_a));
    at_b.request("session/load", cluster.load(&foreign)).unwrap();
    let marker = cluster.home.file("ran");
    let slow = |mark: &str| format!("run `touch begun-{mark}; sleep 3; echo {mark} >> ran`");
    let first = at_a.start("session/prompt", prompt(&own, &slow("own")));
    let second = at_b.start("session/prompt", prompt(&foreign, &slow("foreign")));
    let begun = |mark: &str| cluster.home().project().join(format!("begun-{mark}")).exists();
    while !begun("own") || !begun("foreign") {
        std::thread::yield_now();
    }
    a.signal(rustix::process::Signal::TERM);
    for (client, id) in [(&mut at_a, first), (&mut at_b, second)] {
        let answer = client.until(|message| message["id"] == id && message.get("method").is_none());
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    }
    a.wait();
    let mut ran: Vec<_> = std::fs::read_to_string(&marker).unwrap().lines().map(str::to_owned).collect();
    ran.sort();
    assert_eq!(ran, ["foreign", "own"]);
    at_b.request("session/load", cluster.load(&own)).unwrap();
    at_b.request("session/prompt", prompt(&own, "run echo on")).unwrap();
}

#[test]
fn a_node_is_drained_by_a_command_and_its_turn_goes_on_elsewhere() {
    let Some(cluster) = Cluster::start() else { return };
    let (mut a, _b) = (cluster.node(), cluster.node());
    let mut at_a = cluster.client(&a);
    let session = cluster.create(&mut at_a);
    let open = at_a.start("session/prompt", prompt(&session, "run `echo x >> ran; sleep 3`"));
    cluster.until_line("ran");
    let drained = cluster.administer(0, &["drain", "--wait"]);
    assert_eq!(
        [&drained["other_nodes"], &drained["running_turns"], &drained["ended"]],
        [&json!(1), &json!(1), &json!(true)],
        "{drained}"
    );
    a.wait();
    let answer = at_a.until(|message| message["id"] == open && message.get("method").is_none());
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert_eq!(std::fs::read_to_string(cluster.home.file("ran")).unwrap(), "x\n");
    assert_eq!(cluster.audited("administered"), ["drain"]);
    assert_eq!(cluster.audited("taken_over"), ["suspended"]);
}

#[test]
fn after_the_death_of_its_node_a_turn_goes_on_and_its_prompt_is_answered_if_the_settings_say_so() {
    let Some(cluster) = Cluster::start_with("after_death = 'continue'") else { return };
    let (a, b) = (cluster.node(), cluster.node());
    let (mut at_a, mut at_b) = (cluster.client(&a), cluster.client(&b));
    let [watched, alone] = [(); 2].map(|()| cluster.create(&mut at_a));
    at_b.request("session/load", cluster.load(&watched)).unwrap();
    let interrupted =
        |mark: &str| format!("run `echo {mark} >> {mark}; sleep 300`, then run `echo then-{mark} >> {mark}`");
    at_a.start("session/prompt", prompt(&alone, &interrupted("alone")));
    let open = at_b.start("session/prompt", prompt(&watched, &interrupted("watched")));
    cluster.until_line("alone");
    cluster.until_line("watched");
    drop(at_a);
    drop(a);
    let answer = at_b.until(|message| message["id"] == open && message.get("method").is_none());
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    // No client has opened this one: the node that lives goes on with it by itself.
    let begun = Instant::now();
    while cluster.audited("taken_over").len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the turn without a client does not go on");
        pause(Duration::from_millis(500));
    }
    assert_eq!(cluster.audited("taken_over"), ["after death", "after death"]);
    for mark in ["alone", "watched"] {
        let ran = std::fs::read_to_string(cluster.home.file(mark)).unwrap();
        assert_eq!(ran.lines().filter(|line| *line == mark).count(), 1, "no call is run again: {ran}");
    }
    at_b.request("session/prompt", prompt(&watched, "run echo on")).unwrap();
}

#[test]
fn the_commands_of_a_stopped_node_end_with_its_leases_and_not_when_it_continues() {
    let Some(cluster) = Cluster::start() else { return };
    let (a, b) = (cluster.node(), cluster.node());
    let mut at_a = cluster.client(&a);
    let session = cluster.create(&mut at_a);
    at_a.start("session/prompt", prompt(&session, "run `while true; do echo x >> ran; sleep 1; done`"));
    cluster.until_line("ran");
    a.signal(rustix::process::Signal::STOP);
    // It dies before the lease ends, which is 20 s after the last heartbeat.
    pause(Duration::from_secs(19));
    let lines = || std::fs::read_to_string(cluster.home.file("ran")).unwrap().lines().count();
    let at_the_end = lines();
    assert!(at_the_end > 5, "it runs while the lease is certain");
    pause(Duration::from_secs(4));
    assert_eq!(lines(), at_the_end, "and no longer");
    let mut at_b = cluster.client(&b);
    at_b.request("session/load", cluster.load(&session)).unwrap();
    at_b.request("session/prompt", prompt(&session, "run echo second")).unwrap();
    a.signal(rustix::process::Signal::CONT);
    pause(Duration::from_secs(2));
    assert_eq!(lines(), at_the_end);
}

#[test]
fn a_session_is_read_at_a_node_without_its_folders_and_goes_on_at_one_that_has_them() {
    let Some(cluster) = Cluster::start() else { return };
    let (a, b) = (cluster.node_of("one"), cluster.node_of("two"));
    let mut at_b = cluster.client(&b);
    let session = {
        let mut at_a = cluster.client(&a);
        let session = cluster.create(&mut at_a);
        at_a.request("session/prompt", prompt(&session, "run echo at-home")).unwrap();
        session
    };
    at_b.request("session/load", cluster.load(&session)).unwrap();
    at_b.request("session/prompt", prompt(&session, "run echo forwarded >> ran")).unwrap();
    at_b.request("session/close", json!({ "sessionId": session })).unwrap();
    drop(a);
    // The lease of the dead node ends first.
    let begun = Instant::now();
    let mut seen = String::new();
    loop {
        let id = at_b.start("session/load", cluster.load(&session));
        let answer = at_b.until(|message| {
            seen.push_str(&message.to_string());
            message["id"] == id && message.get("method").is_none()
        });
        if answer.get("error").is_none() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{answer}");
        pause(Duration::from_millis(200));
    }
    assert!(seen.contains("at-home"), "it can be read");
    let refused = at_b.request("session/prompt", prompt(&session, "run echo elsewhere >> ran")).unwrap_err();
    assert_eq!(refused["data"]["reason"], "workspace_unavailable", "{refused}");
    assert!(refused["data"]["folders"].as_str().unwrap().starts_with("one "), "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("--node-folders"), "{refused}");
    let other = cluster.create(&mut at_b);
    at_b.request("session/prompt", prompt(&other, "run echo own >> ran")).unwrap();
    at_b.request("session/close", json!({ "sessionId": session })).unwrap();
    let _back = cluster.node_of("one");
    at_b.request("session/load", cluster.load(&session)).unwrap();
    at_b.request("session/prompt", prompt(&session, "run echo back >> ran")).unwrap();
    assert_eq!(std::fs::read_to_string(cluster.home.file("ran")).unwrap(), "forwarded\nown\nback\n");
}

#[test]
fn a_node_that_the_network_cuts_off_from_the_database_ends_its_commands_and_goes_on_later() {
    let Some(cluster) = Cluster::start() else { return };
    let a = cluster.node();
    let mut at_a = cluster.client(&a);
    let session = cluster.create(&mut at_a);
    let forever = "run `while true; do echo x >> ran; sleep 1; done`";
    let open = at_a.start("session/prompt", prompt(&session, forever));
    cluster.until_line("ran");
    cluster.cut_off(true);
    pause(Duration::from_secs(20));
    let lines = || std::fs::read_to_string(cluster.home.file("ran")).unwrap().lines().count();
    let at_the_end = lines();
    pause(Duration::from_secs(3));
    assert_eq!(lines(), at_the_end, "another node might have the session by now");
    cluster.cut_off(false);
    at_a.until(|message| message["id"] == open && message.get("method").is_none());
    let begun = Instant::now();
    while at_a.request("session/prompt", prompt(&session, "run echo on >> on.txt")).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it goes on once the database is there");
        pause(Duration::from_millis(200));
    }
    assert_eq!(std::fs::read_to_string(cluster.home.file("on.txt")).unwrap(), "on\n");
}
