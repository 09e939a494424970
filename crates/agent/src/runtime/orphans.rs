//! Sessions that come from another process: those it gave away, and those it left when it died.

use super::Runtime;
use crate::{
    SessionError, SessionId, TakenOver,
    history::reading::{LastTurn, log_end},
};
use system::AbsPath;

impl Runtime {
    /// Looks at a session whose holder died. Returns its directory if its turn is to go on without
    /// waiting for a client: then open it. Else its lease is given back, so that the store does not
    /// count it as left any more. Does nothing with a session that is open here.
    ///
    /// # Errors
    ///
    /// Fails if the store fails, or another process was faster.
    pub async fn settle_orphan(&self, id: &SessionId) -> Result<Option<AbsPath>, SessionError> {
        let _one_at_a_time = self.locks.lock(id).await;
        if self.find(id).is_some() {
            return Ok(None);
        }
        let record = self.store.get(id).await?;
        // A subagent's session goes on with the turn of its root.
        if self.store.parent(id).await?.is_none() {
            let end = log_end(self.store.as_ref(), &record, self.goes_on_after_death()).await?;
            if matches!(end.last_turn, LastTurn::Suspended | LastTurn::CutOff { goes_on: true }) {
                return Ok(Some(record.cwd));
            }
        }
        self.log(self.store.acquire(id, false).await?).release().await?;
        Ok(None)
    }

    /// Whether turns go on after the death of their process.
    pub(super) fn goes_on_after_death(&self) -> bool {
        self.operator.as_ref().is_some_and(|operator| operator.goes_on_after_death())
    }

    /// Counts a session that came from another process, and lets the operator know.
    pub(super) fn taken_over(&self, session: &SessionId, how: TakenOver) {
        metrics::counter!("tiller_takeovers_total").increment(1);
        if let Some(operator) = &self.operator {
            operator.taken_over(session, how);
        }
    }
}
