//! An in-memory [`System`] for tests: deterministic, and stricter than a real one.
//!
//! No program runs: the output and exit status of a command are scripted
//! ([`FakeSystem::on_command`]), and a command without a script cannot be started. If a process is
//! still alive when the system is dropped, the test fails.

mod faults;
mod process;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub use faults::Call;
pub use process::Script;

use crate::{
    AbsPath, Claim, Command, ControlChange, ControlPlace, Entry, Metadata, Piped, PipedCommand, Process,
    Routes, SandboxSupport, System, SystemError, TextRange, WalkOptions, system::resolved, text,
};
use async_trait::async_trait;
use faults::{Fault, Faults};
use process::{FakeProcess, Running, Scripts};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use tree::{Node, Tree};

/// In-memory files, directories, links and scripted commands. Share it in an `Arc`.
///
/// The setup methods take absolute paths as strings and panic on any other path, because that is a
/// mistake in the test.
pub struct FakeSystem {
    /// Identifies this system among those of the process.
    number: u64,
    tree: Mutex<Tree>,
    scripts: Mutex<Scripts>,
    faults: Mutex<Faults>,
    running: Arc<Running>,
    routes: Routes,
    sandbox: SandboxSupport,
    today: Mutex<Option<String>>,
    open_changes: Mutex<Vec<ControlChange>>,
}

impl Default for FakeSystem {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeSystem {
    /// Creates a system with the root directory and no commands.
    pub fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self {
            number: LAST.fetch_add(1, Ordering::Relaxed),
            tree: Mutex::default(),
            scripts: Mutex::default(),
            faults: Mutex::default(),
            running: Arc::default(),
            routes: Routes::LOCAL,
            sandbox: SandboxSupport::default(),
            today: Mutex::default(),
            open_changes: Mutex::default(),
        }
    }

    /// Sets the reported [`System::routes`]. The fake still carries out all operations itself.
    pub fn with_routes(mut self, routes: Routes) -> Self {
        self.routes = routes;
        self
    }

    /// Sets the reported [`System::sandbox_support`]. A script can see the confinement that its
    /// command was started with.
    pub fn with_sandbox(mut self, support: SandboxSupport) -> Self {
        self.sandbox = support;
        self
    }

    /// Sets the result of [`System::today`].
    pub fn set_today(&self, day: &str) {
        *lock(&self.today) = Some(day.to_owned());
    }

    /// Adds a change to those that [`System::open_changes`] returns next: the new content of a
    /// file, and the settings of git that it changes.
    pub fn leave_change(&self, path: &str, settings: &[(&str, &str)], after: &str) {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
        lock(&self.open_changes).push(ControlChange {
            path: absolute(path),
            settings: settings.collect(),
            before: self.text_of(path).map(String::into_bytes),
            after: Some(after.as_bytes().to_vec()),
            executable: false,
            place: ControlPlace::Aside(None),
        });
    }

    /// Adds a file and its parent directories.
    pub fn add_file(&self, path: &str, content: impl AsRef<[u8]>) {
        self.add(path, |tree, path| tree.add_file(path, content.as_ref()));
    }

    /// Adds a directory and its parents.
    pub fn add_dir(&self, path: &str) {
        self.add(path, |tree, path| tree.add(path, Node::Directory));
    }

    /// Adds a symbolic link. The target may be relative and need not exist.
    pub fn add_link(&self, path: &str, target: &str) {
        self.add(path, |tree, path| tree.add(path, Node::Link(target.to_owned())));
    }

    /// Adds an entry that is neither a file nor a directory, such as a pipe.
    pub fn add_pipe(&self, path: &str) {
        self.add(path, |tree, path| tree.add(path, Node::Other));
    }

    /// Returns the text of a file, for assertions. Not recorded as a call. `None` if the file does
    /// not exist or is not UTF-8.
    pub fn text_of(&self, path: &str) -> Option<String> {
        let bytes = lock(&self.tree).file(&absolute(path)).ok()?.to_vec();
        String::from_utf8(bytes).ok()
    }

    /// Scripts a command. The script is matched against the command's line, which is the argument
    /// of `sh -c`, or the program and its arguments joined by spaces. It matches if the line equals
    /// `line` or starts with it and a space. The script added last wins.
    pub fn on_command(&self, line: &str, script: impl Fn(&Command) -> Script + Send + Sync + 'static) {
        lock(&self.scripts).add(line, Box::new(script));
    }

    /// Returns the lines of the commands that are still running.
    pub fn running(&self) -> Vec<String> {
        self.running.lines()
    }

