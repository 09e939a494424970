//! The protocol of leases and fencing, as a model that is checked in every reachable state. The
//! tests in `conformance` compare the stores with it.
//!
//! It models [`agent::SessionStore`] and knows nothing of SQLite. A session is a log, an epoch and
//! a holder. A call to the store is a message that is sent, served immediately and atomically, and
//! answered; between any two of these steps, anything else may happen. So a paused process needs no
//! action of its own: it just takes no step for a while. The model cannot find errors in what it
//! does not contain: that calls are atomic is covered by the store's transactions and by the other
//! tests of the contract.

mod properties;

use stateright::{Model, Property};

/// A session created by process 0, and the processes that compete for it.
#[derive(Debug, Clone)]
pub(crate) struct Protocol {
    /// The number of processes; each may crash and be restarted.
    pub(crate) processes: usize,
    /// How many of them, counted from the end, are on another machine, so that locks are invisible
    /// between them and the others.
    pub(crate) elsewhere: usize,
    /// The bounds of the search: epochs, events and crashes.
    pub(crate) epochs: u8,
    pub(crate) events: u8,
    pub(crate) crashes: u8,
    /// The part that is removed from the protocol, to show that it is necessary.
    pub(crate) without: Option<Part>,
}

/// The parts of the protocol that its properties depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The epoch is checked when events are stored. Without it: only before they are sent.
    Fence,
    /// Acknowledged events are on disk. Without it: a crash of the holder loses the last event.
    Flush,
    /// A live holder blocks `acquire`. Without it: any process gets the lease.
    Refusal,
    /// The end of a process frees its leases. Without it: another process always has its process
    /// id.
    EndOfProcess,
    /// A last write in the future is reset to now. Without it: the session is held until the clock
    /// gets there.
    Clamp,
}

/// The complete state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LeaseState {
    /// The log of the session.
    pub(crate) log: Vec<Event>,
    /// The epoch of the current lease.
    epoch: u8,
    /// The holder of the lease; `None` once it is released.
    holder: Option<Holder>,
    /// The time of the holder's last write, by the observer's clock.
    last_write: Seen,
    processes: Vec<Process>,
    /// An append whose sender is gone or no longer waits; it may be served at any time.
    pub(crate) in_flight: Option<Event>,
    /// For the properties: what was acknowledged, the length of the log at the start of each epoch,
    /// the number of events sent, and whether a process lost the session that must not lose it.
    acknowledged: Vec<(u64, Event)>,
    epoch_starts: Vec<usize>,
    sent: u8,
    lost_session: bool,
}

/// An event: the lease it is appended with, and its number among all events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Event {
    pub(crate) epoch: u8,
    pub(crate) nth: u8,
}

/// A process, in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Holder {
    process: usize,
    life: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Seen {
    /// Within the last 60 s.
    Recent,
    LongAgo,
    /// By a clock that was set back since, or is wrong there.
    InTheFuture,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Process {
    runs: bool,
    life: u8,
    /// The lease that it believes to hold.
    lease: Option<u8>,
    call: Call,
}

/// The append that a process waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Call {
    None,
    Sent(Event),
    /// Served; the response is on its way.
    Served(Outcome, Event),
}

/// The possible steps. The number is the process's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// `acquire(id, take_over: false)`, answered.
    Acquire(usize),
    /// `acquire(id, take_over: true)`, answered.
    TakeOver(usize),
    /// `acquire(id, take_over: false)` whose response is lost: the process does not know that it
    /// holds the session.
    AcquireUnanswered(usize),
    /// A process that believes to hold the session calls `append` with its lease, which is the
    /// fencing token.
    Send(usize),
    /// The store serves the append. This also renews the lease for processes elsewhere, which see
    /// the write.
    Serve(usize),
    /// The process receives the response.
    ReceiveResponse(usize),
    /// The process stops waiting, or the response is lost. An append that was sent and not served
    /// is still on its way.
    StopWaiting(usize),
    /// The store serves an append whose sender no longer waits and may be dead.
    ServeInFlight,
    /// `release(lease)`.
    Release(usize),
    /// `set_archived(id, …)`, which like `delete(id)` is refused while another process holds the
    /// session.
    Archive(usize),
    /// The process ends.
    Crash(usize),
    /// The process is restarted, without any memory.
    Start(usize),
    /// 60 s without a write.
    Silence,
    /// The clock is set an hour ahead.
    ClockAhead,
    /// The clock is set an hour back.
    ClockBack,
}

