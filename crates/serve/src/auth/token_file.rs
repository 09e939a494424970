//! Tokens in a file that only its owner can read, for a server without a database.

use super::{
    Clock, Digest, Revocation, TokenRow, TokenStore, TokenStoreError, limits, token_document::TokenDocument,
};
use async_trait::async_trait;
use jiff::Timestamp;
use std::sync::{Arc, Mutex, PoisonError};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};
use system::{AbsPath, FileLock, FileStamp, System, SystemError};
use tokio::time::Instant;

/// Tokens in a file of mode 0600.
///
/// Reads come from memory; whether the file has changed is checked at most once a second. A write
/// holds a lock beside the file from reading to replacing it, so that no process loses the rows of
/// another.
pub struct FileTokens {
    system: Arc<dyn System>,
    clock: Clock,
    path: AbsPath,
    cached: Mutex<Option<Cached>>,
}

/// The rows as they were read.
#[derive(Clone)]
struct Cached {
    rows: Arc<Vec<TokenRow>>,
    stamp: FileStamp,
    /// Whether a later change of the file is certain to have another stamp.
    settled: bool,
    checked: Instant,
}

impl FileTokens {
    /// Uses the file at this path, which need not exist.
    pub fn new(system: Arc<dyn System>, clock: Clock, path: AbsPath) -> Self {
        Self { system, clock, path, cached: Mutex::new(None) }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    fn cached(&self) -> Option<Cached> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cache(&self, cached: Option<Cached>) {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = cached;
    }

    /// Returns the rows of the file, as they were within the last second; with `now`, as they are.
    async fn rows(&self, now: bool) -> Result<Arc<Vec<TokenRow>>, TokenStoreError> {
        let before = self.cached();
        if let Some(cached) = &before
            && !now
            && cached.checked.elapsed() < limits::TOKENS_RECHECK
        {
            return Ok(Arc::clone(&cached.rows));
        }
        let (path, checked) = (self.path.clone(), Instant::now());
        let work = move || {
            let stamp = FileStamp::of(&path);
            match before {
                Some(cached) if cached.stamp == stamp && cached.settled => Ok(Cached { checked, ..cached }),
                _ => {
                    let settled = stamp.is_settled();
                    let rows = read(&path)?.rows().map_err(|problem| malformed(&path, problem))?;
                    Ok(Cached { rows: Arc::new(rows), stamp, settled, checked })
                }
            }
        };
        match blocking(work).await {
            Ok(cached) => {
                let rows = Arc::clone(&cached.rows);
                self.cache(Some(cached));
                Ok(rows)
            }
            Err(error) => {
                // What was read before no longer holds: a file that others can read is not used.
                self.cache(None);
                Err(error)
            }
        }
    }

    /// Waits for the lock.
    async fn lock(&self) -> Result<FileLock, TokenStoreError> {
        if let Some(directory) = self.path.parent() {
            self.system.create_dir_all(&directory).await?;
        }
        let end = Instant::now() + limits::LOCK_WAIT;
        loop {
            if let Some(lock) = self.try_lock().await? {
                return Ok(lock);
            }
            if Instant::now() >= end {
                return Err(TokenStoreError::Busy { path: self.path.clone() });
            }
            tokio::time::sleep(limits::LOCK_POLL).await;
        }
    }

    async fn try_lock(&self) -> Result<Option<FileLock>, TokenStoreError> {
        let path = lock_path(&self.path);
        blocking(move || Ok(FileLock::try_take(&path)?)).await
    }

    /// Changes the file; the lock is held until it is replaced.
    async fn change<T>(
        &self,
        lock: FileLock,
        change: impl FnOnce(&mut TokenDocument, Vec<TokenRow>) -> Result<(bool, T), TokenStoreError>,
    ) -> Result<T, TokenStoreError> {
        let path = self.path.clone();
        let mut document = blocking(move || read(&path)).await?;
        let rows = document.rows().map_err(|problem| malformed(&self.path, problem))?;
        let (changed, result) = change(&mut document, rows)?;
        if changed {
            // A request that is dropped in the middle must not release the lock before the write
            // ends, so the write has a task of its own.
            let (system, path) = (Arc::clone(&self.system), self.path.clone());
            let write = async move {
                let written = system.write_private(&path, document.text().as_bytes()).await;
                drop(lock);
                written
            };
            tokio::spawn(write).await.map_err(|error| TokenStoreError::Other(error.to_string()))??;
            self.cache(None);
        }
        Ok(result)
    }
}

#[async_trait]
impl TokenStore for FileTokens {
    async fn find(&self, digest: &Digest) -> Result<Option<TokenRow>, TokenStoreError> {
        if let Some(row) = select(&self.rows(false).await?, digest) {
            return Ok(Some(row));
        }
        // It may have been created a moment ago.
        Ok(select(&self.rows(true).await?, digest))
    }

