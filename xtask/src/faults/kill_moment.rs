//! The moments at which the program is killed, drawn from a seed.

use super::kind::Kind;
use std::fmt;
use std::time::Duration;

/// Calls per prompt; the first is a command.
pub(super) const CALLS: u64 = 3;
/// The commands of a tree of subagents, one each.
pub(super) const SWARM_COMMANDS: u64 = 23;
/// About as many lines as the program writes about a tree of subagents.
const SWARM_LINES: u64 = 110;

/// A small random number generator (xorshift), so that a seed reproduces a run.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        // Consecutive seeds must not produce similar sequences, and zero would produce only zeros.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn micros(&mut self, limit: u64) -> Duration {
        Duration::from_micros(self.below(limit))
    }
}

/// The moment at which the program is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillMoment {
    /// This long after it was started.
    Start(Duration),
    /// This long after it wrote this line, counted from 1 since the session was opened.
    Line(u64, Duration),
    /// This long after this call was reported as running, counted likewise.
    Call(u64, Duration),
    /// This long after the first prompt was sent.
    Prompt(Duration),
    /// This long after the model called for this command, counted over all subagents.
    Command(u64, Duration),
}

impl KillMoment {
    /// Returns the index of the prompt, from 0, whose command is to be killed. That command must
    /// not finish before the kill.
    pub(super) fn command_of(self) -> Option<u64> {
        match self {
            Self::Call(call, _) if (call - 1) % CALLS == 0 => Some((call - 1) / CALLS),
            _ => None,
        }
    }

    /// Draws a moment: one third in the first 50 ms, one third after an output line, one third
    /// while calls start. A tree of subagents has its first 50 ms after the prompt, half of the
    /// time, and more lines and calls.
    pub(super) fn random(kind: Kind, point: usize, random: &mut Random) -> Self {
        if kind == Kind::Swarm {
            return match point % 3 {
                0 if random.below(2) == 0 => Self::Prompt(random.micros(50_000)),
                0 => Self::Start(random.micros(50_000)),
                1 => Self::Line(1 + random.below(SWARM_LINES), random.micros(3_000)),
                _ => Self::Command(1 + random.below(SWARM_COMMANDS), random.micros(45_000)),
            };
        }
        match point % 3 {
            0 => Self::Start(random.micros(50_000)),
            1 => Self::Line(1 + random.below(60), random.micros(3_000)),
            // Half of these are at a command.
            _ if random.below(2) == 0 => Self::Call(1 + CALLS * random.below(2), random.micros(45_000)),
            _ => Self::Call(1 + random.below(6), random.micros(45_000)),
        }
    }
}

impl fmt::Display for KillMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(time) => write!(f, "killed {time:?} after its start"),
            Self::Line(line, time) => write!(f, "killed {time:?} after its line {line}"),
            Self::Call(call, time) => write!(f, "killed {time:?} after call {call} began"),
            Self::Prompt(time) => write!(f, "killed {time:?} after its prompt"),
            Self::Command(call, time) => write!(f, "killed {time:?} after the model's command {call}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_kill_moments() {
        for kind in [Kind::Local, Kind::Swarm] {
            let random = |seed| {
                let mut random = Random::new(seed);
                (0..30).map(|point| KillMoment::random(kind, point, &mut random)).collect::<Vec<_>>()
            };
            assert_eq!(random(7), random(7));
            assert_ne!(random(7), random(8));
            let early = |kill_moment: &&KillMoment| matches!(kill_moment, KillMoment::Start(time) | KillMoment::Prompt(time) if *time < Duration::from_millis(50));
            assert_eq!(random(1).iter().filter(early).count(), 10);
        }
        let of = |call| KillMoment::Call(call, Duration::ZERO).command_of();
        assert_eq!([of(1), of(2), of(4)], [Some(0), None, Some(1)]);
    }
}
