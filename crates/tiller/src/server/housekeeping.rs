//! What a server deletes by itself: sessions that were not used for long, and contents that nothing
//! refers to.

use crate::limits::{ORPHANS_AFTER_SWEEPS, SWEEP};
use ::serve::auth::{Audit, AuditEvent, AuditRecord, Clock};
use agent::StoreError;
use std::{sync::Arc, time::Duration};
use store::janitor::Janitor;

/// Deletes from the store of a server.
pub(super) struct Housekeeping {
    pub(super) janitor: Arc<dyn Janitor>,
    pub(super) audit: Arc<dyn Audit>,
    pub(super) clock: Clock,
    /// How long a session is kept after its last use; forever without it.
    pub(super) retention: Option<Duration>,
}

impl Housekeeping {
    /// Sweeps at once and then every hour. What fails is tried again the next time.
    pub(super) async fn run(self) {
        for nth in 0_u32.. {
            if let Err(error) = self.sweep(nth % ORPHANS_AFTER_SWEEPS == 0).await {
                tracing::warn!(%error, "what is not needed any more could not be deleted");
            }
            tokio::time::sleep(SWEEP).await;
        }
    }

    /// Deletes what is not needed any more, unless another node of the database does so now.
    async fn sweep(&self, orphans_too: bool) -> Result<(), StoreError> {
        if self.retention.is_none() && !orphans_too {
            return Ok(());
        }
        let Some(mut sweep) = self.janitor.begin().await? else { return Ok(()) };
        let now = (self.clock)();
        let before = self.retention.and_then(|retention| now.checked_sub(retention).ok());
        let (mut sessions, mut failure) = (0, None);
        while let Some(before) = before {
            match sweep.delete_unused(before.as_millisecond()).await {
                Ok(0) => break,
                Ok(deleted) => sessions += deleted,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        let mut contents = 0;
        if orphans_too && failure.is_none() {
            match sweep.delete_orphans().await {
                Ok(deleted) => contents = deleted,
                Err(error) => failure = Some(error),
            }
        }
        // What was deleted before a failure is gone, and recorded.
        self.record(sessions, contents).await;
        failure.map_or(Ok(()), Err)
    }

    async fn record(&self, sessions: u64, contents: u64) {
        if sessions == 0 && contents == 0 {
            return;
        }
        tracing::info!(sessions, contents, "deleted what is not needed any more");
        let record = AuditRecord {
            about: Some(format!("sessions {sessions}, contents {contents}")),
            ..AuditRecord::new((self.clock)(), AuditEvent::Deleted, None)
        };
        if let Err(error) = self.audit.record(record).await {
            tracing::error!(%error, "an event is missing in the audit");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::serve::auth::{AuditError, AuditReport};
    use agent::{Mode, NewSession, PermissionMode, SessionStore as _};
    use async_trait::async_trait;
    use jiff::Timestamp;
    use std::sync::Mutex;
    use store::SqliteStore;
    use system::AbsPath;

    /// Keeps what is recorded.
    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    #[async_trait]
    impl Audit for Notes {
        async fn record(&self, record: AuditRecord) -> Result<(), AuditError> {
            assert_eq!(record.what, AuditEvent::Deleted);
            self.0.lock().unwrap().extend(record.about);
            Ok(())
        }

        async fn since(&self, _since: Timestamp) -> Result<AuditReport, AuditError> {
            Ok(AuditReport::default())
        }
    }

    fn session(id: &str) -> NewSession {
        NewSession {
            id: id.into(),
            cwd: AbsPath::new("/p").unwrap(),
            additional_directories: Vec::new(),
            model: "fake/model".to_owned(),
            mode: Mode::default(),
            permission_mode: PermissionMode::default(),
            parent: None,
            owner: None,
        }
    }

    #[tokio::test]
    async fn sessions_that_were_not_used_for_long_are_deleted_and_recorded() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("sessions.db")).unwrap();
        for id in ["old", "open"] {
            let lease = store.create(session(id)).await.unwrap();
            if id == "old" {
                store.release(&lease).await.unwrap();
            }
        }
        let notes = Arc::new(Notes::default());
        let housekeeping = |days: i64, retention: Option<Duration>| {
            let now = ::serve::auth::wall_clock()()
                .checked_add(jiff::SignedDuration::from_hours(24 * days))
                .unwrap();
            Housekeeping {
                janitor: store.janitor(),
                audit: notes.clone(),
                clock: Arc::new(move || now),
                retention,
            }
        };
        let ninety = Some(Duration::from_secs(90 * 24 * 60 * 60));
        for (days, retention) in [(1_000, None), (89, ninety)] {
            housekeeping(days, retention).sweep(true).await.unwrap();
            assert!(store.get(&"old".into()).await.is_ok(), "{days} days, {retention:?}");
        }
        housekeeping(91, ninety).sweep(true).await.unwrap();
        assert!(store.get(&"old".into()).await.is_err());
        assert!(store.get(&"open".into()).await.is_ok(), "this process has it open");
        housekeeping(91, ninety).sweep(true).await.unwrap();
        assert_eq!(*notes.0.lock().unwrap(), ["sessions 1, contents 0"]);
    }

    /// A janitor that counts how often it is asked, and that another node is before at first.
    #[derive(Default)]
    struct Busy(Mutex<u32>);

    #[async_trait]
    impl Janitor for Busy {
        async fn begin(&self) -> Result<Option<Box<dyn store::janitor::Sweep>>, StoreError> {
            *self.0.lock().unwrap() += 1;
            Ok(None)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_sweeps_at_its_start_and_every_hour() {
        let busy = Arc::new(Busy::default());
        let housekeeping = |retention| Housekeeping {
            janitor: busy.clone(),
            audit: Arc::new(Notes::default()),
            clock: ::serve::auth::wall_clock(),
            retention,
        };
        let day = Duration::from_secs(24 * 60 * 60 - 1);
        for (retention, expected) in [(Some(day), 24), (None, 1)] {
            *busy.0.lock().unwrap() = 0;
            let _ = tokio::time::timeout(day, housekeeping(retention).run()).await;
            assert_eq!(*busy.0.lock().unwrap(), expected, "{retention:?}");
        }
    }
}
