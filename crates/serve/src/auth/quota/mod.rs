//! How much a user and a tenant may use at the same time, a minute and a day.
//!
//! Counts are of this process. What is counted while something exists is held by a [`Permit`],
//! which gives it back when it is dropped.

mod counts;
mod rate;
mod spending;
mod turns;

pub use counts::Permit;
pub use turns::{TurnPermit, WaitingTurn};

use agent::Owner;
use counts::{Counted, Counts};
use rate::Rate;
use spending::Spending;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use turns::Waiter;

/// Bytes in a MiB.
const MIB: u64 = 1024 * 1024;

/// The limits of one user, or of all users of a tenant together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaLimits {
    /// Connections at the same time.
    pub connections: u32,
    /// Open sessions at the same time.
    pub open_sessions: u32,
    /// Running turns at the same time; more of them wait.
    pub running_turns: u32,
    /// Turns that wait; more of them are refused.
    pub queued_turns: u32,
    /// Prompts within a minute.
    pub prompts_per_minute: u32,
    /// Tokens of models within a day of UTC; `None` if they are not limited.
    pub tokens_per_day: Option<u64>,
    /// Cost of models within a day of UTC, in millionths of a dollar; `None` if it is not limited.
    pub microdollars_per_day: Option<u64>,
    /// Contents of files that are stored to undo changes, in MiB; `None` if they are not limited.
    pub contents_mib: Option<u64>,
}

impl Default for QuotaLimits {
    fn default() -> Self {
        Self {
            connections: 32,
            open_sessions: 64,
            running_turns: 8,
            queued_turns: 32,
            prompts_per_minute: 20,
            tokens_per_day: None,
            microdollars_per_day: None,
            contents_mib: Some(10 * 1024),
        }
    }
}

impl QuotaLimits {
    /// Returns limits that nothing reaches.
    pub fn unlimited() -> Self {
        Self {
            connections: u32::MAX,
            open_sessions: u32::MAX,
            running_turns: u32::MAX,
            queued_turns: u32::MAX,
            prompts_per_minute: u32::MAX,
            tokens_per_day: None,
            microdollars_per_day: None,
            contents_mib: None,
        }
    }
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quota {
    /// Connections at the same time.
    Connections,
    /// Open sessions at the same time.
    OpenSessions,
    /// Turns that wait for others to end.
    QueuedTurns,
    /// Prompts within a minute.
    Prompts,
    /// Tokens within a day.
    Tokens,
    /// Cost within a day.
    Cost,
    /// Stored contents of files.
    Contents,
}

impl Quota {
    /// Returns its name in `data.quota` of an error, and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::OpenSessions => "open_sessions",
            Self::QueuedTurns => "queued_turns",
            Self::Prompts => "prompts_per_minute",
            Self::Tokens => "tokens_per_day",
            Self::Cost => "cost_per_day",
            Self::Contents => "contents_mib",
        }
    }
}

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// That of the user.
    User,
    /// That of all users of the tenant together.
    Tenant,
}

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the limit {} of {} is reached ({limit}); {}",
    quota.name(),
    match level { Level::User => "the user", Level::Tenant => "the tenant" },
    match retry_after {
        Some(wait) => format!("try again in {} s", wait.as_secs().max(1)),
        None if *quota == Quota::Contents => "delete sessions, which makes room within a minute".to_owned(),
        None => "end one of them, or wait for one to end".to_owned(),
    }
)]
pub struct QuotaExceeded {
    /// What is limited.
    pub quota: Quota,
    /// Whose limit it is.
    pub level: Level,
    /// The limit.
    pub limit: u64,
    /// When it is certain to be below the limit again, where waiting alone helps.
    pub retry_after: Option<Duration>,
}

/// The quotas of all users.
#[derive(Clone)]
pub struct Quotas(Arc<Shared>);

