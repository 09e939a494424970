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
pub(crate) struct World {
    /// The log of the session.
    pub(crate) log: Vec<Event>,
    /// The epoch of the current lease.
    epoch: u8,
    /// The holder of the lease; `None` once it is released.
    holder: Option<Holder>,
    /// The time of the holder's last write, by the observer's clock.
    seen: Seen,
    processes: Vec<Process>,
    /// An append whose sender is gone or no longer waits; it may be served at any time.
    pub(crate) late: Option<Event>,
    /// For the properties: what was acknowledged, the length of the log at the start of each epoch,
    /// the number of events sent, and whether a process lost the session that must not lose it.
    acknowledged: Vec<(u64, Event)>,
    begun: Vec<usize>,
    sent: u8,
    robbed: bool,
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
    Lately,
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
    Hear(usize),
    /// The process stops waiting, or the response is lost. An append that was sent and not served
    /// is still on its way.
    StopWaiting(usize),
    /// The store serves an append whose sender no longer waits and may be dead.
    ServeLate,
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
    pub(crate) fn step(&self, world: &World, action: Action) -> (World, Outcome) {
        let mut world = world.clone();
        let outcome = match action {
            Action::Acquire(process) | Action::TakeOver(process) => {
                let outcome = self.acquire(&mut world, process, action == Action::TakeOver(process));
                if let Outcome::Taken(epoch) = outcome {
                    world.processes[process].lease = Some(epoch);
                }
                outcome
            }
            Action::AcquireUnanswered(process) => self.acquire(&mut world, process, false),
            Action::Send(process) => {
                let epoch = world.processes[process].lease.expect("only a holder sends");
                let event = Event { epoch, nth: world.sent };
                world.sent += 1;
                world.processes[process].call = Call::Sent(event);
                Outcome::None
            }
            Action::Serve(process) => {
                let event = world.sent_by(process).expect("an append was sent");
                let outcome = self.append(&mut world, event);
                world.processes[process].call = Call::Served(outcome, event);
                outcome
            }
            Action::ServeLate => {
                let event = world.late.take().expect("something is late");
                self.append(&mut world, event)
            }
            Action::Hear(process) => {
                match world.processes[process].call {
                    Call::Served(Outcome::Appended(seq), event) => world.acknowledged.push((seq, event)),
                    _ => world.processes[process].lease = None,
                }
                world.processes[process].call = Call::None;
                Outcome::None
            }
            Action::StopWaiting(process) => {
                world.no_longer_waits(process);
                Outcome::None
            }
            Action::Release(process) => {
                let lease = world.processes[process].lease.take();
                if lease == Some(world.epoch) {
                    world.holder = None;
                }
                Outcome::Done
            }
            Action::Archive(process) if self.refuses(&world, process) => Outcome::Held,
            Action::Archive(_) => Outcome::Done,
            Action::Crash(process) => {
                world.no_longer_waits(process);
                if self.lacks(Part::Flush) && world.holder.is_some_and(|holder| holder.process == process) {
                    world.log.pop();
                }
                world.processes[process] = Process { runs: false, lease: None, ..world.processes[process] };
                Outcome::None
            }
            Action::Start(process) => {
                let life = world.processes[process].life + 1;
                world.processes[process] = Process { life, ..Process::started() };
                Outcome::None
            }
            Action::Silence => {
                if world.seen == Seen::Lately {
                    world.seen = Seen::LongAgo;
                }
                Outcome::None
            }
            Action::ClockAhead => {
                world.seen = Seen::LongAgo;
                Outcome::None
            }
            Action::ClockBack => {
                world.seen = Seen::InTheFuture;
                Outcome::None
            }
        };
        (world, outcome)
    }

    /// The store's implementation of `acquire`.
    fn acquire(&self, world: &mut World, process: usize, take_over: bool) -> Outcome {
        if !take_over && self.refuses(world, process) {
            if world.seen == Seen::InTheFuture && !self.lacks(Part::Clamp) {
                world.seen = Seen::Lately;
            }
            return Outcome::Held;
        }
        world.robbed |= !take_over && self.must_not_lose(world, process);
        world.holder = Some(Holder { process, life: world.processes[process].life });
        world.seen = Seen::Lately;
        world.epoch += 1;
        world.begun.push(world.log.len());
        Outcome::Taken(world.epoch)
    }

