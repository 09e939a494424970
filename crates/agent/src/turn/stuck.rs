//! Detects that a subagent is stuck: its last calls repeat. It is warned twice, and then stopped.

use crate::{
    ToolCallRequest,
    limits::{STUCK_COOLDOWN, STUCK_EQUAL, STUCK_SAME_TOOL, STUCK_WINDOW},
};
use std::collections::VecDeque;

/// The first warning.
const NUDGE: &str = "You repeat the same calls without getting further. Try another way, or answer with what you have found so far.";
/// The second warning.
const FINAL_NOTICE: &str = "You still repeat the same calls. This is the last notice: answer now with what you have found, and say what is missing. \
                            If you repeat them again, you are stopped.";

/// The last calls of a subagent.
#[derive(Default)]
pub(super) struct Stuck {
    calls: VecDeque<String>,
    /// The tool of the last call, and how many calls in a row were of it.
    tool: (String, usize),
    warnings: u32,
    /// Rounds until it is checked again.
    cooldown: u32,
}

/// What is done about a stuck subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The model gets this text with its next request.
    Warn(&'static str),
    /// The turn ends.
    Stop,
}

impl Stuck {
    /// Adds the calls of a round. Returns what is to be done, if they show that it is stuck.
    pub(super) fn after<'a>(&mut self, calls: impl Iterator<Item = &'a ToolCallRequest>) -> Option<Stage> {
        for call in calls {
            self.add(call);
        }
        if self.cooldown > 0 {
            self.cooldown -= 1;
            return None;
        }
        if !self.repeats() {
            return None;
        }
        self.cooldown = STUCK_COOLDOWN;
        self.warnings += 1;
        Some(match self.warnings {
            1 => Stage::Warn(NUDGE),
            2 => Stage::Warn(FINAL_NOTICE),
            _ => Stage::Stop,
        })
    }

    fn add(&mut self, call: &ToolCallRequest) {
        self.calls.push_back(format!("{} {:?}", call.name, call.arguments));
        if self.calls.len() > STUCK_WINDOW {
            self.calls.pop_front();
        }
        match self.tool.0 == call.name {
            true => self.tool.1 += 1,
            false => self.tool = (call.name.clone(), 1),
        }
    }

    fn repeats(&self) -> bool {
        let times = |call: &String| self.calls.iter().filter(|other| *other == call).count();
        self.tool.1 >= STUCK_SAME_TOOL || self.calls.back().is_some_and(|call| times(call) >= STUCK_EQUAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelCall, ToolCallId};

    /// Returns the stages after rounds of one call each, a tool with an argument.
    fn stages(rounds: &[(&str, usize)]) -> Vec<Option<Stage>> {
        let mut stuck = Stuck::default();
        let call = |(name, argument): &(&str, usize)| {
            let arguments = format!("{{\"n\":{argument}}}");
            let call = ModelCall { provider_id: "1".into(), name: (*name).into(), arguments, opaque: None };
            ToolCallRequest::new(ToolCallId("1".into()), call)
        };
        rounds.iter().map(|round| stuck.after([&call(round)].into_iter())).collect()
    }

    #[test]
    fn equal_calls_are_warned_about_twice_and_then_stopped() {
        let equal = [("grep", 1); 9];
        let (nudge, last) = (Some(Stage::Warn(NUDGE)), Some(Stage::Warn(FINAL_NOTICE)));
        assert_eq!(stages(&equal), [None, None, nudge, None, None, last, None, None, Some(Stage::Stop)]);
    }

    #[test]
    fn ten_calls_of_one_tool_in_a_row_count_as_repetition() {
        let differ: Vec<_> = (0..10).map(|n| ("file_read", n)).collect();
        let stages = stages(&differ);
        assert!(stages[..9].iter().all(Option::is_none) && stages[9] == Some(Stage::Warn(NUDGE)));
    }

    #[test]
    fn calls_that_differ_are_work() {
        let tools = ["grep", "file_read", "bash"];
        let work: Vec<_> = (0..30).map(|n| (tools[n % 3], n)).collect();
        assert!(stages(&work).iter().all(Option::is_none));
    }
}