struct Shared {
    user: QuotaLimits,
    tenant: QuotaLimits,
    tenants: Mutex<HashMap<String, Tenant>>,
}

/// What a tenant uses.
#[derive(Default)]
struct Tenant {
    usage: Usage,
    users: HashMap<String, Usage>,
    waiting: VecDeque<Waiter>,
}

/// What a user uses, or all users of a tenant together.
#[derive(Default)]
struct Usage {
    counts: Counts,
    rate: Rate,
    spending: Spending,
    /// The bytes of stored contents, when they were last read.
    contents: u64,
}

impl Quotas {
    /// Creates quotas: the limits of each user, and those of each tenant.
    pub fn new(user: QuotaLimits, tenant: QuotaLimits) -> Self {
        Self(Arc::new(Shared { user, tenant, tenants: Mutex::default() }))
    }

    /// Counts a connection until the permit is dropped.
    ///
    /// # Errors
    /// If the user or the tenant has as many as it may.
    pub fn connection(&self, owner: &Owner) -> Result<Permit, QuotaExceeded> {
        counts::permit(&self.0, owner, Counted::Connections)
    }

    /// Counts an open session until the permit is dropped.
    ///
    /// # Errors
    /// If the user or the tenant has as many as it may.
    pub fn open_session(&self, owner: &Owner) -> Result<Permit, QuotaExceeded> {
        counts::permit(&self.0, owner, Counted::OpenSessions)
    }

    /// Counts a prompt. `now` is the monotonic time.
    ///
    /// # Errors
    /// If the user or the tenant has sent as many within a minute as it may.
    pub fn prompt(&self, owner: &Owner, now: tokio::time::Instant) -> Result<(), QuotaExceeded> {
        let mut tenants = self.0.tenants();
        let (tenant, user) = usage(&mut tenants, owner);
        let levels = [
            (Level::User, &user.rate, self.0.user.prompts_per_minute),
            (Level::Tenant, &tenant.rate, self.0.tenant.prompts_per_minute),
        ];
        for (level, rate, limit) in levels {
            if let Err(wait) = rate.check(limit, now) {
                let (quota, retry_after) = (Quota::Prompts, Some(wait));
                return Err(QuotaExceeded { quota, level, limit: limit.into(), retry_after });
            }
        }
        user.rate.count(self.0.user.prompts_per_minute, now);
        tenant.rate.count(self.0.tenant.prompts_per_minute, now);
        Ok(())
    }

    /// Asks to run a turn. It may run once the result is awaited; until then it waits in the order
    /// of requests, except for users who have as many running turns as they may.
    ///
    /// # Errors
    /// If it would have to wait, and as many wait as may.
    pub fn turn(&self, owner: &Owner) -> Result<WaitingTurn, QuotaExceeded> {
        turns::request(&self.0, owner)
    }

    /// Records what a turn has used. `now` is the time of day.
    pub fn spend(&self, owner: &Owner, tokens: u64, microdollars: u64, now: jiff::Timestamp) {
        let mut tenants = self.0.tenants();
        let (tenant, user) = usage(&mut tenants, owner);
        for usage in [tenant, user] {
            usage.spending.add(tokens, microdollars, now);
        }
    }

    /// Counts what a log has of this day, where that is more than was counted: the tokens and the
    /// millionths of a dollar of each user of a tenant.
    pub fn at_least(&self, tenant: &str, spent: &HashMap<String, (u64, u64)>, now: jiff::Timestamp) {
        let mut tenants = self.0.tenants();
        let tenant = tenants.entry(tenant.to_owned()).or_default();
        let (mut all_tokens, mut all_microdollars) = (0_u64, 0_u64);
        for (user, (tokens, microdollars)) in spent {
            let user = tenant.users.entry(user.clone()).or_default();
            user.spending.at_least(*tokens, *microdollars, now);
            all_tokens = all_tokens.saturating_add(*tokens);
            all_microdollars = all_microdollars.saturating_add(*microdollars);
        }
        tenant.usage.spending.at_least(all_tokens, all_microdollars, now);
    }

