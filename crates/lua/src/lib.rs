//! Lua code mode: a model, or a person, writes a script instead of a row of calls.
//!
//! [`run`] runs a script in a fresh interpreter with limits. [`Reach`] is what a script reaches beyond itself: in an agent's turn the session's
//! own tools through the session's gate, elsewhere what its caller gives. [`LuaTools`] gives sessions the tools for it.
//!
//! Architecture Invariant: the only crate that names `mlua`. A script sees no file, no variable and no clock; what it wants of the world it calls,
//! and whatever it calls was decided about by the gate.

mod bytes;
mod convert;
mod docs;
mod limits;
mod listing;
mod meter;
mod names;
mod patterns;
mod reach;
mod report;
mod run;
mod sample;
mod shown;
mod state;
mod strings;
mod tools;
mod turn;

pub use docs::Docs;
pub use limits::{CODE_BYTES, CPU_MAX, MEGABYTE, MEMORY_MAX, MEMORY_MIN, RunLimits};
pub use names::{callable, is_name, literal, step};
pub use reach::{Account, Alone, Function, FunctionKind, Functions, Native, NoFunctions, Query, Reach};
pub use report::Report;
pub use run::{Script, run};
pub use sample::sample;
pub use tools::LuaTools;
pub use turn::of_integration;
