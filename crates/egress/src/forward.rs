//! Servers of commands, which this machine reaches at its loopback addresses.

use crate::accept;
use crate::limits::{FORWARD_TICK, FORWARDED, SETTLED_TICKS};
use agent::{ConnectionJudge, SERVICE_PORTS};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use system::{InsideSockets, RoomInside, user_of_connection};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

/// The first port that the kernel chooses for connections. One from there on is no server's.
const FIRST_CHOSEN: u16 = 32_768;

/// The last port that needs rights to be served. It is forwarded from another one.
const LAST_RESERVED: u16 = 1023;

/// Forwards the servers of a room while commands run in it; ends when the room does.
pub(crate) async fn serve(
    mut inside: RoomInside,
    own: BTreeSet<u16>,
    judge: impl Fn() -> Option<Arc<dyn ConnectionJudge>>,
) {
    let mut sockets: Option<Arc<Inside>> = None;
    let mut seen = BTreeMap::<u16, usize>::new();
    let mut forwarded = BTreeMap::<u16, Forward>::new();
    let mut ticks = interval(FORWARD_TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if inside.running.wait_for(|running| *running > 0).await.is_err() {
            return;
        }
        // Commands that end soon cost nothing here.
        ticks.reset();
        while *inside.running.borrow_and_update() > 0 {
            tokio::select! {
                _ = ticks.tick() => {}
                ended = inside.running.changed() => match ended {
                    Ok(()) => continue,
                    Err(_) => return,
                },
            }
            let Some(judge) = judge().filter(|judge| judge.forwards_ports()) else { continue };
            if sockets.is_none() {
                (inside, sockets) = opened(inside).await;
            }
            let Some(sockets) = &sockets else { return };
            let open = sockets.listening();
            let open: BTreeSet<_> = open.difference(&own).copied().collect();
            seen.retain(|port, _| open.contains(port));
            forwarded.retain(|port, _| open.contains(port));
            for port in open {
                let times = seen.entry(port).or_default();
                *times += 1;
                // A test server that comes and goes is not worth a word.
                if *times != SETTLED_TICKS || forwarded.len() >= FORWARDED {
                    continue;
                }
                match Forward::start(port, Arc::clone(sockets), Arc::clone(&judge)).await {
                    Ok(forward) => drop(forwarded.insert(port, forward)),
                    Err(error) => tracing::debug!(%error, port, "a server of a command is not forwarded"),
                }
            }
        }
        seen.clear();
        forwarded.clear();
    }
}

/// Creates the sockets, on a thread that may block.
async fn opened(inside: RoomInside) -> (RoomInside, Option<Arc<Inside>>) {
    let opening = tokio::task::spawn_blocking(move || {
        let opened = (inside.open)();
        (inside, opened)
    });
    match opening.await {
        Ok((inside, Ok(InsideSockets { listening, v4, v6 }))) => {
            (inside, Some(Arc::new(Inside { listening, v4: Mutex::new(v4), v6: Mutex::new(v6) })))
        }
        Ok((inside, Err(problem))) => {
            tracing::warn!(problem, "servers of commands are not forwarded");
            (inside, None)
        }
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// The sockets of a room's network namespace.
struct Inside {
    listening: Box<dyn Fn() -> BTreeSet<u16> + Send + Sync>,
    v4: Unconnected,
    v6: Unconnected,
}

type Unconnected = Mutex<Vec<std::net::TcpStream>>;

impl Inside {
    /// Returns the ports at which servers of commands listen.
    fn listening(&self) -> BTreeSet<u16> {
        (self.listening)().into_iter().filter(|port| *port < FIRST_CHOSEN).collect()
    }

    /// Returns the sockets that can be connected to an address.
    fn unconnected(&self, address: IpAddr) -> MutexGuard<'_, Vec<std::net::TcpStream>> {
        let sockets = if address.is_ipv4() { &self.v4 } else { &self.v6 };
        sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to a server of a command; it may listen at either loopback address.
    async fn connect(self: &Arc<Self>, port: u16) -> io::Result<(TcpStream, Lent)> {
        let mut failure = io::Error::other("too many connections are open");
        for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let Some(socket) = self.unconnected(address).pop() else { continue };
            let lent = Lent { socket: socket.try_clone()?, address, inside: Arc::clone(self) };
            match TcpSocket::from_std_stream(socket).connect((address, port).into()).await {
                Ok(stream) => return Ok((stream, lent)),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

/// A socket of the namespace while it is used. It is returned unconnected, because no other can be
/// created from outside.
struct Lent {
    socket: std::net::TcpStream,
    address: IpAddr,
    inside: Arc<Inside>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Ok(()), Ok(socket)) = (rustix::net::connect_unspec(&self.socket), self.socket.try_clone()) {
            self.inside.unconnected(self.address).push(socket);
        }
    }
}

/// A server of a command, forwarded until this is dropped.
struct Forward {
    port: u16,
    judge: Arc<dyn ConnectionJudge>,
    _connections: JoinSet<()>,
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.judge.forward_ended(self.port);
    }
}

impl Forward {
    /// Listens at the loopback addresses of this machine, at the same port where it is free.
    async fn start(port: u16, inside: Arc<Inside>, judge: Arc<dyn ConnectionJudge>) -> io::Result<Self> {
        // Programs of this machine may hold passwords for what listens at the port of a service.
        let is_usual = port > LAST_RESERVED && !SERVICE_PORTS.contains(&port);
        let wanted = if is_usual { port } else { 0 };
        let v4 = match TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
        };
        let address = v4.local_addr()?;
        // A machine without IPv6 has no such address.
        let v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, address.port())).await.ok();
        let mut tasks = JoinSet::new();
        for listener in std::iter::once(v4).chain(v6) {
            let inside = Arc::clone(&inside);
            tasks.spawn(accept::each(listener, move |stream, peer| {
                pass(stream, peer, port, Arc::clone(&inside))
            }));
        }
        judge.forwarded(port, address);
        Ok(Self { port, judge, _connections: tasks })
    }
}

/// Passes a connection of the user on to the server of a command.
async fn pass(mut stream: TcpStream, peer: SocketAddr, port: u16, inside: Arc<Inside>) {
    let Ok(own) = stream.local_addr() else { return };
    if !is_of_user(peer, own) {
        tracing::warn!(%peer, port, "a connection of another user to a server of a command was refused");
        return;
    }
    let Ok((mut server, lent)) = inside.connect(port).await else { return };
    // Either end may close the connection.
    copy_bidirectional(&mut stream, &mut server).await.ok();
    drop((server, lent));
}

/// Returns whether the other end of a connection belongs to the user of this process, or to the
/// administrator. Every user of a machine reaches its loopback addresses.
fn is_of_user(peer: SocketAddr, own: SocketAddr) -> bool {
    let user = rustix::process::geteuid().as_raw();
    user_of_connection(peer, own).is_some_and(|owner| owner == user || owner == 0)
}
