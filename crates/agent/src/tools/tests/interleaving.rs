//! A reported change is in the file: many writers change one file at once, in a random order that a
//! seed determines.
//!
//! Writers are calls of several sessions in several processes, with hooks and questions between
//! preparing and running, over a slow disk and an editor that is sometimes out of reach. Meanwhile
//! the user types and saves, and commands change the file behind the editor.

use super::*;
use crate::{
    FileTracker,
    files::editor::EditorFiles,
    tools::testing::{Memory, ROUTES},
};
use async_trait::async_trait;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use system::{
    AbsPath, Claim, Command, Entry, Metadata, Piped, PipedCommand, Process, Route, Routes, System,
    SystemError, TextRange, WalkOptions,
};

/// The number of seeds.
const SEEDS: u64 = 1000;
const PROCESSES: u64 = 2;
const WRITERS: u64 = 5;
const CHANGES: u64 = 3;

#[tokio::test(start_paused = true)]
async fn every_reported_change_is_in_the_file() {
    let (mut done, mut refused) = (0, 0);
    for seed in 0..SEEDS {
        let (its_done, its_refused) = interleaving(seed).await;
        done += its_done;
        refused += its_refused;
    }
    assert!(done > refused && refused > 0, "{done} done, {refused} refused");
}

/// Random numbers that a seed determines (SplitMix64).
#[derive(Clone)]
struct Random(Arc<Mutex<u64>>);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed)))
    }

    fn below(&self, most: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }

    /// Waits: mostly not at all or briefly, sometimes as long as an outage.
    async fn wait(&self) {
        let milliseconds = match self.below(20) {
            0..8 => return tokio::task::yield_now().await,
            8..19 => self.below(40),
            _ => self.below(4000),
        };
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// The system as one process sees it: every operation takes time, and only writers of this process
/// wait for each other.
struct Slow {
    inner: Memory,
    process: u64,
    random: Random,
}

macro_rules! slow {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        #[async_trait]
        impl System for Slow {
            $(async fn $name(&self, $($argument: $type),*) -> $result {
                self.random.wait().await;
                let result = self.inner.$name($($argument),*).await;
                self.random.wait().await;
                result
            })*

            async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
                let own = |path: &AbsPath| path.join(format!("process {}", self.process));
                Ok(Claim::in_process(paths.iter().map(own).collect()).await)
            }

            fn routes(&self) -> Routes {
                self.inner.routes()
            }
        }
    };
}

