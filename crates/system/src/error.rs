//! The error type of all [`crate::System`] operations.

use crate::{AbsPath, TextEncoding};
use std::time::Duration;

/// Why an operation failed. A failed operation changes nothing: after a failed write the file is as
/// it was.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// The file or directory does not exist, on disk or (where text reads are delegated) in the
    /// editor.
    #[error("not found: {0}")]
    NotFound(AbsPath),
    /// The file's text is not the one that the change was computed from.
    #[error("{0} changed since it was read, so nothing was written; read it again")]
    Changed(AbsPath),
    /// Another process has been changing the file for too long.
    #[error("another process is changing {0}, so nothing was written; try again when it is done")]
    Busy(AbsPath),
    /// A file exists where a new one was to be put.
    #[error("{0} exists already, so nothing was moved there")]
    Exists(AbsPath),
    /// The path is a directory where a file is required.
    #[error("is a directory: {0}")]
    IsDirectory(AbsPath),
    /// The path is not a regular file but a pipe, a socket or a device.
    #[error("not a regular file: {0}")]
    NotRegular(AbsPath),
    /// The file is binary, or text in an unknown encoding.
    #[error("not a text file ({size} bytes of binary data, or text in an unknown encoding): {path}")]
    NotText {
        /// The path of the file.
        path: AbsPath,
        /// The size in bytes.
        size: u64,
    },
    /// The text contains a character that the file's encoding lacks.
    #[error(
        "{path} is {encoding} text, which has no '{char}' (U+{:04X}), so nothing was written; leave the character out, or convert the file to UTF-8 first \
         (with `iconv`, say)",
        u32::from(*.char)
    )]
    NotEncodable {
        /// The path of the file.
        path: AbsPath,
        /// The encoding of the file.
        encoding: TextEncoding,
        /// The first such character.
        char: char,
    },
    /// The file exceeds the size limit of a read.
    #[error("file is too large to read whole ({size} bytes, the limit is {limit}): {path}")]
    TooLarge {
        /// The path of the file.
        path: AbsPath,
        /// The size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The program could not be started: it does not exist, is not executable, or its arguments are
    /// too long.
    #[error("cannot run {program}: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// The OS error.
        source: std::io::Error,
    },
    /// The required confinement cannot be applied on this machine, so the command was not started.
    #[error(
        "not run: the sandbox cannot be applied on this machine ({0}); `tiller doctor` reports what is missing"
    )]
    NoSandbox(&'static str),
    /// The namespaces of the session's commands cannot be created; nothing has run.
    #[error("the command did not run: its sandbox cannot be created: {0}")]
    NoRoom(String),
    /// The command was to be confined in a terminal that another program opened, and this could not
    /// be verified.
    #[error("not run: it could not be confined in the editor's terminal ({0})")]
    NotConfined(&'static str),
    /// The user approved that the editor runs a command, and it does not run commands.
    #[error(
        "not run: the editor opens no terminal, and it was approved for the editor's terminal; call it again"
    )]
    OtherExecutor,
    /// The path resolves to another target than when the permission decision was made.
    #[error(
        "the path leads to another file than when permission was decided, so nothing was done; try again: {0}"
    )]
    Moved(AbsPath),
    /// The file is a blocked file under another name (a hard link).
    #[error("blocked by policy: it is the same file as one that may hold secrets: {0}")]
    Blocked(AbsPath),
    /// The file has several names (hard links), and the project has too many files to check that
    /// none of them is a blocked file.
    #[error(
        "blocked: it has several names (hard links), and the project has too many files to check that none of them may hold secrets: {0}"
    )]
    Unchecked(AbsPath),
    /// The backend cannot write files that only their owner can read; only the local system can.
    #[error("not written, because this system cannot make the file private to its owner: {0}")]
    NotPrivate(AbsPath),
    /// A file of this program that only its owner may read can be read or changed by others.
    #[error("not used: other users can read or change {path} (mode {mode:03o}); run `chmod 600 {path}`")]
    Exposed {
        /// The path of the file.
        path: AbsPath,
        /// Its permission bits.
        mode: u32,
    },
    /// A file of this program belongs to another user.
    #[error("not used: {path} belongs to the user {owner}; give it to the user that runs this program")]
    Foreign {
        /// The path of the file.
        path: AbsPath,
        /// The number of its owner.
        owner: u32,
    },
    /// A file that no user and no tool call asked for may hold secrets, judging by its name or that
    /// of its link target.
    #[error("not read: it is, or leads to, a file that is blocked because it may hold secrets: {0}")]
    BlockedFound(AbsPath),
    /// A file that no user and no tool call asked for leads out of its directory.
    #[error("not read: it leads out of the project, to {target}: {path}")]
    Outside {
        /// The path of the file.
        path: AbsPath,
        /// The path that it resolves to.
        target: AbsPath,
    },
    /// A path that is to be changed leads out of the directories of a [`crate::Within`].
    #[error("not changed: it leads out of the folder in which files may be changed: {0}")]
    NotWithin(AbsPath),
    /// The backend refuses the operation (a read-only system asked to write).
    #[error("{operation} is not allowed here: this session is read-only")]
    ReadOnly {
        /// The refused operation.
        operation: &'static str,
    },
    /// The backend cannot start programs with piped streams; only a local machine can.
    #[error("{program} was not started: this system cannot start programs with piped streams")]
    NoPipes {
        /// The program.
        program: String,
    },
    /// The process has no standard input that this program could write to.
    #[error("cannot write to the process: its standard input is closed or belongs to a terminal")]
    NoInput,
    /// The editor answered with an error.
    #[error("the editor failed {operation} of {path}: {message}")]
    Client {
        /// The protocol method in words.
        operation: &'static str,
        /// The path or program of the request.
        path: String,
        /// The editor's message.
        message: String,
    },
    /// Starting a command failed, and it may have run all the same.
    #[error("{error}; {program} may have run, so look at what it has done before you run it again")]
    MayHaveRun {
        /// The program.
        program: String,
        /// The failure.
        error: Box<SystemError>,
    },
    /// The editor did not answer in time.
    #[error("the editor did not answer {operation} within {} s", .after.as_secs())]
    ClientTimeout {
        /// The protocol method in words.
        operation: &'static str,
        /// The timeout.
        after: Duration,
    },
    /// Any other OS error.
    #[error("cannot {operation} {path}: {source}")]
    Io {
        /// The operation as a verb: `read`, `write`, `list`, …
        operation: &'static str,
        /// The path of the operation.
        path: AbsPath,
        /// The OS error.
        source: std::io::Error,
    },
}

impl SystemError {
    /// Converts an OS error on `path`.
    pub fn from_io(operation: &'static str, path: &AbsPath, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Self::NotFound(path.clone()),
            std::io::ErrorKind::IsADirectory => Self::IsDirectory(path.clone()),
            _ => Self::Io { operation, path: path.clone(), source },
        }
    }

    /// Returns whether the error is [`SystemError::NotFound`].
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }
}
