//! What is counted while it exists.

use super::{Level, Quota, QuotaExceeded, QuotaLimits, Shared, Tenant, usage};
use agent::Owner;
use std::sync::Arc;

/// What is counted while it exists, by user and by tenant.
#[derive(Debug, Default)]
pub(super) struct Counts {
    connections: u32,
    open_sessions: u32,
    running_turns: u32,
}

/// One of the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Connections,
    OpenSessions,
    RunningTurns,
}

impl Counts {
    fn of(&mut self, counted: Counted) -> &mut u32 {
        match counted {
            Counted::Connections => &mut self.connections,
            Counted::OpenSessions => &mut self.open_sessions,
            Counted::RunningTurns => &mut self.running_turns,
        }
    }

    pub(super) fn is_below(&mut self, counted: Counted, limits: &QuotaLimits) -> bool {
        *self.of(counted) < counted.limit(limits)
    }

    pub(super) fn add(&mut self, counted: Counted) {
        *self.of(counted) += 1;
    }

    pub(super) fn subtract(&mut self, counted: Counted) {
        let count = self.of(counted);
        *count = count.saturating_sub(1);
    }

    pub(super) fn is_zero(&self) -> bool {
        self.connections == 0 && self.open_sessions == 0 && self.running_turns == 0
    }
}

impl Counted {
    fn limit(self, limits: &QuotaLimits) -> u32 {
        match self {
            Self::Connections => limits.connections,
            Self::OpenSessions => limits.open_sessions,
            Self::RunningTurns => limits.running_turns,
        }
    }

    fn quota(self) -> Quota {
        match self {
            Self::Connections => Quota::Connections,
            Self::OpenSessions => Quota::OpenSessions,
            Self::RunningTurns => Quota::QueuedTurns,
        }
    }
}

/// Something that is counted until this is dropped.
#[must_use = "it is counted only while the permit exists"]
pub struct Permit {
    shared: Arc<Shared>,
    owner: Owner,
    counted: Counted,
}

/// Counts something, unless the user or the tenant has as many as it may.
pub(super) fn permit(shared: &Arc<Shared>, owner: &Owner, count: Counted) -> Result<Permit, QuotaExceeded> {
    let mut tenants = shared.tenants();
    let tenant = tenants.entry(owner.tenant.clone()).or_default();
    let user = tenant.users.entry(owner.user.clone()).or_default();
    for (level, usage, limits) in
        [(Level::User, user, &shared.user), (Level::Tenant, &mut tenant.usage, &shared.tenant)]
    {
        if !usage.counts.is_below(count, limits) {
            let (quota, limit) = (count.quota(), count.limit(limits).into());
            return Err(QuotaExceeded { quota, level, limit, retry_after: None });
        }
    }
    Ok(counted(shared, tenant, owner.clone(), count))
}

/// Counts something. The lock is held, so the result must not be dropped before it is released.
pub(super) fn counted(shared: &Arc<Shared>, tenant: &mut Tenant, owner: Owner, count: Counted) -> Permit {
    tenant.usage.counts.add(count);
    tenant.users.entry(owner.user.clone()).or_default().counts.add(count);
    Permit { shared: Arc::clone(shared), owner, counted: count }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut tenants = self.shared.tenants();
        let (tenant, user) = usage(&mut tenants, &self.owner);
        user.counts.subtract(self.counted);
        tenant.counts.subtract(self.counted);
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit").field("owner", &self.owner).field("counted", &self.counted).finish()
    }
}
