//! The operator of a runtime that serves others, such as a server: it decides what may begin.

use crate::{Models, NotAdmitted, SessionId};
use async_trait::async_trait;
use std::{any::Any, sync::Arc};

/// Decides what the sessions of a runtime may begin. A runtime without one is not limited.
///
/// Sessions of subagents are not asked about: what they do belongs to the turn of their root
/// session. Their models are wrapped like those of other sessions.
#[async_trait]
pub trait Operator: Send + Sync {
    /// Asked before a session is created or opened; the result is dropped once it is closed.
    ///
    /// # Errors
    ///
    /// If too many are open.
    fn open_session(&self) -> Result<Place, NotAdmitted>;

    /// Asked when a prompt arrives, before it waits for its turn.
    ///
    /// # Errors
    ///
    /// If there were too many, or no turn could run now.
    fn prompt(&self) -> Result<(), NotAdmitted>;

    /// Waits until a turn may begin; the result is dropped at its end. The future is dropped if the
    /// prompt is cancelled first.
    ///
    /// # Errors
    ///
    /// If too many turns wait.
    async fn begin_turn(&self) -> Result<Place, NotAdmitted>;

    /// Whether turns go on by themselves after the death of their process, and do not end.
    fn goes_on_after_death(&self) -> bool {
        false
    }

    /// Called when a session came from another process.
    fn taken_over(&self, _session: &SessionId, _how: TakenOver) {}

    /// Returns the models that sessions use in place of these.
    fn models(&self, models: Arc<dyn Models>) -> Arc<dyn Models> {
        models
    }
}

/// How a session came from another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenOver {
    /// The other process was alive, and a client wanted it so.
    ByRequest,
    /// The other process gave it away in the middle of a turn.
    Suspended,
    /// The other process died in the middle of a turn.
    AfterDeath,
}

/// Something that counts against a limit until this is dropped.
pub struct Place(#[expect(dead_code, reason = "it is only dropped")] Box<dyn Any + Send + Sync>);

impl Place {
    /// Creates a place that is given back when `held` is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self(Box::new(held))
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}
