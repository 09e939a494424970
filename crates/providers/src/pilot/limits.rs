//! The named limits of the pilot, with their units.

/// The longest prompt in bytes; a longer one is rejected.
pub(crate) const PROMPT_BYTES: usize = 1024 * 1024;
/// The maximum number of steps in a prompt.
pub(crate) const STEPS: usize = 50;
/// The maximum number of files, tasks or reads in a step.
pub(crate) const ITEMS: usize = 50;
/// The maximum number of calls in an answer; below the runtime's own limit.
pub(crate) const CALLS_PER_REPLY: usize = 32;
/// The maximum number of pages of a file that are read before an edit by line.
pub(crate) const PAGES: usize = 25;
/// The maximum number of searches for a symbol rename. A search shows a limited number of lines, so
/// it is repeated until nothing is found.
pub(crate) const SEARCHES: usize = 20;
/// The line length in characters from which the reading tool may have truncated a line.
pub(crate) const LONG_LINE_CHARS: usize = 2_000;
/// The maximum number of lines of a tool's result that the report repeats.
pub(crate) const REPORT_LINES: usize = 200;
/// The maximum number of bytes of a tool's result that the report repeats.
pub(crate) const REPORT_BYTES: usize = 16 * 1024;
/// The maximum number of characters of quoted text in a sentence.
pub(crate) const SNIPPET_CHARS: usize = 60;
/// The approximate number of chunks in which an answer's text is streamed.
pub(crate) const CHUNKS: usize = 8;
/// The number of bytes that count as one token in the usage estimate.
pub(crate) const BYTES_PER_TOKEN: usize = 4;
/// The context size in tokens that the pilot reports. It has no real limit; the value keeps
/// clients' usage displays meaningful.
pub(crate) const CONTEXT_TOKENS: u64 = 128_000;
/// The maximum number of tokens in one answer.
pub(crate) const OUTPUT_TOKENS: u64 = 16_000;