    /// Whether tokens or cost are limited.
    pub fn limits_spending(&self) -> bool {
        let limits =
            |limits: &QuotaLimits| limits.tokens_per_day.is_some() || limits.microdollars_per_day.is_some();
        limits(&self.0.user) || limits(&self.0.tenant)
    }

    /// Returns when the day of a time began, for which spending counts.
    pub fn day_begin(now: jiff::Timestamp) -> jiff::Timestamp {
        spending::day_begin(now)
    }

    /// Fails if the user or the tenant has used as many tokens or as much money this day as it may.
    /// Ask before each request to a model. What one request uses beyond the limit is not foreseen.
    ///
    /// # Errors
    /// The quota that is used up, and when the next day begins.
    pub fn may_spend(&self, owner: &Owner, now: jiff::Timestamp) -> Result<(), QuotaExceeded> {
        let mut tenants = self.0.tenants();
        let (tenant, user) = usage(&mut tenants, owner);
        user.spending.check(Level::User, &self.0.user, now)?;
        tenant.spending.check(Level::Tenant, &self.0.tenant, now)
    }

    /// Whether stored contents are limited.
    pub fn limits_contents(&self) -> bool {
        self.0.user.contents_mib.is_some() || self.0.tenant.contents_mib.is_some()
    }

    /// Sets the bytes of stored contents of all users of a tenant; of those who are missing, to
    /// none.
    pub fn store_contents(&self, tenant: &str, bytes: &HashMap<String, u64>) {
        let mut tenants = self.0.tenants();
        let tenant = tenants.entry(tenant.to_owned()).or_default();
        tenant.users.values_mut().for_each(|user| user.contents = 0);
        for (user, bytes) in bytes {
            tenant.users.entry(user.clone()).or_default().contents = *bytes;
        }
        tenant.usage.contents = bytes.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    }

    /// Fails if the user or the tenant has as much stored contents as it may. What one turn stores
    /// beyond the limit is not foreseen.
    ///
    /// # Errors
    /// The quota that is used up.
    pub fn may_store(&self, owner: &Owner) -> Result<(), QuotaExceeded> {
        let mut tenants = self.0.tenants();
        let (tenant, user) = usage(&mut tenants, owner);
        for (level, used, limit) in [
            (Level::User, user.contents, self.0.user.contents_mib),
            (Level::Tenant, tenant.contents, self.0.tenant.contents_mib),
        ] {
            if let Some(limit) = limit.filter(|limit| used >= limit.saturating_mul(MIB)) {
                return Err(QuotaExceeded { quota: Quota::Contents, level, limit, retry_after: None });
            }
        }
        Ok(())
    }

    /// Drops what is known of users who use nothing now and have used nothing that still counts.
    /// Call it every few minutes.
    pub fn sweep(&self, monotonic: tokio::time::Instant, now: jiff::Timestamp) {
        let idle = |usage: &Usage| {
            usage.counts.is_zero()
                && usage.rate.is_idle(monotonic)
                && usage.spending.is_over(now)
                && usage.contents == 0
        };
        self.0.tenants().retain(|_, tenant| {
            tenant.users.retain(|_, user| !idle(user));
            !(tenant.users.is_empty() && tenant.waiting.is_empty() && idle(&tenant.usage))
        });
    }
}

impl Shared {
    fn tenants(&self) -> MutexGuard<'_, HashMap<String, Tenant>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the usage of the owner's tenant and that of the owner.
fn usage<'a>(tenants: &'a mut HashMap<String, Tenant>, owner: &Owner) -> (&'a mut Usage, &'a mut Usage) {
    let tenant = tenants.entry(owner.tenant.clone()).or_default();
    (&mut tenant.usage, tenant.users.entry(owner.user.clone()).or_default())
}

#[cfg(test)]
mod tests;
