//! The law of sessions: what a session does next depends on its stored events alone. For random
//! scripts, the running session and one that another process opens over the same log send the same
//! model requests, byte for byte, and record the same events.

mod errands;
mod model;
mod script;
mod world;

use agent::{CompactionStep, SessionEvent, StopReason, SubagentStatus, ToolStatus, TurnEnd};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use script::{Script, scripts};
use std::{
    collections::{BTreeMap, BTreeSet, hash_map::RandomState},
    hash::{BuildHasher as _, Hasher as _},
};
use world::{Next, World};

/// The number of scripts in all parts together.
const SCRIPTS: u32 = 10_000;
/// The number of parts, which run in parallel.
const PARTS: u32 = 25;

/// Reads a number from an environment variable.
#[expect(clippy::disallowed_methods, reason = "a test has no other way to be told a seed")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// Runs one part of the scripts. `TILLER_SCRIPTS_SEED` repeats the scripts of a failed run,
/// `TILLER_SCRIPTS` sets their number.
fn part(part: u8) {
    let seed = number("TILLER_SCRIPTS_SEED").unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let scripts_in_all = number("TILLER_SCRIPTS").map_or(SCRIPTS, |count| u32::try_from(count).unwrap());
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8] = part;
    let config = Config {
        cases: scripts_in_all.div_ceil(PARTS),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    if let Err(error) = runner.run(&scripts(), what_a_session_does_next_follows_from_its_log) {
        panic!("the law does not hold; TILLER_SCRIPTS_SEED={seed} plays the same scripts again\n{error}");
    }
}

/// Plays a script; returns what the running session does next, and what a session does that is
/// opened over the same log.
fn played(script: Script) -> (Next, Next) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut world = World::new(script).await;
        world.play().await;
        world.next().await
    })
}

/// Checks that both do the same next.
fn what_a_session_does_next_follows_from_its_log(script: Script) -> Result<(), TestCaseError> {
    let (running, resumed) = played(script);
    if running == resumed {
        return Ok(());
    }
    if running.agents != resumed.agents {
        let (running, resumed) = (&running.agents, &resumed.agents);
        return Err(TestCaseError::fail(format!("subagents running: {running:?}\nresumed: {resumed:?}")));
    }
    Err(TestCaseError::fail(format!("running: {}\nresumed: {}", shown(&running), shown(&resumed))))
}

/// Renders the result without the tools and with only the length of the system prompts.
fn shown(next: &Next) -> String {
    let requests: Vec<_> = next.requests.iter().map(|request| &request.messages).collect();
    let events: Vec<_> = next.events.iter().rev().take(8).collect();
    let systems: Vec<_> = next.requests.iter().map(|request| request.system.len()).collect();
    format!("{requests:?}\nsystems of {systems:?} bytes, {:?} tokens, last events {events:?}", next.total)
}

/// Returns the names of the notable situations that the events contain.
fn reached(events: &[SessionEvent]) -> impl Iterator<Item = &'static str> {
    let mut steered = false;
    let mut reached = Vec::new();
    for event in events {
        let what = match event {
            SessionEvent::UserMessage { .. } if steered => "steering",
            SessionEvent::ToolCall(update) => match update.status {
                Some(ToolStatus::Interrupted) => "a call that was interrupted",
                Some(ToolStatus::Cancelled) => "a call that was cancelled",
                Some(ToolStatus::Failed) => "a call that failed or was denied",
                _ => "a call",
            },
            SessionEvent::Compaction(compaction) => match compaction.step {
                CompactionStep::Completed { .. } => "a summary",
                CompactionStep::Failed(_) => "a summary that failed",
                _ => "a summary that was cancelled",
            },
            SessionEvent::AnswerPart(_) => "a part of an answer",
            SessionEvent::ModelResponse(response) if response.text().ends_with("the process ended]") => {
                "an answer that was cut off"
            }
            SessionEvent::ResultsLeftOut(_) => "results that were left out",
            SessionEvent::Rewound(_) => "a rewind",
            SessionEvent::ModeChanged(_) => "another mode",
            SessionEvent::ModelChanged(_) => "another model",
            SessionEvent::TurnEnded { end: TurnEnd::Failed(_), .. } => "a turn that failed",
            SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::Cancelled), .. } => "a cancel",
            SessionEvent::Subagent(state) => match state.progress.status {
                SubagentStatus::Queued => "a subagent that was requested",
                SubagentStatus::Done if state.progress.delivered => "a subagent's result that was received",
                SubagentStatus::Done if state.progress.retries > 0 => "a subagent that was retried",
                status => status.id(),
            },
            SessionEvent::ModelResponse(response) if response.model.is_empty() => "a command",
            _ => "the rest",
        };
        steered = match event {
            SessionEvent::ModelResponse(_) => true,
            SessionEvent::TurnStarted { .. } => false,
            _ => steered,
        };
        reached.push(what);
    }
    reached.into_iter()
}

#[test]
fn the_scripts_reach_all_that_the_law_is_about() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut counts = BTreeMap::<_, u32>::new();
    for _ in 0..SCRIPTS / 20 {
        let script = scripts().new_tree(&mut runner).unwrap().current();
        let (running, _) = played(script);
        let once: BTreeSet<_> = reached(&running.events).collect();
        once.into_iter().for_each(|what| *counts.entry(what).or_default() += 1);
    }
    assert_eq!(counts.len(), 26, "{counts:?}");
    assert!(counts.values().all(|count| *count >= 4), "{counts:?}");
}

/// Makes each part a test of its own, so that they run in parallel.
macro_rules! parts {
    ($($name:ident $part:literal)*) => {
        $(
            #[test]
            fn $name() {
                part($part);
            }
        )*
    };
}

parts! {
    part_0 0
    part_1 1
    part_2 2
    part_3 3
    part_4 4
    part_5 5
    part_6 6
    part_7 7
    part_8 8
    part_9 9
    part_10 10
    part_11 11
    part_12 12
    part_13 13
    part_14 14
    part_15 15
    part_16 16
    part_17 17
    part_18 18
    part_19 19
    part_20 20
    part_21 21
    part_22 22
    part_23 23
    part_24 24
}
