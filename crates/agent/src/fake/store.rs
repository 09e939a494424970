//! A store in memory: for tests, and for sessions that are not to be kept.

use crate::{
    Lease, ListQuery, NewSession, SessionEvent, SessionId, SessionPage, SessionRecord, SessionStore,
    StoreError,
};
use async_trait::async_trait;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A store in memory, with the same fencing as the real one.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<SessionId, Held>,
    clock: i64,
    fail_after: Option<usize>,
}

struct Held {
    record: SessionRecord,
    events: Vec<SessionEvent>,
    epoch: u64,
}

impl MemoryStore {
    /// Lets so many more appends pass, and fails those after them, as a full disk would.
    pub fn fail_after(&self, appends: usize) {
        self.lock().fail_after = Some(appends);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tick(&mut self) -> i64 {
        self.clock += 1;
        self.clock
    }

    fn held(&mut self, id: &SessionId) -> Result<&mut Held, StoreError> {
        self.sessions.get_mut(id).ok_or_else(|| StoreError::NotFound(id.clone()))
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        let mut state = self.lock();
        let now = state.tick();
        let lease = Lease { session: session.id.clone(), epoch: 1 };
        let record = SessionRecord {
            id: session.id.clone(),
            cwd: session.cwd,
            additional_directories: session.additional_directories,
            model: session.model,
            mode: session.mode,
            permission_mode: session.permission_mode,
            title: None,
            created_at: now,
            updated_at: now,
            last_seq: 0,
        };
        state.sessions.insert(session.id, Held { record, events: Vec::new(), epoch: 1 });
        Ok(lease)
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        Ok(self.lock().held(id)?.record.clone())
    }

    async fn acquire(&self, id: &SessionId, _take_over: bool) -> Result<Lease, StoreError> {
        let mut state = self.lock();
        let held = state.held(id)?;
        held.epoch += 1;
        Ok(Lease { session: id.clone(), epoch: held.epoch })
    }

    async fn release(&self, _lease: &Lease) -> Result<(), StoreError> {
        Ok(())
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        let mut state = self.lock();
        match &mut state.fail_after {
            Some(0) => return Err(StoreError::Io("no space left on device".to_owned())),
            Some(left) => *left -= 1,
            None => {}
        }
        let now = state.tick();
        let held = state.held(&lease.session)?;
        if held.epoch != lease.epoch {
            return Err(StoreError::Fenced(lease.session.clone()));
        }
        for event in events {
            match &event {
                SessionEvent::TitleChanged(title) => held.record.title = Some(title.clone()),
                SessionEvent::ModelChanged(model) => held.record.model.clone_from(model),
                SessionEvent::ModeChanged(mode) => held.record.mode = *mode,
                SessionEvent::PermissionModeChanged(mode) => held.record.permission_mode = *mode,
                _ => {}
            }
            held.events.push(event);
        }
        held.record.updated_at = now;
        held.record.last_seq = held.events.len() as u64;
        Ok(held.record.last_seq)
    }

    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        let mut state = self.lock();
        let events = (1..).zip(&state.held(id)?.events).filter(|(seq, _)| *seq > after);
        Ok(events.take(limit).map(|(seq, event)| (seq, event.clone())).collect())
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        let state = self.lock();
        let mut sessions: Vec<_> = state.sessions.values().map(|held| held.record.clone()).collect();
        sessions.retain(|record| query.cwd.as_ref().is_none_or(|cwd| *cwd == record.cwd));
        sessions.sort_by_key(|record| std::cmp::Reverse(record.updated_at));
        let from = match &query.cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| StoreError::BadCursor(cursor.clone()))?,
        };
        let end = from + query.limit;
        let next_cursor = (end < sessions.len()).then(|| end.to_string());
        Ok(SessionPage { sessions: sessions.into_iter().skip(from).take(query.limit).collect(), next_cursor })
    }
}
