//! Every limit of the pilot, named, with its unit.

/// Bytes of a prompt that are interpreted; a longer one is refused whole.
pub(crate) const PROMPT_BYTES: usize = 1024 * 1024;
/// Steps of one prompt.
pub(crate) const STEPS: usize = 50;
/// Files, tasks or reads of one step.
pub(crate) const ITEMS: usize = 50;
/// Calls of one answer: below what the runtime takes from one answer.
pub(crate) const CALLS_PER_REPLY: usize = 32;
/// Pages of a file that are read before an edit by line.
pub(crate) const PAGES: usize = 25;
/// Searches of one symbol rename: a search shows a limited number of lines, so it is repeated until none is left.
pub(crate) const SEARCHES: usize = 20;
/// Characters from which a line that was read may have been cut by the reading tool.
pub(crate) const LONG_LINE_CHARS: usize = 2_000;
/// Lines of a tool's text that the report repeats.
pub(crate) const REPORT_LINES: usize = 200;
/// Bytes of a tool's text that the report repeats.
pub(crate) const REPORT_BYTES: usize = 16 * 1024;
/// Characters of quoted text in a sentence.
pub(crate) const SNIPPET_CHARS: usize = 60;
/// Pieces that an answer's text is streamed in.
pub(crate) const CHUNKS: usize = 8;
/// Bytes that are counted as one token: the rule by which usage is estimated.
pub(crate) const BYTES_PER_TOKEN: usize = 4;
/// Tokens of context the pilot claims. It has no window; the figure keeps clients' meters meaningful.
pub(crate) const CONTEXT_TOKENS: u64 = 128_000;
/// Tokens of one answer.
pub(crate) const OUTPUT_TOKENS: u64 = 16_000;
