//! A room with its network, and what is around it.

use agent::{
    CommandNetwork, ConnectionJudge, Destination, Expectation, Push, RemoteRepository, SignCommits, Signing,
    Traffic,
};
use async_trait::async_trait;
use egress::{Dialer, Egress, GitAccess};
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use system::{
    AbsPath, Command, Confined, LocalOptions, LocalSystem, Network, Output, RoomPorts, Sandbox, SandboxLevel,
    System, View,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const OUTPUT: usize = 1 << 16;

/// The port of this machine that commands reach.
pub(crate) const SERVICE: u16 = 5432;

/// The address of every host but those that the test names otherwise.
const PUBLIC: &str = "93.184.216.34";

/// Leads every connection to one listener of the test.
#[derive(Debug)]
struct ToListener {
    listener: SocketAddr,
    addresses: Vec<(&'static str, &'static [&'static str])>,
}

#[async_trait]
impl Dialer for ToListener {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let named = self.addresses.iter().find(|(known, _)| *known == name);
        let texts = named.map_or(&[PUBLIC][..], |(_, addresses)| addresses);
        Ok(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    async fn connect(&self, _address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(self.listener).await
    }

    fn is_own(&self, _address: IpAddr) -> bool {
        false
    }
}

/// Allows the hosts below `ok.test`, holds `held.test` until the test answers, and denies the rest.
#[derive(Default)]
struct TestJudge {
    traffic: Arc<Traffic>,
    refused: Mutex<Vec<String>>,
    asked: Notify,
    answered: Notify,
    /// The servers of commands, with their addresses outside.
    servers: Mutex<BTreeMap<u16, SocketAddr>>,
    servers_changed: Notify,
    /// The names of the remotes that were reached, and whether as the user.
    reached: Mutex<Vec<String>>,
    /// The pushes that were asked about.
    pushes: Mutex<Vec<Push>>,
}

#[async_trait]
impl ConnectionJudge for TestJudge {
    async fn judge(&self, destination: &Destination) -> Result<(), String> {
        match destination {
            Destination::Local(SERVICE) => Ok(()),
            Destination::Host { name, .. } if name.ends_with("ok.test") => Ok(()),
            Destination::Host { name, .. } if name == "held.test" => {
                self.asked.notify_one();
                self.answered.notified().await;
                Ok(())
            }
            _ => Err("the test says no".to_owned()),
        }
    }

    async fn reach(
        &self,
        remote: &RemoteRepository,
        destination: &Destination,
        as_user: bool,
    ) -> Result<(), String> {
        self.reached.lock().unwrap().push(format!("{} {as_user}", remote.name));
        self.judge(destination).await
    }

    async fn push(&self, push: &Push) -> Result<(), String> {
        self.pushes.lock().unwrap().push(push.clone());
        let is_bad = |name: &str| name.contains("bad");
        match push.changes.iter().any(|change| is_bad(&change.name)) {
            true => Err("the test says no".to_owned()),
            false => Ok(()),
        }
    }

    async fn sign(&self, signing: &Signing) -> Result<(), String> {
        match signing.subject.contains("bad") {
            true => Err("the test says no".to_owned()),
            false => Ok(()),
        }
    }

    fn signs(&self) -> SignCommits {
        SignCommits::Ask
    }

    fn expectation(&self, name: &str) -> Expectation {
        match name {
            "denied.test" => Expectation::Denied,
            _ if name.ends_with("ok.test") => Expectation::Allowed,
            _ => Expectation::Undecided,
        }
    }

    fn is_for_reading(&self, destination: &Destination) -> bool {
        destination.to_string().starts_with("group.")
    }

    fn looked_up(&self, _name: &str) {}

    fn is_local(&self, name: &str) -> bool {
        name == "local.ok.test"
    }

    fn connected(&self, _destination: &Destination) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    fn refused(&self, destination: &Destination, reason: &str) {
        self.refused.lock().unwrap().push(format!("{destination}: {reason}"));
    }

    fn forwards_ports(&self) -> bool {
        true
    }

    fn forwarded(&self, port: u16, address: SocketAddr) {
        self.servers.lock().unwrap().insert(port, address);
        self.servers_changed.notify_one();
    }

    fn forward_ended(&self, port: u16) {
        self.servers.lock().unwrap().remove(&port);
        self.servers_changed.notify_one();
    }
}

/// A room with its network.
pub(crate) struct Stage {
    _dir: TempDir,
    _attached: Box<dyn Any + Send + Sync>,
    project: AbsPath,
    local: LocalSystem,
    sandbox: Sandbox,
    judge: Arc<TestJudge>,
    /// The first bytes of each connection that arrived at the host.
    arrived: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Stage {
    /// Creates a room; `None` if this machine has none. The host speaks first if there is a
    /// `greeting`, and otherwise answers the first bytes as a web server does.
    pub(crate) async fn new(greeting: Option<&'static str>) -> Option<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let arrived = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        tokio::spawn(host(listener, greeting, Arc::clone(&arrived)));
        Self::with_host(address, arrived, None).await
    }

    /// Creates a room whose connections lead to a listener of the test.
    pub(crate) async fn with_host(
        listener: SocketAddr,
        arrived: Arc<Mutex<Vec<Vec<u8>>>>,
        git: Option<GitAccess>,
    ) -> Option<Self> {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let (project, temp) = (top.join("project"), top.join("session/tmp"));
        let copies = top.join("session/copies");
        system::create_private_directory(&project).unwrap();
        let dialer = ToListener {
            listener,
            addresses: vec![
                ("rebound.ok.test", &[PUBLIC, "127.0.0.1"]),
                ("metadata.ok.test", &["169.254.169.254"]),
                ("private.ok.test", &["10.0.0.5"]),
                ("local.ok.test", &["10.0.0.5"]),
            ],
        };
        let egress = Egress::new(Arc::new(dialer));
        let egress = match git {
            Some(access) => egress.with_git(access),
            None => egress,
        };
        let judge = Arc::new(TestJudge::default());
        let attached = egress.attach(&temp, Arc::clone(&judge) as _);
        let launcher = vec![env!("CARGO_BIN_EXE_egress-sandbox-exec").to_owned()];
        let options = LocalOptions { launcher, ..LocalOptions::default() };
        let local = LocalSystem::with_options(options).with_network(Arc::new(egress));
        let support = local.sandbox_support().await;
        assert!(support.holds() || !support.namespaces, "a room needs namespaces; there are none here");
        let sandbox = Sandbox {
            level: SandboxLevel::WorkspaceWrite,
            network: Network::Session,
            ports: RoomPorts { hosts: vec![22, 80, 443], local: vec![SERVICE], services: Vec::new() },
            view: View {
                roots: vec![project.clone()],
                temp: Some(temp),
                copies: Some(copies),
                ..View::default()
            },
            ..Sandbox::default()
        };
        let stage = Self { _dir: dir, _attached: attached, project, local, sandbox, judge, arrived };
        support.holds().then_some(stage)
    }

    /// Runs a line, and returns its output if it succeeded.
    pub(crate) async fn run(&self, line: &str) -> Result<String, String> {
        self.run_on(&Confined::new(Arc::new(self.local.clone()), self.sandbox.clone()), line).await
    }

    /// The same, without a sandbox.
    pub(crate) async fn outside(&self, line: &str) -> Result<String, String> {
        self.run_on(&self.local, line).await
    }

    async fn run_on(&self, system: &dyn System, line: &str) -> Result<String, String> {
        let command = Command::shell(line.to_owned(), self.project.clone(), OUTPUT);
        let mut process = system.spawn(command).await.unwrap();
        let mut output = String::new();
        while let Some(piece) = process.next_output().await {
            if let Output::Text(text) = piece {
                output.push_str(&text);
            }
        }
        if process.wait().await.unwrap().success() { Ok(output) } else { Err(output) }
    }

    /// Returns the project's directory.
    pub(crate) fn project(&self) -> &AbsPath {
        &self.project
    }

    /// Takes the names of the remotes that were reached.
    pub(crate) fn reached(&self) -> Vec<String> {
        std::mem::take(&mut *self.judge.reached.lock().unwrap())
    }

    /// Takes the pushes that were asked about.
    pub(crate) fn pushes(&self) -> Vec<Push> {
        std::mem::take(&mut *self.judge.pushes.lock().unwrap())
    }

    /// Creates an empty file in the project.
    pub(crate) fn write(&self, name: &str) {
        std::fs::write(self.project.join(name).as_std(), "").unwrap();
    }

    /// Takes what arrived at the host, as text.
    pub(crate) fn arrived(&self) -> Vec<String> {
        let all = std::mem::take(&mut *self.arrived.lock().unwrap());
        all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }

    /// Takes the refusals that the judge was notified of.
    pub(crate) fn refused(&self) -> Vec<String> {
        std::mem::take(&mut *self.judge.refused.lock().unwrap())
    }

    /// Returns the bytes that hosts have received and sent.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        let Traffic { sent, received, .. } = &*self.judge.traffic;
        (sent.load(Ordering::Relaxed), received.load(Ordering::Relaxed))
    }

    /// Waits until the servers of commands are those at these ports; returns their addresses.
    pub(crate) async fn servers(&self, ports: &[u16]) -> Vec<SocketAddr> {
        loop {
            let known = self.judge.servers.lock().unwrap().clone();
            if known.keys().eq(ports) {
                return known.into_values().collect();
            }
            self.judge.servers_changed.notified().await;
        }
    }

    /// Waits until the judge is asked about a held connection.
    pub(crate) async fn asked(&self) {
        self.judge.asked.notified().await;
    }

    /// Lets a held connection go on.
    pub(crate) fn answer(&self) {
        self.judge.answered.notify_one();
    }
}

/// A host: notes the first bytes of each connection and answers them.
async fn host(listener: TcpListener, greeting: Option<&'static str>, arrived: Arc<Mutex<Vec<Vec<u8>>>>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let arrived = Arc::clone(&arrived);
        tokio::spawn(async move {
            if let Some(greeting) = greeting {
                stream.write_all(greeting.as_bytes()).await.unwrap();
            }
            let mut first = vec![0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut first).await {
                arrived.lock().unwrap().push(first[..length].to_vec());
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                if greeting.is_none() && stream.write_all(answer).await.is_err() {
                    return;
                }
            }
        });
    }
}