    /// The store's implementation of `append`: all or nothing.
    fn append(&self, world: &mut World, event: Event) -> Outcome {
        let counts = event.epoch == world.epoch && world.holder.is_some();
        if !counts && !self.lacks(Part::Fence) {
            return Outcome::Fenced;
        }
        world.log.push(event);
        world.seen = Seen::Lately;
        Outcome::Appended(world.log.len() as u64)
    }

    /// Returns whether the store considers the holder another live process.
    fn refuses(&self, world: &World, process: usize) -> bool {
        let Some(holder) = world.others_lease(process) else { return false };
        if self.lacks(Part::Refusal) {
            return false;
        }
        if self.is_elsewhere(process) == self.is_elsewhere(holder.process) {
            // Decided by its lock.
            return world.lives(holder) || self.lacks(Part::EndOfProcess);
        }
        world.seen != Seen::LongAgo
    }

    /// Returns whether another process holds the session and must keep it unless it is explicitly
    /// taken over: it is alive, and is on the same machine or wrote recently.
    fn must_not_lose(&self, world: &World, process: usize) -> bool {
        world.others_lease(process).is_some_and(|holder| {
            let together = self.is_elsewhere(process) == self.is_elsewhere(holder.process);
            world.lives(holder) && (together || world.seen != Seen::LongAgo)
        })
    }
}

impl World {
    /// Returns the other process that took the session and did not release it.
    fn others_lease(&self, process: usize) -> Option<Holder> {
        let me = Holder { process, life: self.processes[process].life };
        self.holder.filter(|holder| *holder != me)
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

    fn lives(&self, holder: Holder) -> bool {
        let process = self.processes[holder.process];
        process.runs && process.life == holder.life
    }

    fn no_longer_waits(&mut self, process: usize) {
        self.late = self.sent_by(process).or(self.late);
        self.processes[process].call = Call::None;
    }
}

impl Process {
    fn started() -> Self {
        Self { runs: true, life: 0, lease: None, call: Call::None }
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let mut processes = vec![Process::started(); self.processes];
        processes[0].lease = Some(1);
        vec![World {
            log: Vec::new(),
            epoch: 1,
            holder: Some(Holder { process: 0, life: 0 }),
            seen: Seen::Lately,
            processes,
            late: None,
            acknowledged: Vec::new(),
            // There is no epoch 0; epoch 1 begins with the session.
            begun: vec![0, 0],
            sent: 0,
            robbed: false,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let crashes: u8 = world.processes.iter().map(|process| process.life + u8::from(!process.runs)).sum();
        for (number, process) in world.processes.iter().enumerate() {
            if !process.runs {
                actions.push(Action::Start(number));
                continue;
            }
            if world.epoch < self.epochs {
                actions.extend([
                    Action::Acquire(number),
                    Action::TakeOver(number),
                    Action::AcquireUnanswered(number),
                ]);
            }
            actions.push(Action::Archive(number));
            // At most one append is late at a time, so that the state space is finite.
            let may_stop = world.late.is_none() || !matches!(process.call, Call::Sent(_));
            match process.call {
                Call::None if process.lease.is_some() => {
                    actions.push(Action::Release(number));
                    let sends = world.sent < self.events
                        && (!self.lacks(Part::Fence) || process.lease == Some(world.epoch));
                    actions.extend(sends.then_some(Action::Send(number)));
                }
                Call::None => {}
                Call::Sent(_) => actions.push(Action::Serve(number)),
                Call::Served(..) => actions.push(Action::Hear(number)),
            }
            if process.call != Call::None && may_stop {
                actions.push(Action::StopWaiting(number));
            }
            if crashes < self.crashes && may_stop {
                actions.push(Action::Crash(number));
            }
        }
        actions.extend(world.late.map(|_| Action::ServeLate));
        actions.extend([Action::Silence, Action::ClockAhead, Action::ClockBack]);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let next = self.step(world, action).0;
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
