//! Decides when an update is sent: immediately while the client keeps up, merged while it lags.
//!
//! Pure: time and the writer's state are arguments. The order of updates is preserved. Consecutive
//! text of one message merges; a call's live output is dropped when newer output of that call
//! replaces it.

use super::update::Update;
use crate::limits::{
    CHUNK_BURST, CHUNK_BYTES, CHUNK_GAP, CHUNK_INTERVAL, DASHBOARD_INTERVAL, DISPLAY_INTERVAL_MAX,
    LIVE_TEXT_INTERVAL, LIVE_TEXT_INTERVAL_MAX, TREE_INTERVAL, UPDATES_IN_FLIGHT,
};
use crate::native::{Frame, StateKind};
use agent::ToolCallId;
use std::collections::{HashMap, VecDeque};
use tokio::time::Instant;

/// A queued update and the bytes it counts for.
#[derive(Debug)]
pub(crate) struct QueuedUpdate<U> {
    pub(crate) update: Update<U>,
    pub(crate) bytes: usize,
    /// The number of the last stored event, if the client asked for it.
    pub(crate) seq: Option<u64>,
}

/// The queued updates of one session.
#[derive(Debug)]
pub(crate) struct Coalescer<U> {
    pending: VecDeque<QueuedUpdate<U>>,
    /// When the last chunk was queued.
    chunk_queued: Option<Instant>,
    /// When the last chunk was sent.
    chunk_sent: Option<Instant>,
    /// Whether a chunk arrived at reading speed, and is to be sent as soon as the writer is idle.
    at_reading_speed: bool,
    bucket: Bucket,
    /// When live output of each call was sent.
    output_sent: HashMap<ToolCallId, OutputTimes>,
    /// Queued states, the latest of each kind; and when the last one of each kind was sent.
    states: Vec<(StateKind, Box<Frame>)>,
    state_sent: Vec<(StateKind, Instant)>,
}

/// When live output of a call was first and last sent.
#[derive(Debug, Clone, Copy)]
struct OutputTimes {
    first: Instant,
    last: Instant,
}

impl OutputTimes {
    /// Returns when the next output may be sent. The interval grows with the command's age, and is
    /// longer for text that replaces the previous text.
    fn next(self, replaces: bool) -> Instant {
        let age = self.last.duration_since(self.first);
        let pause = match replaces {
            true => (age / 2).clamp(LIVE_TEXT_INTERVAL, LIVE_TEXT_INTERVAL_MAX),
            false => (age / 10).clamp(CHUNK_INTERVAL, DISPLAY_INTERVAL_MAX),
        };
        self.last + pause
    }
}

impl<U> Default for Coalescer<U> {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            chunk_queued: None,
            chunk_sent: None,
            at_reading_speed: false,
            bucket: Bucket::default(),
            output_sent: HashMap::new(),
            states: Vec::new(),
            state_sent: Vec::new(),
        }
    }
}

