//! A system in memory, for tests: deterministic, and stricter than a real one.
//!
//! Nothing runs: a command's output and end are scripted ([`FakeSystem::on_command`]), and a command without a script cannot be
//! started. A process that is still alive when the system goes fails the test.

mod faults;
mod process;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub use faults::Call;
pub use process::Script;

use crate::{
    AbsPath, Command, Entry, Metadata, Process, Routes, SandboxSupport, System, SystemError, TextRange,
    WalkOptions, text,
};
use async_trait::async_trait;
use faults::{Fault, Faults};
use process::{FakeProcess, Running, Scripts};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tree::{Node, Tree};

/// Files, folders, links and scripted commands in memory. Share it in an `Arc`.
///
/// Paths given to the methods that set a test up are absolute strings; they panic when they are not, because that is a
/// mistake in the test.
pub struct FakeSystem {
    tree: Mutex<Tree>,
    scripts: Mutex<Scripts>,
    faults: Mutex<Faults>,
    running: Arc<Running>,
    routes: Routes,
    sandbox: SandboxSupport,
    today: Mutex<Option<String>>,
}

impl Default for FakeSystem {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeSystem {
    /// An empty system: there is the root folder and no command.
    pub fn new() -> Self {
        Self {
            tree: Mutex::default(),
            scripts: Mutex::default(),
            faults: Mutex::default(),
            running: Arc::default(),
            routes: Routes::LOCAL,
            sandbox: SandboxSupport::default(),
            today: Mutex::default(),
        }
    }

    /// Says that operations go elsewhere, for code that looks at [`System::routes`]. They are still done here.
    pub fn with_routes(mut self, routes: Routes) -> Self {
        self.routes = routes;
        self
    }

    /// Says that commands can be confined, for code that looks at [`System::sandbox_support`]. A script sees what confinement its command got.
    pub fn with_sandbox(mut self, support: SandboxSupport) -> Self {
        self.sandbox = support;
        self
    }

    /// Says which day it is from now on.
    pub fn set_today(&self, day: &str) {
        *lock(&self.today) = Some(day.to_owned());
    }

    /// Puts a file there, and the folders above it.
    pub fn add_file(&self, path: &str, content: impl AsRef<[u8]>) {
        self.add(path, |tree, path| tree.add_file(path, content.as_ref()));
    }

    /// Puts a folder there, and those above it.
    pub fn add_dir(&self, path: &str) {
        self.add(path, |tree, path| tree.add(path, Node::Directory));
    }

    /// Puts a symbolic link there. The target may be relative, and need not exist.
    pub fn add_link(&self, path: &str, target: &str) {
        self.add(path, |tree, path| tree.add(path, Node::Link(target.to_owned())));
    }

    /// Puts something there that is neither file nor folder, as a pipe is.
    pub fn add_pipe(&self, path: &str) {
        self.add(path, |tree, path| tree.add(path, Node::Other));
    }

    /// The text of a file, for assertions: not recorded as a call. `None` when there is no such file or it is no UTF-8.
    pub fn text_of(&self, path: &str) -> Option<String> {
        let bytes = lock(&self.tree).file(&absolute(path)).ok()?.to_vec();
        String::from_utf8(bytes).ok()
    }

    /// Scripts a command. It is found by its line (what is given to `sh -c`, or program and arguments with a space between):
    /// the line is `line`, or begins with it and a space. The last script that fits is taken.
    pub fn on_command(&self, line: &str, script: impl Fn(&Command) -> Script + Send + Sync + 'static) {
        lock(&self.scripts).add(line, Box::new(script));
    }

    /// The lines of the commands that nobody has ended yet.
    pub fn running(&self) -> Vec<String> {
        self.running.lines()
    }

    /// Every operation so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.faults).calls()
    }

    /// Lets an operation fail: the next is `n` = 1.
    pub fn fail_nth(&self, n: usize) {
        lock(&self.faults).plan(n, Fault::Fail);
    }

    /// Lets an operation never return: the next is `n` = 1.
    pub fn hang_nth(&self, n: usize) {
        lock(&self.faults).plan(n, Fault::Hang);
    }

    fn add(&self, path: &str, put: impl FnOnce(&mut Tree, &AbsPath) -> Result<(), SystemError>) {
        put(&mut lock(&self.tree), &absolute(path)).expect("a test adds to folders only");
    }

    /// Records a call and carries out what is planned for it.
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

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        if let Some(folder) = path.parent() {
            self.create_dir_all(&folder).await?;
        }
        self.write_private(path, bytes).await
    }

    async fn write_private(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.write(path, bytes).await
    }

    async fn write_text(&self, path: &AbsPath, text: &str) -> Result<(), SystemError> {
        self.enter("write_text", path).await?;
        let mut tree = lock(&self.tree);
        let as_before = match tree.file(path) {
            Ok(bytes) => text::written(path, bytes.to_vec()),
            Err(error) if error.is_not_found() => {
                let target = tree.resolve(path)?;
                tree.create_dir_all(&target.parent().unwrap_or(target))?;
                text::Written::default()
            }
            Err(error) => return Err(error),
        };
        let bytes = text::encode(path, text, as_before)?;
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
