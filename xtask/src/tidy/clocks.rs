//! Architecture Invariant: timeouts and durations use the monotonic clock. The wall clock can be
//! set, jumps, and may run on during suspend, so it is used for timestamps only.

use super::Problem;
use super::tree::{Place, Tree, naming_elsewhere};

/// The places that may read the wall clock, each with the reason.
const PLACES: [Place; 15] = [
    (
        "crates/store/src/clock.rs",
        "when a session was used last is stored, and a file that is moved aside is named after the moment",
    ),
    ("crates/tui/src/run.rs", "lists show how long ago a session was used, and subagents have times of day"),
    ("crates/agent/src/swarm/mod.rs", "clients are shown when subagents began and ended"),
    ("crates/acp/src/native/event.rs", "events say when they were sent"),
    ("crates/serve/src/auth/clock.rs", "credentials expire at a time of day, and the audit has times"),
    ("crates/tiller/src/headless/mod.rs", "the lines of a run say when they were written"),
    ("crates/tiller/src/answer/console.rs", "lists show how long ago something was stored"),
    ("crates/tiller/src/memory/transfer.rs", "a day on which a memory expires is compared with today"),
    ("crates/tiller/src/models.rs", "a catalogue says on which day it was got"),
    ("crates/tiller/src/mcp/values.rs", "a token that is kept says until when it is good"),
    ("crates/system/src/local/stamp.rs", "files say when they changed as a time of day"),
    ("crates/system/src/local/date.rs", "the model is told which day it is"),
    ("crates/system/src/local/index/mod.rs", "files say when they changed as a time of day"),
    ("crates/providers/src/refused_options/memory.rs", "stored refusals apply for a number of days"),
    ("crates/providers/src/remote/exchange.rs", "servers say until when to wait as a time of day"),
];

/// Calls that read the wall clock.
const READERS: [&str; 5] =
    ["SystemTime::now", "Timestamp::now", "Zoned::now", "UNIX_EPOCH.elapsed", "ClockId::Realtime"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let product = tree.rust().filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/"));
    let message =
        "the time of day jumps: measure with tokio's `Instant`, or add the place and why to the check";
    let found = naming_elsewhere(product, &PLACES, &READERS);
    found.map(|(file, number, _)| Problem::line(&file.path, number, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, line: &str) -> usize {
        check(&Tree::of(&[(path, line)])).len()
    }

    #[test]
    fn a_wait_by_the_time_of_day_is_found() {
        for line in ["let end = SystemTime::now() + limit;", "let began = jiff::Timestamp::now();"] {
            assert_eq!(found("crates/agent/src/turn.rs", line), 1, "{line}");
        }
    }

    #[test]
    fn a_time_that_is_stored_and_a_monotonic_one_are_not() {
        assert_eq!(found("crates/store/src/clock.rs", "let now = SystemTime::now();"), 0);
        assert_eq!(found("crates/agent/src/turn.rs", "let end = Instant::now() + limit;"), 0);
        assert_eq!(found("crates/agent/src/turn.rs", "// never SystemTime::now"), 0);
    }
}