/// The result of a call to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// The store was not called.
    None,
    /// The lease, with its epoch.
    Taken(u8),
    /// The number of the last event.
    Appended(u64),
    /// `StoreError::Held`.
    Held,
    /// `StoreError::Fenced`.
    Fenced,
    /// Success.
    Done,
}

impl Protocol {
    /// Returns the complete protocol, small enough to be checked in seconds.
    pub(crate) fn of(processes: usize, elsewhere: usize) -> Self {
        Self { processes, elsewhere, epochs: 3, events: 2, crashes: 2, without: None }
    }

    pub(crate) fn is_elsewhere(&self, process: usize) -> bool {
        process >= self.processes - self.elsewhere
    }

    fn lacks(&self, part: Part) -> bool {
        self.without == Some(part)
    }

    /// Returns the state after a possible action, and the store's result.
    pub(crate) fn step(&self, state: &LeaseState, action: Action) -> (LeaseState, Outcome) {
        let mut state = state.clone();
        let outcome = match action {
            Action::Acquire(process) | Action::TakeOver(process) => {
                let outcome = self.acquire(&mut state, process, action == Action::TakeOver(process));
                if let Outcome::Taken(epoch) = outcome {
                    state.processes[process].lease = Some(epoch);
                }
                outcome
            }
            Action::AcquireUnanswered(process) => self.acquire(&mut state, process, false),
            Action::Send(process) => {
                let epoch = state.processes[process].lease.expect("only a holder sends");
                let event = Event { epoch, nth: state.sent };
                state.sent += 1;
                state.processes[process].call = Call::Sent(event);
                Outcome::None
            }
            Action::Serve(process) => {
                let event = state.sent_by(process).expect("an append was sent");
                let outcome = self.append(&mut state, event);
                state.processes[process].call = Call::Served(outcome, event);
                outcome
            }
            Action::ServeInFlight => {
                let event = state.in_flight.take().expect("something is late");
                self.append(&mut state, event)
            }
            Action::ReceiveResponse(process) => {
                match state.processes[process].call {
                    Call::Served(Outcome::Appended(seq), event) => state.acknowledged.push((seq, event)),
                    _ => state.processes[process].lease = None,
                }
                state.processes[process].call = Call::None;
                Outcome::None
            }
            Action::StopWaiting(process) => {
                state.no_longer_waits(process);
                Outcome::None
            }
            Action::Release(process) => {
                let lease = state.processes[process].lease.take();
                if lease == Some(state.epoch) {
                    state.holder = None;
                }
                Outcome::Done
            }
            Action::Archive(process) if self.refuses(&state, process) => Outcome::Held,
            Action::Archive(_) => Outcome::Done,
            Action::Crash(process) => {
                state.no_longer_waits(process);
                if self.lacks(Part::Flush) && state.holder.is_some_and(|holder| holder.process == process) {
                    state.log.pop();
                }
                state.processes[process] = Process { runs: false, lease: None, ..state.processes[process] };
                Outcome::None
            }
            Action::Start(process) => {
                let life = state.processes[process].life + 1;
                state.processes[process] = Process { life, ..Process::started() };
                Outcome::None
            }
            Action::Silence => {
                if state.last_write == Seen::Recent {
                    state.last_write = Seen::LongAgo;
                }
                Outcome::None
            }
            Action::ClockAhead => {
                state.last_write = Seen::LongAgo;
                Outcome::None
            }
            Action::ClockBack => {
                state.last_write = Seen::InTheFuture;
                Outcome::None
            }
        };
        (state, outcome)
    }

    /// The store's implementation of `acquire`.
    fn acquire(&self, state: &mut LeaseState, process: usize, take_over: bool) -> Outcome {
        if !take_over && self.refuses(state, process) {
            if state.last_write == Seen::InTheFuture && !self.lacks(Part::Clamp) {
                state.last_write = Seen::Recent;
            }
            return Outcome::Held;
        }
        state.lost_session |= !take_over && self.must_keep_session(state, process);
        state.holder = Some(Holder { process, life: state.processes[process].life });
        state.last_write = Seen::Recent;
        state.epoch += 1;
        state.epoch_starts.push(state.log.len());
        Outcome::Taken(state.epoch)
    }

    /// The store's implementation of `append`: all or nothing.
    fn append(&self, state: &mut LeaseState, event: Event) -> Outcome {
        let counts = event.epoch == state.epoch && state.holder.is_some();
        if !counts && !self.lacks(Part::Fence) {
            return Outcome::Fenced;
        }
        state.log.push(event);
        state.last_write = Seen::Recent;
        Outcome::Appended(state.log.len() as u64)
    }

