//! A native event on its way to the client.

use super::event::Event;
use agent::TurnId;

/// A queued event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// The turn it belongs to.
    pub(crate) run: Option<TurnId>,
    /// The event; `None` to only set the turn of the text that follows.
    pub(crate) event: Option<Event>,
}

/// An output of the projection.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// An event, sent in order.
    Frame(Frame),
    /// A state, which replaces a queued one of its kind.
    State(StateKind, Frame),
}

/// The kind of a state that is sent as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    /// The subagents as a tree.
    Tree,
    /// Statistics of the subagents.
    Dashboard,
}
