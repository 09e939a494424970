//! The workspace through the client: text reads, text writes and commands where it advertises them, everything else on this machine.

mod call;
mod delta;
mod form;
mod ide;
mod learned;
mod probe;
mod process;
mod range;
mod reason;
mod share;
mod words;

pub(crate) use ide::ide_tools;
pub(crate) use learned::Learned;
pub(crate) use share::{Advertised, Share, ToolSet};

use self::{
    call::{CallError, Caller},
    form::Form,
    probe::probe,
    process::{AcpProcess, Confining},
    words::{Words, is_plain, launcher_words, words},
};
use crate::{
    ClientTools,
    connection::Outbox,
    facts::Terminal,
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
    time::Duration,
};
use system::{
    AbsPath, Command, Confinement, Entry, FileKind, Launch, Look, Metadata, Pins, Process, Route, Routes,
    Sandbox, SandboxSupport, ShellProgram, System, SystemError, TextEncoding, TextRange, WalkOptions,
};

/// A session's workspace through its client.
pub(crate) struct AcpSystem {
    local: Arc<dyn System>,
    caller: Caller,
    share: Share,
    /// The files whose text the client gives with its byte-order mark, and so takes with it.
    marks: Arc<Mutex<HashSet<AbsPath>>>,
    /// What one call saw on disk. Nothing of it is remembered beyond the call.
    looks: Option<Mutex<Looks>>,
}

/// What a call saw when it last looked at the disk.
#[derive(Debug, Default)]
struct Looks {
    /// Folders that held a file.
    folders: HashSet<AbsPath>,
    /// Files that are text.
    forms: HashMap<AbsPath, Option<Form>>,
}

impl AcpSystem {
    /// The workspace of `session`, over `local`.
    pub(crate) fn new(
        local: Arc<dyn System>,
        session: SessionId,
        connection: ConnectionTo<Client>,
        outbox: Arc<Outbox<V1>>,
        share: Share,
        deadline: Duration,
    ) -> Self {
        let terminals = Arc::new(tokio::sync::Semaphore::new(TERMINALS));
        let caller = Caller { connection, outbox, session, deadline, terminals };
        Self { local, caller, share, marks: Arc::default(), looks: None }
    }

    /// What of the client it uses.
    pub(crate) fn share(&self) -> &Share {
        &self.share
    }

