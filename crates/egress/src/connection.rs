//! The sockets of one room: lookups of names, and connections from their beginning to their end.

use crate::accept;
use crate::counted::Counted;
use crate::dial::{self, Dialer};
use crate::dns::{self, Answer};
use crate::git::{self, Git};
use crate::hello::{self, BadHello};
use crate::limits::{CONNECTIONS, COPY_BYTES, HELLO_WAIT, QUERY_BYTES, REFUSAL_WAIT};
use crate::names::{Names, is_invented};
use crate::outbound::{Refused, connected, copy};
use crate::web;
use agent::{ConnectionJudge, Destination, Expectation};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use system::{AbsPath, RoomSockets};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

const HTTPS: u16 = 443;
const HTTP: u16 = 80;
const SSH: u16 = 22;

/// One room.
pub(crate) struct Room {
    judge: Box<dyn Fn() -> Option<Arc<dyn ConnectionJudge>> + Send + Sync>,
    dialer: Arc<dyn Dialer>,
    /// The access to repositories of git, with the session that it is for.
    git: Option<(Arc<Git>, AbsPath)>,
    names: Mutex<Names>,
    /// The ports at which a loopback address stands for this machine.
    local: Vec<u16>,
    slots: Semaphore,
}

/// Why a connection to a host of a group ends early.
const TOO_MUCH: &str = "more was sent than downloads send; the next connection is asked about";

impl Room {
    pub(crate) fn new(
        judge: impl Fn() -> Option<Arc<dyn ConnectionJudge>> + Send + Sync + 'static,
        dialer: Arc<dyn Dialer>,
        git: Option<(Arc<Git>, AbsPath)>,
        local: impl IntoIterator<Item = u16>,
    ) -> Self {
        Self {
            judge: Box::new(judge),
            dialer,
            git,
            names: Mutex::default(),
            local: local.into_iter().collect(),
            slots: Semaphore::new(CONNECTIONS),
        }
    }

    /// Serves the sockets; returns when none of them can be served any more.
    pub(crate) async fn serve(self: Arc<Self>, sockets: RoomSockets) -> io::Result<()> {
        let mut tasks = JoinSet::new();
        let RoomSockets { names_udp, names_tcp, listeners, local: _ } = sockets;
        names_udp.set_nonblocking(true)?;
        tasks.spawn(Arc::clone(&self).names_by_udp(UdpSocket::from_std(names_udp)?));
        let names_tcp = listener(names_tcp)?;
        let room = Arc::clone(&self);
        tasks.spawn(accept::each(names_tcp, move |stream, _| {
            let room = Arc::clone(&room);
            async move { drop(room.names_by_tcp(stream).await) }
        }));
        for socket in listeners {
            let room = Arc::clone(&self);
            tasks.spawn(accept::each(listener(socket)?, move |stream, _| {
                Arc::clone(&room).connection(stream)
            }));
        }
        while tasks.join_next().await.is_some() {}
        Ok(())
    }

    async fn names_by_udp(self: Arc<Self>, socket: UdpSocket) {
        let socket = Arc::new(socket);
        let mut lookups = JoinSet::new();
        let mut packet = [0; QUERY_BYTES];
        loop {
            let received = tokio::select! {
                received = socket.recv_from(&mut packet) => received,
                Some(_) = lookups.join_next() => continue,
            };
            let Ok((length, peer)) = received else { continue };
            let (query, room, socket) = (packet[..length].to_vec(), Arc::clone(&self), Arc::clone(&socket));
            if lookups.len() < CONNECTIONS {
                lookups.spawn(async move {
                    if let Some(answer) = room.answer(&query).await {
                        // The command may have ended.
                        socket.send_to(&answer, peer).await.ok();
                    }
                });
            }
        }
    }

    async fn names_by_tcp(self: Arc<Self>, mut stream: TcpStream) -> io::Result<()> {
        loop {
            let length = timeout(HELLO_WAIT, stream.read_u16()).await??;
            let mut query = vec![0; usize::from(length).min(QUERY_BYTES)];
            timeout(HELLO_WAIT, stream.read_exact(&mut query)).await??;
            let Some(answer) = self.answer(&query).await else { return Ok(()) };
            stream.write_u16(u16::try_from(answer.len()).map_err(io::Error::other)?).await?;
            stream.write_all(&answer).await?;
        }
    }

