//! A proxy in front of the server's socket that loses what a test chooses.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::Notify,
};

/// What happens to the next append that passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It does not arrive, and the connection ends.
    Request,
    /// It arrives, and the connection ends before the answer.
    Answer,
    /// The connection ends; the request arrives when it is released.
    Late,
}

/// Marks the messages that are appends: a part of their parameters.
const MARK: &[u8] = b"lose this";

pub(crate) struct Proxy {
    directory: TempDir,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    next: Mutex<Option<Loss>>,
    lost: AtomicUsize,
    release: Notify,
    arrived: Notify,
}

impl Proxy {
    /// Listens beside a server's socket.
    pub(crate) fn start(server: &Path) -> Self {
        let directory = TempDir::new().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let shared = Arc::new(Shared::default());
        let (server, of) = (server.to_owned(), Arc::clone(&shared));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, shared) = (server.clone(), Arc::clone(&of));
                tokio::spawn(async move {
                    // A server that is down refuses: the client sees its connection end.
                    if let Ok(server) = UnixStream::connect(server).await {
                        shared.carry(client, server).await;
                    }
                });
            }
        });
        Self { directory, shared }
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("host={} user=postgres dbname={database}", self.directory.path().display())
    }

    pub(crate) fn lose(&self, loss: Loss) {
        *self.shared.next.lock().unwrap() = Some(loss);
    }

    /// How many appends were lost so far.
    pub(crate) fn lost(&self) -> usize {
        self.shared.lost.load(Ordering::SeqCst)
    }

    /// Lets a late request arrive, and waits until the server has answered it.
    pub(crate) async fn release(&self) {
        self.shared.release.notify_one();
        self.shared.arrived.notified().await;
    }
}

impl Shared {
    async fn carry(&self, mut client: UnixStream, mut server: UnixStream) {
        let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            tokio::select! {
                count = client.read(&mut asked) => {
                    let Ok(count @ 1..) = count else { return };
                    let is_append = asked[..count].windows(MARK.len()).any(|part| part == MARK);
                    let loss = if is_append { self.next.lock().unwrap().take() } else { None };
                    if let Some(loss) = loss {
                        self.lost.fetch_add(1, Ordering::SeqCst);
                        return self.lose(loss, &asked[..count], client, server).await;
                    }
                    if server.write_all(&asked[..count]).await.is_err() {
                        return;
                    }
                }
                count = server.read(&mut answered) => {
                    let Ok(count @ 1..) = count else { return };
                    if client.write_all(&answered[..count]).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    async fn lose(&self, loss: Loss, request: &[u8], client: UnixStream, mut server: UnixStream) {
        if loss == Loss::Late {
            drop(client);
            self.release.notified().await;
        }
        if loss != Loss::Request {
            server.write_all(request).await.unwrap();
            // The answer of the last statement has come.
            let mut answer = Vec::new();
            while !answer.windows(7).any(|part| part == b"COMMIT\0") {
                let mut part = [0; 4096];
                let count = server.read(&mut part).await.unwrap();
                assert!(count > 0, "the server answers");
                answer.extend_from_slice(&part[..count]);
            }
            self.arrived.notify_one();
        }
    }
}
