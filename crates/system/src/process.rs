//! Commands and the processes they become.

use crate::{AbsPath, Confinement, SystemError};
use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

/// A command as an argument vector; never a shell line to be split by somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The executable, looked up in `PATH` when it holds no slash.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it runs.
    pub cwd: AbsPath,
    /// Variables added to the environment it inherits.
    pub env: Vec<(String, String)>,
    /// How many bytes of output are kept; what comes first is dropped beyond it.
    pub output_limit: usize,
    /// What it may do to this machine; has no meaning for a command that runs in a client's terminal.
    pub confinement: Confinement,
    /// What it reads from its standard input, which is empty without it. A command in a client's terminal does not get it.
    pub input: Option<String>,
    /// Whether its standard input stays open for [`Process::write_input`] instead. Has no meaning for a
    /// command in a client's terminal.
    pub interactive: bool,
}

/// Variables that every backend sets for a command, below those of [`Command::env`]: nobody sits at
/// a terminal to answer a question or to leave a pager, so programs are told not to ask and not to
/// page. What they say is read as text, so they are told to write no colours and no sequences
/// (`NO_COLOR`, `TERM=dumb`).
///
/// An editor that git opens would wait for ever; with `true` git goes on with the message it proposes, or gives up on an
/// empty one.
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
    /// What is added to the inherited environment: [`UNATTENDED_ENV`], then [`Command::env`], so that the command's own
    /// value is the last of its name.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        UNATTENDED_ENV.into_iter().filter(|(name, _)| !self.env.iter().any(|(own, _)| own == name)).chain(own)
    }

    /// Runs a shell line with `sh -c LINE`.
    pub fn shell(line: impl Into<String>, cwd: AbsPath, output_limit: usize) -> Self {
        Self::line(ShellProgram::Sh, line, cwd, output_limit)
    }

    /// Runs a shell line with `-c` in the given shell, usually that of [`crate::System::shell`].
    pub fn line(shell: ShellProgram, line: impl Into<String>, cwd: AbsPath, output_limit: usize) -> Self {
        Self {
            program: shell.program().to_owned(),
            args: vec!["-c".to_owned(), line.into()],
            cwd,
            env: Vec::new(),
            output_limit,
            confinement: Confinement::Session,
            input: None,
            interactive: false,
        }
    }
}

/// The shell that runs command lines, and so the dialect in which they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ShellProgram {
    /// GNU bash.
    Bash,
    /// Whatever `sh` is: dash, busybox, bash. Its dialect is not known beyond POSIX.
    #[default]
    Sh,
}

impl ShellProgram {
    /// The name of the executable, looked up in `PATH`.
    pub fn program(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh",
        }
    }
}

/// A command that is prepared here and started by somebody else: what they start asks this process for
/// the command and its confinement, and proves that it runs on this machine and is this program.
/// Dropping it ends the command.
#[async_trait]
pub trait Launch: Send + Sync {
    /// The program to start and its arguments. No word of them needs quotes, unless the program's own
    /// path does; those behind the first three are for people to read.
    fn words(&self) -> (&str, &[String]);

    /// Waits until the command is confined and about to start. Nothing has run by then. Cancel-safe.
    ///
    /// # Errors
    /// [`SystemError::NotConfined`] when something else answered, or the confinement failed.
    async fn confined(&mut self) -> Result<(), SystemError>;

    /// Starts the command.
    ///
    /// # Errors
    /// [`SystemError::NotConfined`] when the launcher is gone.
    async fn start(&mut self) -> Result<(), SystemError>;

    /// Asks the command to end.
    async fn terminate(&mut self);
}

/// The id of a terminal that a client shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TerminalId(pub String);

/// A piece of a process's output, stdout and stderr in one stream, decoded lossily.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Text that follows what came before.
    Text(String),
    /// Output was lost here: the ring in front of the reader overflowed. Sent once per gap.
    Gap,
}

/// How a process ended. Both fields empty: nobody knows, which is a failure too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExitStatus {
    /// The exit code of a process that exited by itself. Some systems have codes of 32 bits without
    /// a sign.
    pub code: Option<i64>,
    /// The name of the signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
}

impl ExitStatus {
    /// Exit code 0. A signal is never a success, and neither is an unknown end.
    pub fn success(&self) -> bool {
        self.code == Some(0) && self.signal.is_none()
    }
}

/// A running process. Dropping it kills the whole process group (or releases the client's terminal, which kills too).
#[async_trait]
pub trait Process: Send {
    /// The terminal in which a client already shows this process, if any.
    fn terminal(&self) -> Option<&TerminalId>;

    /// The next piece of output; `None` once the process has ended and its output is drained. A background child that
    /// holds the output open does not hold this back for more than a short grace period.
    ///
    /// Cancel-safe: a dropped call loses nothing.
    async fn next_output(&mut self) -> Option<Output>;

    /// Gives the process more of its standard input. Waits while the process does not read; a call
    /// that is dropped may have written a part.
    ///
    /// # Errors
    /// [`SystemError::NoInput`] for a process that was not started as [`Command::interactive`], that
    /// runs in a client's terminal, or that reads no more.
    async fn write_input(&mut self, _text: &str) -> Result<(), SystemError> {
        Err(SystemError::NoInput)
    }

    /// Waits for the end. Output not taken by [`Process::next_output`] stays there to be taken. Cancel-safe.
    async fn wait(&mut self) -> Result<ExitStatus, SystemError>;

    /// Ends the whole process group: SIGTERM, a bounded wait (2 s), SIGKILL. Returns once it is gone or given up on.
    async fn kill(&mut self);
}

/// A program of this machine that is talked to over its standard streams for as long as it is needed.
#[derive(Clone, PartialEq, Eq)]
pub struct PipedCommand {
    /// The executable, looked up in `PATH` when it holds no slash.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it runs.
    pub cwd: AbsPath,
    /// The variables of this process that it gets; none but these.
    pub inherit: Vec<String>,
    /// Variables of its own, which may be secret.
    pub env: Vec<(String, String)>,
    /// How many bytes of its standard error are kept; what comes first is dropped beyond it.
    pub error_limit: usize,
}

/// Values of variables may be secret, and arguments too.
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
    /// What it reads.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its owner; its output is the program's standard error.
    pub process: Box<dyn Process>,
}
