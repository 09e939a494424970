//! What the users of a server may begin, by their quotas.

mod contents;
mod fair;
mod models;
mod spent;

use crate::{
    auth::{
        Audit, AuditEvent, AuditRecord, AuditedPrincipal, Clock, Quota, QuotaExceeded, Quotas, wall_clock,
    },
    load::Load,
};
use agent::{Models, NotAdmitted, Operator, OperatorLimit, Owner, Place, SessionId, SessionStore, TakenOver};
use async_trait::async_trait;
use contents::StoredContents;
use fair::Places;
use futures::FutureExt as _;
use models::ServedModels;
use spent::SpentBefore;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The shortest time between two audit records of refusals of one user for one quota.
const REFUSALS_RECORDED: Duration = Duration::from_secs(10);

/// The operators of all users of a server, which share its quotas.
pub struct Operators {
    quotas: Quotas,
    load: Load,
    places: Places,
    clock: Clock,
    audit: Option<Arc<dyn Audit>>,
    spent_before: SpentBefore,
    /// Whether turns go on after the death of their node.
    after_death: bool,
    contents: StoredContents,
}

impl Operators {
    /// Creates the operators of a server with these quotas.
    pub fn new(quotas: Quotas) -> Self {
        let (clock, spent_before) = (wall_clock(), SpentBefore::default());
        let places = Places::new(None);
        let contents = StoredContents::default();
        Self {
            quotas,
            load: Load::default(),
            places,
            clock,
            audit: None,
            spent_before,
            after_death: false,
            contents,
        }
    }

    /// Limits the contents that a store has of each user, if the quotas do.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn SessionStore>) -> Self {
        let read_sums = move |tenant: String| {
            let store = Arc::clone(&store);
            async move { store.stored_contents(&tenant).await }.boxed()
        };
        Self { contents: StoredContents::of(Box::new(read_sums)), ..self }
    }

    /// Lets nothing new begin while the node has too much to do.
    #[must_use]
    pub fn with_load(self, load: Load) -> Self {
        Self { load, ..self }
    }

    /// Lets so many requests to one provider of models run at the same time. The others wait, and
    /// begin by turns of their users.
    #[must_use]
    pub fn with_model_concurrency(self, most: Option<usize>) -> Self {
        Self { places: Places::new(most), ..self }
    }

    /// Has turns go on by themselves after the death of their node.
    #[must_use]
    pub fn going_on_after_death(self, after_death: bool) -> Self {
        Self { after_death, ..self }
    }

    /// Records refusals, and sessions that come from other processes.
    #[must_use]
    pub fn audited(self, audit: Arc<dyn Audit>) -> Self {
        Self { audit: Some(audit), ..self }
    }

    /// Tells the time of day by another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Counts what the users of a tenant spent this day according to a store, if spending is
    /// limited: after a start, and what other processes recorded since. Reads the store once a
    /// minute at the most; the sizes of what it stores every few minutes. A store that fails
    /// changes nothing.
    pub async fn restore(&self, tenant: &str, store: &dyn SessionStore) {
        self.spent_before.restore(tenant, store, &self.quotas, (self.clock)()).await;
        self.contents.restore(tenant, &self.quotas, false).await;
    }

    /// Returns the operator of a user; `None` is the user who runs the server, whom no quota
    /// limits.
    pub fn of(self: &Arc<Self>, owner: Option<Owner>) -> Arc<dyn Operator> {
        let user = User { operators: Arc::clone(self), owner, recorded: Mutex::default() };
        Arc::new(UserOperator(Arc::new(user)))
    }
}

/// What one user may begin.
struct UserOperator(Arc<User>);

/// A user, and what was recorded of refusals.
struct User {
    operators: Arc<Operators>,
    owner: Option<Owner>,
    /// When a refusal for a quota was last recorded.
    recorded: Mutex<HashMap<Quota, Instant>>,
}

impl User {
    /// Asks the quotas, unless they do not limit the user.
    fn ask<T>(
        &self,
        ask: impl FnOnce(&Quotas, &Owner) -> Result<T, QuotaExceeded>,
    ) -> Result<Option<T>, NotAdmitted> {
        let Some(owner) = &self.owner else { return Ok(None) };
        ask(&self.operators.quotas, owner).map(Some).map_err(|exceeded| {
            self.record(owner, exceeded.quota);
            NotAdmitted {
                limit: OperatorLimit::Quota(exceeded.quota.name()),
                message: exceeded.to_string(),
                retry_after: exceeded.retry_after,
            }
        })
    }

