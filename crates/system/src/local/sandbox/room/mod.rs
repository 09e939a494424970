//! The room of a session: the namespaces that its confined commands join. They are created once, by
//! a stage of the launcher that builds the view of the files and ends; see `open.rs`. From then on
//! the descriptors of the namespaces keep them in existence.
//!
//! Commands of one room share its files, its devices and its network, in which a command reaches the
//! servers of another one. Rooms are kept while commands run in them, and for some time afterwards.

#[cfg(target_os = "linux")]
mod home;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod open;

#[cfg(target_os = "linux")]
pub(super) use {
    mounts::{cover, read_only},
    open::run,
};

use crate::limits::{ROOM_KEPT, ROOM_WAIT};
use crate::local::{private_directory, private_file::FileLock};
use crate::{AbsPath, View};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The first bytes of a request for a room. The number changes with the wire format.
const MAGIC: &[u8; 8] = b"tillerR1";

/// The number of descriptors that the stage sends: of the user, the mount and the network
/// namespace.
const NAMESPACES: usize = 3;

/// The name of a file in a directory for files of commands. The time of its last change is that of
/// the last use of the directory.
pub(in crate::local) const USED: &str = "used";

/// Maximum number of rooms of one project that change files of the home directory at the same time.
const SLOTS: usize = 64;

/// Everything that determines a room.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::local) struct RoomRequest {
    /// The files that commands see.
    pub(in crate::local) view: View,
    /// Whether commands use the network of this machine.
    pub(in crate::local) network: bool,
}

/// The namespaces of a session's commands.
#[derive(Debug)]
pub(in crate::local) struct Room {
    namespaces: Vec<OwnedFd>,
    /// Held while the room changes files of the home directory.
    _changes: Option<FileLock>,
}

impl Room {
    /// Returns the descriptors that a command needs to join the room.
    pub(in crate::local) fn namespaces(&self) -> &[OwnedFd] {
        &self.namespaces
    }
}

/// Receives the namespaces of a room, which follow a request.
#[cfg(target_os = "linux")]
pub(super) fn receive(socket: impl std::os::fd::AsFd) -> io::Result<Vec<OwnedFd>> {
    (0..NAMESPACES).map(|_| super::descriptor::receive(&socket)).collect()
}

/// The rooms of this process.
#[derive(Debug, Default)]
pub(in crate::local) struct Rooms(Mutex<HashMap<RoomRequest, Arc<Mutex<Slot>>>>);

#[derive(Debug)]
struct Slot {
    room: Option<Arc<Room>>,
    used: Instant,
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
    ) -> Result<Arc<Room>, String> {
        let slot = {
            let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            rooms.retain(|known, slot| known == request || is_used(slot));
            let empty = || Arc::new(Mutex::new(Slot { room: None, used: Instant::now() }));
            Arc::clone(rooms.entry(request.clone()).or_insert_with(empty))
        };
        // Commands that start at the same time wait here for the first of them.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.used = Instant::now();
        if slot.room.is_none() {
            slot.room = Some(Arc::new(open(request, launcher)?));
        }
        slot.room.clone().ok_or_else(String::new)
    }
}

/// Returns whether commands run in a room, or it was used lately.
fn is_used(slot: &Arc<Mutex<Slot>>) -> bool {
    // A slot that is locked is just being opened.
    slot.try_lock().map_or(true, |slot| {
        slot.used.elapsed() < ROOM_KEPT || slot.room.as_ref().is_some_and(|room| Arc::strong_count(room) > 1)
    })
}

/// Opens a room.
///
/// # Errors
/// The reason, as the stage of the launcher reports it.
pub(super) fn open(request: &RoomRequest, launcher: &[String]) -> Result<Room, String> {
    let mut request = request.clone();
    let changes = prepare(&mut request.view).map_err(|error| format!("temporary files: {error}"))?;
    let namespaces = ask(&request, launcher)?;
    Ok(Room { namespaces, _changes: changes })
}

/// Creates the directories of a session that a view needs, and chooses the one for changes of files
/// of the home directory.
fn prepare(view: &mut View) -> io::Result<Option<FileLock>> {
    if let Some(temp) = &view.temp {
        private_directory::create(temp)?;
        note_use(temp.parent())?;
    }
    let Some(home) = &mut view.home else { return Ok(None) };
    private_directory::create(&home.files)?;
    private_directory::create(&home.changes)?;
    note_use(Some(home.changes.clone()))?;
    for slot in 0..SLOTS {
        let changes = home.changes.join(slot.to_string());
        private_directory::create(&changes)?;
        if let Some(lock) = FileLock::try_take(&changes.join("lock")).map_err(io::Error::other)? {
            home.changes = changes;
            return Ok(Some(lock));
        }
    }
    Err(io::Error::other(format!("{} is used by {SLOTS} other sessions", home.changes)))
}

fn note_use(directory: Option<AbsPath>) -> io::Result<()> {
    directory.map_or(Ok(()), |directory| std::fs::write(directory.join(USED).as_std(), ""))
}

/// Starts the stage of the launcher, and receives the namespaces from it.
#[cfg(target_os = "linux")]
fn ask(request: &RoomRequest, launcher: &[String]) -> Result<Vec<OwnedFd>, String> {
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    let (program, words) = launcher.split_first().ok_or("no launcher is configured")?;
    let text = |error: io::Error| error.to_string();
    let (theirs, mut ours) = UnixStream::pair().map_err(text)?;
    ours.set_read_timeout(Some(ROOM_WAIT)).map_err(text)?;
    let mut child = Command::new(program)
        .args(words)
        .arg(super::ROOM)
        .current_dir("/")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let received = request.write(&mut ours).and_then(|()| receive(&ours));
    if received.is_err() {
        // It has ended, or does not answer.
        child.kill().ok();
    }
    let output = child.wait_with_output().map_err(text)?;
    received.map_err(|error| {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.trim().trim_start_matches("sandbox: ");
        if reason.is_empty() { error.to_string() } else { reason.to_owned() }
    })
}

/// Fails: this platform has no rooms.
#[cfg(not(target_os = "linux"))]
fn ask(_: &RoomRequest, _: &[String]) -> Result<Vec<OwnedFd>, String> {
    Err("this platform has no sandbox".to_owned())
}

impl RoomRequest {
    #[cfg(target_os = "linux")]
    fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        let mut strings = super::launch_request::view_strings(&self.view);
        strings.push(format!("network={}", self.network));
        super::launch_request::write_strings(MAGIC, &strings, to)
    }

    #[cfg(target_os = "linux")]
    fn read(from: &mut impl io::Read) -> Result<Self, super::launch_request::LaunchRequestError> {
        use super::launch_request::{read_strings, read_view_option};
        let mut request = Self::default();
        for string in read_strings(MAGIC, from)? {
            match string.split_once('=').unwrap_or((&string, "")) {
                ("network", value) => request.network = value == "true",
                (option, value) => read_view_option(&mut request.view, option, value)?,
            }
        }
        Ok(request)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::{HomeEntry, HomeView};

    #[test]
    fn a_request_for_a_room_round_trips() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let home = HomeView {
            at: path("/home/me"),
            files: path("/f"),
            changes: path("/c"),
            entries: HomeEntry::usual().collect(),
        };
        let view = View {
            roots: vec![path("/a=b"), path("/c d")],
            readable: vec![path("/r")],
            temp: Some(path("/t")),
            home: Some(home),
        };
        for request in [RoomRequest::default(), RoomRequest { view, network: true }] {
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
