//! The protocol of leases on a virtual clock: nodes whose clocks differ and drift, that are stopped
//! and continued, whose heartbeats are lost or late, and that take sessions of one another.
//!
//! The arithmetic is the program's own; the database is a model of its statements. `TILLER_LEASES`
//! sets the number of steps, of a million or more for a long run.

use super::*;
use proptest::{prelude::*, test_runner::TestRunner};
use std::cell::Cell;

const NODES: usize = 3;
/// How finely the virtual clock moves, in milliseconds.
const GRAIN: u64 = 100;
/// How often a supervisor of a command looks at the deadline: as the one in `system` does.
const SUPERVISED: u64 = 500;
/// How soon a task of a process that is not stopped goes on.
const PROGRESS: u64 = 900;
const STEPS_IN_A_RUN: usize = 200;

#[derive(Debug, Clone, Copy)]
enum Step {
    Wait(u64),
    /// A heartbeat that is sent, arrives and is answered.
    Beat(usize),
    /// A command that begins without a pause.
    Run(usize),
    /// The command ends.
    End(usize),
    /// Sends a heartbeat, unless one is on its way.
    Send(usize),
    /// The oldest heartbeat on its way reaches the database.
    Arrive(usize),
    /// The answer to the last heartbeat reaches the node.
    Answer(usize),
    /// The last heartbeat, or its answer, is given up. It may still arrive.
    GiveUp(usize),
    /// Takes the session, if the database permits it.
    Acquire(usize),
    /// Stores an event. The answer may be lost.
    Append(usize, bool),
    /// Stores that a command begins, and reads the node's certainty.
    Decide(usize),
    /// Starts the command, some time later.
    Start(usize),
    Stop(usize),
    Continue(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let node = 0..NODES;
    prop_oneof![
        8 => (1..20_u64).prop_map(|grains| Step::Wait(grains * GRAIN)),
        2 => (20..250_u64).prop_map(|grains| Step::Wait(grains * GRAIN)),
        12 => node.clone().prop_map(Step::Beat),
        6 => node.clone().prop_map(Step::Run),
        3 => node.clone().prop_map(Step::End),
        3 => node.clone().prop_map(Step::Send),
        3 => node.clone().prop_map(Step::Arrive),
        3 => node.clone().prop_map(Step::Answer),
        1 => node.clone().prop_map(Step::GiveUp),
        4 => node.clone().prop_map(Step::Acquire),
        3 => (node.clone(), any::<bool>()).prop_map(|(node, answered)| Step::Append(node, answered)),
        5 => node.clone().prop_map(Step::Decide),
        5 => node.clone().prop_map(Step::Start),
        1 => node.clone().prop_map(Step::Stop),
        2 => node.prop_map(Step::Continue),
    ]
}

/// A clock that is wrong: it is ahead, and runs too fast or too slow.
#[derive(Debug, Clone, Copy)]
struct Clock {
    ahead: u64,
    /// In thousandths.
    rate: u64,
}

impl Clock {
    fn at(self, time: u64) -> u64 {
        self.ahead + time * self.rate / 1000
    }
}

/// Within what real clocks keep, by far: 17 s of the slowest one are less than 20 s.
fn clock() -> impl Strategy<Value = Clock> {
    (1..10_000_000_u64, 900..1100_u64).prop_map(|(ahead, rate)| Clock { ahead, rate })
}

#[derive(Debug, Clone)]
struct Node {
    clock: Clock,
    certainty: Certainty,
    until: u64,
    /// The heartbeat that is waited for, and whether its answer is under way.
    waits: Option<(Sent, bool)>,
    /// The heartbeats on their way to the database; whether each is still waited for.
    under_way: Vec<bool>,
    held: Option<u64>,
    /// For how long a decided command has waited for its start while the process was not stopped.
    decided: Option<u64>,
    /// For how long the supervisor of the running command has not looked.
    running: Option<u64>,
    is_stopped: bool,
}

struct World {
    time: u64,
    nodes: Vec<Node>,
    expires: Vec<u64>,
    lease: Option<usize>,
    epoch: u64,
    log: Vec<u64>,
    acknowledged: Vec<u64>,
}

impl World {
    fn new(clocks: Vec<Clock>) -> Self {
        let node = |clock| Node {
            clock,
            certainty: Certainty::default(),
            until: 0,
            waits: None,
            under_way: Vec::new(),
            held: None,
            decided: None,
            running: None,
            is_stopped: false,
        };
        let nodes: Vec<_> = clocks.into_iter().map(node).collect();
        let expires = vec![0; nodes.len()];
        Self { time: 0, nodes, expires, lease: None, epoch: 0, log: Vec::new(), acknowledged: Vec::new() }
    }

