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
    pub(crate) fn push(&mut self, update: Update<U>, bytes: usize, now: Instant) -> usize {
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
                }) = self.pending.back_mut()
                    && *last_kind == kind
                    && *last_id == id
                    && last.len() + text.len() <= CHUNK_BYTES
                {
                    last.push_str(&text);
                    *so_far += bytes;
                } else {
                    self.pending.push_back(QueuedUpdate { update: Update::Chunk { kind, id, text }, bytes });
                }
            }
            Update::Output { call, update } => {
                let older = |pending: &QueuedUpdate<U>| matches!(&pending.update, Update::Output { call: other, .. } if *other == call);
                if let Some(at) = self.pending.iter().position(older) {
                    replaced = self.pending.remove(at).map_or(0, |older| older.bytes);
                }
                self.pending.push_back(QueuedUpdate { update: Update::Output { call, update }, bytes });
            }
            Update::Display { call, data } => match self.pending.back_mut() {
                Some(QueuedUpdate {
                    update: Update::Display { call: last, data: before },
                    bytes: so_far,
                }) if *last == call && before.len() + data.len() <= CHUNK_BYTES => {
                    before.push_str(&data);
                    *so_far += bytes;
                }
                _ => self.pending.push_back(QueuedUpdate { update: Update::Display { call, data }, bytes }),
            },
            Update::State(kind, frame) => {
                self.states.retain(|(waiting, _)| *waiting != kind);
                self.states.push((kind, frame));
            }
            update @ (Update::Urgent(_) | Update::Native(_)) => {
                self.pending.push_back(QueuedUpdate { update, bytes });
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
            out.push(QueuedUpdate { update: Update::State(kind, frame), bytes: 0 });
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
mod tests {
    use super::{super::update::ChunkKind, *};
    use agent_client_protocol::v1::schema as acp;
    use std::time::Duration;

    fn text(id: &str, text: &str) -> Update<acp::SessionUpdate> {
        Update::Chunk { kind: ChunkKind::Message, id: id.into(), text: text.to_owned() }
    }

    fn output(call: &str, text: &str) -> Update<acp::SessionUpdate> {
        let fields = acp::ToolCallUpdateFields::new().title(text.to_owned());
        Update::Output {
            call: call.into(),
            update: Box::new(acp::SessionUpdate::ToolCallUpdate(acp::ToolCallUpdate::new(
                call.to_owned(),
                fields,
            ))),
        }
    }

    fn urgent(title: &str) -> Update<acp::SessionUpdate> {
        Update::Urgent(Box::new(acp::SessionUpdate::ToolCall(acp::ToolCall::new("x", title))))
    }

    fn shown(updates: Vec<QueuedUpdate<acp::SessionUpdate>>) -> Vec<String> {
        updates
            .into_iter()
            .map(|waiting| match waiting.update {
                Update::Chunk { id, text, .. } => format!("{id}:{text}"),
                Update::Output { call, update } => match *update {
                    acp::SessionUpdate::ToolCallUpdate(update) => {
                        format!("{call}={}", update.fields.title.unwrap())
                    }
                    other => panic!("{other:?}"),
                },
                Update::Display { call, data } => format!("{call}+{data}"),
                Update::Urgent(update) => match *update {
                    acp::SessionUpdate::ToolCall(call) => format!("!{}", call.title),
                    other => panic!("{other:?}"),
                },
                Update::Native(_) | Update::State(..) => "native".to_owned(),
            })
            .collect()
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn at_reading_speed_every_chunk_is_sent_immediately() {
        let (mut coalescer, start) = (Coalescer::default(), Instant::now());
        for i in 0..100 {
            let now = start + ms(6) * i;
            coalescer.push(text("m", "x"), 1, now);
            assert_eq!(shown(coalescer.due(now, 0)), ["m:x"], "chunk {i}");
        }
    }

    #[test]
    fn a_burst_is_merged_into_a_few_messages_without_loss() {
        let (mut coalescer, start) = (Coalescer::default(), Instant::now());
        let (mut messages, mut all) = (0, String::new());
        for i in 0..5000_u64 {
            let now = start + Duration::from_micros(i * 10);
            coalescer.push(text("m", "x"), 1, now);
            for update in shown(coalescer.due(now, 0)) {
                messages += 1;
                all.push_str(&update[2..]);
            }
        }
        for update in shown(coalescer.flush()) {
            messages += 1;
            all.push_str(&update[2..]);
        }
        assert_eq!(all.len(), 5000);
        assert!((3..=14).contains(&messages), "{messages} messages");
    }

    #[test]
    fn a_flood_is_limited_to_25_messages_a_second() {
        let (mut coalescer, start) = (Coalescer::default(), Instant::now());
        let mut messages = 0;
        for i in 0..10_000 {
            let now = start + ms(1) * i;
            coalescer.push(text("m", "x"), 1, now);
            messages += coalescer.due(now, 0).len();
        }
        assert!((240..=270).contains(&messages), "{messages} messages in 10 s");
    }

    #[test]
    fn chunks_merge_while_the_writer_is_busy_and_are_sent_once_it_is_idle() {
        let (mut coalescer, now) = (Coalescer::default(), Instant::now());
        coalescer.push(text("m", "a"), 1, now);
        assert_eq!(shown(coalescer.due(now, 0)), ["m:a"]);
        coalescer.push(text("m", "b"), 1, now + ms(6));
        assert!(coalescer.due(now + ms(6), 1).is_empty());
        coalescer.push(text("m", "c"), 1, now + ms(7));
        assert_eq!(coalescer.deadline(), Some(now + ms(40)));
        assert_eq!(shown(coalescer.due(now + ms(8), 0)), ["m:bc"]);
    }

    #[test]
    fn a_client_that_does_not_read_receives_only_the_flush() {
        let (mut coalescer, now) = (Coalescer::default(), Instant::now());
        for _ in 0..10 {
            coalescer.push(text("m", &"x".repeat(30 * 1024)), 1, now);
        }
        coalescer.push(urgent("t"), 1, now);
        assert!(coalescer.due(now + ms(1000), UPDATES_IN_FLIGHT).is_empty());
        let all = shown(coalescer.flush());
        assert_eq!(all.len(), 6, "five of 60 KiB and the call");
        assert_eq!(all[5], "!t");
        assert!(!coalescer.is_waiting());
    }

    #[test]
    fn another_kind_of_event_flushes_text_in_order() {
        let (mut coalescer, now) = (Coalescer::default(), Instant::now());
        for _ in 0..20 {
            coalescer.push(text("m", "x"), 1, now);
            coalescer.due(now, 1);
        }
        coalescer.push(urgent("t"), 1, now);
        coalescer.push(text("n", "y"), 1, now);
        let out = shown(coalescer.due(now, 1));
        assert_eq!(out.len(), 2);
        assert!(out[0].starts_with("m:x") && out[1] == "!t", "{out:?}");
        assert_eq!(shown(coalescer.due(now + ms(41), 1)), ["n:y"]);
    }

    #[test]
    fn live_output_replaces_queued_output_at_a_pace_per_call() {
        let (mut coalescer, now) = (Coalescer::default(), Instant::now());
        coalescer.push(output("a", "1"), 1, now);
        assert_eq!(shown(coalescer.due(now, 0)), ["a=1"]);
        coalescer.push(output("a", "2"), 1, now + ms(10));
        coalescer.push(output("a", "3"), 1, now + ms(20));
        assert!(coalescer.due(now + ms(20), 0).is_empty());
        assert_eq!(coalescer.deadline(), Some(now + ms(200)));
        coalescer.push(output("b", "1"), 1, now + ms(21));
        assert_eq!(shown(coalescer.due(now + ms(40), 0)), ["b=1"], "one call does not wait for another");
        assert_eq!(shown(coalescer.due(now + ms(200), 0)), ["a=3"]);
        coalescer.push(output("a", "4"), 1, now + ms(201));
        coalescer.push(urgent("end"), 1, now + ms(202));
        assert_eq!(shown(coalescer.due(now + ms(202), 0)), ["a=4", "!end"]);
    }

    #[test]
    fn states_have_their_own_pace_and_delay_nothing_else() {
        let (mut coalescer, now) = (Coalescer::<acp::SessionUpdate>::default(), Instant::now());
        let state = |kind| Update::State(kind, Box::new(Frame { run: None, event: None }));
        let (mut trees, mut dashboards) = (0, 0);
        for tick in 0..100 {
            let at = now + ms(tick * 20);
            coalescer.push(state(StateKind::Tree), 1, at);
            coalescer.push(state(StateKind::Dashboard), 1, at);
            for QueuedUpdate { update, .. } in coalescer.due(at, 0) {
                match update {
                    Update::State(StateKind::Tree, _) => trees += 1,
                    _ => dashboards += 1,
                }
            }
        }
        assert_eq!((trees, dashboards), (8, 2), "in two seconds");
        assert!(coalescer.flush().is_empty() && coalescer.is_waiting());
        assert_eq!(coalescer.deadline(), Some(now + ms(2_000)), "the last state goes out by itself");
        coalescer.push(urgent("end"), 1, now + ms(1_981));
        let due = coalescer.due(now + ms(1_981), 0);
        assert!(matches!(due[..], [QueuedUpdate { update: Update::Urgent(_), .. }]));
    }

    #[test]
    fn queued_bytes_are_counted_until_they_are_taken() {
        let (mut coalescer, now) = (Coalescer::default(), Instant::now());
        for bytes in [1, 10] {
            assert_eq!(coalescer.push(text("m", "x"), bytes, now), 0);
        }
        assert_eq!(coalescer.push(output("a", "1"), 100, now), 0);
        assert_eq!(coalescer.push(output("a", "2"), 1_000, now), 100, "what is replaced does not wait");
        assert_eq!(coalescer.push(urgent("t"), 10_000, now), 0);
        assert_eq!(coalescer.bytes(), 11_011);
        let out: Vec<_> = coalescer.due(now, 0).into_iter().map(|waiting| waiting.bytes).collect();
        assert_eq!((out, coalescer.bytes()), (vec![11, 1_000, 10_000], 0));
    }

    #[test]
    fn replacing_live_output_is_sent_less_often_with_age() {
        let (mut coalescer, now) = (Coalescer::default(), Instant::now());
        let mut went = 0;
        for tick in 0..60_000 / 10 {
            coalescer.push(output("a", "x"), 1, now + ms(tick * 10));
            went += coalescer.due(now + ms(tick * 10), 0).len();
        }
        assert!((8..=20).contains(&went), "{went} updates in a minute");
    }

    #[test]
    fn appended_live_output_merges_in_order_at_25_messages_a_second() {
        let (mut coalescer, now) = (Coalescer::<acp::SessionUpdate>::default(), Instant::now());
        let (mut messages, mut all, mut expected) = (0, String::new(), String::new());
        for tick in 0..10_000_u32 {
            let data = format!("{tick} ");
            expected.push_str(&data);
            let at = now + ms(u64::from(tick));
            coalescer.push(Update::Display { call: "a".into(), data }, 1, at);
            for QueuedUpdate { update, .. } in coalescer.due(at, 0) {
                let Update::Display { data, .. } = update else { panic!("{update:?}") };
                all.push_str(&data);
                messages += 1;
            }
        }
        for QueuedUpdate { update, .. } in coalescer.flush() {
            let Update::Display { data, .. } = update else { panic!("{update:?}") };
            all.push_str(&data);
        }
        assert_eq!(all, expected);
        assert!((25..=100).contains(&messages), "{messages} messages in ten seconds");
    }
}
