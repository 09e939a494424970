//! Trees of subagents: the model that requests them and plays them, and what the program reports of
//! them.

pub(super) mod reported;
pub(super) mod script;
