//! A workspace that acts through the client: text reads, text writes and commands if the client
//! advertises them, everything else on the local machine.

mod behaviour;
mod call;
mod capabilities;
mod file_form;
pub(super) mod ide;
mod output_window;
mod probe;
mod process;
mod range;
mod reason;
mod terminal_command;

pub(super) use behaviour::ClientBehaviour;
pub(crate) use call::Deadline;
pub(super) use capabilities::{Advertised, UsedCapabilities};

use self::{
    call::{CallError, Caller},
    file_form::FileForm,
    probe::probe,
    process::{AcpProcess, RunningLauncher},
    terminal_command::{TerminalCommand, encode_command, encode_launcher, is_plain},
};
use crate::{
    ClientTools,
    client_facts::Terminal,
    connection::Outbox,
    limits::{FORM_PAUSE, FORM_WAIT, TERMINALS},
    v1::V1,
};
use agent::SessionId;
use agent_client_protocol::{Client, ConnectionTo, v1::schema as acp};
use async_trait::async_trait;
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};
use system::{
    AbsPath, Claim, Command, Confinement, ControlChange, DiskSnapshot, Entry, ExternalLaunch, FileKind,
    GitNames, Metadata, Pins, Piped, PipedCommand, Process, Route, Routes, Sandbox, SandboxSupport,
    ShellProgram, System, SystemError, TextEncoding, TextRange, WalkOptions,
};

/// A session's workspace that acts through its client.
pub(crate) struct AcpSystem {
    local: Arc<dyn System>,
    caller: Caller,
    capabilities: UsedCapabilities,
    /// Files for which the client returns the byte-order mark, and therefore expects it in writes.
    marks: Arc<Mutex<HashSet<AbsPath>>>,
    /// What one call has seen on disk. Not kept beyond the call.
    disk_cache: Option<Mutex<DiskCache>>,
}

/// What a call saw at its latest access to the disk.
#[derive(Debug, Default)]
struct DiskCache {
    /// Directories that contained a file.
    directories: HashSet<AbsPath>,
    /// The forms of files, `None` for a file without text.
    forms: HashMap<AbsPath, Option<FileForm>>,
}

impl AcpSystem {
    /// Creates the workspace of `session`, over `local`.
    pub(crate) fn new(
        local: Arc<dyn System>,
        session: SessionId,
        connection: ConnectionTo<Client>,
        outbox: Arc<Outbox<V1>>,
        capabilities: UsedCapabilities,
        deadline: Deadline,
    ) -> Self {
        let terminals = Arc::new(tokio::sync::Semaphore::new(TERMINALS));
        let caller = Caller { connection, outbox, session, deadline, terminals };
        Self { local, caller, capabilities, marks: Arc::default(), disk_cache: None }
    }

    /// Returns which client capabilities it uses.
    pub(crate) fn capabilities(&self) -> &UsedCapabilities {
        &self.capabilities
    }

    /// Reads a text from the client. The lines returned for a range depend on the client.
    async fn ask_for_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, CallError> {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let request = acp::ReadTextFileRequest::new(self.caller.session_id(), path.as_std())
            .line(range.map(|range| number(range.line)))
            .limit(range.map(|range| number(range.limit)));
        let answer = self.caller.call("fs/read_text_file", &request).await?;
        match answer.get("content") {
            Some(Value::String(text)) => {
                let unmarked = text.strip_prefix('\u{feff}');
                if range.is_none_or(|range| range.line <= 1) {
                    let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
                    match unmarked {
                        Some(_) => drop(marks.insert(path.clone())),
                        None => drop(marks.remove(path)),
                    }
                }
                Ok(unmarked.unwrap_or(text).to_owned())
            }
            // A missing text is an error of the client, never an empty file.
            _ => Err(CallError::Unsupported),
        }
    }

