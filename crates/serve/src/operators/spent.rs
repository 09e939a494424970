//! What was spent this day before this process counted it.

use crate::auth::Quotas;
use agent::{Owner, SessionStore, Usage};
use jiff::Timestamp;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long what a store had of a tenant is used before it is read again.
const READ_AGAIN: Duration = Duration::from_secs(60);

/// Picodollars in a millionth of a dollar.
const PICO_IN_MICRO: u64 = 1_000_000;

/// When the spending of each tenant was read from the store.
#[derive(Default)]
pub(super) struct SpentBefore(Mutex<HashMap<String, Instant>>);

impl SpentBefore {
    /// Counts what the users of a tenant spent this day according to a store.
    pub(super) async fn restore(
        &self,
        tenant: &str,
        store: &dyn SessionStore,
        quotas: &Quotas,
        now: Timestamp,
    ) {
        if !quotas.limits_spending() || !self.is_due(tenant) {
            return;
        }
        let of_day = Quotas::day_begin(now).as_millisecond();
        match store.spent(tenant, of_day).await {
            Ok(spent) => quotas.at_least(tenant, &sums(spent), now),
            Err(error) => {
                tracing::warn!(tenant, %error, "what was spent this day could not be read");
                self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(tenant);
            }
        }
    }

    fn is_due(&self, tenant: &str) -> bool {
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if read.get(tenant).is_some_and(|last| now - *last < READ_AGAIN) {
            return false;
        }
        read.insert(tenant.to_owned(), now);
        true
    }
}

/// Returns the tokens and the millionths of a dollar of each user.
fn sums(spent: Vec<(Owner, Usage)>) -> HashMap<String, (u64, u64)> {
    let mut usages: HashMap<String, Usage> = HashMap::new();
    for (owner, used) in spent {
        *usages.entry(owner.user).or_default() += used;
    }
    usages.into_iter().map(|(user, used)| (user, amounts(used))).collect()
}

/// Returns the tokens of a usage that count, and its cost in millionths of a dollar.
pub(super) fn amounts(used: Usage) -> (u64, u64) {
    (used.metered(), used.cost.map_or(0, |cost| cost.0.div_ceil(PICO_IN_MICRO)))
}