    fn now(&self, node: usize) -> u64 {
        self.nodes[node].clock.at(self.time)
    }

    /// The fenced append: only the holder of the row writes.
    fn store(&mut self, node: usize) -> bool {
        let holds = self.lease == Some(node) && self.nodes[node].held == Some(self.epoch);
        if holds {
            self.log.push(self.log.len() as u64 + 1);
        } else {
            self.nodes[node].held = None;
        }
        holds
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Beat(at) => [Step::Send(at), Step::Arrive(at), Step::Answer(at)]
                .into_iter()
                .for_each(|step| self.take(step)),
            Step::Run(at) => [Step::Decide(at), Step::Start(at)].into_iter().for_each(|step| self.take(step)),
            Step::End(at) => self.nodes[at].running = None,
            Step::Wait(time) => (0..time / GRAIN).for_each(|_| self.pass()),
            Step::Arrive(at) => {
                if !self.nodes[at].under_way.is_empty() {
                    let is_waited_for = self.nodes[at].under_way.remove(0);
                    let seconds = u64::from(row_seconds().unsigned_abs());
                    self.expires[at] = self.time + seconds * 1000;
                    if let (true, Some((_, answered))) = (is_waited_for, &mut self.nodes[at].waits) {
                        *answered = true;
                    }
                }
            }
            Step::Continue(at) => self.nodes[at].is_stopped = false,
            Step::Send(at)
            | Step::Answer(at)
            | Step::GiveUp(at)
            | Step::Acquire(at)
            | Step::Append(at, _)
            | Step::Decide(at)
            | Step::Start(at)
            | Step::Stop(at)
                if self.nodes[at].is_stopped => {}
            Step::Send(at) => {
                let now = self.now(at);
                let node = &mut self.nodes[at];
                if node.waits.is_none() {
                    node.waits = Some((node.certainty.send(now), false));
                    node.under_way.push(true);
                }
            }
            Step::Answer(at) => {
                let now = self.now(at);
                let node = &mut self.nodes[at];
                if let Some((sent, true)) = node.waits {
                    node.waits = None;
                    node.until = node.certainty.confirm(sent, now);
                }
            }
            Step::GiveUp(at) => {
                self.nodes[at].waits = None;
                self.nodes[at].under_way.iter_mut().for_each(|waited_for| *waited_for = false);
            }
            Step::Acquire(at) => {
                let is_free =
                    self.lease.is_none_or(|holder| holder == at || self.expires[holder] <= self.time);
                // Only a registered node takes sessions.
                if is_free && self.nodes[at].until > 0 && self.nodes[at].held != Some(self.epoch) {
                    self.epoch += 1;
                    self.lease = Some(at);
                    self.nodes[at].held = Some(self.epoch);
                    self.nodes[at].decided = None;
                }
            }
            Step::Append(at, answered) => {
                if self.nodes[at].held.is_some() && self.store(at) && answered {
                    self.acknowledged.push(self.log.len() as u64);
                }
            }
            Step::Decide(at) => {
                if self.nodes[at].held.is_some() && self.store(at) {
                    let now = self.now(at);
                    let node = &mut self.nodes[at];
                    node.decided = is_certain(now, node.until).then_some(0);
                }
            }
            Step::Start(at) => {
                let now = self.now(at);
                let node = &mut self.nodes[at];
                // The supervisor looks before it starts anything.
                if node.decided.take().is_some() && is_certain(now, node.until) {
                    node.running = Some(0);
                }
            }
            Step::Stop(at) => self.nodes[at].is_stopped = true,
        }
        self.check();
    }