    /// Returns all recorded calls in order.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.faults).calls()
    }

    /// Makes the `n`th operation from now fail; `n` = 1 is the next one.
    pub fn fail_nth(&self, n: usize) {
        lock(&self.faults).plan(n, Fault::Fail);
    }

    /// Makes the `n`th operation from now never return; `n` = 1 is the next one.
    pub fn hang_nth(&self, n: usize) {
        lock(&self.faults).plan(n, Fault::Hang);
    }

    fn add(&self, path: &str, put: impl FnOnce(&mut Tree, &AbsPath) -> Result<(), SystemError>) {
        put(&mut lock(&self.tree), &absolute(path)).expect("a test adds to directories only");
    }

    /// Records a call and applies its planned fault.
    async fn enter(&self, operation: &'static str, subject: &AbsPath) -> Result<(), SystemError> {
        let fault = lock(&self.faults).record(operation, subject.to_string());
        self.carry_out(fault).await.map_err(|source| SystemError::from_io(operation, subject, source))
    }

    async fn carry_out(&self, fault: Option<Fault>) -> std::io::Result<()> {
        match fault {
            None => Ok(()),
            Some(Fault::Fail) => Err(std::io::Error::other("the test lets this operation fail")),
            Some(Fault::Hang) => std::future::pending().await,
        }
    }
}

impl Drop for FakeSystem {
    fn drop(&mut self) {
        let alive = self.running.lines();
        if !alive.is_empty() && !std::thread::panicking() {
            panic!("these processes were neither waited for, killed nor dropped: {alive:?}");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn absolute(path: &str) -> AbsPath {
    AbsPath::new(path).expect("a test names absolute paths")
}

#[async_trait]
impl System for FakeSystem {
    async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
        // Its files are its own: writers of other fake systems, whose clocks may stand still, do
        // not wait for them.
        let own = |path: &AbsPath| path.join(format!("fake system {}", self.number));
        Ok(Claim::in_process(resolved(self, paths).await.iter().map(own).collect()).await)
    }

    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.enter("read", path).await?;
        Ok(lock(&self.tree).file(path)?.to_vec())
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        assert!(range.is_none_or(|range| range.line > 0), "lines are counted from 1");
        self.enter("read_text", path).await?;
        let (whole, _) = text::decode(path, lock(&self.tree).file(path)?.to_vec())?;
        Ok(range.map_or_else(|| whole.clone(), |range| text::lines(&whole, range)))
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.enter("write", path).await?;
        lock(&self.tree).write(path, bytes)
    }

    async fn open_changes(&self, _copies: &AbsPath) -> Vec<ControlChange> {
        std::mem::take(&mut *lock(&self.open_changes))
    }

    async fn carry_over(&self, change: &ControlChange) -> Result<(), SystemError> {
        if self.text_of(change.path.as_str()).map(String::into_bytes) != change.before {
            return Err(SystemError::Changed(change.path.clone()));
        }
        self.write(&change.path, change.after.as_deref().unwrap_or_default()).await
    }

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        if let Some(directory) = path.parent() {
            self.create_dir_all(&directory).await?;
        }
        self.write_private(path, bytes).await
    }

    async fn write_private(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.write(path, bytes).await
    }

    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError> {
        self.enter("replace_text", path).await?;
        let mut tree = lock(&self.tree);
        let now = match tree.file(path) {
            Ok(bytes) => Some(bytes.to_vec()),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let form = text::expect(path, now.as_deref(), was)?;
        if now.is_none() {
            let target = tree.resolve(path)?;
            tree.create_dir_all(&target.parent().unwrap_or(target))?;
        }
        let bytes = text::encode(path, text, form)?;
        tree.write(path, &bytes)
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        self.enter("metadata", path).await?;
        lock(&self.tree).metadata(path)
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        self.enter("read_dir", path).await?;
        lock(&self.tree).read_dir(path)
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.enter("create_dir_all", path).await?;
        lock(&self.tree).create_dir_all(path)
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.enter("remove", path).await?;
        lock(&self.tree).remove(path)
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        self.enter("rename", from).await?;
        lock(&self.tree).rename(from, to)
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        self.enter("resolve", path).await?;
        lock(&self.tree).resolve(path)
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        self.enter("walk", root).await?;
        walk::walk(&lock(&self.tree), root, &options)
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
        let line = process::line(&command);
        let fault = lock(&self.faults).record("spawn", line.clone());
        let fail = |source| SystemError::Spawn { program: command.program.clone(), source };
        self.carry_out(fault).await.map_err(fail)?;
        lock(&self.tree).read_dir(&command.cwd)?;
        let script = lock(&self.scripts).find(&command, &line);
        let script = script.ok_or_else(|| fail(std::io::ErrorKind::NotFound.into()))?;
        for (path, bytes) in script.changes() {
            lock(&self.tree).add_file(path, bytes)?;
        }
        Ok(Box::new(FakeProcess::start(script, line, command.output_limit, Arc::clone(&self.running))))
    }

    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        let line = std::iter::once(&command.program).chain(&command.args).cloned().collect::<Vec<_>>();
        let fault = lock(&self.faults).record("spawn_piped", line.join(" "));
        let program = command.program.clone();
        self.carry_out(fault).await.map_err(|source| SystemError::Spawn { program, source })?;
        Err(SystemError::NoPipes { program: command.program })
    }

    fn today(&self) -> Option<String> {
        lock(&self.today).clone()
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        self.sandbox
    }

    fn routes(&self) -> Routes {
        self.routes
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        self.enter("read_text_on_disk", path).await?;
        match lock(&self.tree).file(path) {
            Ok(bytes) => text::decode(path, bytes.to_vec()).map(|(text, _)| Some(text)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