    /// Reads a text, and returns where a change of it is written if the client takes writes: here
    /// if the client cannot decode the file.
    async fn read_for_change(
        &self,
        path: &AbsPath,
        range: Option<TextRange>,
    ) -> Result<(String, Route), SystemError> {
        if self.routes().read_text != Route::Client {
            return Ok((self.local.read_text(path, range).await?, Route::Client));
        }
        if self.capabilities.behaviour.reads_from_disk() && self.is_missing(path).await {
            // The client would find nothing either, and report an error.
            return Err(SystemError::NotFound(path.clone()));
        }
        self.local.check_pinned(path).await?;
        let (text, route) = match self.read_from_client(path, range).await {
            Ok(text) => (text, Route::Client),
            Err(error) => self.read_refused(path, range, error).await?,
        };
        Ok((self.checked(path, range, text).await?, route))
    }

    /// Handles a failed read.
    ///
    /// A file unknown to the editor (outside the project, or missing) is read from disk, and so is
    /// one that it cannot decode: text in another encoding than UTF-8, of which it has no buffer.
    /// For other errors the disk only supplies a better error: a buffer may hold different text.
    async fn read_refused(
        &self,
        path: &AbsPath,
        range: Option<TextRange>,
        error: CallError,
    ) -> Result<(String, Route), SystemError> {
        let here = self.local.read_text(path, range);
        match error {
            CallError::Unsupported => {
                self.capabilities.withdrawn.read("fs/read_text_file");
                Ok((here.await?, Route::Client))
            }
            CallError::Refused { code: RESOURCE_NOT_FOUND, .. } => Ok((here.await?, Route::Client)),
            error @ CallError::Refused { .. } => {
                let text = here.await?;
                match self.local.read_disk_snapshot(path).await.encoding {
                    TextEncoding::Utf8 => Err(self.caller.failure("reading", path.as_str(), error)),
                    _ => Ok((text, Route::Local)),
                }
            }
            error => Err(self.caller.failure("reading", path.as_str(), error)),
        }
    }

    /// Returns where a change of a file is written. Fails with [`SystemError::Changed`] if the file
    /// has another text than `was`, in the editor where reads are delegated.
    async fn expect_text(&self, path: &AbsPath, was: Option<&str>) -> Result<Route, SystemError> {
        let (now, route) = match self.read_for_change(path, None).await {
            Ok((text, route)) => (Some(text), route),
            Err(SystemError::NotFound(_)) => (None, Route::Client),
            Err(error) => return Err(error),
        };
        match now.as_deref() == was {
            true => Ok(route),
            false => Err(SystemError::Changed(path.clone())),
        }
    }

    async fn write_to_client(&self, path: &AbsPath, text: &str) -> Result<(), CallError> {
        let marks = || self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match marks().contains(path) {
            true => Cow::Owned(file_form::marked(text)),
            false => Cow::Borrowed(text),
        };
        let request =
            acp::WriteTextFileRequest::new(self.caller.session_id(), path.as_std(), text.into_owned());
        // Any response without an error is success: null, an empty object or others. There is no
        // timeout, because the user may review the change first.
        self.caller.call_without_timeout("fs/write_text_file", &request).await.map(drop)
    }

    /// Returns the form to keep of a file on disk that is about to be written through the client.
    async fn form(&self, path: &AbsPath) -> Option<FileForm> {
        let known = self.disk_cache.as_ref().and_then(|disk_cache| {
            disk_cache.lock().unwrap_or_else(PoisonError::into_inner).forms.get(path).copied()
        });
        match known {
            Some(form) => form,
            None => FileForm::of(&self.local.read_disk_snapshot(path).await),
        }
    }

