//! The room of a session: the namespaces that its confined commands join. They are created once, by
//! a stage of the launcher that builds the view of the files and ends; see `open.rs`. From then on
//! the descriptors of the namespaces keep them in existence.
//!
//! Commands of one room share its files, its devices and its network, in which a command reaches
//! the servers of another one. Rooms are kept while commands run in them, and for some time
//! afterwards.

#[cfg(target_os = "linux")]
mod home;
#[cfg(target_os = "linux")]
pub(super) mod inside;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
pub(super) mod open;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod signing;
#[cfg(target_os = "linux")]
mod sockets;

#[cfg(target_os = "linux")]
pub(super) use root::{cover, read_only};

use crate::limits::{ROOM_KEPT, ROOMS_KEPT};
use crate::local::{caches, private_directory, private_file::FileLock};
use crate::{Network, RoomInside, RoomNetwork, RoomPorts, RoomSockets, Sandbox, View};
use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::watch;

/// The first bytes of a request for a room. The number changes with the wire format.
#[cfg(target_os = "linux")]
const MAGIC: &[u8; 8] = b"tillerR2";

/// Maximum number of rooms of one project that change files of the home directory at the same time.
const SLOTS: usize = 64;

/// Everything that determines a room.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::local) struct RoomRequest {
    /// The files that commands see.
    pub(in crate::local) view: View,
    /// The network of commands.
    pub(in crate::local) network: Network,
    /// The ports that are served from outside.
    pub(in crate::local) ports: RoomPorts,
}

impl RoomRequest {
    /// Returns the request for the room of commands with this sandbox.
    pub(in crate::local) fn of(sandbox: &Sandbox) -> Self {
        let Sandbox { view, network, ports, .. } = sandbox;
        let ports = if *network == Network::Session { ports.clone() } else { RoomPorts::default() };
        Self { view: view.clone(), network: *network, ports }
    }
}

/// The namespaces of a session's commands.
#[derive(Debug)]
pub(in crate::local) struct Room {
    namespaces: Arc<Vec<OwnedFd>>,
    /// The number of commands that run in the room.
    running: watch::Sender<usize>,
    /// Held while the room changes files of the home directory.
    _changes: Option<FileLock>,
    /// Held while the room's sockets are served.
    _served: Option<Box<dyn Any + Send + Sync>>,
}

impl Room {
    /// Returns the descriptors that a command needs to join the room.
    pub(in crate::local) fn namespaces(&self) -> &[OwnedFd] {
        &self.namespaces
    }
}

/// A command's place in a room. The room exists as long.
#[derive(Debug)]
pub(in crate::local) struct Joined(Arc<Room>);

