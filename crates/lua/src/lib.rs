//! Lua code mode: a model, or a person, writes one script instead of many separate tool calls.
//!
//! [`run()`] runs a script in a fresh interpreter with limits on memory and time. [`Reach`] carries
//! out the calls that a script makes: in an agent's turn they go to the session's tools through the
//! session's permission gate, elsewhere to what the caller provides. [`Functions`] lists the
//! functions of MCP servers and integrations. [`LuaTools`] gives sessions the tools for writing
//! scripts.
//!
//! Architecture Invariant: the only crate that names `mlua`. A script has no access to files,
//! environment variables or a clock, and always ends. It affects the outside only through calls,
//! each of which the gate decides about.

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
