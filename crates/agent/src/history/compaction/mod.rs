//! Chooses what is sent of a conversation that outgrows its model's context.
//!
//! Nothing changes before room is needed. Then, from the cheapest step to the most expensive:
//! results of repeated reads and old results are left out; earlier messages are summarised by the
//! model itself; and if no model can do that, the oldest part is left out. The log keeps
//! everything: only requests become shorter, and each step is an event, so that the next process
//! sends the same as this one.

pub(crate) mod budget;
pub(crate) mod prune;
pub(crate) mod split;
pub(crate) mod summary;
