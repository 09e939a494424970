//! What an effect on a workspace can fail with.

use crate::{AbsPath, TextEncoding};
use std::time::Duration;

/// Why an effect did not happen. Nothing is half done: a failed write leaves the file as it was.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// There is no such file or folder, on disk or (where text reads are delegated) in the editor.
    #[error("not found: {0}")]
    NotFound(AbsPath),
    /// The path names a folder where a file is due.
    #[error("is a directory: {0}")]
    IsDirectory(AbsPath),
    /// The path names something that is no regular file: a pipe, a socket, a device.
    #[error("not a regular file: {0}")]
    NotRegular(AbsPath),
    /// The file holds bytes that are no text, or text in an encoding that is not known; `size` in bytes.
    #[error("not a text file ({size} bytes of binary data, or text in an unknown encoding): {path}")]
    NotText {
        /// The file.
        path: AbsPath,
        /// Its size in bytes.
        size: u64,
    },
    /// The text has a character that the file's encoding has not.
    #[error(
        "{path} is {encoding} text, which has no '{char}' (U+{:04X}), so nothing was written; leave the character out, or convert the file to UTF-8 first \
         (with `iconv`, say)",
        u32::from(*.char)
    )]
    NotEncodable {
        /// The file.
        path: AbsPath,
        /// How its text is written.
        encoding: TextEncoding,
        /// The first character of that kind.
        char: char,
    },
    /// The file is larger than one read may be; sizes in bytes.
    #[error("file is too large to read whole ({size} bytes, the limit is {limit}): {path}")]
    TooLarge {
        /// The file.
        path: AbsPath,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The program could not be started: it does not exist, is not executable, or its arguments are too long.
    #[error("cannot run {program}: {source}")]
    Spawn {
        /// What was to be run.
        program: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The confinement that the command must have cannot be applied here, so it was not started.
    #[error(
        "not run: the sandbox cannot be applied on this machine ({0}); `tiller doctor` tells what is missing"
    )]
    NoSandbox(&'static str),
    /// The command was to be confined where somebody else starts it, and that could not be proven.
    #[error("not run: it could not be confined in the editor's terminal ({0})")]
    NotConfined(&'static str),
    /// The path leads elsewhere than it did when it was decided about.
    #[error(
        "what this path leads to has changed since it was looked at, so nothing was done; try again: {0}"
    )]
    Moved(AbsPath),
    /// The file is a blocked one under another name.
    #[error("blocked by policy: it is the same file as one that may hold secrets: {0}")]
    Blocked(AbsPath),
    /// Only this machine's own system writes files for their owner alone.
    #[error("cannot be kept from others here, so it was not written: {0}")]
    NotPrivate(AbsPath),
    /// A file that nobody asked for may hold secrets, by its name or by that of what it leads to.
    #[error("not read: it is, or leads to, a file that is blocked because it may hold secrets: {0}")]
    BlockedFound(AbsPath),
    /// A file that nobody asked for leads out of its folder.
    #[error("not read: it leads out of the project, to {target}: {path}")]
    Outside {
        /// The file.
        path: AbsPath,
        /// Where it leads.
        target: AbsPath,
    },
    /// The system does not do this at all (a read-only system asked to write).
    #[error("{operation} is not allowed here: this session is read-only")]
    ReadOnly {
        /// What was asked for.
        operation: &'static str,
    },
    /// Only a machine of one's own has programs to talk to.
    #[error("programs cannot be talked to here: {program} was not started")]
    NoPipes {
        /// What was to be run.
        program: String,
    },
    /// The process has no open standard input that this program could write to.
    #[error("the process takes no input from here: its standard input is closed or belongs to a terminal")]
    NoInput,
    /// The editor answered with an error; its message is kept.
    #[error("the editor failed {operation} of {path}: {message}")]
    Client {
        /// The protocol method in words.
        operation: &'static str,
        /// What it was asked about.
        path: String,
        /// The editor's message.
        message: String,
    },
    /// The editor did not answer in time.
    #[error("the editor did not answer {operation} within {} s", .after.as_secs())]
    ClientTimeout {
        /// The protocol method in words.
        operation: &'static str,
        /// How long it was given.
        after: Duration,
    },
    /// Any other failure of the operating system.
    #[error("cannot {operation} {path}: {source}")]
    Io {
        /// The verb: `read`, `write`, `list`, …
        operation: &'static str,
        /// What it was done to.
        path: AbsPath,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl SystemError {
    /// Classifies an OS error on `path`.
    pub fn from_io(operation: &'static str, path: &AbsPath, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Self::NotFound(path.clone()),
            std::io::ErrorKind::IsADirectory => Self::IsDirectory(path.clone()),
            _ => Self::Io { operation, path: path.clone(), source },
        }
    }

    /// Whether the thing asked for does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }
}
