//! The bytes of stored contents of the users, as a store had them a short time ago.

use crate::auth::Quotas;
use agent::{Owner, StoreError};
use futures::future::BoxFuture;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long the sums of a tenant are used before they are read again. Reading them costs a scan.
const READ_AGAIN: Duration = Duration::from_secs(300);
/// The same after a refusal: the user may have deleted sessions.
const READ_AGAIN_AFTER_REFUSAL: Duration = Duration::from_secs(30);

/// Reads the bytes of each user of a tenant.
pub(super) type ReadSums =
    Box<dyn Fn(String) -> BoxFuture<'static, Result<Vec<(Owner, u64)>, StoreError>> + Send + Sync>;

/// When the sums of each tenant were read from the store.
#[derive(Default)]
pub(super) struct StoredContents {
    read_sums: Option<ReadSums>,
    read: Mutex<HashMap<String, Instant>>,
}

impl StoredContents {
    pub(super) fn of(read_sums: ReadSums) -> Self {
        Self { read_sums: Some(read_sums), read: Mutex::default() }
    }

    /// Reads the sums of a tenant if they were not read for some time.
    pub(super) async fn restore(&self, tenant: &str, quotas: &Quotas, refused: bool) {
        let Some(read_sums) = self.read_sums.as_ref().filter(|_| quotas.limits_contents()) else { return };
        if !self.is_due(tenant, if refused { READ_AGAIN_AFTER_REFUSAL } else { READ_AGAIN }) {
            return;
        }
        match read_sums(tenant.to_owned()).await {
            Ok(stored) => quotas.store_contents(tenant, &sums(stored)),
            Err(error) => {
                tracing::warn!(tenant, %error, "the sizes of stored contents could not be read");
                self.read.lock().unwrap_or_else(PoisonError::into_inner).remove(tenant);
            }
        }
    }

    fn is_due(&self, tenant: &str, after: Duration) -> bool {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if read.get(tenant).is_some_and(|last| now - *last < after) {
            return false;
        }
        read.insert(tenant.to_owned(), now);
        true
    }
}

fn sums(stored: Vec<(Owner, u64)>) -> HashMap<String, u64> {
    let mut sums: HashMap<String, u64> = HashMap::new();
    for (owner, bytes) in stored {
        let sum = sums.entry(owner.user).or_default();
        *sum = sum.saturating_add(bytes);
    }
    sums
}