    /// Lets a moment pass: supervisors look at their deadlines, and tasks see that the node is not
    /// certain any more.
    fn pass(&mut self) {
        self.time += GRAIN;
        for at in 0..self.nodes.len() {
            let now = self.now(at);
            let node = &mut self.nodes[at];
            if !node.is_stopped && node.certainty.has_lapsed() {
                node.certainty.look();
            }
            if let Some(since) = node.running {
                let since = since + GRAIN;
                let looks = since >= SUPERVISED;
                node.running =
                    (!looks || is_certain(now, node.until)).then_some(if looks { 0 } else { since });
            }
            if let Some(waited) = node.decided.filter(|_| !node.is_stopped) {
                let waited = waited + GRAIN;
                // By now it has begun, or was cancelled.
                let is_over = waited >= PROGRESS;
                node.decided = (!is_over).then_some(waited);
            }
        }
        self.check();
    }

    /// Returns the number of commands that run.
    fn running(&self) -> usize {
        self.nodes.iter().filter(|node| node.running.is_some()).count()
    }

    fn check(&self) {
        let running: Vec<_> = (0..self.nodes.len()).filter(|at| self.nodes[*at].running.is_some()).collect();
        assert!(running.len() <= 1, "nodes {running:?} have an effect in one session at {}", self.time);
        if let Some(at) = running.first() {
            assert_eq!(
                self.lease,
                Some(*at),
                "a command runs on although the session was taken, at {}",
                self.time
            );
        }
        assert!(
            self.acknowledged.iter().all(|event| self.log.contains(event)),
            "an acknowledged event is lost"
        );
    }
}

#[expect(clippy::disallowed_methods, reason = "the long form of a test is chosen by a variable")]
fn steps_wanted() -> usize {
    std::env::var("TILLER_LEASES").ok().map_or(60_000, |text| text.parse().expect("a number"))
}

#[test]
fn no_two_nodes_have_an_effect_in_one_session_whatever_happens_to_clocks_and_heartbeats() {
    let cases = u32::try_from(steps_wanted() / STEPS_IN_A_RUN).unwrap();
    let mut runner =
        TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() });
    let clocks = proptest::collection::vec(clock(), NODES);
    let steps = proptest::collection::vec(step(), STEPS_IN_A_RUN);
    let (effects, takeovers) = (Cell::new(0_usize), Cell::new(0_usize));
    let ended = runner.run(&(clocks, steps), |(clocks, steps)| {
        let mut world = World::new(clocks);
        for step in steps {
            let (epoch, running) = (world.epoch, world.running());
            world.take(step);
            effects.set(effects.get() + usize::from(world.running() > running));
            takeovers.set(takeovers.get() + usize::from(world.epoch > epoch && epoch > 0));
        }
        Ok(())
    });
    ended.unwrap_or_else(|found| panic!("{found}"));
    // A protocol in which nothing happens would be safe as well.
    assert!(effects.get() > 100 && takeovers.get() > 100, "{effects:?} commands, {takeovers:?} takeovers");
}

#[test]
fn a_late_answer_extends_from_when_the_heartbeat_was_sent() {
    let mut node = Certainty::default();
    let sent = node.send(1_000);
    assert_eq!(node.confirm(sent, 4_000), 18_000);
    assert!(is_certain(17_999, 18_000) && !is_certain(18_000, 18_000));
    let sent = node.send(6_000);
    assert_eq!(node.confirm(sent, 6_010), 23_000);
}

#[test]
fn a_node_that_was_not_certain_is_so_again_only_some_time_after_it_noticed() {
    let mut node = Certainty::default();
    let sent = node.send(1_000);
    node.confirm(sent, 1_001);
    // It was stopped for a minute while a heartbeat was under way.
    let sent = node.send(15_000);
    assert_eq!(node.confirm(sent, 61_000), 18_000);
    assert!(node.has_lapsed());
    // It is stopped once more: that time does not count.
    let sent = node.send(90_000);
    assert_eq!(node.confirm(sent, 90_001), 18_000);
    assert!((1..LAPSE_LOOKS).all(|_| !node.look()) && node.look());
    let sent = node.send(92_000);
    assert_eq!(node.confirm(sent, 92_001), 109_000);
    assert!(!node.has_lapsed());
}
