//! The audit in files of a month each.

use super::{Audit, AuditError, AuditRecord, line};
use crate::auth::limits;
use async_trait::async_trait;
use jiff::{Timestamp, tz::TimeZone};
use std::sync::{Arc, Mutex, PoisonError};
use system::{AbsPath, AppendFile, System};

/// What the names of the files begin with; the month and `.jsonl` follow.
const PREFIX: &str = "audit-";

/// The audit in a directory: a file of mode 0600 for each month of UTC, `audit-2026-11.jsonl`, with
/// a JSON object a line. Several processes may write at the same time. Files of old months can be
/// moved away or deleted at any time.
pub struct FileAudit {
    system: Arc<dyn System>,
    directory: AbsPath,
    open: Arc<Mutex<Option<Open>>>,
}

struct Open {
    month: String,
    file: AppendFile,
}

/// Records that were read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditReport {
    /// The records.
    pub records: Vec<AuditRecord>,
    /// The number of lines that cannot be read: cut off by a crash, or from a later version.
    pub unreadable: usize,
    /// Whether there are more records than are returned; ask again from the time of the last one.
    pub has_more: bool,
}

impl FileAudit {
    /// Keeps the audit in this directory, which need not exist.
    pub fn new(system: Arc<dyn System>, directory: AbsPath) -> Self {
        Self { system, directory, open: Arc::default() }
    }

    /// Returns the files since a month, oldest first.
    async fn files(&self, since: &str) -> Result<Vec<AbsPath>, AuditError> {
        let entries = match self.system.read_dir(&self.directory).await {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let is_wanted = |path: &AbsPath| {
            let name = path.file_name().unwrap_or_default();
            let month = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(".jsonl"));
            month.is_some_and(|month| month >= since)
        };
        Ok(entries.into_iter().map(|entry| entry.path).filter(is_wanted).collect())
    }
}

#[async_trait]
impl Audit for FileAudit {
    async fn record(&self, record: AuditRecord) -> Result<(), AuditError> {
        self.system.create_dir_all(&self.directory).await?;
        let month = month_of(record.at);
        let path = self.directory.join(format!("{PREFIX}{month}.jsonl"));
        let (open, sync) = (Arc::clone(&self.open), record.what.is_synced());
        let line = line::written(record);
        blocking(move || {
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            let mut opened = match open.take() {
                Some(opened) if opened.month == month && opened.file.is_in_place() => opened,
                _ => Open { file: AppendFile::open(&path)?, month },
            };
            opened.file.append(&line, sync)?;
            *open = Some(opened);
            Ok(())
        })
        .await
    }

    async fn since(&self, since: Timestamp) -> Result<AuditReport, AuditError> {
        let files = self.files(&month_of(since)).await?;
        blocking(move || {
            let mut report = AuditReport::default();
            for path in files {
                system::read_private_lines(&path, limits::AUDIT_LINE_BYTES, |line, is_whole| {
                    match line::read(line).filter(|_| is_whole) {
                        Some(record) if record.at < since => {}
                        Some(_) if report.records.len() >= limits::AUDIT_RECORDS => report.has_more = true,
                        Some(record) => report.records.push(record),
                        None => report.unreadable += 1,
                    }
                    !report.has_more
                })?;
            }
            Ok(report)
        })
        .await
    }
}

/// Returns the month of a time in UTC, such as `2026-11`.
fn month_of(time: Timestamp) -> String {
    let date = time.to_zoned(TimeZone::UTC).date();
    format!("{:04}-{:02}", date.year(), date.month())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AuditError> + Send + 'static,
) -> Result<T, AuditError> {
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|error| Err(AuditError::Other(error.to_string())))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests prepare and read real files")]
mod tests {
    use super::*;
    use crate::auth::{AuditEvent, Source, contract};
    use agent::Principal;
    use std::{fs, os::unix::fs::PermissionsExt as _};
    use system::LocalSystem;

    fn audit(directory: &tempfile::TempDir) -> FileAudit {
        let path = AbsPath::from_os(&directory.path().join("audit")).unwrap();
        FileAudit::new(Arc::new(LocalSystem::new()), path)
    }

    fn record(at: &str, what: AuditEvent) -> AuditRecord {
        AuditRecord {
            source: Some(Source::Address([192, 0, 2, 1].into())),
            session: Some("s1".to_owned()),
            request: Some("r1".to_owned()),
            about: Some("connections".to_owned()),
            ..AuditRecord::new(at.parse().unwrap(), what, Some(&Principal::local("ada")))
        }
    }

