//! What is sent of a conversation that outgrows its model's context.
//!
//! Nothing is touched before room is needed. Then, from the cheapest to the dearest: results that
//! were read anew since and old results are left out; what lies further back is summed up by the
//! model itself; and where no model can do that, the oldest part is left out. The log keeps
//! everything: what is left out is left out of requests alone, and each step is an event, so that
//! the next process sends what this one sends.

pub(crate) mod prune;
pub(crate) mod room;
pub(crate) mod split;
pub(crate) mod summary;