impl<U> Coalescer<U> {
    /// Queues an update of `bytes` bytes; returns the bytes of the update that it replaces.
    pub(crate) fn push(&mut self, update: Update<U>, bytes: usize, seq: Option<u64>, now: Instant) -> usize {
        let mut replaced = 0;
        match update {
            Update::Chunk { kind, id, text } => {
                if self.chunk_queued.is_none_or(|came| now.duration_since(came) >= CHUNK_GAP) {
                    self.at_reading_speed = true;
                }
                self.chunk_queued = Some(now);
                if let Some(QueuedUpdate {
                    update: Update::Chunk { kind: last_kind, id: last_id, text: last },
                    bytes: so_far,
                    ..
                }) = self.pending.back_mut()
                    && *last_kind == kind
                    && *last_id == id
                    && last.len() + text.len() <= CHUNK_BYTES
                {
                    last.push_str(&text);
                    *so_far += bytes;
                } else {
                    self.pending.push_back(QueuedUpdate {
                        update: Update::Chunk { kind, id, text },
                        bytes,
                        seq,
                    });
                }
            }
            Update::Output { call, update } => {
                let older = |pending: &QueuedUpdate<U>| matches!(&pending.update, Update::Output { call: other, .. } if *other == call);
                if let Some(at) = self.pending.iter().position(older) {
                    replaced = self.pending.remove(at).map_or(0, |older| older.bytes);
                }
                self.pending.push_back(QueuedUpdate { update: Update::Output { call, update }, bytes, seq });
            }
            Update::Display { call, data } => match self.pending.back_mut() {
                Some(QueuedUpdate {
                    update: Update::Display { call: last, data: before },
                    bytes: so_far,
                    ..
                }) if *last == call && before.len() + data.len() <= CHUNK_BYTES => {
                    before.push_str(&data);
                    *so_far += bytes;
                }
                _ => self.pending.push_back(QueuedUpdate {
                    update: Update::Display { call, data },
                    bytes,
                    seq,
                }),
            },
            Update::State(kind, frame) => {
                self.states.retain(|(waiting, _)| *waiting != kind);
                self.states.push((kind, frame));
            }
            update @ (Update::Urgent(_) | Update::Native(_)) => {
                self.pending.push_back(QueuedUpdate { update, bytes, seq });
            }
        }
        replaced
    }

    /// Returns the bytes of all queued updates.
    pub(crate) fn bytes(&self) -> usize {
        self.pending.iter().map(|waiting| waiting.bytes).sum()
    }

    /// Takes the updates to send now, in order. `in_flight` is the number of updates of the
    /// connection that the writer has not taken yet.
    pub(crate) fn due(&mut self, now: Instant, in_flight: u64) -> Vec<QueuedUpdate<U>> {
        let mut out = Vec::new();
        while in_flight + (out.len() as u64) < UPDATES_IN_FLIGHT {
            let idle = in_flight == 0 && out.is_empty();
            let due = match self.pending.front().map(|waiting| &waiting.update) {
                None => false,
                Some(Update::Urgent(_) | Update::Native(_) | Update::State(..)) => true,
                Some(Update::Chunk { .. }) => self.chunk_is_due(now, idle),
                Some(Update::Output { .. } | Update::Display { .. }) => self.move_due_output_to_front(now),
            };
            if !due {
                break;
            }
            out.extend(self.pop(now));
        }
        if in_flight + (out.len() as u64) < UPDATES_IN_FLIGHT {
            self.due_states(now, &mut out);
        }
        out
    }

    fn due_states(&mut self, now: Instant, out: &mut Vec<QueuedUpdate<U>>) {
        for (kind, frame) in std::mem::take(&mut self.states) {
            if self.state_due_at(kind).is_some_and(|goes| now < goes) {
                self.states.push((kind, frame));
                continue;
            }
            self.state_sent.retain(|(went, _)| *went != kind);
            self.state_sent.push((kind, now));
            out.push(QueuedUpdate { update: Update::State(kind, frame), bytes: 0, seq: None });
        }
    }

    /// Returns when a state of a kind may be sent; `None` for immediately.
    fn state_due_at(&self, kind: StateKind) -> Option<Instant> {
        let (_, went) = self.state_sent.iter().find(|(went, _)| *went == kind)?;
        Some(match kind {
            StateKind::Tree => *went + TREE_INTERVAL,
            StateKind::Dashboard => *went + DASHBOARD_INTERVAL,
        })
    }

    /// Takes all queued updates, in order, regardless of time; except states, on which nothing
    /// depends.
    pub(crate) fn flush(&mut self) -> Vec<QueuedUpdate<U>> {
        self.at_reading_speed = false;
        self.pending.drain(..).collect()
    }

