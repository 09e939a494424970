//! Running turns, and those that wait for them.

use super::{
    Level, Quota, QuotaExceeded, Shared, Tenant,
    counts::{Counted, Permit, counted},
};
use agent::Owner;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A turn that runs until this is dropped.
#[derive(Debug)]
#[must_use = "the turn is counted only while the permit exists"]
pub struct TurnPermit {
    // The fields are dropped in this order: the count falls, then the next turn is started.
    _permit: Permit,
    _next: StartNext,
}

/// A turn that was accepted. Await [`WaitingTurn::start`]; drop it to leave the queue.
#[derive(Debug)]
#[must_use = "the turn leaves the queue when this is dropped"]
pub struct WaitingTurn {
    state: State,
}

#[derive(Debug)]
enum State {
    Started(TurnPermit),
    Waits(oneshot::Receiver<TurnPermit>),
}

/// A turn in the queue of its tenant.
pub(super) struct Waiter {
    user: String,
    start: oneshot::Sender<TurnPermit>,
}

/// Starts the next turn of a tenant when it is dropped.
struct StartNext {
    shared: Arc<Shared>,
    tenant: String,
}

impl WaitingTurn {
    /// Whether it has to wait.
    pub fn waits(&self) -> bool {
        matches!(self.state, State::Waits(_))
    }

    /// Waits until the turn may run.
    pub async fn start(self) -> TurnPermit {
        match self.state {
            State::Started(permit) => permit,
            State::Waits(start) => match start.await {
                Ok(permit) => permit,
                // The queue is dropped with the quotas only, and permits keep those.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

pub(super) fn request(shared: &Arc<Shared>, owner: &Owner) -> Result<WaitingTurn, QuotaExceeded> {
    let mut tenants = shared.tenants();
    let tenant = tenants.entry(owner.tenant.clone()).or_default();
    tenant.waiting.retain(|waiter| !waiter.start.is_closed());
    let own = tenant.waiting.iter().filter(|waiter| waiter.user == owner.user).count();
    // A turn does not overtake another one of the same user. A place can be free here although one
    // waits for it: between the end of a turn and the start of the next the lock is released.
    if own == 0 && has_room(shared, tenant, &owner.user) {
        return Ok(WaitingTurn { state: State::Started(begin(shared, tenant, owner.clone())) });
    }
    for (level, count, limit) in [
        (Level::User, own, shared.user.queued_turns),
        (Level::Tenant, tenant.waiting.len(), shared.tenant.queued_turns),
    ] {
        if count as u64 >= u64::from(limit) {
            let (quota, limit) = (Quota::QueuedTurns, limit.into());
            return Err(QuotaExceeded { quota, level, limit, retry_after: None });
        }
    }
    let (start, wait) = oneshot::channel();
    tenant.waiting.push_back(Waiter { user: owner.user.clone(), start });
    Ok(WaitingTurn { state: State::Waits(wait) })
}

fn has_room(shared: &Shared, tenant: &mut Tenant, user: &str) -> bool {
    let counted = Counted::RunningTurns;
    tenant.usage.counts.is_below(counted, &shared.tenant)
        && tenant.users.entry(user.to_owned()).or_default().counts.is_below(counted, &shared.user)
}

/// Counts a turn. The lock is held, so the result must not be dropped before it is released.
fn begin(shared: &Arc<Shared>, tenant: &mut Tenant, owner: Owner) -> TurnPermit {
    let next = StartNext { shared: Arc::clone(shared), tenant: owner.tenant.clone() };
    TurnPermit { _permit: counted(shared, tenant, owner, Counted::RunningTurns), _next: next }
}

/// Starts the turns of a tenant that may run now, in their order.
fn start_next(shared: &Arc<Shared>, tenant_name: &str) {
    loop {
        let mut tenants = shared.tenants();
        let Some(tenant) = tenants.get_mut(tenant_name) else { return };
        tenant.waiting.retain(|waiter| !waiter.start.is_closed());
        let users: Vec<_> = tenant.waiting.iter().map(|waiter| waiter.user.clone()).collect();
        let Some(place) = users.iter().position(|user| has_room(shared, tenant, user)) else { return };
        let Some(Waiter { user, start }) = tenant.waiting.remove(place) else { return };
        let turn = begin(shared, tenant, Owner { tenant: tenant_name.to_owned(), user });
        drop(tenants);
        // If the receiver is gone, the turn comes back, and dropping it starts the next one.
        drop(start.send(turn));
    }
}

impl Drop for StartNext {
    fn drop(&mut self) {
        start_next(&self.shared, &self.tenant);
    }
}

impl std::fmt::Debug for StartNext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartNext").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}
