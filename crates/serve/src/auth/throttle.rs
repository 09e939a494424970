//! Refuses source addresses that send wrong credentials.

use super::{Source, limits};
use std::{collections::HashMap, net::IpAddr, time::Duration};
use tokio::time::Instant;

/// Failed credentials by source address.
///
/// The table has two generations of at most [`limits::FAILED_SOURCES`] addresses. When the newer
/// one is full, it becomes the older one, and that is dropped. So an attacker with many addresses
/// costs a bounded amount of memory, and no search for the oldest entry.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    newer: HashMap<IpAddr, Failures>,
    older: HashMap<IpAddr, Failures>,
}

/// The failures of one source address.
#[derive(Debug, Clone, Copy)]
struct Failures {
    /// When the first failure of the window was.
    since: Instant,
    /// The failures since then.
    count: u32,
    /// How often it was refused for a time.
    refusals: u32,
    last: Instant,
    refused_until: Option<Instant>,
}

impl Throttle {
    /// Returns for how long this source is still refused, if it is.
    pub(super) fn refusal(&self, source: Source, now: Instant) -> Option<Duration> {
        let address = source.counted()?;
        let found = self.newer.get(&address).or_else(|| self.older.get(&address))?;
        let left = found.refused_until?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Counts a failed credential.
    pub(super) fn failed(&mut self, source: Source, now: Instant) {
        let Some(address) = source.counted() else { return };
        let known = self.newer.get(&address).or_else(|| self.older.get(&address)).copied();
        let fresh = Failures { since: now, count: 0, refusals: 0, last: now, refused_until: None };
        let mut found = known
            .filter(|found| now.saturating_duration_since(found.last) < limits::FAILURES_REMEMBERED)
            .unwrap_or(fresh);
        if now.saturating_duration_since(found.since) >= limits::FAILURE_WINDOW {
            (found.since, found.count) = (now, 0);
        }
        found.last = now;
        found.count += 1;
        // After a first refusal every further failure is refused at once, for twice the time.
        if found.count >= limits::FAILURES || found.refusals > 0 {
            let factor = 1u32.checked_shl(found.refusals).unwrap_or(u32::MAX);
            let delay = limits::FIRST_DELAY.saturating_mul(factor).min(limits::LONGEST_DELAY);
            found.refused_until = Some(now + delay);
            found.refusals += 1;
        }
        if self.newer.len() >= limits::FAILED_SOURCES && !self.newer.contains_key(&address) {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(address, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    fn source(last: u8) -> Source {
        Source::Address([192, 0, 2, last].into())
    }

    #[test]
    fn the_tenth_failure_of_a_minute_refuses_and_each_further_one_for_twice_the_time() {
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        let mut now = start;
        for _ in 0..9 {
            throttle.failed(source(1), now);
            assert_eq!(throttle.refusal(source(1), now), None);
            now += Duration::from_secs(1);
        }
        let mut delays = Vec::new();
        for _ in 0..9 {
            throttle.failed(source(1), now);
            let delay = throttle.refusal(source(1), now).unwrap();
            assert_eq!(throttle.refusal(source(2), now), None, "another source is not affected");
            delays.push(delay.as_secs());
            now += delay;
            assert_eq!(throttle.refusal(source(1), now), None);
        }
        assert_eq!(delays, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
        now += limits::FAILURES_REMEMBERED;
        throttle.failed(source(1), now);
        assert_eq!(throttle.refusal(source(1), now), None, "forgotten after a quiet time");
    }

    #[test]
    fn nine_failures_a_minute_are_never_refused() {
        let (mut throttle, mut now) = (Throttle::default(), Instant::now());
        for _ in 0..200 {
            throttle.failed(source(1), now);
            assert_eq!(throttle.refusal(source(1), now), None);
            now += Duration::from_millis(6_700);
        }
    }

    #[test]
    fn this_machine_is_not_throttled() {
        let (mut throttle, now) = (Throttle::default(), Instant::now());
        (0..100).for_each(|_| throttle.failed(Source::Unix(0), now));
        assert_eq!(throttle.refusal(Source::Unix(0), now), None);
    }

    #[test]
    fn many_addresses_cost_bounded_memory_and_a_steady_attacker_stays_refused() {
        let (mut throttle, now) = (Throttle::default(), Instant::now());
        let flood = |number: u32| {
            let [a, b] = [(number >> 16) as u16, number as u16];
            Source::Address(Ipv6Addr::new(0x2001, 0xdb8, a, b, 0, 0, 0, 1).into())
        };
        for number in 0..100_000 {
            throttle.failed(flood(number), now);
            if number % 1000 == 0 {
                throttle.failed(source(1), now);
            }
            assert!(throttle.newer.len() + throttle.older.len() <= 2 * limits::FAILED_SOURCES);
        }
        assert!(throttle.refusal(source(1), now).is_some());
    }

    #[test]
    fn a_host_that_changes_its_address_within_its_network_is_one_source() {
        let (mut throttle, now) = (Throttle::default(), Instant::now());
        let host = |last| Source::Address(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last).into());
        (0..10).for_each(|last| throttle.failed(host(last), now));
        assert!(throttle.refusal(host(99), now).is_some());
    }
}
