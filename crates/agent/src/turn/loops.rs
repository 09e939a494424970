//! Detects rounds that repeat: the same calls with the same results, alone or as a sequence of
//! several rounds.

use crate::{AnsweredCall, ToolCallRequest};

/// The longest sequence of rounds that is detected.
const PERIOD: usize = 8;
/// How many repetitions before the limit the model is warned.
const WARNED_BEFORE: u32 = 2;

/// The rounds of a turn.
#[derive(Default)]
pub(super) struct Loops {
    rounds: Vec<Round>,
}

#[derive(PartialEq)]
struct Round {
    calls: String,
    /// Results without digits, so that a time or a count does not make them differ.
    results: String,
}

impl Loops {
    /// Returns how many times the sequence that these calls complete has run, with equal results so
    /// far.
    pub(super) fn times<'a>(&self, calls: impl Iterator<Item = &'a ToolCallRequest>) -> u32 {
        let now = signature(calls);
        (1..=PERIOD).map(|period| self.times_of(period, &now)).max().unwrap_or(1)
    }

    fn times_of(&self, period: usize, now: &str) -> u32 {
        let rounds = &self.rounds;
        match rounds.len().checked_sub(period) {
            Some(before) if rounds[before].calls == now => {}
            _ => return 1,
        }
        let mut same = period + 1;
        for at in (period..rounds.len()).rev() {
            if rounds[at] != rounds[at - period] {
                break;
            }
            same += 1;
        }
        u32::try_from(same / period).unwrap_or(u32::MAX)
    }

    /// Records a round that was run; `warning` is what this module added to the results.
    pub(super) fn ran<'a>(
        &mut self,
        calls: impl Iterator<Item = &'a ToolCallRequest>,
        answered: impl Iterator<Item = &'a AnsweredCall>,
        warning: Option<&str>,
    ) {
        let result = |call: &AnsweredCall| {
            let text = warning
                .map_or_else(|| call.result.text.clone(), |warning| call.result.text.replace(warning, ""));
            text.trim_end().replace(|char: char| char.is_ascii_digit(), "")
        };
        let results = answered.map(result).collect::<Vec<_>>().join("\n");
        self.rounds.push(Round { calls: signature(calls), results });
    }
}

fn signature<'a>(calls: impl Iterator<Item = &'a ToolCallRequest>) -> String {
    calls.map(|call| format!("{} {:?}\n", call.name, call.arguments)).collect()
}

/// Returns the text for the model about a repetition, if any: a warning before the limit, or the
/// end.
pub(super) fn warning(times: u32, limit: u32) -> Option<String> {
    if times >= limit {
        return Some(format!(
            "(This was called {times} times with the same result, alone or in the same sequence with others. The turn was \
             stopped for that. Do something else when it goes on.)"
        ));
    }
    (times >= limit.saturating_sub(WARNED_BEFORE).max(2)).then(|| {
        format!(
            "(This was called {times} times with the same result, alone or in the same sequence with others. It will not \
             change: do something else, or say what stands in the way. At {limit} times the turn is stopped.)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelCall, ToolCallId, ToolResult};

    fn call(name: &str) -> ToolCallRequest {
        let call =
            ModelCall { provider_id: "1".into(), name: name.into(), arguments: String::new(), opaque: None };
        ToolCallRequest::new(ToolCallId("1".into()), call)
    }

    /// Returns the count seen in each round; a round is a call and its result.
    fn times(rounds: &[(&str, &str)]) -> Vec<u32> {
        let mut loops = Loops::default();
        let play = |(name, result): &(&str, &str)| {
            let call = call(name);
            let times = loops.times([&call].into_iter());
            let answered = AnsweredCall::new(call.clone(), ToolResult::ok(*result));
            loops.ran([&call].into_iter(), [&answered].into_iter(), None);
            times
        };
        rounds.iter().map(play).collect()
    }

    #[test]
    fn sequences_of_any_length_are_seen() {
        assert_eq!(times(&[("a", "1"); 5]), [1, 2, 3, 4, 5]);
        let two = [("a", ""), ("b", "")].repeat(5);
        assert_eq!(times(&two), [1, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
        let three = [("a", ""), ("b", ""), ("c", "")].repeat(3);
        assert_eq!(times(&three)[8], 3);
        let after_work = [("x", ""), ("y", ""), ("a", ""), ("a", ""), ("a", "")];
        assert_eq!(times(&after_work), [1, 1, 1, 2, 3]);
    }

    #[test]
    fn work_between_and_other_results_are_no_loop() {
        let polled = [("a", "building"), ("a", "linking"), ("a", "done"), ("a", "done"), ("a", "more")];
        assert!(times(&polled).iter().all(|times| *times <= 3));
        assert_eq!(
            times(&[("test", "fails"), ("edit", "x"), ("test", "fails"), ("edit", "y"), ("test", "fails")]),
            [1, 1, 1, 2, 1]
        );
        assert_eq!(times(&[("a", "took 3 s"), ("a", "took 14 s"), ("a", "took 2 s")]), [1, 2, 3]);
    }

    #[test]
    fn the_model_is_warned_before_it_is_stopped() {
        let warnings = [1, 2, 3, 4, 5].map(|times| warning(times, 5));
        assert!(warnings[..2].iter().all(Option::is_none));
        assert!(
            warnings[2]
                .as_ref()
                .is_some_and(|text| text.contains("3 times") && !text.contains("was stopped"))
        );
        assert!(
            warnings[4].as_ref().is_some_and(|text| text.contains("5 times") && text.contains("stopped"))
        );
    }
}