    /// Records a refusal, unless one for the same quota was recorded just before.
    fn record(&self, owner: &Owner, quota: Quota) {
        let Some(audit) = self.operators.audit.clone() else { return };
        let now = Instant::now();
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.get(&quota).is_some_and(|last| now - *last < REFUSALS_RECORDED) {
            return;
        }
        recorded.insert(quota, now);
        drop(recorded);
        self.append(audit, AuditEvent::QuotaRefused, Some(owner), None, quota.name());
    }

    /// Appends a record. What it is about does not wait for the disk.
    fn append(
        &self,
        audit: Arc<dyn Audit>,
        what: AuditEvent,
        owner: Option<&Owner>,
        session: Option<&SessionId>,
        about: &str,
    ) {
        let who = owner.map(|owner| AuditedPrincipal {
            tenant: owner.tenant.clone(),
            user: owner.user.clone(),
            credential: String::new(),
        });
        let record = AuditRecord {
            who,
            session: session.map(ToString::to_string),
            about: Some(about.to_owned()),
            ..AuditRecord::new((self.operators.clock)(), what, None)
        };
        tokio::spawn(async move {
            if let Err(error) = audit.record(record).await {
                tracing::error!(%error, "an event is missing in the audit");
            }
        });
    }

    /// Refuses a request to a model beyond what may be spent.
    fn may_spend(&self) -> Result<(), NotAdmitted> {
        let now = (self.operators.clock)();
        self.ask(|quotas, owner| quotas.may_spend(owner, now)).map(drop)
    }

    /// Refuses a prompt of a user whose sessions have as much contents as they may. The sums are
    /// read in the background, so that no prompt waits for that.
    fn may_store(&self) -> Result<(), NotAdmitted> {
        let Some(owner) = &self.owner else { return Ok(()) };
        let asked = self.ask(Quotas::may_store).map(drop);
        let (operators, tenant, refused) = (self.operators.clone(), owner.tenant.clone(), asked.is_err());
        tokio::spawn(async move { operators.contents.restore(&tenant, &operators.quotas, refused).await });
        asked
    }

    /// Counts what a request to a model has used.
    fn spend(&self, used: agent::Usage) {
        let Some(owner) = &self.owner else { return };
        let (tokens, microdollars) = spent::amounts(used);
        self.operators.quotas.spend(owner, tokens, microdollars, (self.operators.clock)());
    }
}

#[async_trait]
impl Operator for UserOperator {
    fn open_session(&self) -> Result<Place, NotAdmitted> {
        let permit = self.0.ask(Quotas::open_session)?;
        Ok(Place::new((permit, self.0.operators.load.session())))
    }

    fn prompt(&self) -> Result<(), NotAdmitted> {
        self.0.operators.load.admit()?;
        self.0.may_spend()?;
        self.0.may_store()?;
        self.0.ask(|quotas, owner| quotas.prompt(owner, Instant::now())).map(drop)
    }

    async fn begin_turn(&self) -> Result<Place, NotAdmitted> {
        let turn = match self.0.ask(Quotas::turn)? {
            Some(turn) => Some(turn.start().await),
            None => None,
        };
        Ok(Place::new((turn, self.0.operators.load.turn())))
    }

    fn goes_on_after_death(&self) -> bool {
        self.0.operators.after_death
    }

    fn taken_over(&self, session: &SessionId, how: TakenOver) {
        let Some(audit) = self.0.operators.audit.clone() else { return };
        let about = match how {
            TakenOver::ByRequest => "by request",
            TakenOver::Suspended => "suspended",
            TakenOver::AfterDeath => "after death",
        };
        self.0.append(audit, AuditEvent::TakenOver, self.0.owner.as_ref(), Some(session), about);
    }

    fn models(&self, models: Arc<dyn Models>) -> Arc<dyn Models> {
        Arc::new(ServedModels { models, user: Arc::clone(&self.0) })
    }
}

#[cfg(test)]
mod tests;