    fn file(directory: &tempfile::TempDir, month: &str) -> std::path::PathBuf {
        directory.path().join(format!("audit/audit-{month}.jsonl"))
    }

    #[tokio::test]
    async fn a_record_is_a_line_of_its_month_and_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let audit = audit(&directory);
        let since = |at: &str| audit.since(at.parse().unwrap());
        assert_eq!(since("2026-01-01T00:00:00Z").await.unwrap(), AuditReport::default());
        let records = [
            record("2026-10-31T23:59:59Z", AuditEvent::Attached),
            record("2026-11-01T00:00:00Z", AuditEvent::CrossUserRead),
            AuditRecord::new("2026-11-02T00:00:00Z".parse().unwrap(), AuditEvent::Refused, None),
        ];
        for record in records.clone() {
            audit.record(record).await.unwrap();
        }
        let text = fs::read_to_string(file(&directory, "2026-10")).unwrap();
        assert_eq!(
            text,
            "{\"v\":1,\"at\":\"2026-10-31T23:59:59Z\",\"what\":\"attached\",\"tenant\":\"default\",\"user\":\"ada\",\
             \"credential\":\"local\",\"source\":\"192.0.2.1\",\"session\":\"s1\",\"request\":\"r1\",\
             \"about\":\"connections\"}\n"
        );
        for month in ["2026-10", "2026-11"] {
            let mode = fs::metadata(file(&directory, month)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{month}");
        }
        assert_eq!(since("2026-01-01T00:00:00Z").await.unwrap().records, records);
        assert_eq!(since("2026-11-01T00:00:00Z").await.unwrap().records, records[1..]);
        assert_eq!(since("2026-11-01T00:00:01Z").await.unwrap().records, records[2..]);
    }

    #[tokio::test]
    async fn the_audit_in_files_holds_the_contract() {
        let directory = tempfile::tempdir().unwrap();
        contract::audit(&audit(&directory), &audit(&directory)).await;
    }

    #[test]
    fn every_event_has_a_name_that_reads_back() {
        for what in AuditEvent::ALL {
            let record = record("2026-11-01T00:00:00Z", what);
            let written = line::written(record.clone());
            assert_eq!(line::read(written.trim_ascii_end()), Some(record));
        }
        let local = AuditRecord {
            source: Some(Source::Unix(1000)),
            ..record("2026-11-01T00:00:00Z", AuditEvent::Refused)
        };
        assert_eq!(line::read(&line::written(local.clone())), Some(local));
    }

    #[tokio::test]
    async fn damaged_lines_are_counted_and_what_a_client_chose_is_cut_and_escaped() {
        let directory = tempfile::tempdir().unwrap();
        let log = audit(&directory);
        let long = "ä".repeat(5_000);
        let odd = AuditRecord {
            session: Some("a\nb\"\u{1b}[2J".to_owned()),
            request: Some(long),
            ..record("2026-11-01T00:00:00Z", AuditEvent::Refused)
        };
        log.record(odd).await.unwrap();
        let path = file(&directory, "2026-11");
        let mut text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert!(text.len() < limits::AUDIT_LINE_BYTES && !text.contains('\u{1b}'));
        text +=
            "{\"v\":1,\"at\":\"2026-11-0\n{\"v\":2,\"at\":\"2026-11-01T00:00:00Z\",\"what\":\"refused\"}\n";
        text += &format!("{}\n{{\"v\":1,", "x".repeat(limits::AUDIT_LINE_BYTES + 1));
        fs::write(&path, text).unwrap();
        // Another process goes on after the line that was cut off.
        let later = record("2026-11-03T00:00:00Z", AuditEvent::Refused);
        audit(&directory).record(later.clone()).await.unwrap();
        let report = log.since("2026-11-01T00:00:00Z".parse().unwrap()).await.unwrap();
        assert_eq!((report.records.len(), report.unreadable), (2, 4));
        assert_eq!(report.records[0].session.as_deref(), Some("a\nb\"\u{1b}[2J"));
        assert_eq!(report.records[1], later);
    }

    #[tokio::test]
    async fn a_file_that_others_can_read_is_refused_and_one_that_was_moved_away_is_created_again() {
        let directory = tempfile::tempdir().unwrap();
        let audit = audit(&directory);
        let record = || record("2026-11-01T00:00:00Z", AuditEvent::Attached);
        audit.record(record()).await.unwrap();
        let path = file(&directory, "2026-11");
        fs::rename(&path, directory.path().join("kept.jsonl")).unwrap();
        audit.record(record()).await.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let since = "2026-11-01T00:00:00Z".parse().unwrap();
        let error = audit.since(since).await.unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }
}