    /// Restores the byte-order mark and line endings that the client did not write. A client that
    /// has not saved after [`FORM_WAIT`] keeps the text in a buffer, and may know how to save the
    /// file.
    async fn keep_form(&self, path: &AbsPath, form: FileForm) -> Result<(), CallError> {
        let deadline = tokio::time::Instant::now() + FORM_WAIT;
        let mut pause = FORM_PAUSE;
        let now = loop {
            let now = self.local.read_disk_snapshot(path).await;
            if !form.is_still(&now) {
                break now;
            }
            if tokio::time::Instant::now() >= deadline {
                return Ok(());
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        };
        match form.restored(&now) {
            Some(text) => {
                tracing::info!(%path, "the client wrote a file without its byte-order mark or line ends; written again");
                self.write_to_client(path, &text).await
            }
            None => Ok(()),
        }
    }

    /// Checks a text from the client that may come from bytes that are not text. Fails if the file
    /// on disk is not text.
    async fn checked(
        &self,
        path: &AbsPath,
        range: Option<TextRange>,
        text: String,
    ) -> Result<String, SystemError> {
        let first = range.is_none_or(|range| range.line <= 1);
        let suspicious = match text.is_empty() && first {
            true => self.local.metadata(path).await.is_ok_and(|found| found.size > 0),
            false => file_form::is_suspicious(&text),
        };
        if !suspicious {
            return Ok(text);
        }
        match self.local.read_text(path, range).await {
            Err(error @ SystemError::NotText { .. }) => Err(error),
            // The client decoded another encoding as UTF-8: writing its text would lose the
            // original bytes.
            Ok(_) if self.local.read_disk_snapshot(path).await.encoding != TextEncoding::Utf8 => {
                let size = self.local.metadata(path).await.map_or(0, |found| found.size);
                Err(SystemError::NotText { path: path.clone(), size })
            }
            _ => Ok(text),
        }
    }

    /// Starts a command in a terminal of the client, in the form that the client interprets as
    /// exactly this command.
    async fn spawn_at_client(&self, command: &Command) -> Result<AcpProcess, CallError> {
        let encoded = match self.terminal_takes(&command.cwd).await {
            Ok(terminal) => Ok(encode_command(command, terminal, self.capabilities.behaviour.stdin())),
            Err(error) => Err(error),
        };
        self.start_at_client(command, encoded).await
    }

    /// Starts the launcher in a terminal of the client.
    async fn launch_at_client(&self, launcher: &Command) -> Result<AcpProcess, CallError> {
        let encoded = match self.capabilities.behaviour.terminal() {
            // Only the launcher's path can need quoting.
            Terminal::Unknown if !is_plain(&launcher.program) => {
                self.terminal_takes(&launcher.cwd).await.map(|terminal| encode_launcher(launcher, terminal))
            }
            terminal => Ok(encode_launcher(launcher, terminal)),
        };
        self.start_at_client(launcher, encoded).await
    }

    /// Returns how the client's terminals interpret commands, probing it if it is unknown. Returns
    /// [`CallError::Unsupported`] if they interpret none safely.
    async fn terminal_takes(&self, cwd: &AbsPath) -> Result<Terminal, CallError> {
        match self.capabilities.behaviour.probe_terminal(|| probe(&self.caller, cwd)).await? {
            Terminal::Unsafe => Err(CallError::Unsupported),
            terminal => Ok(terminal),
        }
    }

    async fn start_at_client(
        &self,
        command: &Command,
        encoded: Result<TerminalCommand, CallError>,
    ) -> Result<AcpProcess, CallError> {
        let started = match encoded {
            Ok(encoded) => match AcpProcess::start(&self.caller, command, encoded).await {
                Err(CallError::Unsupported) if self.capabilities.withdrawn.has_opened_terminals() => {
                    let why = "it has opened terminals before, and answers now that it has none";
                    Err(CallError::BadAnswer(why.to_owned()))
                }
                started => started,
            },
            // Nothing was sent: no form of the command is safe.
            Err(error) => Err(error),
        };
        match &started {
            Ok(_) => self.capabilities.withdrawn.terminal_opened(),
            // If no form is safe, the probe has logged that.
            Err(CallError::Unsupported | CallError::BadAnswer(_)) if self.capabilities.runs() => {
                self.capabilities.withdrawn.terminal("terminal/create")
            }
            Err(CallError::Refused { code, message }) => {
                tracing::warn!(code, message, "the client refused a terminal");
            }
            _ => {}
        }
        started
    }

    /// Prepares the launcher that confines a command in the client's terminal.
    async fn launch(&self, command: &Command) -> Result<Box<dyn ExternalLaunch>, SystemError> {
        const NONE: &str = "no launcher is available";
        let launch = match self.capabilities.confines() {
            true => self.local.prepare_external_launch(command).await?,
            false => None,
        };
        launch.ok_or_else(|| {
            self.capabilities.withdrawn.confinement(NONE);
            SystemError::NotConfined(NONE)
        })
    }

    async fn is_missing(&self, path: &AbsPath) -> bool {
        matches!(self.local.metadata(path).await, Err(SystemError::NotFound(_)))
    }

    async fn create_directory(&self, path: &AbsPath) -> Result<(), SystemError> {
        match path.parent() {
            Some(directory) if self.has_file(&directory) => Ok(()),
            Some(directory) if self.local.metadata(&directory).await.is_err() => {
                self.local.create_dir_all(&directory).await
            }
            _ => Ok(()),
        }
    }

    /// Stores for this call whether a file exists in a directory.
    fn note(&self, path: &AbsPath, found: &Result<Metadata, SystemError>) {
        let (Some(disk_cache), Some(directory)) = (&self.disk_cache, path.parent()) else { return };
        let directories = &mut disk_cache.lock().unwrap_or_else(PoisonError::into_inner).directories;
        match found {
            Ok(_) => directories.insert(directory),
            Err(_) => directories.remove(&directory),
        };
    }

    fn has_file(&self, directory: &AbsPath) -> bool {
        let Some(disk_cache) = &self.disk_cache else { return false };
        disk_cache.lock().unwrap_or_else(PoisonError::into_inner).directories.contains(directory)
    }
}

const RESOURCE_NOT_FOUND: i32 = -32002;

/// Returns the launcher's command in place of `command`. Environment variables are passed
/// separately, so that only the launcher can read them.
fn launcher_instead_of(command: &Command, launch: &dyn ExternalLaunch) -> Command {
    let (program, args) = launch.program_and_args();
    Command { program: program.to_owned(), args: args.to_vec(), env: Vec::new(), ..command.clone() }
}

#[async_trait]
impl System for AcpSystem {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.local.read(path).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        Ok(self.read_for_change(path, range).await?.0)
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.local.write(path, bytes).await
    }

