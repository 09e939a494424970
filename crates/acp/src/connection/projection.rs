//! The conversion of events to updates, as each version of the protocol provides it.

use super::{settings::Settings, update::Update};
use agent::MessageId;
use agent::{ModelInfo, SessionEvent};
use agent_client_protocol::Error;

/// Converts a session's events to updates of one version. Keeps the state that later events need.
pub(crate) trait Projection<U>: Send {
    /// Returns the updates for an event, in order.
    fn project(&mut self, event: &SessionEvent, models: &dyn Fn() -> Vec<ModelInfo>) -> Vec<Update<U>>;

    /// Returns the updates for the start or the end of waiting for the user's answer.
    fn waiting(&mut self, _for_the_user: bool) -> Vec<Update<U>> {
        Vec::new()
    }

    /// Returns the updates for a message's turn that ended without an event because the event could
    /// not be stored.
    fn failed(&mut self, _message: &MessageId, _error: &Error) -> Vec<Update<U>> {
        Vec::new()
    }

    /// Switches a replay from stored events to those in progress.
    fn catch_up(&mut self) {}

    /// Returns the updates that end a replay, in order.
    fn end_of_replay(&self) -> Vec<Update<U>> {
        Vec::new()
    }

    /// Stores the session's current settings, so that later changes can be reported in full.
    fn set_settings(&mut self, settings: Settings);
}
