//! Lua code mode: a model, or a person, writes one script instead of many separate tool calls.
//!
//! [`run()`] runs a script in a fresh interpreter with limits on memory and time. [`ScriptHost`]
//! carries out the calls that a script makes: in an agent's turn they go to the session's tools
//! through the session's permission gate, elsewhere to what the caller provides. [`Functions`]
//! lists the functions of MCP servers and integrations. [`LuaTools`] gives sessions the tools for
//! writing scripts.
//!
//! Architecture Invariant: the only crate that names `mlua`. A script must never reach files,
//! environment variables or a clock, and always ends. It affects the outside only through calls,
//! each of which the gate decides about.

mod bytes;
mod convert;
mod display;
mod docs;
mod host;
mod limits;
mod listing;
mod names;
mod patterns;
mod report;
mod run;
mod run_clock;
mod sample;
mod session_host;
mod state;
mod strings;
mod tools;

pub use docs::Docs;
pub use host::{Account, Function, FunctionKind, Functions, Native, NoFunctions, NoHost, Query, ScriptHost};
pub use limits::{CODE_BYTES, CPU_MAX, MEGABYTE, MEMORY_MAX, MEMORY_MIN, RunLimits};
pub use names::{is_name, literal, lua_names, path_step};
pub use report::Report;
pub use run::{Script, run};
pub use sample::sample;
pub use session_host::integration_refusal;
pub use tools::LuaTools;