    async fn answer(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let query = dns::read(packet)?;
        let answer = match query.kind {
            dns::A => self.address(&query.name).await,
            _ => Answer::Empty,
        };
        Some(dns::write(packet, &query, answer))
    }

    /// Returns the invented address of a host. A host that a rule allows is looked up outside, so
    /// that one that does not exist has no address. The name of any other host stays here.
    async fn address(&self, name: &str) -> Answer {
        if name == "localhost" || name.ends_with(".localhost") || is_own_name(name) {
            return Answer::Address(Ipv4Addr::LOCALHOST);
        }
        if name == git::HOST && self.git.is_some() {
            return self.invented(name);
        }
        let Some(destination) = Destination::host(name, HTTPS) else { return Answer::NoName };
        let Some(judge) = (self.judge)() else { return Answer::Failed };
        match judge.expectation(name) {
            Expectation::Denied => {
                if let Err(reason) = judge.judge(&destination).await {
                    judge.refused(&destination, &reason);
                }
                return Answer::NoName;
            }
            Expectation::Allowed if dial::resolve(self.dialer.as_ref(), name).await.is_err() => {
                return Answer::NoName;
            }
            Expectation::Allowed | Expectation::Undecided => {}
        }
        judge.looked_up(name);
        self.invented(name)
    }

    fn invented(&self, name: &str) -> Answer {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.address(name).map_or(Answer::Failed, Answer::Address)
    }

    /// Returns the destination of a connection; `None` for one that leads nowhere.
    fn destination(&self, stream: &TcpStream) -> Option<Destination> {
        let address = stream.local_addr().ok()?;
        let (ip, port) = (address.ip().to_canonical(), address.port());
        match ip {
            _ if ip.is_loopback() => self.local.contains(&port).then_some(Destination::Local(port)),
            IpAddr::V4(ip) if is_invented(ip) => {
                let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
                Some(Destination::Host { name: names.host(ip)?.to_owned(), port })
            }
            ip => Some(Destination::Address((ip, port).into())),
        }
    }

    /// Takes one connection from its beginning to its end.
    async fn connection(self: Arc<Self>, mut stream: TcpStream) {
        let (Some(destination), Some(judge)) = (self.destination(&stream), (self.judge)()) else { return };
        let Ok(_slot) = self.slots.try_acquire() else {
            judge.refused(&destination, &format!("{CONNECTIONS} connections are open"));
            return;
        };
        stream.set_nodelay(true).ok();
        if matches!(&destination, Destination::Host { name, .. } if name == git::HOST) {
            return self.git(&mut stream, &judge, destination.port()).await;
        }
        let ended = match destination.port() {
            _ if matches!(destination, Destination::Local(_)) => {
                self.other(&mut stream, &judge, &destination).await
            }
            HTTPS => self.secure(&mut stream, &judge, &destination).await,
            HTTP => web::serve(&self.dialer, &mut stream, &judge, &destination).await,
            _ => self.other(&mut stream, &judge, &destination).await,
        };
        if let Err(Refused { reason, answer }) = ended {
            judge.refused(&destination, &reason);
            refuse(&mut stream, &answer).await;
        }
    }

    /// Serves a connection to a repository of git.
    async fn git(&self, stream: &mut TcpStream, judge: &Arc<dyn ConnectionJudge>, port: u16) {
        let Some((git, session)) = &self.git else { return };
        let Some(repositories) = git.of(session) else { return };
        let session = git::Session { git, repositories: &repositories, dialer: self.dialer.as_ref() };
        match port {
            HTTP => git::serve_web(&session, stream, judge).await,
            SSH => git::serve_ssh(&session, stream, judge).await,
            _ => {}
        }
    }

    /// Connects to a destination once it is decided about; `None` if the command does not wait.
    async fn host(
        &self,
        stream: &TcpStream,
        judge: &Arc<dyn ConnectionJudge>,
        destination: &Destination,
    ) -> Result<Option<Counted>, String> {
        tokio::select! {
            host = connected(self.dialer.as_ref(), judge, destination) => host.map(Some),
            () = ended(stream) => Ok(None),
        }
    }

