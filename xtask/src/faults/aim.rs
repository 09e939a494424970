//! The moments at which the program is killed, drawn from a seed.

use std::fmt;
use std::time::Duration;

/// How many calls a prompt leads to; the first is a command.
pub(super) const CALLS: u64 = 3;

/// A small generator (xorshift), so that a seed says it all.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        // Seeds that follow each other must not give numbers that do; and zero gives nothing but
        // zeros.
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

/// When the program is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// So long after it was started.
    Start(Duration),
    /// So long after it wrote this line, counted from 1 since the session was open.
    Line(u64, Duration),
    /// So long after this call was told to run, counted in the same way.
    Call(u64, Duration),
}

impl Aim {
    /// The prompt of the life, counted from 0, whose command is to be killed: it must not end by
    /// itself before that is seen.
    pub(super) fn command_of(self) -> Option<u64> {
        match self {
            Self::Call(call, _) if (call - 1) % CALLS == 0 => Some((call - 1) / CALLS),
            _ => None,
        }
    }

    /// A third in the first 50 ms, a third between any two lines, a third while calls begin to run.
    pub(super) fn draw(point: usize, random: &mut Random) -> Self {
        match point % 3 {
            0 => Self::Start(random.micros(50_000)),
            1 => Self::Line(1 + random.below(60), random.micros(3_000)),
            // Half of them at a command.
            _ if random.below(2) == 0 => Self::Call(1 + CALLS * random.below(2), random.micros(45_000)),
            _ => Self::Call(1 + random.below(6), random.micros(45_000)),
        }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(time) => write!(f, "killed {time:?} after its start"),
            Self::Line(line, time) => write!(f, "killed {time:?} after its line {line}"),
            Self::Call(call, time) => write!(f, "killed {time:?} after call {call} began"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_moments_each_time_and_another_gives_others() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..30).map(|point| Aim::draw(point, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let early = |aim: &&Aim| matches!(aim, Aim::Start(time) if *time < Duration::from_millis(50));
        assert_eq!(draw(1).iter().filter(early).count(), 10);
        let of = |call| Aim::Call(call, Duration::ZERO).command_of();
        assert_eq!([of(1), of(2), of(4)], [Some(0), None, Some(1)]);
    }
}
