//! An in-memory system for the tools' tests: editor buffers over a disk, configurable routes,
//! scripted processes.

use crate::{
    SessionResources, ToolCallUpdate, ToolContext, ToolError, ToolLimits, ToolOutput, files::freshness,
};
use async_trait::async_trait;
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};
use system::{
    AbsPath, Command, Entry, ExitStatus, FileKind, Metadata, Output, Piped, PipedCommand, Process, Route,
    Routes, System, SystemError, TerminalId, TextRange, WalkOptions,
};
use tokio_util::sync::CancellationToken;

/// Read and write routes for clients with no capability, with reads, with writes and with both.
pub(super) const ROUTES: [(&str, Route, Route); 4] = [
    ("none", Route::Local, Route::Local),
    ("read", Route::Client, Route::Local),
    ("write", Route::Local, Route::Client),
    ("both", Route::Client, Route::Client),
];

/// The state of the in-memory system.
#[derive(Default)]
pub(super) struct World {
    pub(super) disk: BTreeMap<AbsPath, Vec<u8>>,
    pub(super) buffers: BTreeMap<AbsPath, String>,
    pub(super) routes: Option<Routes>,
    /// The editor's formatter, applied to each text written to it.
    pub(super) format: Option<fn(&str) -> String>,
    /// The scripts of the processes to be spawned, in order.
    pub(super) scripts: VecDeque<Script>,
    /// A log of the operations, in order.
    pub(super) log: Vec<String>,
    /// Writes that the editor acknowledges and carries out later: after this many reads of it, or
    /// never if the inner option is `None`.
    pub(super) late: Option<Option<usize>>,
    /// The buffer contents once the delayed write is carried out.
    pub(super) coming: Option<(AbsPath, String)>,
    /// Whether the project's directory is missing.
    pub(super) gone: bool,
    /// Paths for which writes fail.
    pub(super) unwritable: Vec<AbsPath>,
}

/// The scripted behaviour of a process.
#[derive(Default)]
pub(super) struct Script {
    pub(super) terminal: Option<TerminalId>,
    pub(super) steps: VecDeque<Step>,
    pub(super) status: Option<ExitStatus>,
}

