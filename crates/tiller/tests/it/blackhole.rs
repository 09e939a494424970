//! A way to the database that can lose everything that is sent: nothing is refused, and nothing
//! arrives, as when a network drops packets.

use std::{
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex},
    thread,
};
use tempfile::TempDir;

pub(crate) struct Blackhole {
    directory: TempDir,
    gate: Arc<Gate>,
}

/// Whether messages pass.
#[derive(Default)]
struct Gate {
    is_closed: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// Waits until messages pass.
    fn pass(&self) {
        let closed = self.is_closed.lock().unwrap();
        drop(self.changed.wait_while(closed, |closed| *closed).unwrap());
    }

    fn set(&self, is_closed: bool) {
        *self.is_closed.lock().unwrap() = is_closed;
        self.changed.notify_all();
    }

    fn carry(&self, mut from: UnixStream, mut to: UnixStream) {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            self.pass();
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        self.pass();
        let _ = to.shutdown(Shutdown::Both);
    }
}

impl Blackhole {
    /// Listens before a server's socket.
    pub(crate) fn start(server: &Path) -> Self {
        let directory = TempDir::new().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let gate = Arc::new(Gate::default());
        let (server, of): (PathBuf, _) = (server.to_owned(), Arc::clone(&gate));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                of.pass();
                // A server that is down refuses: the client sees its connection end.
                let Ok(server) = UnixStream::connect(&server) else { continue };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to, gate) =
                        (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(&of));
                    thread::spawn(move || gate.carry(from, to));
                }
            }
        });
        Self { directory, gate }
    }

    /// Returns the URL of a database behind it.
    pub(crate) fn url(&self, database: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}/{database}")
    }

    /// Loses what is sent, or lets it pass again.
    pub(crate) fn swallow(&self, everything: bool) {
        self.gate.set(everything);
    }
}

impl Drop for Blackhole {
    fn drop(&mut self) {
        // What waits ends with the sockets.
        self.gate.set(false);
    }
}