    async fn row(&self, id: &str) -> Result<Option<TokenRow>, TokenStoreError> {
        Ok(self.rows(false).await?.iter().find(|row| row.id == id).cloned())
    }

    async fn list(&self) -> Result<Vec<TokenRow>, TokenStoreError> {
        Ok(self.rows(true).await?.to_vec())
    }

    async fn insert(&self, row: TokenRow) -> Result<(), TokenStoreError> {
        let now = (self.clock)();
        let lock = self.lock().await?;
        self.change(lock, |document, rows| {
            let old: Vec<_> = rows.iter().filter(|row| ended_long_ago(row, now)).collect();
            if rows.len() - old.len() >= limits::TOKENS {
                return Err(TokenStoreError::TooMany);
            }
            document.remove(&old.iter().map(|row| row.id.as_str()).collect::<Vec<_>>());
            document.insert(&row);
            Ok((true, ()))
        })
        .await
    }

    async fn revoke(&self, id: &str, revocation: Revocation) -> Result<Option<TokenRow>, TokenStoreError> {
        let lock = self.lock().await?;
        self.change(lock, |document, rows| {
            let Some(row) = rows.into_iter().find(|row| row.id == id) else { return Ok((false, None)) };
            let before = row.revoked;
            let revoked = Revocation {
                at: before.map_or(revocation.at, |before| before.at),
                stop_turns: revocation.stop_turns || before.is_some_and(|before| before.stop_turns),
            };
            document.revoke(id, revoked);
            Ok((before != Some(revoked), Some(TokenRow { revoked: Some(revoked), ..row })))
        })
        .await
    }

    async fn note_use(&self, id: &str, hour: Timestamp) -> Result<(), TokenStoreError> {
        let Some(lock) = self.try_lock().await? else { return Ok(()) };
        self.change(lock, |document, rows| {
            let row = rows.iter().find(|row| row.id == id);
            let newer = row.is_some_and(|row| row.last_used.is_none_or(|last| last < hour));
            if newer {
                document.set_last_used(id, hour);
            }
            Ok((newer, ()))
        })
        .await
    }
}

/// The path of the lock beside a token file.
fn lock_path(path: &AbsPath) -> AbsPath {
    let name = path.file_name().unwrap_or("tokens");
    path.parent().unwrap_or_else(|| path.clone()).join(format!("{name}.lock"))
}

/// Returns the row with a digest. All rows are compared, each in constant time, so that the time
/// does not depend on the digest.
fn select(rows: &[TokenRow], digest: &Digest) -> Option<TokenRow> {
    let mut found = u64::MAX;
    for (index, row) in (0..).zip(rows) {
        let same: Choice = row.digest.ct_eq(digest);
        found.conditional_assign(&index, same);
    }
    rows.get(usize::try_from(found).ok()?).cloned()
}

fn ended_long_ago(row: &TokenRow, now: Timestamp) -> bool {
    let ends = [row.revoked.map(|revoked| revoked.at), row.expires];
    let kept = jiff::SignedDuration::try_from(limits::ENDED_TOKENS_KEPT).unwrap_or(jiff::SignedDuration::MAX);
    ends.into_iter().flatten().any(|end| now.duration_since(end) > kept)
}

/// Reads the file; a missing one has no tokens.
fn read(path: &AbsPath) -> Result<TokenDocument, TokenStoreError> {
    let bytes = match system::read_private(path) {
        Ok(bytes) => bytes,
        Err(SystemError::NotFound(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let text =
        String::from_utf8(bytes).map_err(|_| malformed(path, "it is not UTF-8; correct it".to_owned()))?;
    TokenDocument::parse(&text).map_err(|problem| malformed(path, problem))
}

fn malformed(path: &AbsPath, problem: String) -> TokenStoreError {
    TokenStoreError::Malformed { path: path.clone(), problem }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TokenStoreError> + Send + 'static,
) -> Result<T, TokenStoreError> {
    let result = tokio::task::spawn_blocking(work).await;
    result
        .unwrap_or_else(|error| Err(TokenStoreError::Other(format!("the token file was not read: {error}"))))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests prepare and read real files")]
#[path = "token_file_tests.rs"]
mod tests;
