//! All limits of this crate, with their units.

use std::time::Duration;

/// The limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// The maximum memory of the interpreter, in bytes.
    pub memory: usize,
    /// The maximum time in the interpreter itself; time spent waiting for calls does not count.
    pub cpu: Duration,
    /// The maximum time from start to end, including all calls.
    pub wall: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { memory: 32 * MEGABYTE, cpu: Duration::from_secs(30), wall: Duration::from_secs(10 * 60) }
    }
}

/// One megabyte, the unit of the parameter `memoryLimit`.
pub const MEGABYTE: usize = 1024 * 1024;
/// The maximum memory that a call may request.
pub const MEMORY_MAX: usize = 256 * MEGABYTE;
/// The minimum memory of a run: what the standard libraries need, and some reserve.
pub const MEMORY_MIN: usize = MEGABYTE;
/// The maximum interpreter time that a call may request.
pub const CPU_MAX: Duration = Duration::from_secs(300);
/// The maximum length of a script in bytes.
pub const CODE_BYTES: usize = 1024 * 1024;

/// The number of instructions between two checks of the limits. Small, because one instruction may
/// compare megabytes.
pub(crate) const HOOK_INSTRUCTIONS: u32 = 1_000;
/// The number of matching steps between two checks of the limits.
pub(crate) const PATTERN_STEPS: u32 = 4_096;
/// The maximum recursion depth of the pattern matcher.
pub(crate) const PATTERN_DEPTH: u32 = 200;
/// The maximum number of captures of a pattern.
pub(crate) const CAPTURES: usize = 32;
/// How long a run may take to end after its wall time limit; then its thread is abandoned.
pub(crate) const END_GRACE: Duration = Duration::from_secs(5);
/// The maximum bytes of printed text that are kept; the rest is only counted.
pub(crate) const PRINT_BYTES: usize = 256 * 1024;
/// The maximum bytes of one value shown as text.
pub(crate) const SHOWN_BYTES: usize = 256 * 1024;

/// The maximum bytes of JSON of all returned values together; beyond that they are returned as
/// text.
pub(crate) const RETURNED_BYTES: usize = 8 << 20;
/// The maximum nesting depth of tables that are shown or converted to JSON.
pub(crate) const DEPTH: usize = 64;
/// The maximum number of values in one JSON document.
pub(crate) const JSON_VALUES: usize = 200_000;
/// The maximum size of a compiled regular expression, in bytes.
pub(crate) const REGEX_BYTES: usize = 1024 * 1024;
/// The maximum number of elements that one `table.move` moves.
pub(crate) const MOVE_ELEMENTS: i64 = 10_000_000;
/// The default number of search results in the docs.
pub(crate) const SEARCH_RESULTS: usize = 10;
/// The maximum number of search results in the docs.
pub(crate) const SEARCH_RESULTS_MAX: usize = 50;
/// The stack size of an interpreter's thread, in bytes: up to 200 calls between Lua and Rust can be
/// nested.
pub(crate) const STACK_BYTES: usize = 32 * MEGABYTE;
