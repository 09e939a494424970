//! Every limit of the crate, named, with its unit.

use std::time::Duration;

/// What one run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Bytes that the interpreter may hold.
    pub memory: usize,
    /// Time in the interpreter itself; waiting for what it calls does not count.
    pub cpu: Duration,
    /// Time from beginning to end, with all that is called.
    pub wall: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { memory: 32 * MEGABYTE, cpu: Duration::from_secs(30), wall: Duration::from_secs(10 * 60) }
    }
}

/// One megabyte, as the parameter `memoryLimit` counts.
pub const MEGABYTE: usize = 1024 * 1024;
/// The most memory a call may ask for.
pub const MEMORY_MAX: usize = 256 * MEGABYTE;
/// The least memory a run gets: what the libraries themselves take, and some.
pub const MEMORY_MIN: usize = MEGABYTE;
/// The most time in the interpreter that a call may ask for.
pub const CPU_MAX: Duration = Duration::from_secs(300);
/// Bytes of a script.
pub const CODE_BYTES: usize = 1024 * 1024;

/// Instructions between two looks at the clock. Small, since one instruction may compare megabytes.
pub(crate) const HOOK_INSTRUCTIONS: u32 = 1_000;
/// Steps of a pattern between two looks at the clock.
pub(crate) const PATTERN_STEPS: u32 = 4_096;
/// How deep the parts of a pattern may lie in each other.
pub(crate) const PATTERN_DEPTH: u32 = 200;
/// Captures of one pattern.
pub(crate) const CAPTURES: usize = 32;
/// How long after its limits a run may still take to end; then its thread is left to itself.
pub(crate) const END_GRACE: Duration = Duration::from_secs(5);
/// Bytes of printed text that are kept; what comes after is counted.
pub(crate) const PRINT_BYTES: usize = 256 * 1024;
/// Bytes that one value shows as text.
pub(crate) const SHOWN_BYTES: usize = 256 * 1024;

/// Bytes of JSON that the values that a script returned may have together; more are given as text.
pub(crate) const RETURNED_BYTES: usize = 8 << 20;
/// How deep tables may lie in each other where they are shown or become JSON.
pub(crate) const DEPTH: usize = 64;
/// Values in one piece of JSON.
pub(crate) const JSON_VALUES: usize = 200_000;
/// Bytes of a compiled regular expression.
pub(crate) const REGEX_BYTES: usize = 1024 * 1024;
/// The most elements that `table.move` moves at once.
pub(crate) const MOVE_ELEMENTS: i64 = 10_000_000;
/// Results of a search in the docs when nobody says how many.
pub(crate) const SEARCH_RESULTS: usize = 10;
/// Results of a search in the docs at the most.
pub(crate) const SEARCH_RESULTS_MAX: usize = 50;
/// Bytes of stack of an interpreter's thread: calls from Lua to Rust and back lie up to 200 deep in each other.
pub(crate) const STACK_BYTES: usize = 32 * MEGABYTE;