    fn withheld_variables(&self) -> Vec<String> {
        self.local.withheld_variables()
    }

    fn project_secrets(&self, sandbox: &Sandbox) -> Vec<String> {
        self.local.project_secrets(sandbox)
    }

    async fn named_by_git(&self, roots: &[AbsPath], directory: &AbsPath) -> GitNames {
        self.local.named_by_git(roots, directory).await
    }

    async fn open_changes(&self, copies: &AbsPath) -> Vec<ControlChange> {
        self.local.open_changes(copies).await
    }

    async fn carry_over(&self, change: &ControlChange) -> Result<(), SystemError> {
        self.local.carry_over(change).await
    }

    async fn create_own_directory(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.local.create_own_directory(path).await
    }

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.local.write_own(path, bytes).await
    }

    async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
        self.local.claim(paths).await
    }

    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError> {
        if self.routes().write_text != Route::Client || self.expect_text(path, was).await? == Route::Local {
            return self.local.replace_text(path, was, text).await;
        }
        self.create_directory(path).await?;
        let form = self.form(path).await;
        let written = match (self.write_to_client(path, text).await, form) {
            (Ok(()), Some(form)) if form.is_special() => self.keep_form(path, form).await,
            (written, _) => written,
        };
        match written {
            Ok(()) => Ok(()),
            Err(CallError::Unsupported) => {
                self.capabilities.withdrawn.write("fs/write_text_file");
                self.local.replace_text(path, was, text).await
            }
            Err(error) => {
                // The disk may give a more precise error than the client.
                match self.local.metadata(path).await {
                    Ok(Metadata { kind: FileKind::Directory, .. }) => {
                        Err(SystemError::IsDirectory(path.clone()))
                    }
                    _ => Err(self.caller.failure("writing", path.as_str(), error)),
                }
            }
        }
    }

    async fn reload_text(&self, path: &AbsPath, shown: &str, on_disk: &str) -> Result<(), SystemError> {
        if self.routes().write_text != Route::Client {
            return Ok(());
        }
        self.expect_text(path, Some(shown)).await?;
        let failed = |error| self.caller.failure("writing", path.as_str(), error);
        self.write_to_client(path, on_disk).await.map_err(failed)
    }

    async fn set_executable(&self, path: &AbsPath, executable: bool) -> Result<(), SystemError> {
        self.local.set_executable(path, executable).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        let found = self.local.metadata(path).await;
        self.note(path, &found);
        found
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        self.local.read_dir(path).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.local.create_dir_all(path).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.local.remove(path).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        self.local.rename(from, to).await
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        self.local.resolve(path).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        self.local.walk(root, options).await
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
        if self.routes().spawn != Route::Client {
            return self.local.spawn(command).await;
        }
        let started = match &command.confinement {
            Confinement::Required(_) => {
                let launch = self.launch(&command).await?;
                let launcher = launcher_instead_of(&command, launch.as_ref());
                // Create this before waiting for the client: some clients respond only when the
                // command has ended.
                let running = RunningLauncher::new(launch, Arc::clone(&self.capabilities.withdrawn));
                match self.launch_at_client(&launcher).await {
                    Ok(process) => Ok(process.with_launcher(running)),
                    // The launcher knows whether the command was started, not the client.
                    Err(error) => Err((error, running.revoke())),
                }
            }
            _ => self.spawn_at_client(&command).await.map_err(|error| {
                let is_unsure =
                    matches!(error, CallError::BadAnswer(_) | CallError::Timeout(..) | CallError::Gone);
                (error, !is_unsure)
            }),
        };
        match started {
            Ok(process) => Ok(Box::new(process)),
            Err((CallError::Unsupported, true)) if command.executor_approved => {
                Err(SystemError::OtherExecutor)
            }
            // Nothing ran, so the command runs locally, once.
            Err((CallError::Unsupported, true)) => self.local.spawn(command).await,
            // Otherwise the command may have run, so it never runs again.
            Err((error, never_ran)) => {
                let error = self.caller.failure("running", &command.program, error);
                match never_ran {
                    true => Err(error),
                    false => {
                        Err(SystemError::MayHaveRun { program: command.program, error: Box::new(error) })
                    }
                }
            }
        }
    }

    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        match self.editor_is_remote() {
            // The program would run beside other files than the session's.
            true => Err(SystemError::NoPipes { program: command.program }),
            false => self.local.spawn_piped(command).await,
        }
    }

    fn routes(&self) -> Routes {
        self.capabilities.routes()
    }

    fn editor_is_remote(&self) -> bool {
        self.capabilities.tools.get() == ClientTools::Ide && self.capabilities.advertised.anything()
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        self.local.read_text_on_disk(path).await
    }

    async fn read_disk_snapshot(&self, path: &AbsPath) -> DiskSnapshot {
        let snapshot = self.local.read_disk_snapshot(path).await;
        self.note(path, &snapshot.metadata);
        if let Some(disk_cache) = &self.disk_cache {
            let forms = &mut disk_cache.lock().unwrap_or_else(PoisonError::into_inner).forms;
            forms.insert(path.clone(), FileForm::of(&snapshot));
        }
        snapshot
    }

    fn pinned(&self, pins: Pins) -> Option<Arc<dyn System>> {
        let local = self.local.pinned(pins)?;
        let (caller, capabilities, marks) =
            (self.caller.clone(), self.capabilities.clone(), Arc::clone(&self.marks));
        Some(Arc::new(Self { local, caller, capabilities, marks, disk_cache: Some(Mutex::default()) }))
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        let support = self.local.sandbox_support().await;
        SandboxSupport { in_client: support.holds() && self.capabilities.confines(), ..support }
    }

    async fn sweep(&self, sandbox: &Sandbox) {
        self.local.sweep(sandbox).await;
    }

    fn today(&self) -> Option<String> {
        self.local.today()
    }

    fn shell(&self) -> ShellProgram {
        match self.routes().spawn {
            // A terminal in which the launcher runs is on the local machine.
            Route::Client if !self.capabilities.confines() => ShellProgram::Sh,
            _ => self.local.shell(),
        }
    }
}

#[cfg(test)]
mod tests;
