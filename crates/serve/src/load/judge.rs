//! Whether the machine has too much to do: a pure function of what was measured before and now.

use crate::limits::{
    CALM, LAG, LAG_CALM, LAG_LASTS, MEMORY_CALM, MEMORY_CRITICAL, MEMORY_FULL, STORE_WAIT, STORE_WAIT_CALM,
};
use std::time::Duration;
use system::MemoryUse;
use tokio::time::Instant;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    /// How much later than it wanted a task was run.
    pub(crate) lag: Duration,
    /// The memory of the control group, if it is limited.
    pub(crate) memory: Option<MemoryUse>,
    /// How long an operation waited for a connection to the store.
    pub(crate) store_wait: Duration,
    /// Running turns.
    pub(crate) turns: usize,
}

/// What there is too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// Tasks are run late.
    Lag,
    /// Memory is nearly used up.
    Memory,
    /// The store does not keep up.
    Store,
    /// Too many turns run.
    Turns,
}

impl Cause {
    const ALL: [Self; 4] = [Self::Lag, Self::Memory, Self::Store, Self::Turns];

    /// Returns what happens, for administrators.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Lag => "tasks run late",
            Self::Memory => "memory is nearly used up",
            Self::Store => "operations wait for the store",
            Self::Turns => "too many turns run",
        }
    }
}

/// How a value compares with its thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Calm,
    Between,
    Over,
}

/// The state of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// It does not count.
    #[default]
    Off,
    /// It has been over its threshold since then, and does not count yet.
    Rising(Instant),
    /// It counts.
    On,
    /// It counts, and has been calm since then.
    Falling(Instant),
}

/// What follows from the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    /// Why nothing new begins, if so.
    pub(crate) overloaded: Option<Cause>,
    /// Whether memory must be given back.
    pub(crate) must_free_memory: bool,
}

/// Judges measurements. A cause ends only when its value has been well below the threshold for some
/// seconds, so that the server does not refuse and accept in turns.
#[derive(Debug)]
pub(crate) struct Judge {
    most_turns: usize,
    states: [State; Cause::ALL.len()],
    is_critical: bool,
}

impl Judge {
    /// Creates a judge that allows this many running turns.
    pub(crate) fn new(most_turns: usize) -> Self {
        Self { most_turns, states: Default::default(), is_critical: false }
    }

    /// Judges a measurement.
    pub(crate) fn judge(&mut self, now: Instant, sample: &Sample) -> Verdict {
        let percent = sample.memory.map_or(0, |memory| memory.percent());
        let levels = [
            level(sample.lag, LAG, LAG_CALM),
            level(percent, MEMORY_FULL, MEMORY_CALM),
            level(sample.store_wait, STORE_WAIT, STORE_WAIT_CALM),
            level(sample.turns, self.most_turns, self.most_turns - self.most_turns / 20),
        ];
        // What is late now has been late for as long.
        let begun = [now.checked_sub(sample.lag).unwrap_or(now), now, now, now];
        let lasts = [LAG_LASTS, Duration::ZERO, Duration::ZERO, Duration::ZERO];
        for (nth, state) in self.states.iter_mut().enumerate() {
            *state = next(*state, levels[nth], now, begun[nth], lasts[nth]);
        }
        // It ends at the lower threshold, so that one freed buffer does not end it.
        self.is_critical = percent > if self.is_critical { MEMORY_FULL } else { MEMORY_CRITICAL };
        let mut causes = Cause::ALL.into_iter().zip(&self.states);
        let first = causes.find(|(_, state)| matches!(state, State::On | State::Falling(_)));
        Verdict { overloaded: first.map(|(cause, _)| cause), must_free_memory: self.is_critical }
    }
}

fn level<T: PartialOrd>(value: T, over: T, calm: T) -> Level {
    if value > over {
        Level::Over
    } else if value <= calm {
        Level::Calm
    } else {
        Level::Between
    }
}