pub(super) enum Step {
    Say(Output),
    Sleep(std::time::Duration),
    /// Runs until it is killed; then prints this.
    Hang(&'static str),
    /// Runs until it receives input; then prints this.
    Await(&'static str),
}

#[derive(Default, Clone)]
pub(super) struct Memory(Arc<Mutex<World>>);

impl Memory {
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    pub(super) fn route(&self, read_text: Route, write_text: Route) {
        self.world().routes = Some(Routes { read_text, write_text, spawn: Route::Local });
    }

    pub(super) fn disk(&self, file: &str, text: &str) -> &Self {
        self.world().disk.insert(path(file), text.into());
        self
    }

    pub(super) fn buffer(&self, file: &str, text: &str) -> &Self {
        self.world().buffers.insert(path(file), text.to_owned());
        self
    }

    /// Returns a file as the user sees it: the editor's text if it is open, otherwise the disk's.
    pub(super) fn seen(&self, file: &str) -> Option<String> {
        let world = self.world();
        let buffer = world.buffers.get(&path(file)).cloned();
        buffer.or_else(|| world.disk.get(&path(file)).map(|bytes| String::from_utf8(bytes.clone()).unwrap()))
    }
}

/// Returns a path in the session's directory, `/w`.
pub(super) fn path(file: &str) -> AbsPath {
    AbsPath::new("/w").unwrap().join(file)
}

/// Creates a context over a system, and the list of progress updates that it sends.
pub(super) fn context(system: &Memory) -> (ToolContext, Arc<Mutex<Vec<ToolCallUpdate>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let progress = Arc::clone(&shown);
    let cx = ToolContext {
        system: Arc::new(system.clone()),
        cwd: path(""),
        session: SessionResources::default(),
        user: Arc::new(crate::client::User(crate::fake::FakeClient::new([]))),
        call: crate::ToolCallContext {
            id: "tool_0".into(),
            progress: Arc::new(move |update| progress.lock().unwrap().push(update)),
            asked: false,
            confined: false,
            asks_for_hosts: false,
            may_leave: true,
        },
        cancel: CancellationToken::new(),
        limits: ToolLimits::default(),
        nested_calls: crate::NestedCalls::default(),
    };
    (cx, shown)
}

/// Parses, prepares and runs a call as a session does.
pub(super) async fn call(cx: &ToolContext, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    let tool = super::builtin().into_iter().find(|tool| tool.spec().name == name).expect("a built-in tool");
    let mut call = tool.parse(arguments)?;
    call.prepare(cx).await?;
    call.run(cx).await
}

/// Returns the text that the model receives for a call, whether it succeeds or fails.
pub(super) async fn text(cx: &ToolContext, name: &str, arguments: Value) -> String {
    match call(cx, name, arguments).await {
        Ok(output) => output.result.text,
        Err(error) => format!("! {error}"),
    }
}

#[async_trait]
impl System for Memory {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        let world = self.world();
        match world.disk.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None if is_folder(&world, path) => Err(SystemError::IsDirectory(path.clone())),
            None => Err(SystemError::NotFound(path.clone())),
        }
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        self.world().log.push(format!("read_text {path}"));
        self.world().arrive();
        let buffer = match self.routes().read_text {
            Route::Client => self.world().buffers.get(path).cloned(),
            _ => None,
        };
        let text = match buffer {
            Some(text) => text,
            None => {
                let bytes = self.read(path).await?;
                let size = bytes.len() as u64;
                String::from_utf8(bytes).map_err(|_| SystemError::NotText { path: path.clone(), size })?
            }
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        // Ranges are returned without their last line ending, as many editors do.
        Ok(match range {
            Some(range) => {
                let part = freshness::lines(text, range);
                part.strip_suffix('\n').unwrap_or(part).to_owned()
            }
            None => text.to_owned(),
        })
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.world().disk.insert(path.clone(), bytes.to_vec());
        Ok(())
    }

    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError> {
        let route = self.routes().write_text;
        let mut world = self.world();
        world.log.push(format!("write_text {path}"));
        let is_read = world.routes.unwrap_or(Routes::LOCAL).read_text == Route::Client;
        let buffer = world.buffers.get(path).filter(|_| is_read && route == Route::Client).cloned();
        let disk = world.disk.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let now = buffer.or(disk);
        if now.as_deref().map(|now| now.strip_prefix('\u{feff}').unwrap_or(now)) != was {
            return Err(SystemError::Changed(path.clone()));
        }
        if world.unwritable.contains(path) || route == Route::Refused {
            return Err(SystemError::ReadOnly { operation: "write" });
        }
        match (route, world.format) {
            (Route::Client, format) => {
                let text = format.map_or_else(|| text.to_owned(), |format| format(text));
                match world.late {
                    Some(_) => world.coming = Some((path.clone(), text)),
                    None => drop(world.buffers.insert(path.clone(), text)),
                }
            }
            _ => {
                let bom = world.disk.get(path).is_some_and(|old| old.starts_with("\u{feff}".as_bytes()));
                let text = if bom { format!("\u{feff}{text}") } else { text.to_owned() };
                world.disk.insert(path.clone(), text.into_bytes());
            }
        }
        Ok(())
    }

    async fn reload_text(&self, path: &AbsPath, shown: &str, on_disk: &str) -> Result<(), SystemError> {
        if self.routes().write_text != Route::Client {
            return Ok(());
        }
        let mut world = self.world();
        world.log.push(format!("reload_text {path}"));
        match world.buffers.get_mut(path) {
            Some(buffer) if buffer == shown => {
                on_disk.clone_into(buffer);
                Ok(())
            }
            _ => Err(SystemError::Changed(path.clone())),
        }
    }

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.write(path, bytes).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        let world = self.world();
        let kind = match world.disk.contains_key(path) {
            true => FileKind::File,
            false if is_folder(&world, path) => FileKind::Directory,
            false if *path == self::path("") && !world.gone => FileKind::Directory,
            false => return Err(SystemError::NotFound(path.clone())),
        };
        Ok(Metadata {
            kind,
            size: world.disk.get(path).map_or(0, |bytes| bytes.len() as u64),
            modified: None,
            id: None,
        })
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        let world = self.world();
        let files = world.disk.keys().filter(|file| file.parent().as_ref() == Some(path));
        Ok(files.map(|file| Entry { path: file.clone(), kind: FileKind::File }).collect())
    }

