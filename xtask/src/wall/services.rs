//! Local services that confined commands must not reach: a web server, a datagram port and two Unix
//! sockets. Each access is recorded in the run's `$SERVICE` file, and stream connections receive
//! the canary.

use super::run_home::RunHome;
use anyhow::Result;
use std::fs::{OpenOptions, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The polling interval of the services.
const PAUSE: Duration = Duration::from_millis(10);

/// Services that listen until dropped.
pub(super) struct Services {
    stopped: Arc<AtomicBool>,
}

impl Drop for Services {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Records which services were reached.
#[derive(Clone)]
struct AccessLog {
    path: PathBuf,
    canary: String,
}

impl AccessLog {
    fn note(&self, what: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path);
        // A failure does not matter: it can only occur after the run.
        file.as_mut().map(|file| writeln!(file, "{what}")).ok();
    }

    fn serve(&self, what: &str, mut stream: impl Read + Write) {
        self.note(what);
        write!(stream, "HTTP/1.0 200 OK\r\n\r\n{}\n", self.canary).ok();
    }
}

/// Binds a Unix socket in the abstract namespace, which only Linux has.
#[cfg(target_os = "linux")]
fn without_a_file(name: &str) -> Result<Option<UnixListener>> {
    use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    listener.set_nonblocking(true)?;
    Ok(Some(listener))
}

/// Returns `None`: other systems have no abstract sockets.
#[cfg(not(target_os = "linux"))]
fn without_a_file(_: &str) -> Result<Option<UnixListener>> {
    Ok(None)
}

impl Services {
    /// Starts the services, and sets their addresses in the world's environment: `PORT`, `UDP`,
    /// `SOCKET` and `ABSTRACT`.
    pub(super) fn start(run_home: &mut RunHome) -> Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let access_log = AccessLog {
            path: PathBuf::from(run_home.get("SERVICE")),
            canary: run_home.get("CANARY").to_owned(),
        };
        let tcp = TcpListener::bind(("127.0.0.1", 0))?;
        let udp = UdpSocket::bind(("127.0.0.1", 0))?;
        let socket = format!("{}/service.sock", run_home.get("OUTSIDE"));
        let local = UnixListener::bind(&socket)?;
        std::fs::set_permissions(&socket, Permissions::from_mode(0o777))?;
        if let Some(user) = run_home.user {
            std::os::unix::fs::chown(&socket, Some(user), Some(user))?;
        }
        let name = run_home.id.clone();
        let hidden = without_a_file(&name)?;
        run_home.set("PORT", tcp.local_addr()?.port().to_string());
        run_home.set("UDP", udp.local_addr()?.port().to_string());
        run_home.set("SOCKET", socket);
        run_home.set("ABSTRACT", name);

        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        local.set_nonblocking(true)?;
        let ended = Arc::clone(&stopped);
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                if let Ok((stream, _)) = tcp.accept() {
                    access_log.serve("tcp", stream);
                } else if let Ok((stream, _)) = local.accept() {
                    access_log.serve("unix", stream);
                } else if let Some(Ok((stream, _))) = hidden.as_ref().map(UnixListener::accept) {
                    access_log.serve("abstract", stream);
                } else if udp.recv_from(&mut [0; 1500]).is_ok() {
                    access_log.note("udp");
                } else {
                    std::thread::sleep(PAUSE);
                }
            }
        });
        Ok(Self { stopped })
    }
}
