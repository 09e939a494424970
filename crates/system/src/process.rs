//! Commands and running processes.

use crate::{AbsPath, Confinement, SystemError};
use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

/// A command as an argument vector, never a shell line that another component would split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The executable, looked up in `PATH` if it contains no slash.
    pub program: String,
    /// The arguments.
    pub args: Vec<String>,
    /// The working directory.
    pub cwd: AbsPath,
    /// Variables added to the inherited environment.
    pub env: Vec<(String, String)>,
    /// How many bytes of output are kept; beyond that, the oldest output is dropped.
    pub output_limit: usize,
    /// The confinement on this machine. Has no effect on a command that runs in a client's
    /// terminal.
    pub confinement: Confinement,
    /// The content of standard input; `None` means empty. A command in a client's terminal does not
    /// receive it.
    pub input: Option<String>,
    /// Whether standard input is a pipe for [`Process::write_input`] instead of [`Command::input`].
    /// Has no effect on a command in a client's terminal.
    pub interactive: bool,
    /// Whether the user approved the executor that [`crate::System::routes`] named. If that turns
    /// out not to run commands, none does ([`crate::SystemError::OtherExecutor`]).
    pub executor_approved: bool,
}

/// Variables that every backend sets for a command; [`Command::env`] overrides them.
///
/// No user sits at the terminal to answer a question or to quit a pager, so programs are configured
/// neither to prompt nor to page. Their output is read as text, so colours and escape sequences are
/// disabled (`NO_COLOR`, `TERM=dumb`).
///
/// An editor started by git would wait forever. With `true` as the editor, git continues with the
/// proposed message, or aborts on an empty one.
pub const UNATTENDED_ENV: [(&str, &str); 7] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("PAGER", "cat"),
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
];

impl Command {
    /// Returns the variables added to the inherited environment: [`UNATTENDED_ENV`] without the
    /// names that [`Command::env`] sets, then [`Command::env`].
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        UNATTENDED_ENV.into_iter().filter(|(name, _)| !self.env.iter().any(|(own, _)| own == name)).chain(own)
    }

    /// Creates a command with no variables and no input, confined as its session is.
    pub fn new(program: impl Into<String>, args: Vec<String>, cwd: AbsPath, output_limit: usize) -> Self {
        Self {
            program: program.into(),
            args,
            cwd,
            env: Vec::new(),
            output_limit,
            confinement: Confinement::Session,
            input: None,
            interactive: false,
            executor_approved: false,
        }
    }

    /// Creates a command that runs a shell line with `sh -c LINE`.
    pub fn shell(line: impl Into<String>, cwd: AbsPath, output_limit: usize) -> Self {
        Self::line(ShellProgram::Sh, line, cwd, output_limit)
    }

    /// Creates a command that runs a shell line with `-c` in the given shell, usually that of
    /// [`crate::System::shell`].
    pub fn line(shell: ShellProgram, line: impl Into<String>, cwd: AbsPath, output_limit: usize) -> Self {
        Self::new(shell.program(), vec!["-c".to_owned(), line.into()], cwd, output_limit)
    }
}

/// The shell that runs command lines; it determines the dialect in which they are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ShellProgram {
    /// GNU bash.
    Bash,
    /// Any `sh`: dash, busybox, bash. Only POSIX syntax can be relied on.
    #[default]
    Sh,
}

impl ShellProgram {
    /// Returns the name of the executable, which is looked up in `PATH`.
    pub fn program(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh",
        }
    }
}

/// A command that is prepared here and started by another program.
///
/// The launcher that the other program starts asks this process for the command and its
/// confinement, and proves that it runs on this machine and is this same program. Dropping the
/// value ends the command.
#[async_trait]
pub trait ExternalLaunch: Send + Sync {
    /// Returns the program to start and its arguments. No argument needs quoting, unless the
    /// program's own path does. Arguments after the first three are only a label for people to
    /// read.
    fn program_and_args(&self) -> (&str, &[String]);

