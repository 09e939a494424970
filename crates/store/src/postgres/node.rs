//! The node: this process as a holder of leases. A thread of its own extends its life, so that
//! neither a busy runtime nor a busy pool costs it its leases.

use super::{
    address::Address,
    failure::failed,
    life::{self, Certainty},
    migrate,
};
use crate::Machine;
use crate::limits::{FAREWELL_WAIT, HEARTBEAT, HEARTBEAT_WAIT, LIFE_STEP, POSTGRES_RECONNECT};
use agent::StoreError;
use rustix::time::{ClockId, clock_gettime};
use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};
use tokio::sync::oneshot;
use tokio_postgres::{Client, types::ToSql};
use uuid::Uuid;

/// A registered node. It leaves when the last copy is dropped.
pub(super) struct Node {
    pub(super) id: Uuid,
    shared: Arc<Shared>,
    /// Ends the thread when it is dropped.
    stop: Option<oneshot::Sender<()>>,
    left: Mutex<mpsc::Receiver<()>>,
}

#[derive(Default)]
struct Shared {
    incarnation: AtomicI64,
    /// Until when its leases are certainly its own, in milliseconds of the clock since the boot.
    live_until: AtomicU64,
    /// Where other nodes reach it, and whether it drains.
    announced: Mutex<(Option<String>, bool)>,
    /// The name of the folders that it has, if that was given.
    folders: OnceLock<String>,
    /// Called with `live_until` whenever that changes.
    renewed: OnceLock<Box<dyn Fn(u64) + Send + Sync>>,
}

impl Shared {
    fn folders(&self) -> String {
        let machine = Machine::here();
        let own = || machine.marks.last().unwrap_or(&machine.host).clone();
        self.folders.get().cloned().unwrap_or_else(own)
    }

    fn extend(&self, live_until: u64) {
        self.live_until.store(live_until, Ordering::Release);
        if let Some(renewed) = self.renewed.get() {
            renewed(live_until);
        }
    }
}

/// What a node tells about itself.
#[derive(Clone)]
pub(super) struct About {
    pub(super) host: String,
    pub(super) pid: u32,
}

impl Node {
    /// Registers this process, and starts the thread that keeps it alive.
    pub(super) async fn join(address: Address, about: About) -> Result<Self, StoreError> {
        let id = Uuid::now_v7();
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = oneshot::channel();
        let (leaving, left) = mpsc::channel();
        let (joined, first) = oneshot::channel();
        let beats = Beats {
            id,
            address,
            about,
            shared: Arc::clone(&shared),
            client: None,
            certainty: Certainty::default(),
        };
        std::thread::Builder::new()
            .name("store-heartbeat".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                match runtime {
                    Ok(runtime) => runtime.block_on(beats.run(joined, stopped)),
                    Err(error) => {
                        let _ = joined.send(Err(StoreError::Io(error.to_string())));
                    }
                }
                drop(leaving);
            })
            .map_err(|error| StoreError::Io(format!("cannot start a thread: {error}")))?;
        first.await.map_err(|_| StoreError::Io("the heartbeat ended at once".to_owned()))??;
        Ok(Self { id, shared, stop: Some(stop), left: Mutex::new(left) })
    }

    /// Returns the incarnation that new leases are of.
    pub(super) fn incarnation(&self) -> i64 {
        self.shared.incarnation.load(Ordering::Acquire)
    }

    /// Sets what the node tells about itself if it has to register again.
    pub(super) fn announce(&self, address: Option<String>, is_draining: bool) {
        *self.shared.announced.lock().unwrap_or_else(PoisonError::into_inner) = (address, is_draining);
    }

    /// Gives the folders of this node a name.
    pub(super) fn set_folders(&self, name: String) {
        // It is given once, when the server begins.
        let _ = self.shared.folders.set(name);
    }

    /// Returns the name of the folders of this node: this machine's, unless it was given.
    pub(super) fn folders(&self) -> String {
        self.shared.folders()
    }

    /// Sets what is called whenever the node's life is extended, and calls it.
    pub(super) fn on_renewal(&self, renewed: Box<dyn Fn(u64) + Send + Sync>) {
        let renewed = self.shared.renewed.get_or_init(|| renewed);
        renewed(self.shared.live_until.load(Ordering::Acquire));
    }

    /// Completes once [`Node::is_live`] is false.
    pub(super) async fn ended(&self) {
        loop {
            let left = self.shared.live_until.load(Ordering::Acquire).saturating_sub(since_boot());
            if left == 0 {
                return;
            }
            // Timers stand still while the machine sleeps.
            tokio::time::sleep(Duration::from_millis(left).min(LIFE_STEP)).await;
        }
    }

    /// Whether no other node can have taken a lease of this one without a takeover: the last
    /// heartbeat that arrived was sent recently enough. The clock counts the time asleep.
    pub(super) fn is_live(&self) -> bool {
        life::is_certain(since_boot(), self.shared.live_until.load(Ordering::Acquire))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A lease that is given up now need not expire. Without an answer it does.
        let left = self.left.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = left.recv_timeout(FAREWELL_WAIT);
    }
}