/// Returns the state after a measurement. A value counts once it has been over its threshold for
/// `lasts`, and still is: a process that was stopped for a while is late once. `begun` is when this
/// one has begun to be over it.
fn next(state: State, level: Level, now: Instant, begun: Instant, lasts: Duration) -> State {
    match (state, level) {
        (State::Off, Level::Over) if lasts.is_zero() => State::On,
        (State::Off, Level::Over) => State::Rising(begun),
        (State::Off, _) | (State::Rising(_), Level::Calm | Level::Between) => State::Off,
        (State::Rising(since), Level::Over) if now - since >= lasts => State::On,
        (State::Rising(since), Level::Over) => State::Rising(since),
        (State::On | State::Falling(_), Level::Over | Level::Between) => State::On,
        (State::On, Level::Calm) => State::Falling(now),
        (State::Falling(since), Level::Calm) if now - since >= CALM => State::Off,
        (State::Falling(since), Level::Calm) => State::Falling(since),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM_SAMPLE: Sample =
        Sample { lag: Duration::ZERO, memory: None, store_wait: Duration::ZERO, turns: 0 };

    fn memory(percent: u64) -> Sample {
        Sample { memory: Some(MemoryUse { used: percent, limit: 100 }), ..CALM_SAMPLE }
    }

    /// Judges one sample after another, each after a pause in milliseconds.
    fn judged(samples: &[(u64, Sample)]) -> Vec<Option<Cause>> {
        let (mut judge, mut now) = (Judge::new(600), Instant::now() + Duration::from_secs(100));
        let verdicts = samples.iter().map(|(pause, sample)| {
            now += Duration::from_millis(*pause);
            judge.judge(now, sample).overloaded
        });
        verdicts.collect()
    }

    #[test]
    fn a_task_that_is_late_once_is_no_overload_and_late_for_two_seconds_is_one() {
        let late = |ms| Sample { lag: Duration::from_millis(ms), ..CALM_SAMPLE };
        let over = Some(Cause::Lag);
        assert_eq!(judged(&[(0, late(251)), (100, CALM_SAMPLE), (100, late(251))]), [None; 3]);
        // The first was late for 300 ms, so two seconds are over after 1,700 more.
        let lasting = [(0, late(300)), (1_600, late(300)), (101, late(300))];
        assert_eq!(judged(&lasting), [None, None, over]);
        assert_eq!(judged(&[(0, late(9_000)), (100, CALM_SAMPLE)]), [None; 2], "it was stopped for a while");
        assert_eq!(judged(&[(0, late(9_000)), (100, late(300))]), [None, over], "and is still late");
        assert_eq!(judged(&[(0, late(250)), (5_000, late(250))]), [None; 2], "at the threshold");
    }

    #[test]
    fn an_overload_ends_after_five_calm_seconds_and_not_between_the_thresholds() {
        let over = Some(Cause::Memory);
        assert_eq!(judged(&[(0, memory(85)), (0, memory(86)), (0, memory(85))]), [None, over, over]);
        let falls =
            [(0, memory(90)), (9_000, memory(81)), (9_000, memory(80)), (4_999, memory(80)), (1, memory(80))];
        assert_eq!(judged(&falls), [over, over, over, over, None]);
        // It rises in between, and the five seconds begin again.
        let again =
            [(0, memory(90)), (1, memory(80)), (4_000, memory(82)), (1, memory(80)), (4_999, memory(80))];
        assert_eq!(judged(&again), [over; 5]);
    }

    #[test]
    fn the_store_and_the_number_of_turns_count_at_once() {
        let waits = |ms| Sample { store_wait: Duration::from_millis(ms), ..CALM_SAMPLE };
        assert_eq!(judged(&[(0, waits(1_000)), (0, waits(1_001))]), [None, Some(Cause::Store)]);
        let turns = |turns| Sample { turns, ..CALM_SAMPLE };
        let over = Some(Cause::Turns);
        let samples =
            [(0, turns(600)), (0, turns(601)), (9_000, turns(571)), (1, turns(570)), (5_000, turns(570))];
        assert_eq!(judged(&samples), [None, over, over, over, None]);
    }

    #[test]
    fn memory_must_be_freed_above_95_percent_until_it_is_below_85() {
        let mut judge = Judge::new(600);
        let now = Instant::now();
        let mut frees = |percent| judge.judge(now, &memory(percent)).must_free_memory;
        assert_eq!([95, 96, 90, 86, 85, 95].map(&mut frees), [false, true, true, true, false, false]);
    }
}