    /// Returns whether something is queued.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty() || !self.states.is_empty()
    }

    /// Returns when the first queued update becomes due by time alone; `None` if nothing is queued
    /// or only the writer delays it.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let states = self.states.iter().filter_map(|(kind, _)| self.state_due_at(*kind));
        states.chain(self.pending_deadline()).min()
    }

    fn pending_deadline(&self) -> Option<Instant> {
        match &self.pending.front()?.update {
            Update::Chunk { .. } => Some(self.chunk_sent? + CHUNK_INTERVAL),
            Update::Output { .. } | Update::Display { .. } => {
                self.pending.iter().filter_map(|waiting| self.output_due_at(&waiting.update)).min()
            }
            Update::Urgent(_) | Update::Native(_) | Update::State(..) => None,
        }
    }

    fn chunk_is_due(&mut self, now: Instant, idle: bool) -> bool {
        // Anything that follows is another message or another kind of update, so this text is
        // complete.
        self.pending.len() > 1
            || (idle && (self.at_reading_speed || self.bucket.take(now)))
            || self.chunk_sent.is_none_or(|went| now.duration_since(went) >= CHUNK_INTERVAL)
    }

    /// Moves due live output to the front; returns whether the front may be sent.
    ///
    /// Each call has its own pace: one that waits does not delay the others, and updates of other
    /// kinds wait for none of them.
    fn move_due_output_to_front(&mut self, now: Instant) -> bool {
        let is_output = |waiting: &QueuedUpdate<U>| {
            matches!(waiting.update, Update::Output { .. } | Update::Display { .. })
        };
        if !self.pending.iter().all(is_output) {
            return true;
        }
        let due =
            |waiting: &QueuedUpdate<U>| self.output_due_at(&waiting.update).is_none_or(|goes| now >= goes);
        let Some(at) = self.pending.iter().position(due) else { return false };
        if let Some(update) = self.pending.remove(at) {
            self.pending.push_front(update);
        }
        true
    }

    /// Returns when live output may be sent; `None` for immediately, or if the update is not live
    /// output.
    fn output_due_at(&self, update: &Update<U>) -> Option<Instant> {
        match update {
            Update::Output { call, .. } => Some(self.output_sent.get(call)?.next(true)),
            Update::Display { call, .. } => Some(self.output_sent.get(call)?.next(false)),
            Update::Chunk { .. } | Update::Urgent(_) | Update::Native(_) | Update::State(..) => None,
        }
    }

    fn pop(&mut self, now: Instant) -> Option<QueuedUpdate<U>> {
        let waiting = self.pending.pop_front();
        match waiting.as_ref().map(|waiting| &waiting.update) {
            Some(Update::Chunk { .. }) => {
                self.chunk_sent = Some(now);
                self.at_reading_speed = false;
            }
            Some(Update::Output { call, .. } | Update::Display { call, .. }) => {
                self.output_sent.retain(|_, went| now.duration_since(went.last) < 2 * LIVE_TEXT_INTERVAL_MAX);
                self.output_sent.entry(call.clone()).or_insert(OutputTimes { first: now, last: now }).last =
                    now;
            }
            Some(Update::Urgent(_) | Update::Native(_) | Update::State(..)) | None => {}
        }
        waiting
    }
}

/// Allows a short burst: full at first, refilled by one every [`CHUNK_INTERVAL`].
#[derive(Debug, Default)]
struct Bucket {
    taken: u32,
    refilled: Option<Instant>,
}

impl Bucket {
    fn take(&mut self, now: Instant) -> bool {
        let since = now.duration_since(*self.refilled.get_or_insert(now));
        let refill = u32::try_from(since.as_millis() / CHUNK_INTERVAL.as_millis()).unwrap_or(u32::MAX);
        if refill > 0 {
            self.taken = self.taken.saturating_sub(refill);
            self.refilled = Some(now);
        }
        let has = self.taken < CHUNK_BURST;
        self.taken += u32::from(has);
        has
    }
}

#[cfg(test)]
mod tests;