    /// Waits until the command is confined and about to start. Nothing has run by then.
    /// Cancel-safe.
    async fn wait_until_confined(&mut self) -> Result<(), SystemError>;

    /// Starts the command.
    async fn start(&mut self) -> Result<(), SystemError>;

    /// Sends SIGTERM to the command, if it still runs.
    async fn terminate(&mut self);
}

/// The id of a terminal in the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TerminalId(pub String);

/// A piece of a process's output, with stdout and stderr in one stream, decoded lossily.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Text that follows the previous piece.
    Text(String),
    /// Output was lost here because the ring buffer overflowed. Sent once per gap.
    Gap,
}

/// How a process ended. If both fields are empty, the exit status is unknown, which counts as
/// failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExitStatus {
    /// The exit code of a process that exited by itself. It is an `i64` because some systems have
    /// unsigned 32-bit exit codes.
    pub code: Option<i64>,
    /// The name of the signal that ended the process, such as `SIGKILL`.
    pub signal: Option<String>,
}

impl ExitStatus {
    /// Returns whether the exit code is 0. A signal or an unknown exit status is never a success.
    pub fn success(&self) -> bool {
        self.code == Some(0) && self.signal.is_none()
    }
}

/// A running process. Dropping it kills the whole process group (or releases the client's terminal,
/// which kills the command too).
#[async_trait]
pub trait Process: Send {
    /// Returns the terminal in which a client already shows this process, if any.
    fn terminal(&self) -> Option<&TerminalId>;

    /// Returns the next piece of output, or `None` once the process has ended and its output is
    /// drained. A background child that keeps the output open delays the end by no more than a
    /// short grace period.
    ///
    /// Cancel-safe: a dropped call loses nothing.
    async fn next_output(&mut self) -> Option<Output>;

    /// Writes to the standard input of the process. Waits while the process does not read; a call
    /// that is dropped may have written a part of the text.
    ///
    /// # Errors
    /// [`SystemError::NoInput`] if the process was not started as [`Command::interactive`], runs in
    /// a client's terminal, or has closed its standard input.
    async fn write_input(&mut self, _text: &str) -> Result<(), SystemError> {
        Err(SystemError::NoInput)
    }

    /// Waits for the process to end. Output that [`Process::next_output`] has not taken stays
    /// available. Cancel-safe.
    async fn wait(&mut self) -> Result<ExitStatus, SystemError>;

    /// Ends the whole process group: SIGTERM, a bounded wait (2 s), SIGKILL. Returns once the group
    /// is gone, or after a bounded wait for it.
    async fn kill(&mut self);
}

/// A program on this machine with which the caller exchanges data over its standard streams, such
/// as an MCP server.
#[derive(Clone, PartialEq, Eq)]
pub struct PipedCommand {
    /// The executable, looked up in `PATH` if it contains no slash.
    pub program: String,
    /// The arguments.
    pub args: Vec<String>,
    /// The working directory.
    pub cwd: AbsPath,
    /// The names of the variables that it inherits from this process; no others are inherited.
    pub inherit: Vec<String>,
    /// Further variables; their values may be secret.
    pub env: Vec<(String, String)>,
    /// How many bytes of standard error are kept; beyond that, the oldest output is dropped.
    pub error_limit: usize,
    /// How it is confined.
    pub confinement: Confinement,
    /// Directories whose programs are not found by name, such as those of a project. If there are
    /// any, relative directories of `PATH` are not searched either.
    pub apart_from: Vec<AbsPath>,
}

/// Omits arguments and the values of variables, because they may be secret.
impl std::fmt::Debug for PipedCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("PipedCommand")
            .field("program", &self.program)
            .field("env", &names)
            .finish_non_exhaustive()
    }
}

/// A running program and its standard streams.
pub struct Piped {
    /// The program's standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// The program's standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// The handle of the process; its output is the program's standard error.
    pub process: Box<dyn Process>,
}
