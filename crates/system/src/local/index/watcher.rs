//! Watches directories for changes of their entries.

use crate::AbsPath;
#[cfg(target_os = "linux")]
use std::collections::{HashMap, HashSet};
#[cfg(target_os = "linux")]
use std::sync::atomic::Ordering::Relaxed;

/// The number of directories that this process watches.
#[cfg(target_os = "linux")]
static WATCHED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Watched directories.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Watcher {
    inotify: std::os::fd::OwnedFd,
    paths: HashMap<i32, AbsPath>,
    numbers: HashMap<AbsPath, i32>,
    /// Maximum number of directories of this process.
    most: usize,
}

#[cfg(target_os = "linux")]
impl Watcher {
    /// Creates a watcher; `None` if the system has no more.
    pub(super) fn new() -> Option<Self> {
        use crate::limits::WATCHED_DIRECTORIES;
        use rustix::fs::inotify::{CreateFlags, init};
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok();
        let limit = limit.and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or_default();
        // The others are for the user's editors.
        let most = WATCHED_DIRECTORIES.min(limit / 4);
        Some(Self { inotify, paths: HashMap::new(), numbers: HashMap::new(), most })
    }

    /// Watches a directory. Returns whether it is watched.
    ///
    /// # Errors
    /// If the user may not list it.
    pub(super) fn add(&mut self, path: &AbsPath) -> std::io::Result<bool> {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        use rustix::io::Errno;
        if WATCHED.load(Relaxed) >= self.most {
            return Ok(false);
        }
        let events = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        match add_watch(&self.inotify, path.as_std(), events) {
            Ok(number) => {
                // The number is that of the directory, which may have had another path.
                match self.paths.insert(number, path.clone()) {
                    // Another directory may be watched at the path that this one had.
                    Some(before) if self.numbers.get(&before) == Some(&number) => {
                        self.numbers.remove(&before);
                    }
                    Some(_) => {}
                    None => drop(WATCHED.fetch_add(1, Relaxed)),
                }
                self.numbers.insert(path.clone(), number);
                Ok(true)
            }
            // What is not there, or no directory, needs no watch.
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(true),
            Err(Errno::ACCESS) => Err(Errno::ACCESS.into()),
            Err(_) => Ok(false),
        }
    }

    /// Returns a descriptor that becomes readable when something has changed.
    pub(super) fn descriptor(&self) -> Option<std::os::fd::OwnedFd> {
        self.inotify.try_clone().ok()
    }

    /// Returns whether a path is watched.
    pub(super) fn watches(&self, path: &AbsPath) -> bool {
        self.numbers.contains_key(path)
    }

    /// Ends the watch of a path.
    pub(super) fn remove(&mut self, path: &AbsPath) {
        if let Some(number) = self.numbers.remove(path) {
            if self.paths.remove(&number).is_some() {
                WATCHED.fetch_sub(1, Relaxed);
            }
            // It fails for a directory that was removed.
            rustix::fs::inotify::remove_watch(&self.inotify, number).ok();
        }
    }

    /// Returns the directories whose entries have changed; `None` if changes were lost.
    pub(super) fn changed(&mut self) -> Option<Vec<AbsPath>> {
        use rustix::fs::inotify::{ReadFlags, Reader};
        let mut buffer = [std::mem::MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let (mut changed, mut gone) = (HashSet::new(), HashSet::new());
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => return None,
            };
            let events = event.events();
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                return None;
            }
            let Some(path) = self.paths.get(&event.wd()) else { continue };
            if events.intersects(ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF | ReadFlags::IGNORED) {
                gone.insert(event.wd());
            } else {
                changed.insert(path.clone());
            }
        }
        // A directory that was moved or removed is found again, or not, from the one above it.
        for number in gone {
            let Some(path) = self.paths.remove(&number) else { continue };
            WATCHED.fetch_sub(1, Relaxed);
            self.numbers.remove(&path);
            rustix::fs::inotify::remove_watch(&self.inotify, number).ok();
            changed.extend(path.parent());
            changed.insert(path);
        }
        let mut changed: Vec<_> = changed.into_iter().collect();
        // Parents come before their children.
        changed.sort();
        Some(changed)
    }
}

#[cfg(target_os = "linux")]
impl Drop for Watcher {
    fn drop(&mut self) {
        WATCHED.fetch_sub(self.paths.len(), Relaxed);
    }
}

/// Directories cannot be watched on this platform.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) enum Watcher {}

#[cfg(not(target_os = "linux"))]
impl Watcher {
    pub(super) fn new() -> Option<Self> {
        None
    }

    pub(super) fn add(&mut self, _: &AbsPath) -> std::io::Result<bool> {
        match *self {}
    }

    pub(super) fn descriptor(&self) -> Option<std::os::fd::OwnedFd> {
        match *self {}
    }

    pub(super) fn watches(&self, _: &AbsPath) -> bool {
        match *self {}
    }

    pub(super) fn remove(&mut self, _: &AbsPath) {
        match *self {}
    }

    pub(super) fn changed(&mut self) -> Option<Vec<AbsPath>> {
        match *self {}
    }
}
