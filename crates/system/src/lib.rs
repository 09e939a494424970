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

mod claim;
mod confined;
pub mod contract;
mod control_change;
mod encoding;
mod error;
pub mod fake;
mod folded;
mod git_names;
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
mod project_file;
mod read_only;
mod resolve;
mod room_network;
mod sandbox;
mod secrets;
mod system;
#[cfg(any(target_os = "linux", test))]
mod tcp_table;
mod text;
mod veil;
mod view;
mod within;

pub use claim::Claim;
pub use confined::{Confined, resolve_stored};
pub use control_change::ControlChange;
use control_change::ControlPlace;
pub use encoding::TextEncoding;
pub use error::SystemError;
pub use fake::FakeSystem;
pub use folded::{Folded, PathSpellings, is_within, pattern_matches};
pub use git_names::GitNames;
pub use local::{
    AppendFile, CACHES_DIRECTORY, CommandDeadline, FileLock, FileStamp, LocalOptions, LocalSystem,
    LoginShell, MemoryUse, OUTPUT_DIRECTORY, ProcessState, ProcessTable, ProjectCaches, TemporaryDirectory,
    create_private_directory, free_bytes, is_interactive, is_ordinary_variable, memory_use, open_terminal,
    private_temp, read_private, read_private_lines, read_program, read_regular, run_in_foreground,
    run_in_terminal, run_sandboxed, start_watcher, user_of_connection, write_program,
};
pub use path::{AbsPath, PathError};
pub use pins::Pins;
pub use process::{
    Command, ExitStatus, ExternalLaunch, Output, Piped, PipedCommand, Process, ShellProgram, TerminalId,
    UNATTENDED_ENV,
};
pub use project_file::{FoundRules, read_found, resolve_inside};
pub use read_only::ReadOnly;
pub use room_network::{
    GIT_SIGNING, GitRemote, InsideSockets, RoomInside, RoomNetwork, RoomPorts, RoomSockets,
};
pub use sandbox::{
    Confinement, LinkedFile, MIN_LANDLOCK_ABI, Network, ProtectedPaths, ResourceLimits, Sandbox,
    SandboxLevel, SandboxSupport, SecretPaths,
};
pub use secrets::{is_secret_name, is_secret_value, secrets_in};
pub use system::{DiskSnapshot, Entry, FileId, FileKind, Metadata, Route, Routes, System, WalkOptions};
pub use text::TextRange;
pub use view::{HomeEntry, HomeShare, HomeView, TEMP_PLACE, View, is_of_system};
pub use within::Within;
