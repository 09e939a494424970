//! An in-memory store, for tests and for sessions that are not to be kept.

use crate::{
    ContentHash, FolderFacts, FolderIdentity, KnownFolder, Lease, LeaseHolder, LeaseLife, ListQuery,
    Memories, NewSession, Owner, SearchHit, SearchQuery, SessionControls, SessionEvent, SessionId,
    SessionListing, SessionPage, SessionRecord, SessionStore, SessionTimes, SessionTotals, StoreError,
    excerpt, fake::FakeMemories, searched_text, words,
};
use async_trait::async_trait;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use system::AbsPath;
use tokio::sync::watch;

/// An in-memory store with the same leases and fencing as the real one. A lease lives as long as
/// the store that acquired it.
#[derive(Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    process: Arc<Alive>,
    /// Whether appends block.
    paused: Arc<watch::Sender<bool>>,
    memories: Arc<FakeMemories>,
    memories_of: UserMemories,
    /// Whether another process may have taken the leases of this one.
    unconfirmed: Arc<watch::Sender<bool>>,
}

/// The memories of each user of a server.
type UserMemories = Arc<Mutex<HashMap<Owner, Arc<FakeMemories>>>>;

/// Stands for a process: it lives as long as the stores of that process.
#[derive(Default)]
struct Alive;

#[derive(Clone, Default)]
struct State {
    sessions: HashMap<SessionId, Held>,
    clock: i64,
    fail_after: Option<usize>,
    trip: Option<Trip>,
    late: bool,
}

/// An append that is not acknowledged.
#[derive(Clone, Copy)]
struct Trip {
    /// The number of appends that succeed before it.
    after: usize,
    /// Whether its events are stored nevertheless.
    stored: bool,
}

#[derive(Clone)]
struct Held {
    record: SessionRecord,
    identity: Option<FolderIdentity>,
    events: Vec<SessionEvent>,
    contents: HashMap<ContentHash, Arc<[u8]>>,
    epoch: u64,
    holder: Option<Weak<Alive>>,
    /// The session whose subagent it belongs to.
    parent: Option<SessionId>,
}

impl MemoryStore {
    /// Lets this many more appends succeed and fails those after them, as a full disk would.
    pub fn fail_after(&self, appends: usize) {
        self.lock().fail_after = Some(appends);
    }

