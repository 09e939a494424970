//! Memories in memory, for tests and for sessions that are not to be kept.

use crate::{
    Expiry, Memories, Memory, MemoryChange, MemoryId, MemoryNote, MemoryQuery, MemoryTimes, NewMemory,
    StoreError, Stored, memory_keys, words,
};
use async_trait::async_trait;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Milliseconds in a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Memories in memory. Time passes only with changes, and when the test says so.
#[derive(Default)]
pub struct FakeMemories {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    memories: Vec<Memory>,
    now: i64,
    last: u64,
    fails: bool,
}

impl FakeMemories {
    /// Lets days pass.
    pub fn pass_days(&self, days: i64) {
        self.state().now += days * DAY;
    }

    /// Makes every operation fail, as an unreadable file would, or succeed again.
    pub fn fail(&self, fails: bool) {
        self.state().fails = fails;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state();
        match state.fails {
            true => Err(StoreError::Io("the disk does not answer".to_owned())),
            false => Ok(state),
        }
    }
}

impl State {
    fn tick(&mut self) -> i64 {
        self.now += 1;
        self.now
    }

    fn is_live(&self, memory: &Memory) -> bool {
        memory.times.expires_at.is_none_or(|end| end > self.now)
    }

    fn equal(&self, note: &MemoryNote, memory: &Memory, except: Option<MemoryId>) -> Option<Memory> {
        let (title, content) = memory_keys(note);
        let same = |known: &&Memory| {
            let (known_title, known_content) = memory_keys(&known.note);
            known.project == memory.project
                && Some(known.id) != except
                && self.is_live(known)
                && (known_title == title || known_content == content)
        };
        self.memories.iter().find(same).cloned()
    }
}

#[async_trait]
impl Memories for FakeMemories {
    async fn add(&self, new: NewMemory) -> Result<Stored, StoreError> {
        let mut state = self.open()?;
        let now = state.tick();
        let times = MemoryTimes {
            created_at: now,
            updated_at: now,
            surfaced_at: None,
            expires_at: end(now, new.expiry),
        };
        let id = MemoryId(state.last + 1);
        let memory = Memory { id, note: new.note, project: new.project, session: new.session, times };
        if let Some(equal) = state.equal(&memory.note, &memory, None) {
            return Ok(Stored::Duplicate(equal));
        }
        state.last = id.0;
        state.memories.push(memory.clone());
        Ok(Stored::Done(memory))
    }

    async fn change(&self, id: MemoryId, change: MemoryChange) -> Result<Option<Stored>, StoreError> {
        let mut state = self.open()?;
        let now = state.tick();
        let Some(at) = state.memories.iter().position(|memory| memory.id == id) else { return Ok(None) };
        let mut memory = state.memories[at].clone();
        memory.note = change.note.unwrap_or(memory.note);
        memory.project = change.project.unwrap_or(memory.project);
        memory.times.expires_at = change.expiry.map_or(memory.times.expires_at, |expiry| end(now, expiry));
        memory.times.updated_at = now;
        if let Some(equal) = state.equal(&memory.note, &memory, Some(id)) {
            return Ok(Some(Stored::Duplicate(equal)));
        }
        state.memories[at] = memory.clone();
        Ok(Some(Stored::Done(memory)))
    }

    async fn get(&self, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        Ok(self.open()?.memories.iter().find(|memory| memory.id == id).cloned())
    }

    async fn forget(&self, id: MemoryId) -> Result<bool, StoreError> {
        let mut state = self.open()?;
        let before = state.memories.len();
        state.memories.retain(|memory| memory.id != id);
        Ok(state.memories.len() < before)
    }

    async fn find(&self, query: MemoryQuery) -> Result<Vec<Memory>, StoreError> {
        let state = self.open()?;
        let wanted = words(&query.text);
        let hits = |memory: &Memory| {
            let has = words(&format!("{} {}", memory.note.title, memory.note.content));
            wanted.iter().filter(|wanted| has.iter().any(|word| word.starts_with(*wanted))).count()
        };
        let matches = |memory: &&Memory| {
            let least = if query.any_word { wanted.len().min(1) } else { wanted.len() };
            query.scope.includes(memory.project.as_ref())
                && query.kind.is_none_or(|kind| kind == memory.note.kind)
                && query.class.is_none_or(|class| class == memory.note.class)
                && (query.expired || state.is_live(memory))
                && hits(memory) >= least
        };
        let mut found: Vec<_> = state.memories.iter().filter(matches).cloned().collect();
        found.sort_by_key(|memory| {
            std::cmp::Reverse((hits(memory), memory.weight(), memory.times.updated_at, memory.id))
        });
        found.truncate(query.limit);
        Ok(found)
    }

    async fn surfaced(&self, ids: Vec<MemoryId>) -> Result<(), StoreError> {
        let mut state = self.open()?;
        let now = state.now;
        for memory in state.memories.iter_mut().filter(|memory| ids.contains(&memory.id)) {
            memory.times.surfaced_at = Some(now);
        }
        Ok(())
    }
}

fn end(now: i64, expiry: Expiry) -> Option<i64> {
    match expiry {
        Expiry::Never => None,
        Expiry::Days(days) => Some(now + i64::from(days) * DAY),
    }
}