    async fn create_dir_all(&self, _path: &AbsPath) -> Result<(), SystemError> {
        Ok(())
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        let mut world = self.world();
        world.log.push(format!("remove {path}"));
        world.buffers.remove(path);
        world.disk.remove(path).map(|_| ()).ok_or_else(|| SystemError::NotFound(path.clone()))
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        let mut world = self.world();
        world.log.push(format!("rename {from} {to}"));
        let bytes = world.disk.remove(from).ok_or_else(|| SystemError::NotFound(from.clone()))?;
        world.buffers.remove(from);
        world.disk.insert(to.clone(), bytes);
        Ok(())
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        Ok(path.clone())
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        let hidden = |file: &AbsPath| {
            let below = file.relative_to(root).unwrap_or_default();
            below.split('/').any(|part| part.starts_with('.') || part == "node_modules")
        };
        let world = self.world();
        let files = world.disk.keys().filter(|file| file.starts_with(root));
        Ok(files
            .filter(|file| options.include_ignored || !hidden(file))
            .take(options.limit)
            .cloned()
            .collect())
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
        let mut world = self.world();
        let place = if command.cwd == path("") { String::new() } else { format!(" in {}", command.cwd) };
        world.log.push(format!("spawn {} {}{place}", command.program, command.args.join(" ")));
        let script = world.scripts.pop_front().ok_or_else(|| SystemError::Spawn {
            program: command.program,
            source: std::io::Error::other("no script"),
        })?;
        Ok(Box::new(Scripted { script, world: self.clone() }))
    }

    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        Err(SystemError::NoPipes { program: command.program })
    }

    fn routes(&self) -> Routes {
        self.world().routes.unwrap_or(Routes::LOCAL)
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        match self.read(path).await {
            Ok(bytes) => {
                let size = bytes.len() as u64;
                let text = String::from_utf8(bytes);
                text.map(Some).map_err(|_| SystemError::NotText { path: path.clone(), size })
            }
            Err(SystemError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl World {
    /// Counts one read of the editor, and carries out the delayed write when it is due.
    fn arrive(&mut self) {
        match &mut self.late {
            Some(Some(reads)) if self.coming.is_some() => match reads.checked_sub(1) {
                Some(left) => *reads = left,
                None => self.buffers.extend(self.coming.take()),
            },
            _ => {}
        }
    }
}

fn is_folder(world: &World, path: &AbsPath) -> bool {
    world.disk.keys().any(|file| file != path && file.starts_with(path))
}

struct Scripted {
    script: Script,
    world: Memory,
}

#[async_trait]
impl Process for Scripted {
    fn terminal(&self) -> Option<&TerminalId> {
        self.script.terminal.as_ref()
    }

    async fn next_output(&mut self) -> Option<Output> {
        loop {
            match self.script.steps.front()? {
                Step::Sleep(time) => {
                    tokio::time::sleep(*time).await;
                    self.script.steps.pop_front();
                }
                Step::Hang(_) | Step::Await(_) => std::future::pending().await,
                Step::Say(_) => match self.script.steps.pop_front() {
                    Some(Step::Say(output)) => return Some(output),
                    _ => unreachable!("looked at just now"),
                },
            }
        }
    }

    async fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        Ok(self.script.status.clone().unwrap_or_default())
    }

    async fn write_input(&mut self, text: &str) -> Result<(), SystemError> {
        if self.script.terminal.is_some() {
            return Err(SystemError::NoInput);
        }
        self.world.world().log.push(format!("input {text:?}"));
        if let Some(Step::Await(answer)) = self.script.steps.front() {
            let answer = Step::Say(Output::Text((*answer).to_owned()));
            self.script.steps.pop_front();
            self.script.steps.push_front(answer);
        }
        Ok(())
    }

    async fn kill(&mut self) {
        self.world.world().log.push("kill".to_owned());
        if let Some(Step::Hang(last)) = self.script.steps.pop_front() {
            self.script.steps.clear();
            self.script.steps.push_back(Step::Say(Output::Text(last.to_owned())));
        }
    }
}