    /// Asks the client for a text. Which lines come for a range is up to the client.
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
            // An absent text is a fault of the client, never an empty file.
            _ => Err(CallError::Unsupported),
        }
    }

    /// What a refused read comes to. A file that the editor does not know (it lies outside the project, it is missing) is read from the disk.
    /// For other refusals the disk only helps to say what is wrong: a buffer may hold another text.
    async fn read_refused(
        &self,
        path: &AbsPath,
        range: Option<TextRange>,
        error: CallError,
    ) -> Result<String, SystemError> {
        match error {
            CallError::Unsupported => {
                self.share.demoted.read("fs/read_text_file");
                self.local.read_text(path, range).await
            }
            CallError::Refused { code: RESOURCE_NOT_FOUND, .. } => self.local.read_text(path, range).await,
            error @ CallError::Refused { .. } => {
                self.local.read_text(path, range).await?;
                Err(self.caller.failure("reading", path.as_str(), error))
            }
            error => Err(self.caller.failure("reading", path.as_str(), error)),
        }
    }

    async fn write_to_client(&self, path: &AbsPath, text: &str) -> Result<(), CallError> {
        let marks = || self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match marks().contains(path) {
            true => Cow::Owned(form::marked(text)),
            false => Cow::Borrowed(text),
        };
        let request =
            acp::WriteTextFileRequest::new(self.caller.session_id(), path.as_std(), text.into_owned());
        // Null, an empty object, whatever: it was answered without an error. The user may review
        // the change first, which takes as long as it takes.
        self.caller.call_patiently("fs/write_text_file", &request).await.map(drop)
    }

    /// What is to be kept of a file on disk that is about to be written through the client.
    async fn form(&self, path: &AbsPath) -> Option<Form> {
        let known = self
            .looks
            .as_ref()
            .and_then(|looks| looks.lock().unwrap_or_else(PoisonError::into_inner).forms.get(path).copied());
        match known {
            Some(form) => form,
            None => Form::of(&self.local.look_on_disk(path).await),
        }
    }

    /// Puts back a byte-order mark and line ends that the client did not write. A client that has
    /// not saved within a short time keeps the text in a buffer, and may know how the file is to be
    /// saved.
    async fn keep_form(&self, path: &AbsPath, form: Form) -> Result<(), CallError> {
        let deadline = tokio::time::Instant::now() + FORM_WAIT;
        let mut pause = FORM_PAUSE;
        let now = loop {
            let now = self.local.look_on_disk(path).await;
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

    /// A text from the client that may be made of bytes that are no text: refused where the disk
    /// holds no text.
    async fn checked(
        &self,
        path: &AbsPath,
        range: Option<TextRange>,
        text: String,
    ) -> Result<String, SystemError> {
        let first = range.is_none_or(|range| range.line <= 1);
        let suspicious = match text.is_empty() && first {
            true => self.local.metadata(path).await.is_ok_and(|found| found.size > 0),
            false => form::is_suspicious(&text),
        };
        if !suspicious {
            return Ok(text);
        }
        match self.local.read_text(path, range).await {
            Err(error @ SystemError::NotText { .. }) => Err(error),
            // The client took bytes of another encoding for UTF-8: writing its text would lose them.
            Ok(_) if self.local.look_on_disk(path).await.encoding != TextEncoding::Utf8 => {
                let size = self.local.metadata(path).await.map_or(0, |found| found.size);
                Err(SystemError::NotText { path: path.clone(), size })
            }
            _ => Ok(text),
        }
    }

    /// Starts a command in a terminal of the client, which runs precisely that.
    async fn spawn_at_client(&self, command: &Command) -> Result<AcpProcess, CallError> {
        let words = match self.terminal_takes(&command.cwd).await {
            Ok(terminal) => Ok(words(command, terminal, self.share.learned.stdin())),
            Err(error) => Err(error),
        };
        self.start_at_client(command, words).await
    }

    /// Starts the launcher in a terminal of the client.
    async fn launch_at_client(&self, launcher: &Command) -> Result<AcpProcess, CallError> {
        let words = match self.share.learned.terminal() {
            // Only its path can need quotes.
            Terminal::Unknown if !is_plain(&launcher.program) => {
                self.terminal_takes(&launcher.cwd).await.map(|terminal| launcher_words(launcher, terminal))
            }
            terminal => Ok(launcher_words(launcher, terminal)),
        };
        self.start_at_client(launcher, words).await
    }

    /// How the client's terminals take commands; found out if nobody knows.
    /// [`CallError::Unsupported`] where they take none safely.
    async fn terminal_takes(&self, cwd: &AbsPath) -> Result<Terminal, CallError> {
        match self.share.learned.find_out_terminal(|| probe(&self.caller, cwd)).await? {
            Terminal::Unsafe => Err(CallError::Unsupported),
            terminal => Ok(terminal),
        }
    }

    async fn start_at_client(
        &self,
        command: &Command,
        words: Result<Words, CallError>,
    ) -> Result<AcpProcess, CallError> {
        let started = match words {
            Ok(words) => AcpProcess::start(&self.caller, command, words).await,
            Err(error) => Err(error),
        };
        match &started {
            // Where no form is safe, that was said when it was found out.
            Err(CallError::Unsupported | CallError::BadAnswer(_)) if self.share.runs() => {
                self.share.demoted.terminal("terminal/create")
            }
            Err(CallError::Refused { code, message }) => {
                tracing::warn!(code, message, "the client refused a terminal");
            }
            _ => {}
        }
        started
    }

    /// What the client is to start so that a command is confined in its terminal.
    async fn launch(&self, command: &Command) -> Result<Box<dyn Launch>, SystemError> {
        const NONE: &str = "no launcher for it can be had";
        let launch = match self.share.confines() {
            true => self.local.launch_elsewhere(command).await?,
            false => None,
        };
        launch.ok_or_else(|| {
            self.share.demoted.confinement(NONE);
            SystemError::NotConfined(NONE)
        })
    }

    async fn is_missing(&self, path: &AbsPath) -> bool {
        matches!(self.local.metadata(path).await, Err(SystemError::NotFound(_)))
    }

    async fn make_folder(&self, path: &AbsPath) -> Result<(), SystemError> {
        match path.parent() {
            Some(folder) if self.holds_a_file(&folder) => Ok(()),
            Some(folder) if self.local.metadata(&folder).await.is_err() => {
                self.local.create_dir_all(&folder).await
            }
            _ => Ok(()),
        }
    }

    /// Remembers for this call whether something was at a path.
    fn note(&self, path: &AbsPath, found: &Result<Metadata, SystemError>) {
        let (Some(looks), Some(folder)) = (&self.looks, path.parent()) else { return };
        let folders = &mut looks.lock().unwrap_or_else(PoisonError::into_inner).folders;
        match found {
            Ok(_) => folders.insert(folder),
            Err(_) => folders.remove(&folder),
        };
    }

    fn holds_a_file(&self, folder: &AbsPath) -> bool {
        let Some(looks) = &self.looks else { return false };
        looks.lock().unwrap_or_else(PoisonError::into_inner).folders.contains(folder)
    }
}

const RESOURCE_NOT_FOUND: i32 = -32002;

/// The launcher in place of a command. The variables go another way: they are nobody else's to read.
fn instead(command: &Command, launch: &dyn Launch) -> Command {
    let (program, args) = launch.words();
    Command { program: program.to_owned(), args: args.to_vec(), env: Vec::new(), ..command.clone() }
}

#[async_trait]
impl System for AcpSystem {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.local.read(path).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        if self.routes().read_text != Route::Client {
            return self.local.read_text(path, range).await;
        }
        if self.share.learned.reads_the_disk() && self.is_missing(path).await {
            // It would find nothing either, and call that an error.
            return Err(SystemError::NotFound(path.clone()));
        }
        let read = match self.read_from_client(path, range).await {
            Ok(text) => Ok(text),
            Err(error) => self.read_refused(path, range, error).await,
        };
        self.checked(path, range, read?).await
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.local.write(path, bytes).await
    }

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.local.write_own(path, bytes).await
    }

    async fn write_text(&self, path: &AbsPath, text: &str) -> Result<(), SystemError> {
        if self.routes().write_text != Route::Client {
            return self.local.write_text(path, text).await;
        }
        self.make_folder(path).await?;
        let form = self.form(path).await;
        let written = match (self.write_to_client(path, text).await, form) {
            (Ok(()), Some(form)) if form.is_special() => self.keep_form(path, form).await,
            (written, _) => written,
        };
        match written {
            Ok(()) => Ok(()),
            Err(CallError::Unsupported) => {
                self.share.demoted.write("fs/write_text_file");
                self.local.write_text(path, text).await
            }
            Err(error) => {
                // The disk may know better what is wrong than the client says.
                match self.local.metadata(path).await {
                    Ok(Metadata { kind: FileKind::Directory, .. }) => {
                        Err(SystemError::IsDirectory(path.clone()))
                    }
                    _ => Err(self.caller.failure("writing", path.as_str(), error)),
                }
            }
        }
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
                let launcher = instead(&command, launch.as_ref());
                // Served from now on: some clients answer only when what they started has ended.
                let confining = Confining::new(launch, Arc::clone(&self.share.demoted));
                self.launch_at_client(&launcher).await.map(|process| process.once_confined(confining))
            }
            _ => self.spawn_at_client(&command).await,
        };
        match started {
            Ok(process) => Ok(Box::new(process)),
            // The client said no before anything ran, so it runs here, once.
            Err(CallError::Unsupported) => self.local.spawn(command).await,
            // Otherwise the command may have run (an answer without a terminal, no answer), so it never runs again.
            Err(error) => Err(self.caller.failure("running", &command.program, error)),
        }
    }

    fn routes(&self) -> Routes {
        self.share.routes()
    }

    fn is_apart(&self) -> bool {
        self.share.tools.get() == ClientTools::Ide && self.share.advertised.anything()
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        self.local.read_text_on_disk(path).await
    }

    async fn look_on_disk(&self, path: &AbsPath) -> Look {
        let look = self.local.look_on_disk(path).await;
        self.note(path, &look.metadata);
        if let Some(looks) = &self.looks {
            let forms = &mut looks.lock().unwrap_or_else(PoisonError::into_inner).forms;
            forms.insert(path.clone(), Form::of(&look));
        }
        look
    }

    fn pinned(&self, pins: Pins) -> Option<Arc<dyn System>> {
        let local = self.local.pinned(pins)?;
        let (caller, share, marks) = (self.caller.clone(), self.share.clone(), Arc::clone(&self.marks));
        Some(Arc::new(Self { local, caller, share, marks, looks: Some(Mutex::default()) }))
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        let support = self.local.sandbox_support().await;
        SandboxSupport { in_client: support.holds() && self.share.confines(), ..support }
    }

    async fn sweep(&self, sandbox: &Sandbox) {
        self.local.sweep(sandbox).await;
    }

    fn today(&self) -> Option<String> {
        self.local.today()
    }

    fn shell(&self) -> ShellProgram {
        match self.routes().spawn {
            // A terminal in which the launcher runs is on this machine.
            Route::Client if !self.share.confines() => ShellProgram::Sh,
            _ => self.local.shell(),
        }
    }
}

#[cfg(test)]
mod tests;