impl Joined {
    fn new(room: Arc<Room>) -> Arc<Self> {
        room.running.send_modify(|running| *running += 1);
        Arc::new(Self(room))
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

impl std::ops::Deref for Joined {
    type Target = Room;

    fn deref(&self) -> &Room {
        &self.0
    }
}

/// The rooms of this process.
#[derive(Debug, Default)]
pub(in crate::local) struct Rooms(Mutex<HashMap<RoomRequest, Slot>>);

#[derive(Debug)]
struct Slot {
    cell: Arc<Mutex<Option<Arc<Room>>>>,
    used: Instant,
}

impl Default for Slot {
    fn default() -> Self {
        Self { cell: Arc::default(), used: Instant::now() }
    }
}

impl Slot {
    /// Returns whether no command runs in the room, or waits for it.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.cell) == 1
            && self
                .cell
                .try_lock()
                .is_ok_and(|room| room.as_ref().is_none_or(|room| Arc::strong_count(room) == 1))
    }
}

impl Rooms {
    /// Returns the room for a request, and opens it if there is none. Blocks for some milliseconds.
    ///
    /// # Errors
    /// The reason why the room cannot be opened.
    pub(in crate::local) fn get(
        &self,
        request: &RoomRequest,
        launcher: &[String],
        network: Option<&dyn RoomNetwork>,
    ) -> Result<Arc<Joined>, String> {
        let slot = {
            let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = rooms.entry(request.clone()).or_default();
            slot.used = Instant::now();
            let cell = Arc::clone(&slot.cell);
            forget_idle(&mut rooms, request);
            cell
        };
        // Commands that start at the same time wait here for the first of them.
        let mut room = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if room.is_none() {
            *room = Some(Arc::new(open(request, launcher, network)?));
        }
        room.clone().map(Joined::new).ok_or_else(String::new)
    }
}

/// Forgets rooms without commands: those that were not used for [`ROOM_KEPT`], and the least
/// recently used ones over [`ROOMS_KEPT`], because each holds descriptors.
fn forget_idle(rooms: &mut HashMap<RoomRequest, Slot>, current: &RoomRequest) {
    rooms.retain(|known, slot| known == current || slot.used.elapsed() < ROOM_KEPT || !slot.is_idle());
    let mut idle: Vec<_> = rooms
        .iter()
        .filter(|(known, slot)| *known != current && slot.is_idle())
        .map(|(_, slot)| slot.used)
        .collect();
    idle.sort_unstable_by(|one, other| other.cmp(one));
    if let Some(oldest) = idle.get(ROOMS_KEPT - 1).copied() {
        rooms.retain(|known, slot| known == current || slot.used > oldest || !slot.is_idle());
    }
}

/// Opens a room, whose sockets `network` serves.
///
/// # Errors
/// The reason, as the stage of the launcher reports it.
pub(super) fn open(
    request: &RoomRequest,
    launcher: &[String],
    network: Option<&dyn RoomNetwork>,
) -> Result<Room, String> {
    let mut request = request.clone();
    let changes = prepare(&mut request.view).map_err(|error| format!("temporary files: {error}"))?;
    let services = std::mem::take(&mut request.ports.services);
    request.ports.local.extend(listening(&services));
    let (namespaces, sockets) = ask(&request, launcher)?;
    let (namespaces, running) = (Arc::new(namespaces), watch::Sender::new(0));
    let inside = RoomInside {
        running: running.subscribe(),
        open: {
            let (namespaces, launcher) = (Arc::clone(&namespaces), launcher.to_vec());
            Box::new(move || inside(&namespaces, &launcher))
        },
    };
    let serve =
        |network: &dyn RoomNetwork| Some(network.serve(request.view.temp.as_ref()?, sockets?, inside));
    Ok(Room { namespaces, running, _changes: changes, _served: network.and_then(serve) })
}

/// Creates the directories of a session that a view needs, and chooses the one for changes of files
/// of the home directory.
fn prepare(view: &mut View) -> io::Result<Option<FileLock>> {
    if let Some(temp) = &view.temp {
        private_directory::create(temp)?;
        temp.parent().map_or(Ok(()), |own| caches::note_use(&own, None))?;
    }
    if let Some(copies) = &view.copies {
        private_directory::create(copies)?;
    }
    let Some(home) = &mut view.home else { return Ok(None) };
    private_directory::create(&home.files)?;
    private_directory::create(&home.changes)?;
    caches::note_use(&home.changes, view.roots.first())?;
    for slot in 0..SLOTS {
        if let Some((changes, lock)) = caches::take(&home.changes, slot)? {
            home.changes = changes;
            return Ok(Some(lock));
        }
    }
    Err(io::Error::other(format!("{} is used by {SLOTS} other sessions", home.changes)))
}

/// Returns those of some ports at which something listens on this machine.
fn listening(ports: &[u16]) -> Vec<u16> {
    let open = if ports.is_empty() { BTreeSet::new() } else { listener_ports() };
    ports.iter().copied().filter(|port| open.contains(port)).collect()
}

/// Starts the stage of the launcher that opens a room, and receives the namespaces and the sockets
/// from it.
#[cfg(target_os = "linux")]
fn ask(request: &RoomRequest, launcher: &[String]) -> Result<(Vec<OwnedFd>, Option<RoomSockets>), String> {
    ask_stage(launcher, super::words::ROOM, |control| {
        request.write(control)?;
        let namespaces = super::descriptor::receive_room(&*control)?;
        let sockets = match request.network {
            Network::Session => Some(sockets::receive(&*control, &request.ports)?),
            Network::Off | Network::Open => None,
        };
        Ok((namespaces, sockets))
    })
}

#[cfg(target_os = "linux")]
fn listener_ports() -> BTreeSet<u16> {
    super::tcp_sockets::Listeners::here().map(|listeners| listeners.ports()).unwrap_or_default()
}

/// Returns nothing: this platform has no rooms.
#[cfg(not(target_os = "linux"))]
fn listener_ports() -> BTreeSet<u16> {
    BTreeSet::new()
}

#[cfg(target_os = "linux")]
use inside::open as inside;

/// Starts a stage of the launcher and talks to it over a socket.
///
/// # Errors
/// The reason, as the stage reports it.
#[cfg(target_os = "linux")]
fn ask_stage<T>(
    launcher: &[String],
    stage: &str,
    talk: impl FnOnce(&mut std::os::unix::net::UnixStream) -> io::Result<T>,
) -> Result<T, String> {
    use crate::limits::ROOM_WAIT;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    let (program, words) = launcher.split_first().ok_or("no launcher is configured")?;
    let text = |error: io::Error| error.to_string();
    let (theirs, mut ours) = UnixStream::pair().map_err(text)?;
    ours.set_read_timeout(Some(ROOM_WAIT)).map_err(text)?;
    let mut child = Command::new(program)
        .args(words)
        .arg(stage)
        .current_dir("/")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let error = match talk(&mut ours) {
        Ok(received) => {
            // Its end is not waited for: it takes a millisecond, and nothing depends on it.
            std::thread::spawn(move || child.wait());
            return Ok(received);
        }
        Err(error) => error,
    };
    // It has ended, or does not answer.
    child.kill().ok();
    let output = child.wait_with_output().map_err(text)?;
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason = reason.trim().trim_start_matches("sandbox: ");
    Err(if reason.is_empty() { error.to_string() } else { reason.to_owned() })
}

/// Fails: this platform has no rooms.
#[cfg(not(target_os = "linux"))]
fn ask(_: &RoomRequest, _: &[String]) -> Result<(Vec<OwnedFd>, Option<RoomSockets>), String> {
    Err("this platform has no sandbox".to_owned())
}

/// Fails: this platform has no rooms.
#[cfg(not(target_os = "linux"))]
fn inside(_: &[OwnedFd], _: &[String]) -> Result<crate::InsideSockets, String> {
    Err("this platform has no sandbox".to_owned())
}

impl RoomRequest {
    #[cfg(target_os = "linux")]
    fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        let mut strings = super::launch_request::view_strings(&self.view);
        strings.push(format!("network={}", self.network.id()));
        strings.extend(self.ports.hosts.iter().map(|port| format!("port={port}")));
        strings.extend(self.ports.local.iter().map(|port| format!("local-port={port}")));
        super::launch_request::write_strings(MAGIC, &strings, to)
    }