struct Beats {
    id: Uuid,
    address: Address,
    about: About,
    shared: Arc<Shared>,
    client: Option<Client>,
    certainty: Certainty,
}

impl Beats {
    async fn run(
        mut self,
        joined: oneshot::Sender<Result<(), StoreError>>,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let begun = Instant::now();
        let first = loop {
            match self.beat().await {
                Err(_) if begun.elapsed() < POSTGRES_RECONNECT && !joined.is_closed() => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                first => break first,
            }
        };
        let failed = first.is_err();
        if joined.send(first).is_err() || failed {
            return;
        }
        let mut ticks = tokio::time::interval(HEARTBEAT);
        ticks.tick().await;
        loop {
            let has_lapsed = self.certainty.has_lapsed();
            tokio::select! {
                _ = &mut stopped => break,
                _ = ticks.tick() => {}
                () = tokio::time::sleep(life::LOOK), if has_lapsed => {
                    if !self.certainty.look() {
                        continue;
                    }
                }
            }
            if let Err(error) = self.beat().await {
                tracing::warn!(%error, "a heartbeat failed; the leases of this process end soon");
            }
        }
        let leave = async {
            if let Some(client) = &self.client {
                let incarnation = self.shared.incarnation.load(Ordering::Acquire);
                let _ = client.execute("SELECT leave($1, $2)", &[&self.id, &incarnation]).await;
            }
        };
        let _ = tokio::time::timeout(FAREWELL_WAIT, leave).await;
    }

    async fn beat(&mut self) -> Result<(), StoreError> {
        let sent = self.certainty.send(since_boot());
        let beaten = tokio::time::timeout(HEARTBEAT_WAIT, self.send()).await;
        let incarnation = match beaten {
            Ok(Ok(incarnation)) => incarnation,
            Ok(Err(error)) => {
                self.client = None;
                return Err(failed(&error));
            }
            Err(_) => {
                self.client = None;
                let seconds = HEARTBEAT_WAIT.as_secs();
                return Err(StoreError::Io(format!(
                    "the session database did not answer within {seconds} s"
                )));
            }
        };
        self.shared.incarnation.store(incarnation, Ordering::Release);
        let had_lapsed = self.certainty.has_lapsed();
        self.shared.extend(self.certainty.confirm(sent, since_boot()));
        if !had_lapsed && self.certainty.has_lapsed() {
            tracing::warn!("this process was not certain of its sessions for a time; what ran has ended");
        }
        Ok(())
    }

    async fn send(&mut self) -> Result<i64, tokio_postgres::Error> {
        let client = match self.client.take_if(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.address.connect_as_app().await?,
        };
        let known = match self.shared.incarnation.load(Ordering::Acquire) {
            0 => None,
            known => Some(known),
        };
        let (least, most) = (migrate::OLDEST_SUPPORTED, migrate::NEWEST);
        let seconds = life::row_seconds();
        let row = client
            .query_one(
                "SELECT heartbeat($1, $2, NULL, $3, $4, $5, $6, $7, $8)",
                &[
                    &self.id,
                    &known,
                    &self.about.host,
                    &i64::from(self.about.pid),
                    &env!("CARGO_PKG_VERSION"),
                    &least,
                    &most,
                    &seconds,
                ],
            )
            .await?;
        let incarnation = row.try_get(0)?;
        if known != Some(incarnation) {
            let (address, drains) =
                self.shared.announced.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let params: &[&(dyn ToSql + Sync)] = &[&self.id, &incarnation, &address, &drains];
            client.execute("SELECT announce($1, $2, $3, $4)", params).await?;
            let folders = self.shared.folders();
            client
                .execute("SELECT announce_folders($1, $2, $3)", &[&self.id, &incarnation, &folders])
                .await?;
        }
        self.client = Some(client);
        Ok(incarnation)
    }
}

/// Returns milliseconds since the boot, including those asleep.
fn since_boot() -> u64 {
    // Elsewhere the monotonic clock runs on during suspend.
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    let (seconds, nanoseconds) = (now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned());
    seconds.saturating_mul(1_000).saturating_add(nanoseconds / 1_000_000)
}