    /// Returns a store with the same sessions, as another process sees them.
    pub fn as_another_process(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            process: Arc::default(),
            paused: Arc::clone(&self.paused),
            memories: Arc::clone(&self.memories),
            memories_of: Arc::clone(&self.memories_of),
            unconfirmed: Arc::default(),
        }
    }

    /// Sets whether another process may have taken the leases of this one.
    pub fn set_unconfirmed(&self, unconfirmed: bool) {
        self.unconfirmed.send_replace(unconfirmed);
    }

    /// Returns [`StoreError::Held`] while another live process holds the session.
    fn refuse_while_held(&self, held: &Held) -> Result<(), StoreError> {
        let holder = held.holder.as_ref().and_then(Weak::upgrade);
        if holder.is_none_or(|holder| Arc::ptr_eq(&holder, &self.process)) {
            return Ok(());
        }
        let holder =
            LeaseHolder { pid: 1, host: "memory".to_owned(), since: "1970-01-01T00:00:00Z".to_owned() };
        Err(StoreError::Held { session: held.record.id.clone(), holder })
    }

    /// Lets this many more appends succeed and does not acknowledge the next one, which is stored
    /// or not as `stored` says.
    pub fn trip_after(&self, appends: usize, stored: bool) {
        self.lock().trip = Some(Trip { after: appends, stored });
    }

    /// Returns the memories beside the sessions.
    pub fn fake_memories(&self) -> &FakeMemories {
        &self.memories
    }

    /// Makes the next append return after those that begin while it waits.
    pub fn answer_late(&self) {
        self.lock().late = true;
    }

    /// Lets every append succeed again.
    pub fn heal(&self) {
        let mut state = self.lock();
        (state.fail_after, state.trip) = (None, None);
    }

    /// Returns an independent copy of this store with its current data, including the leases: it
    /// stands for the same process.
    pub fn copy(&self) -> Self {
        let state = State { fail_after: None, trip: None, late: false, ..self.lock().clone() };
        let (state, process) = (Arc::new(Mutex::new(state)), Arc::clone(&self.process));
        Self {
            state,
            process,
            paused: Arc::default(),
            memories: Arc::clone(&self.memories),
            memories_of: Arc::clone(&self.memories_of),
            unconfirmed: Arc::default(),
        }
    }

    /// Blocks appends, as a slow disk would, or unblocks them.
    pub fn pause(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often an append that answers late yields to other tasks.
const LATE_ROUNDS: usize = 100;

impl MemoryStore {
    fn append_now(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        let mut state = self.lock();
        match &mut state.fail_after {
            Some(0) => return Err(StoreError::Io("no space left on device".to_owned())),
            Some(left) => *left -= 1,
            None => {}
        }
        let tripped = match &mut state.trip {
            Some(Trip { after: 0, .. }) => state.trip.take(),
            Some(trip) => {
                trip.after -= 1;
                None
            }
            None => None,
        };
        let unacknowledged = || StoreError::Io("no answer came".to_owned());
        if tripped.is_some_and(|trip| !trip.stored) {
            return Err(unacknowledged());
        }
        let now = state.tick();
        let held = state.held(&lease.session)?;
        if held.epoch != lease.epoch || held.holder.is_none() {
            return Err(StoreError::Fenced(lease.session.clone()));
        }
        if events.is_empty() {
            return Ok(held.record.last_seq);
        }
        for mut event in events {
            for snapshot in event.snapshots_mut() {
                let kept = snapshot.bytes.take().map(|bytes| (snapshot.hash.clone(), bytes));
                held.contents.extend(kept);
            }
            held.record.totals.add(&event);
            match &event {
                SessionEvent::TitleChanged(title) => held.record.title = Some(title.clone()),
                SessionEvent::ModelChanged(model) => held.record.controls.model.clone_from(model),
                SessionEvent::ModeChanged(mode) => held.record.controls.mode = *mode,
                SessionEvent::PermissionModeChanged(mode) => held.record.controls.permission_mode = *mode,
                SessionEvent::EffortChanged(effort) => held.record.controls.effort = *effort,
                _ => {}
            }
            held.events.push(event);
        }
        held.record.times.updated_at = now;
        held.record.last_seq = held.events.len() as u64;
        match tripped {
            Some(_) => Err(unacknowledged()),
            None => Ok(held.record.last_seq),
        }
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

/// The life of the leases of a process.
struct FakeLife(Arc<watch::Sender<bool>>);

#[async_trait]
impl LeaseLife for FakeLife {
    fn is_live(&self) -> bool {
        !*self.0.borrow()
    }

    async fn ended(&self) {
        // We own a sender, so the channel does not close.
        drop(self.0.subscribe().wait_for(|unconfirmed| *unconfirmed).await);
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        let mut state = self.lock();
        let now = state.tick();
        if state.sessions.contains_key(&session.id) {
            return Err(StoreError::Io(format!("session {} exists already", session.id)));
        }
        let lease = Lease { session: session.id.clone(), epoch: 1 };
        let record = SessionRecord {
            id: session.id.clone(),
            cwd: session.cwd,
            additional_directories: session.additional_directories,
            controls: SessionControls {
                model: session.model,
                mode: session.mode,
                permission_mode: session.permission_mode,
                effort: None,
            },
            title: None,
            branch: None,
            totals: SessionTotals::default(),
            times: SessionTimes { created_at: now, updated_at: now },
            last_seq: 0,
            listing: SessionListing { owner: session.owner, archived: false },
        };
        let (events, contents) = (Vec::new(), HashMap::new());
        let (holder, parent) = (Some(Arc::downgrade(&self.process)), session.parent);
        state
            .sessions
            .insert(session.id, Held { record, identity: None, events, contents, epoch: 1, holder, parent });
        Ok(lease)
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        Ok(self.lock().held(id)?.record.clone())
    }

    async fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
        Ok(self.lock().held(id)?.parent.clone())
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        let mut state = self.lock();
        let held = state.held(id)?;
        if !take_over {
            self.refuse_while_held(held)?;
        }
        held.epoch += 1;
        held.holder = Some(Arc::downgrade(&self.process));
        Ok(Lease { session: id.clone(), epoch: held.epoch })
    }

    async fn holder(&self, id: &SessionId) -> Result<Option<LeaseHolder>, StoreError> {
        let mut state = self.lock();
        let held = state.held(id)?;
        match self.refuse_while_held(held) {
            Ok(()) => Ok(None),
            Err(StoreError::Held { holder, .. }) => Ok(Some(holder)),
            Err(error) => Err(error),
        }
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut state = self.lock();
        if let Ok(held) = state.held(&lease.session)
            && held.epoch == lease.epoch
        {
            held.holder = None;
        }
        Ok(())
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        // This store owns the sender, so the channel cannot close during the wait.
        let _ = self.paused.subscribe().wait_for(|paused| !paused).await;
        let late = std::mem::take(&mut self.lock().late);
        let appended = self.append_now(lease, events);
        if late {
            for _ in 0..LATE_ROUNDS {
                tokio::task::yield_now().await;
            }
        }
        appended
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

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().held(id)?.contents.get(hash).map(|bytes| bytes.to_vec()))
    }

    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        let mut state = self.lock();
        let held = state.held(&lease.session)?;
        if held.epoch != lease.epoch || held.holder.is_none() {
            return Err(StoreError::Fenced(lease.session.clone()));
        }
        held.record.additional_directories = folders;
        Ok(())
    }

    async fn set_cwd(&self, lease: &Lease, cwd: AbsPath) -> Result<(), StoreError> {
        let mut state = self.lock();
        let held = state.held(&lease.session)?;
        if held.epoch != lease.epoch || held.holder.is_none() {
            return Err(StoreError::Fenced(lease.session.clone()));
        }
        held.record.cwd = cwd;
        Ok(())
    }

    async fn set_folder(&self, lease: &Lease, facts: FolderFacts) -> Result<(), StoreError> {
        let mut state = self.lock();
        let held = state.held(&lease.session)?;
        if held.epoch != lease.epoch || held.holder.is_none() {
            return Err(StoreError::Fenced(lease.session.clone()));
        }
        held.record.branch = facts.branch;
        held.identity = facts.identity;
        Ok(())
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        let (title, effort, totals, events, contents) = {
            let mut state = self.lock();
            let held = state.held(from)?;
            let record = &held.record;
            let (title, effort) = (record.title.clone(), record.controls.effort);
            (title, effort, record.totals, held.events.clone(), held.contents.clone())
        };
        let lease = self.create(session).await?;
        let mut state = self.lock();
        let held = state.held(&lease.session)?;
        held.record.title = title;
        held.record.controls.effort = effort;
        held.record.totals = totals;
        held.record.last_seq = events.len() as u64;
        held.events = events;
        held.contents = contents;
        Ok(lease)
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let mut state = self.lock();
        if let Some(held) = state.sessions.get(id) {
            self.refuse_while_held(held)?;
        }
        state.sessions.remove(id);
        state.sessions.retain(|_, held| held.parent.as_ref() != Some(id));
        Ok(())
    }

    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        let mut state = self.lock();
        let held = state.held(id)?;
        self.refuse_while_held(held)?;
        held.record.listing.archived = archived;
        Ok(())
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        let state = self.lock();
        let listed = |held: &&Held| {
            let said = |event: &SessionEvent| matches!(event, SessionEvent::UserMessage { .. });
            let begun = || held.record.title.is_some() || held.events.iter().any(said);
            held.parent.is_none()
                && held.record.listing.owner == query.owner
                && query.begun_or.as_ref().is_none_or(|open| open.contains(&held.record.id) || begun())
        };
        let mut sessions: Vec<_> =
            state.sessions.values().filter(listed).map(|held| held.record.clone()).collect();
        let of = |record: &SessionRecord, cwd: &AbsPath| {
            *cwd == record.cwd || query.spellings.contains(&record.cwd)
        };
        sessions.retain(|record| query.cwd.as_ref().is_none_or(|cwd| of(record, cwd)));
        sessions.retain(|record| query.project.as_ref().is_none_or(|root| record.cwd.starts_with(root)));
        sessions.retain(|record| query.archived.lists(record.listing.archived));
        // The clock ticks with every change, so the time alone orders the sessions and identifies
        // the end of a page.
        sessions.sort_by_key(|record| std::cmp::Reverse(record.times.updated_at));
        if let Some(cursor) = &query.cursor {
            let before: i64 = cursor.parse().map_err(|_| StoreError::BadCursor(cursor.clone()))?;
            sessions.retain(|record| record.times.updated_at < before);
        }
        let more = sessions.len() > query.limit;
        sessions.truncate(query.limit);
        let next_cursor = sessions.last().filter(|_| more).map(|last| last.times.updated_at.to_string());
        Ok(SessionPage { sessions, next_cursor })
    }

    async fn directories(&self, owner: Option<&Owner>) -> Result<Vec<KnownFolder>, StoreError> {
        let state = self.lock();
        let own = state
            .sessions
            .values()
            .filter(|held| held.parent.is_none() && held.record.listing.owner.as_ref() == owner);
        let known =
            |held: &Held| KnownFolder { path: held.record.cwd.clone(), identity: held.identity.clone() };
        let mut folders = Vec::new();
        for folder in own.map(known) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let state = self.lock();
        let wanted = words(&query.text);
        let mut hits = Vec::new();
        let searched = |held: &&Held| held.parent.is_none() && !wanted.is_empty();
        for held in state.sessions.values().filter(searched) {
            let record = &held.record;
            if record.listing.owner != query.owner
                || query.cwd.as_ref().is_some_and(|cwd| *cwd != record.cwd)
                || query.project.as_ref().is_some_and(|root| !record.cwd.starts_with(root))
                || query.except.as_ref() == Some(&record.id)
            {
                continue;
            }
            for (seq, event) in (1..).zip(&held.events) {
                let Some(text) = searched_text(event) else { continue };
                let said = words(&text);
                if wanted.iter().all(|word| said.iter().any(|said| said.starts_with(word))) {
                    let session = held.record.clone();
                    hits.push(SearchHit { session, seq, excerpt: excerpt(&text, &wanted) });
                }
            }
        }
        hits.truncate(query.limit);
        Ok(hits)
    }

    async fn ids_with_prefix(
        &self,
        owner: Option<&Owner>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        let state = self.lock();
        let owned =
            state.sessions.values().map(|held| &held.record).filter(|of| of.listing.owner.as_ref() == owner);
        let mut ids: Vec<_> =
            owned.filter(|of| of.id.as_str().starts_with(prefix)).map(|of| of.id.clone()).collect();
        ids.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        ids.truncate(limit);
        Ok(ids)
    }

    fn lease_life(&self) -> Option<Arc<dyn LeaseLife>> {
        Some(Arc::new(FakeLife(Arc::clone(&self.unconfirmed))))
    }

    fn memories(&self) -> Option<Arc<dyn Memories>> {
        Some(self.memories.clone())
    }

    fn memories_of(&self, owner: &Owner) -> Option<Arc<dyn Memories>> {
        let mut all = self.memories_of.lock().unwrap_or_else(PoisonError::into_inner);
        Some(all.entry(owner.clone()).or_default().clone())
    }
}