slow! {
    read(path: &AbsPath) -> Result<Vec<u8>, SystemError>;
    read_text(path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError>;
    write(path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError>;
    replace_text(path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError>;
    reload_text(path: &AbsPath, shown: &str, on_disk: &str) -> Result<(), SystemError>;
    metadata(path: &AbsPath) -> Result<Metadata, SystemError>;
    read_dir(path: &AbsPath) -> Result<Vec<Entry>, SystemError>;
    create_dir_all(path: &AbsPath) -> Result<(), SystemError>;
    remove(path: &AbsPath) -> Result<(), SystemError>;
    rename(from: &AbsPath, to: &AbsPath) -> Result<(), SystemError>;
    resolve(path: &AbsPath) -> Result<AbsPath, SystemError>;
    walk(root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError>;
    spawn(command: Command) -> Result<Box<dyn Process>, SystemError>;
    spawn_piped(command: PipedCommand) -> Result<Piped, SystemError>;
    read_text_on_disk(path: &AbsPath) -> Result<Option<String>, SystemError>;
}

/// Returns a line of the file, before and after a writer changes it.
fn line(writer: u64, change: u64) -> (String, String) {
    (format!("line {writer}-{change} to do"), format!("line {writer}-{change} done"))
}

/// Makes the changes of one writer; returns the lines that were reported as changed, and those that
/// were refused.
async fn writes(
    system: Memory,
    writer: u64,
    (process, editor): (u64, Arc<EditorFiles>),
    random: Random,
) -> (Vec<String>, Vec<String>) {
    let (mut cx, _) = context(&system);
    cx.system = Arc::new(Slow { inner: system, process, random: random.clone() });
    cx.session.files = Arc::new(FileTracker::new(editor));
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for change in 0..CHANGES {
        random.wait().await;
        let (old, new) = line(writer, change);
        let read = match random.below(2) {
            0 => String::new(),
            _ => text(&cx, "file_read", json!({"path": "f"})).await,
        };
        cx.call.asked = random.below(4) == 0;
        let (tool, arguments) = match random.below(3) {
            0 if read.contains(&old) && !read.contains("\n[") => {
                let lines = read.lines().map(|line| line.split_once('\t').map_or(line, |(_, text)| text));
                let content: String = lines.map(|line| format!("{line}\n")).collect();
                ("file_write", json!({"path": "f", "content": content.replace(&old, &new)}))
            }
            1 => {
                let patch = format!("*** Begin Patch\n*** Update File: f\n@@\n-{old}\n+{new}\n*** End Patch");
                ("apply_patch", json!({"patch": patch}))
            }
            _ => ("file_edit", json!({"path": "f", "old_string": old, "new_string": new})),
        };
        let tools = crate::tools::builtin();
        let tool = tools.iter().find(|one| one.spec().name == tool).unwrap();
        let mut call = tool.parse(arguments).unwrap();
        let mut outcome = call.prepare(&cx).await.map(drop);
        if outcome.is_ok() {
            // Hooks run and people think here.
            random.wait().await;
            outcome = call.run(&cx).await.map(drop);
        }
        match outcome {
            Ok(()) => done.push(new),
            Err(_) => refused.push(new),
        }
    }
    (done, refused)
}

/// Changes the file from outside of every process; returns the lines that were written.
async fn others(system: Memory, route: &str, random: Random) -> Vec<String> {
    let mut wrote = Vec::new();
    let f = path("f");
    for number in 0..6 {
        random.wait().await;
        random.wait().await;
        let mut world = system.world();
        let line = format!("line of others {number}");
        let disk = world.disk.get(&f).map(|bytes| String::from_utf8(bytes.clone()).unwrap()).unwrap();
        match world.buffers.get_mut(&f) {
            Some(buffer) => match random.below(3) {
                0 => {
                    buffer.push_str(&format!("{line}, typed\n"));
                    wrote.push(format!("{line}, typed"));
                    if route == "write" {
                        // What is not saved cannot be seen.
                        let text = buffer.clone();
                        world.disk.insert(f.clone(), text.into_bytes());
                    }
                }
                1 if disk == *buffer => {
                    // A command; the editor reloads the file or does not.
                    let text = format!("{disk}{line}, by a command\n");
                    wrote.push(format!("{line}, by a command"));
                    if random.below(2) == 0 || route == "write" {
                        buffer.clone_from(&text);
                    }
                    world.disk.insert(f.clone(), text.into_bytes());
                }
                _ => {
                    // The user saves the file, unless the editor would ask about a newer one.
                    let text = buffer.clone();
                    let newer = disk.lines().any(|line| !text.contains(&line.replace("to do", "")));
                    if !newer {
                        world.disk.insert(f.clone(), text.into_bytes());
                    }
                }
            },
            None => {
                wrote.push(line.clone());
                world.disk.insert(f.clone(), format!("{disk}{line}\n").into_bytes());
            }
        }
    }
    wrote
}

async fn interleaving(seed: u64) -> (usize, usize) {
    let random = Random::new(seed);
    let system = Memory::default();
    let (route, read, write) = ROUTES[(seed % 4) as usize];
    system.route(read, write);
    let all = (0..WRITERS).flat_map(|writer| (0..CHANGES).map(move |change| line(writer, change).0));
    let start: String = all.map(|line| format!("{line}\n")).collect();
    system.disk("f", &start);
    let is_open = read == Route::Client && write == Route::Client;
    if is_open {
        system.buffer("f", &start);
    }
    // What an editor that cannot be read has not saved is known to one process only.
    let processes = if route == "write" { 1 } else { PROCESSES };
    let editors: Vec<Arc<EditorFiles>> = (0..processes).map(|_| Arc::default()).collect();
    let writers = (0..WRITERS).map(|writer| {
        let process = writer % processes;
        let process = (process, editors[process as usize].clone());
        tokio::spawn(writes(system.clone(), writer, process, random.clone()))
    });
    let writers: Vec<_> = writers.collect();
    let others = tokio::spawn(others(system.clone(), route, random));
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for writer in writers {
        let (its_done, its_refused) = writer.await.unwrap();
        done.extend(its_done);
        refused.extend(its_refused);
    }
    let wrote = others.await.unwrap();
    let world = system.world();
    let disk = String::from_utf8(world.disk[&path("f")].clone()).unwrap();
    let shown = world.buffers.get(&path("f")).cloned().unwrap_or_else(|| disk.clone());
    let holds = |line: &String| shown.contains(line.as_str()) || disk.contains(line.as_str());
    let at = format!("seed {seed}, {route}\n--- editor\n{shown}--- disk\n{disk}");
    for line in done.iter().chain(&wrote) {
        assert!(holds(line), "lost: {line}\n{at}");
    }
    for line in &refused {
        assert!(!holds(line), "made, and yet refused: {line}\n{at}");
    }
    (done.len(), refused.len())
}
