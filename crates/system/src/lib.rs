//! The OS seam: every effect on a workspace (files, directories, processes) goes through one trait,
//! [`System`].
//!
//! [`LocalSystem`] acts on this machine, [`ReadOnly`] refuses changes, [`Confined`] runs commands
//! in the sandbox, [`FakeSystem`] lives in memory for tests, and `acp::AcpSystem` acts through an
//! editor. [`contract`] is the test suite that every backend passes.
//!
//! Architecture Invariant: this crate is the only one that touches files and processes. Tools
//! receive a [`System`] as an argument and cannot tell which backend it is.
//!
//! This crate must never decide permissions, keep a current directory, or write to stdout. Callers
//! have asked the permission gate before they call.

mod confined;
pub mod contract;
mod error;
pub mod fake;
mod folded;
mod found;
pub mod limits;
#[expect(
    clippy::disallowed_methods,
    reason = "this module is what the banned functions are to be reached through"
)]
mod local;
mod output;
mod path;
mod pins;
mod process;
mod read_only;
mod resolve;
mod sandbox;
mod seam;
mod secrets;
mod text;

pub use confined::Confined;
pub use error::SystemError;
pub use fake::FakeSystem;
pub use folded::{Folded, Spelled, is_within, pattern_matches};
pub use found::{FoundRules, read_found, resolve_inside};
pub use local::{
    FileStamp, LocalOptions, LocalSystem, LoginShell, OUTPUTS, ProcessState, ProcessTable, TemporaryFolder,
    private_temp, read_regular, run_in_terminal, run_sandboxed,
};
pub use path::{AbsPath, PathError};
pub use pins::Pins;
pub use process::{
    Command, ExitStatus, Launch, Output, Piped, PipedCommand, Process, ShellProgram, TerminalId,
    UNATTENDED_ENV,
};
pub use read_only::ReadOnly;
pub use sandbox::{
    Confinement, MIN_LANDLOCK_ABI, PrivateTemp, ResourceLimits, Sandbox, SandboxLevel, SandboxSupport,
};
pub use seam::{Entry, FileKind, Look, Metadata, Route, Routes, System, TextRange, WalkOptions};
pub use secrets::{is_secret_name, is_secret_value, secrets_in};
pub use text::TextEncoding;