    #[cfg(target_os = "linux")]
    fn read(from: &mut impl io::Read) -> Result<Self, super::launch_request::LaunchRequestError> {
        use super::launch_request::{read_strings, read_view_option};
        let mut request = Self::default();
        for string in read_strings(MAGIC, from)? {
            let unknown = || super::launch_request::LaunchRequestError::Unknown(string.clone());
            match string.split_once('=').unwrap_or((&string, "")) {
                ("network", value) => request.network = Network::of(value).ok_or_else(unknown)?,
                ("port", value) => request.ports.hosts.push(value.parse().map_err(|_| unknown())?),
                ("local-port", value) => request.ports.local.push(value.parse().map_err(|_| unknown())?),
                (option, value) => read_view_option(&mut request.view, option, value)?,
            }
        }
        Ok(request)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::AbsPath;
    use crate::{HomeEntry, HomeView};

    #[test]
    fn a_request_for_a_room_round_trips() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let home = HomeView {
            at: path("/h/me"),
            files: path("/f"),
            changes: path("/c"),
            entries: HomeEntry::usual().collect(),
        };
        let view = View {
            roots: vec![path("/a=b"), path("/c d")],
            readable: vec![path("/r")],
            temp: Some(path("/t")),
            copies: Some(path("/k")),
            home: Some(home),
        };
        let ports = RoomPorts { hosts: vec![80, 443], local: vec![5432], services: Vec::new() };
        for request in [RoomRequest::default(), RoomRequest { view, network: Network::Session, ports }] {
            let mut bytes = Vec::new();
            request.write(&mut bytes).unwrap();
            assert_eq!(RoomRequest::read(&mut bytes.as_slice()).unwrap(), request);
            assert!(RoomRequest::read(&mut &bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn two_rooms_never_change_the_same_directory() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let top = AbsPath::from_os(dir.path()).unwrap();
        let home =
            HomeView { at: top.clone(), files: top.join("f"), changes: top.join("c"), entries: Vec::new() };
        let view = View { home: Some(home), ..View::default() };
        let taken = || {
            let mut view = view.clone();
            let lock = prepare(&mut view).unwrap();
            (lock, view.home.unwrap().changes)
        };
        let (first, second) = (taken(), taken());
        assert_ne!(first.1, second.1);
        let freed = first.1.clone();
        drop(first);
        assert_eq!(taken().1, freed);
    }
}
