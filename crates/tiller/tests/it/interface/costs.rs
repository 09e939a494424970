//! What the interface costs while an answer is streamed. `cargo xtask bench` has the figures of the
//! release build; the bound here is wide, and only a defect exceeds it.

use super::{RUNNING, ends::pid_of_tiller, open_model};
use std::time::Duration;

/// Chunks of the answer, of 64 bytes each.
const CHUNKS: usize = 5_000;

/// Three times the bound of the release build, for a debug build on a busy machine.
const BOUND: Duration = Duration::from_millis(900);

/// The unit of processor time in `/proc`.
const TICK: Duration = Duration::from_millis(10);

#[test]
fn a_stream_of_5000_chunks_costs_little_processor_time() {
    let Some((model, _home, tmux)) = open_model() else { return };
    tmux.say("write");
    let mut answer = model.next();
    let pid = pid_of_tiller(&tmux);
    let before = processor_time(pid);
    markdown().for_each(|chunk| answer.text(&chunk));
    answer.text("\n\nNothing follows.");
    answer.end();
    tmux.wait("the end", |screen| screen.contains("Nothing follows.") && !screen.contains(RUNNING));
    let used = processor_time(pid) - before;
    assert!(used < BOUND, "{used:?}");
}

/// Chunks of Markdown: prose, lists, and code as a third of it.
fn markdown() -> impl Iterator<Item = String> {
    let mut sections = (0..).map(|number| {
        let prose = "The **last page** is lost when the total divides evenly, see [a](https://a.example). ";
        let code = "    let value = pages.iter().map(|page| page.len()).sum();\n".repeat(4);
        let prose = prose.repeat(4);
        format!(
            "## Section {number}\n\n{prose}\n\n- an item with `code`\n- another\n\n```rust\n{code}```\n\n"
        )
    });
    let mut text = String::new();
    std::iter::from_fn(move || {
        while text.len() < 64 {
            text += &sections.next()?;
        }
        Some(text.drain(..64).collect())
    })
    .take(CHUNKS)
}

/// Returns the processor time that a process has used, by its fields 14 and 15 in `/proc`.
fn processor_time(pid: rustix::process::Pid) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u32>().unwrap()).sum();
    TICK * ticks
}