    /// Returns whether the store considers the holder another live process.
    fn refuses(&self, state: &LeaseState, process: usize) -> bool {
        let Some(holder) = state.others_lease(process) else { return false };
        if self.lacks(Part::Refusal) {
            return false;
        }
        if self.is_elsewhere(process) == self.is_elsewhere(holder.process) {
            // Decided by its lock.
            return state.is_alive(holder) || self.lacks(Part::EndOfProcess);
        }
        state.last_write != Seen::LongAgo
    }

    /// Returns whether another process holds the session and must keep it unless it is explicitly
    /// taken over: it is alive, and is on the same machine or wrote recently.
    fn must_keep_session(&self, state: &LeaseState, process: usize) -> bool {
        state.others_lease(process).is_some_and(|holder| {
            let together = self.is_elsewhere(process) == self.is_elsewhere(holder.process);
            state.is_alive(holder) && (together || state.last_write != Seen::LongAgo)
        })
    }
}

impl LeaseState {
    /// Returns the other process that took the session and did not release it.
    fn others_lease(&self, process: usize) -> Option<Holder> {
        let own = Holder { process, life: self.processes[process].life };
        self.holder.filter(|holder| *holder != own)
    }

    pub(crate) fn runs(&self, process: usize) -> bool {
        self.processes[process].runs
    }

    /// Returns the lease that a process believes to hold.
    pub(crate) fn lease_of(&self, process: usize) -> Option<u8> {
        self.processes[process].lease
    }

    /// Returns the append that a process waits for, if it is not served yet.
    pub(crate) fn sent_by(&self, process: usize) -> Option<Event> {
        match self.processes[process].call {
            Call::Sent(event) => Some(event),
            _ => None,
        }
    }

    fn is_alive(&self, holder: Holder) -> bool {
        let process = self.processes[holder.process];
        process.runs && process.life == holder.life
    }

    fn no_longer_waits(&mut self, process: usize) {
        self.in_flight = self.sent_by(process).or(self.in_flight);
        self.processes[process].call = Call::None;
    }
}

impl Process {
    fn started() -> Self {
        Self { runs: true, life: 0, lease: None, call: Call::None }
    }
}

impl Model for Protocol {
    type State = LeaseState;
    type Action = Action;

    fn init_states(&self) -> Vec<LeaseState> {
        let mut processes = vec![Process::started(); self.processes];
        processes[0].lease = Some(1);
        vec![LeaseState {
            log: Vec::new(),
            epoch: 1,
            holder: Some(Holder { process: 0, life: 0 }),
            last_write: Seen::Recent,
            processes,
            in_flight: None,
            acknowledged: Vec::new(),
            // There is no epoch 0; epoch 1 begins with the session.
            epoch_starts: vec![0, 0],
            sent: 0,
            lost_session: false,
        }]
    }

    fn actions(&self, state: &LeaseState, actions: &mut Vec<Action>) {
        let crashes: u8 = state.processes.iter().map(|process| process.life + u8::from(!process.runs)).sum();
        for (number, process) in state.processes.iter().enumerate() {
            if !process.runs {
                actions.push(Action::Start(number));
                continue;
            }
            if state.epoch < self.epochs {
                actions.extend([
                    Action::Acquire(number),
                    Action::TakeOver(number),
                    Action::AcquireUnanswered(number),
                ]);
            }
            actions.push(Action::Archive(number));
            // At most one append is late at a time, so that the state space is finite.
            let may_stop = state.in_flight.is_none() || !matches!(process.call, Call::Sent(_));
            match process.call {
                Call::None if process.lease.is_some() => {
                    actions.push(Action::Release(number));
                    let sends = state.sent < self.events
                        && (!self.lacks(Part::Fence) || process.lease == Some(state.epoch));
                    actions.extend(sends.then_some(Action::Send(number)));
                }
                Call::None => {}
                Call::Sent(_) => actions.push(Action::Serve(number)),
                Call::Served(..) => actions.push(Action::ReceiveResponse(number)),
            }
            if process.call != Call::None && may_stop {
                actions.push(Action::StopWaiting(number));
            }
            if crashes < self.crashes && may_stop {
                actions.push(Action::Crash(number));
            }
        }
        actions.extend(state.in_flight.map(|_| Action::ServeInFlight));
        actions.extend([Action::Silence, Action::ClockAhead, Action::ClockBack]);
    }

    fn next_state(&self, state: &LeaseState, action: Action) -> Option<LeaseState> {
        let next = self.step(state, action).0;
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
