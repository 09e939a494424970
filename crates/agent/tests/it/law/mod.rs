//! The law of sessions: whatever happens to one, what it does next follows from its stored events. For scripts that are made up at random, the
//! running session and one that another process opens over the same log ask the model the same, byte for byte, and record the same.

mod model;
mod script;
mod world;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use script::{Script, scripts};
use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hasher as _},
};
use world::{Next, World};

/// Scripts of all parts together.
const SCRIPTS: u32 = 10_000;
/// The parts, which run side by side.
const PARTS: u32 = 16;

/// Plays one part of the scripts. `TILLER_SCRIPTS_SEED` plays those of a run that failed again, `TILLER_SCRIPTS` another number of them.
fn part(part: u8) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
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
    if let Err(error) = runner.run(&scripts(), |script| holds(script)) {
        panic!("the law does not hold; TILLER_SCRIPTS_SEED={seed} plays the same scripts again\n{error}");
    }
}

/// Plays a script, and compares what comes next.
fn holds(script: Script) -> Result<(), TestCaseError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (running, resumed) = runtime.block_on(async {
        let mut world = World::new(script).await;
        world.play().await;
        world.next().await
    });
    if running == resumed {
        return Ok(());
    }
    Err(TestCaseError::fail(format!("running: {}\nresumed: {}", shown(&running), shown(&resumed))))
}

/// Without the instructions and tools, which say the same each time where they are the same.
fn shown(next: &Next) -> String {
    let requests: Vec<_> = next.requests.iter().map(|request| &request.messages).collect();
    let events: Vec<_> = next.events.iter().rev().take(8).collect();
    let systems: Vec<_> = next.requests.iter().map(|request| request.system.len()).collect();
    format!("{requests:?}\nsystems of {systems:?} bytes, {:?} tokens, last events {events:?}", next.total)
}

/// The parts as tests of their own, so that they run side by side.
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
}
