//! What a highlighter shares with its thread.

use super::{
    Styles,
    painter::{Painter, Progress},
};
use crate::limits::{HIGHLIGHT_BLOCKS, HIGHLIGHT_JOBS, HIGHLIGHT_KEPT_LINES};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

/// Work for the highlighter.
pub(super) enum Job {
    /// A block begins.
    Begin { id: u64, language: String },
    /// The next line of a block.
    Line { id: u64, line: String },
    /// A whole block.
    Text { key: u64, language: String, lines: Vec<String> },
}

pub(super) struct Shared {
    found: Arc<Mutex<Found>>,
    worker: Mutex<Option<Worker>>,
}

/// Who does the work.
enum Worker {
    /// The caller.
    Here(Box<Work>),
    /// A thread, once there is work.
    Idle(Wake),
    Thread(SyncSender<Job>),
}

type Wake = Arc<dyn Fn() + Send + Sync>;

/// What was found so far.
#[derive(Default)]
struct Found {
    next: u64,
    generation: u64,
    /// The styles of the lines of open blocks; those of old blocks are forgotten.
    blocks: BTreeMap<u64, Vec<Styles>>,
    /// The styles of texts; `None` while they are worked on.
    texts: HashMap<u64, Option<Arc<Vec<Styles>>>>,
    /// Lines in `texts`.
    kept: usize,
}

/// The state of the work.
#[derive(Default)]
struct Work {
    painter: Painter,
    blocks: BTreeMap<u64, Progress>,
}

impl Shared {
    pub(super) fn in_place() -> Self {
        Self { found: Arc::default(), worker: Mutex::new(Some(Worker::Here(Box::default()))) }
    }

    pub(super) fn threaded(wake: Wake) -> Self {
        Self { found: Arc::default(), worker: Mutex::new(Some(Worker::Idle(wake))) }
    }

    pub(super) fn begin(&self, language: &str) -> u64 {
        let id = {
            let mut found = lock(&self.found);
            found.next += 1;
            let id = found.next;
            found.blocks.insert(id, Vec::new());
            if found.blocks.len() > HIGHLIGHT_BLOCKS {
                found.blocks.pop_first();
            }
            id
        };
        if !self.give(Job::Begin { id, language: language.to_owned() }) {
            self.end(id);
        }
        id
    }

    pub(super) fn push(&self, id: u64, line: &str) {
        let is_open = lock(&self.found).blocks.contains_key(&id);
        if is_open && !self.give(Job::Line { id, line: line.to_owned() }) {
            self.end(id);
        }
    }

    /// Returns the styles of a line of a block; none if the block is not open.
    pub(super) fn styles(&self, id: u64, line: usize) -> Option<Styles> {
        match lock(&self.found).blocks.get(&id) {
            Some(lines) => lines.get(line).cloned(),
            None => Some(Styles::new()),
        }
    }

    pub(super) fn end(&self, id: u64) {
        lock(&self.found).blocks.remove(&id);
    }

    pub(super) fn text(&self, key: u64, job: impl FnOnce() -> Job) -> Option<Arc<Vec<Styles>>> {
        {
            let mut found = lock(&self.found);
            if let Some(known) = found.texts.get(&key) {
                return known.clone();
            }
            found.texts.insert(key, None);
        }
        if !self.give(job()) {
            lock(&self.found).texts.insert(key, Some(Arc::default()));
        }
        lock(&self.found).texts.get(&key).cloned().flatten()
    }

    pub(super) fn generation(&self) -> u64 {
        lock(&self.found).generation
    }

    /// Hands over work; false if it cannot be done, now or ever.
    fn give(&self, job: Job) -> bool {
        let mut worker = lock(&self.worker);
        if let Some(Worker::Idle(wake)) = &*worker {
            *worker = start(self.found.clone(), wake.clone()).map(Worker::Thread);
        }
        match &mut *worker {
            Some(Worker::Here(work)) => work.run(job, &self.found),
            Some(Worker::Thread(jobs)) => return jobs.try_send(job).is_ok(),
            Some(Worker::Idle(_)) | None => return false,
        }
        true
    }
}

/// Starts the thread; `None` if the system has none left.
fn start(found: Arc<Mutex<Found>>, wake: Wake) -> Option<SyncSender<Job>> {
    let (jobs, todo) = sync_channel(HIGHLIGHT_JOBS);
    let run = move || work_off(&todo, &found, &wake);
    thread::Builder::new().name("highlighter".to_owned()).spawn(run).ok().map(|_| jobs)
}

/// Runs until no highlighter is left.
fn work_off(todo: &Receiver<Job>, found: &Mutex<Found>, wake: &Wake) {
    let mut work = Work::default();
    while let Ok(job) = todo.recv() {
        work.run(job, found);
        todo.try_iter().for_each(|job| work.run(job, found));
        wake();
    }
}

impl Work {
    fn run(&mut self, job: Job, found: &Mutex<Found>) {
        match job {
            Job::Begin { id, language } => {
                let progress = self.painter.begin(&language);
                self.blocks.insert(id, progress);
                if self.blocks.len() > HIGHLIGHT_BLOCKS {
                    self.blocks.pop_first();
                }
            }
            Job::Line { id, line } => {
                // After `give_up` the line is not needed.
                if !lock(found).blocks.contains_key(&id) {
                    self.blocks.remove(&id);
                }
                let Some(progress) = self.blocks.get_mut(&id) else { return };
                let styles = self.painter.line(progress, &line);
                if let Some(lines) = lock(found).blocks.get_mut(&id) {
                    lines.push(styles);
                }
            }
            Job::Text { key, language, lines } => {
                let mut progress = self.painter.begin(&language);
                let styles: Vec<_> =
                    lines.iter().map(|line| self.painter.line(&mut progress, line)).collect();
                let mut found = lock(found);
                found.kept += styles.len() + 1;
                if found.kept > HIGHLIGHT_KEPT_LINES {
                    found.texts.retain(|_, known| known.is_none());
                    found.kept = styles.len() + 1;
                }
                found.texts.insert(key, Some(Arc::new(styles)));
                found.generation += 1;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
