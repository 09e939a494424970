//! The OS seam: every effect on a workspace goes through one trait.
//!
//! Architecture Invariant: this crate is the only one that touches files and processes. Tools receive a [`System`] as an
//! argument and cannot tell whether it is the local machine (`LocalSystem`), an editor (`acp::AcpSystem`), a refusing
//! wrapper (`ReadOnly`) or a fake in memory (`FakeSystem`).

mod error;
mod path;
mod process;
mod seam;

pub use error::SystemError;
pub use path::{AbsPath, PathError};
pub use process::{Command, ExitStatus, Output, Process, TerminalId};
pub use seam::{Entry, FileKind, Metadata, Route, Routes, System, TextRange, WalkOptions};