    async fn secure(
        &self,
        stream: &mut TcpStream,
        judge: &Arc<dyn ConnectionJudge>,
        destination: &Destination,
    ) -> Result<(), Refused> {
        let refused = |reason: String| Refused { reason, answer: hello::ALERT.to_vec() };
        let mut first = Vec::with_capacity(COPY_BYTES);
        read_hello(stream, &mut first, destination).await.map_err(refused)?;
        let Some(mut host) = self.host(stream, judge, destination).await.map_err(refused)? else {
            return Ok(());
        };
        let traffic = host.traffic();
        if host.write_all(&first).await.is_ok() {
            copy(stream, host).await;
        }
        if traffic.is_exhausted() { Err(refused(TOO_MUCH.to_owned())) } else { Ok(()) }
    }

    /// Serves a connection of a protocol in which the host may speak first. If the command begins
    /// with TLS, the server name is compared before the host receives anything.
    async fn other(
        &self,
        stream: &mut TcpStream,
        judge: &Arc<dyn ConnectionJudge>,
        destination: &Destination,
    ) -> Result<(), Refused> {
        let refused = |reason: String| Refused { reason, answer: Vec::new() };
        let Some(mut host) = self.host(stream, judge, destination).await.map_err(refused)? else {
            return Ok(());
        };
        let mut first = Vec::with_capacity(COPY_BYTES);
        let mut from_host = vec![0; COPY_BYTES];
        loop {
            tokio::select! {
                read = stream.read_buf(&mut first) => {
                    if !matches!(read, Ok(1..)) {
                        return Ok(());
                    }
                    break;
                }
                read = host.read(&mut from_host) => match read {
                    Ok(length @ 1..) if stream.write_all(&from_host[..length]).await.is_ok() => {}
                    _ => return Ok(()),
                },
            }
        }
        if first[0] == hello::TLS && !matches!(destination, Destination::Local(_)) {
            let alert = |reason: String| Refused { reason, answer: hello::ALERT.to_vec() };
            read_hello(stream, &mut first, destination).await.map_err(alert)?;
        }
        if host.write_all(&first).await.is_ok() {
            copy(stream, host).await;
        }
        Ok(())
    }
}

/// Returns when the command has closed a connection; never if it has sent something that waits.
async fn ended(stream: &TcpStream) {
    if let Ok(1..) = stream.peek(&mut [0]).await {
        std::future::pending().await
    }
}

/// Returns whether a name is that of this machine. A program that asks for it means itself.
fn is_own_name(name: &str) -> bool {
    rustix::system::uname().nodename().to_str().is_ok_and(|own| own.eq_ignore_ascii_case(name))
}

/// Reads the beginning of a TLS connection and compares its server name with the destination.
async fn read_hello(
    stream: &mut TcpStream,
    first: &mut Vec<u8>,
    destination: &Destination,
) -> Result<(), String> {
    let name = timeout(HELLO_WAIT, hello::read(stream, first)).await.unwrap_or(Err(BadHello::Ended));
    match (name, destination) {
        (Ok(_), Destination::Address(_) | Destination::Local(_)) => Ok(()),
        (Ok(Some(asked)), Destination::Host { name, .. }) if asked == *name => Ok(()),
        (Ok(Some(asked)), _) => Err(format!("the connection asks for {asked} by TLS")),
        (Ok(None), _) => Err("the connection names no server by TLS".to_owned()),
        (Err(BadHello::NotTls), _) => Err("the connection is not TLS".to_owned()),
        (Err(BadHello::TooLong | BadHello::Ended), _) => Err("the connection did not begin TLS".to_owned()),
    }
}

fn listener(socket: std::net::TcpListener) -> io::Result<TcpListener> {
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}

/// Sends a refusal. The rest of what the command sends is read for a moment, because a connection
/// that is closed with unread bytes would lose the refusal.
async fn refuse(stream: &mut TcpStream, answer: &[u8]) {
    if stream.write_all(answer).await.is_err() || stream.shutdown().await.is_err() {
        return;
    }
    let mut rest = [0; QUERY_BYTES];
    let rest = async { while matches!(stream.read(&mut rest).await, Ok(1..)) {} };
    timeout(REFUSAL_WAIT, rest).await.ok();
}
