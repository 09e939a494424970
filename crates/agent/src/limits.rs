//! Every limit of the crate, named, with its unit and where it comes from.

use std::time::Duration;

/// Limits of a session's turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Model requests in one turn; then the turn stops with `max_turn_requests`.
    pub turn_requests: u32,
    /// How often the same call with the same arguments may be repeated in a row before the turn is stopped.
    pub identical_calls: u32,
    /// Tool calls taken from one answer; the rest are answered with an error.
    pub calls_per_response: usize,
    /// Prompts that wait behind a running turn.
    pub queued_prompts: usize,
    /// How long a permission request may stay unanswered; then it is a rejection.
    pub permission_wait: Duration,
    /// Limits of tools.
    pub tools: ToolLimits,
    /// When a conversation that outgrows its model's context is made shorter.
    pub context: ContextLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turn_requests: 200,
            identical_calls: 5,
            calls_per_response: 64,
            queued_prompts: 32,
            permission_wait: Duration::from_secs(60 * 60),
            tools: ToolLimits::default(),
            context: ContextLimits::default(),
        }
    }
}

/// When a conversation that outgrows its model's context is made shorter. In tokens, unless it says otherwise; of a small context each buffer is
/// only a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextLimits {
    /// Whether it is summed up by itself (`context.auto_compact`).
    pub auto_compact: bool,
    /// How full the context may become before that, in percent (`context.compact_threshold`).
    pub compact_threshold: u64,
    /// What is kept free for the answer (`context.reserve_output_tokens`).
    pub reserve_output: u64,
    /// How much is left beyond that when the user is warned, where nothing is summed up by itself (`context.warning_buffer_tokens`).
    pub warning_buffer: u64,
    /// How much must be left beyond that, whatever the threshold says (`context.auto_compact_buffer_tokens`).
    pub auto_compact_buffer: u64,
    /// With how little left nothing is sent any more (`context.blocking_buffer_tokens`).
    pub blocking_buffer: u64,
    /// How much of the newest results of tools is never left out (`context.prune_protect`).
    pub prune_protect: u64,
    /// How much leaving old results out must save (`context.prune_min_savings`).
    pub prune_min_savings: u64,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            auto_compact: true,
            compact_threshold: 60,
            reserve_output: 16_000,
            warning_buffer: 24_000,
            auto_compact_buffer: 12_000,
            blocking_buffer: 3_000,
            prune_protect: 40_000,
            prune_min_savings: 20_000,
        }
    }
}

/// Limits of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolLimits {
    /// Lines that one call's text may have (`context.max_output_lines`).
    pub output_lines: usize,
    /// Bytes that one call's text may have (`context.max_output_bytes`).
    pub output_bytes: usize,
    /// Bytes of a command's output that are kept.
    pub command_output_bytes: usize,
    /// How long a command may run when the model does not say.
    pub command_timeout: Duration,
    /// How long a command may run at the most.
    pub command_timeout_max: Duration,
    /// How long to wait for a killed command's end and last output.
    pub kill_grace: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            output_lines: 2_000,
            output_bytes: 50_000,
            command_output_bytes: 50_000,
            command_timeout: Duration::from_secs(120),
            command_timeout_max: Duration::from_secs(7_200),
            kill_grace: Duration::from_secs(2),
        }
    }
}

impl ToolLimits {
    /// The same, for a call whose text no model reads as it is: nothing is cut.
    pub(crate) fn uncut(&self) -> Self {
        Self { output_lines: usize::MAX, output_bytes: usize::MAX, ..self.clone() }
    }
}

/// Bytes of one answer of a model: its text, its reasoning, the arguments of its calls and what only
/// the wire understands together.
/// What comes beyond it is not read, and the answer is cut off.
pub const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Events of an answer that are taken in one go, while others may wait for the thread.
pub(crate) const ANSWER_EVENTS_AT_ONCE: u32 = 32;

/// Lines of a file that one read returns when the model does not say.
pub(crate) const READ_LINES: usize = 2_000;
/// Lines of a file that one read returns at the most.
pub(crate) const READ_LINES_MAX: usize = 5_000;
/// Lines that a read looks ahead to say how many more there are.
pub(crate) const READ_AHEAD_LINES: usize = 1_000;
/// Characters of one line that a read shows.
pub(crate) const READ_LINE_CHARS: usize = 2_000;
/// Bytes of an image that a read returns: the least that a vendor takes is 5 MB in base64.
pub(crate) const READ_IMAGE_BYTES: usize = 3_750_000;
/// Paths that one glob returns when the model does not say.
pub(crate) const GLOB_PATHS: usize = 200;
/// Paths that one glob returns at the most.
pub(crate) const GLOB_PATHS_MAX: usize = 5_000;
/// Matches of one file that a search of a folder returns when the model does not say how many.
pub(crate) const GREP_PER_FILE: usize = 50;
/// Matches that one search returns when the model does not say.
pub(crate) const GREP_MATCHES: usize = 100;
/// Matches that one search returns at the most.
pub(crate) const GREP_MATCHES_MAX: usize = 2_000;
/// Matches beyond those shown that a search counts, to say how many more there are.
pub(crate) const GREP_COUNTED: usize = 1_000;
/// Lines around a match that a search shows at the most.
pub(crate) const GREP_CONTEXT: usize = 50;
/// How long one search may take.
pub(crate) const GREP_TIME: Duration = Duration::from_secs(30);
/// Files that one walk visits.
pub(crate) const WALK_FILES: usize = 200_000;
/// Characters of a session's title, taken from its first prompt.
pub(crate) const TITLE_CHARS: usize = 80;
/// How long a tool may take to end what it started once the turn is cancelled; then it is abandoned, which kills what it owns.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_millis(400);
/// Bytes of the project's instructions that a model is told; one with a small context is told less.
pub(crate) const INSTRUCTIONS_BYTES: usize = 32 * 1024;
/// The largest file that is read for them, in bytes; a larger one is refused.
pub(crate) const INSTRUCTIONS_FILE_BYTES: usize = 1024 * 1024;
/// Bytes of them that are of one file.
pub(crate) const INSTRUCTIONS_OF_ONE_FILE: usize = 16 * 1024;
/// How long a turn waits for what lies around its folder before it begins without that.
pub(crate) const LOOK_AROUND_WAIT: Duration = Duration::from_secs(5);
/// Folders above a session's own in which its repository may begin.
pub(crate) const PARENT_FOLDERS: usize = 64;
/// The largest file of git that is read for what is checked out, in bytes.
pub(crate) const BRANCH_BYTES: u64 = 4 * 1024;
/// How long the store has for an answer; then the operation counts as failed, and the log is read again before the next turn.
pub(crate) const STORE_WAIT: Duration = Duration::from_secs(30);
/// How long it may take to get at a model that is to be asked.
pub(crate) const MODEL_WAIT: Duration = Duration::from_secs(60);
/// How long a model may say nothing while it answers, where it does not watch that itself.
pub(crate) const MODEL_SILENCE: Duration = Duration::from_secs(300);
/// How much longer than its own limit a model may say nothing that watches its server itself: longer
/// than the longest wait before a request is tried again.
pub(crate) const SILENCE_GRACE: Duration = Duration::from_secs(120);
/// How long the files around a prompt may take: what is attached, where a path leads.
pub(crate) const LOOK_WAIT: Duration = Duration::from_secs(60);
/// How long a call that writes may take: the user may review what is written.
pub(crate) const REVIEW_WAIT: Duration = Duration::from_secs(60 * 60);
/// How long a call that reads may take.
pub(crate) const FILES_WAIT: Duration = Duration::from_secs(600);
/// How long any other call may take; commands have limits of their own below it.
pub(crate) const CALL_WAIT: Duration = Duration::from_secs(6 * 60 * 60);
/// Calls from within a call that wait for the one before.
pub(crate) const INNER_CALLS: usize = 16;
/// How long a source of further tools may take to say what it has.
pub(crate) const SOURCE_WAIT: Duration = Duration::from_secs(5);
/// Bytes of conversations that are held of idle sessions for their next turns, beside the one that
/// was idle last.
pub(crate) const IDLE_BYTES: usize = 32 * 1024 * 1024;
/// Events read from the store at a time.
pub(crate) const EVENTS_PAGE: usize = 500;
/// Events at the end of a log that are looked at for a turn that was cut off, before more are.
pub(crate) const TAIL_EVENTS: u64 = 64;
/// Characters of a message that a search shows.
pub(crate) const EXCERPT_CHARS: usize = 160;
/// Bytes of a file's content that are kept so that a change can be taken back; of a larger one only the hash is.
pub(crate) const CHECKPOINT_FILE_BYTES: usize = 8 * 1024 * 1024;
/// Characters of one line that a search shows.
pub(crate) const GREP_LINE_CHARS: usize = 500;
/// Bytes at the start of a file in which a NUL byte makes it binary for a search.
pub(crate) const BINARY_PROBE_BYTES: usize = 8_192;
/// Bytes of one long result that are kept whole in a file: its first and its last half.
pub(crate) const WHOLE_BYTES: usize = 8 * 1024 * 1024;
/// Files of long results that one session keeps; the oldest goes when there is another.
pub(crate) const WHOLE_FILES: usize = 32;
/// Bytes of a command's output that wait to be taken, where it runs on this machine.
pub(crate) const COMMAND_PENDING_BYTES: usize = 4 * 1024 * 1024;
/// A `timeout` from here on is meant in milliseconds: no command runs for ten thousand seconds.
pub(crate) const TIMEOUT_IN_MILLISECONDS: u64 = 10_000;
/// Commands that one session runs in the background at a time.
pub(crate) const SHELLS: usize = 8;
/// Commands of the background that have ended and of which a session still has the output.
pub(crate) const SHELLS_ENDED: usize = 16;
/// Bytes of output of a command in the background that wait to be read; of more, the newest.
pub(crate) const SHELL_BYTES: usize = 1024 * 1024;
/// How long a command that begins in the background is watched for a failure, unless the call says.
pub(crate) const SHELL_START_WAIT: Duration = Duration::from_secs(1);
/// How long a call waits for output of a command in the background, unless it says.
pub(crate) const SHELL_WAIT: Duration = Duration::from_millis(500);
/// The longest of those waits that a call can ask for.
pub(crate) const SHELL_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long a command in the background may take to read its input.
pub(crate) const SHELL_INPUT_WAIT: Duration = Duration::from_secs(5);
/// How long the end of a session waits for its commands in the background to end.
pub(crate) const SHELLS_END_WAIT: Duration = Duration::from_secs(4);
/// Lines and bytes of output that the model is told when a command in the background has ended.
pub(crate) const SHELL_NEWS_LINES: usize = 10;
/// See [`SHELL_NEWS_LINES`].
pub(crate) const SHELL_NEWS_BYTES: usize = 1_000;
/// Characters of a command's line where commands in the background are listed.
pub(crate) const SHELL_LINE_CHARS: usize = 80;
/// Characters of a command that its title shows.
pub(crate) const COMMAND_TITLE_CHARS: usize = 80;
/// Bytes of a command that the title of a question shows whole; a longer one is in a block below
/// it.
pub(crate) const WHOLE_TITLE_BYTES: usize = 200;
/// The shortest time between two pieces of a running command's output: 25 a second.
pub(crate) const LIVE_EVERY: Duration = Duration::from_millis(40);
/// Bytes of a running command's output that are shown as they come; beyond it, extracts.
pub(crate) const LIVE_BYTES: usize = 256 * 1024;
/// Bytes a second of those extracts.
pub(crate) const LIVE_TRICKLE_BYTES: usize = 4 * 1024;
/// Bytes of a running command's output that wait to be shown; beyond it, the older half is left out.
pub(crate) const LIVE_PENDING_BYTES: usize = 16 * 1024;
/// Bytes of a running command's output that are kept for whoever begins to watch in the middle.
pub(crate) const LIVE_KEPT_BYTES: usize = 64 * 1024;
/// Characters of one line of a command's output in which carriage returns and the like are applied;
/// what comes before stays as it is.
pub(crate) const PLAIN_LINE_CHARS: usize = 16 * 1024;
/// Answers for "always" that one session remembers; those beyond it count once.
pub(crate) const GRANTS: usize = 1_000;
/// Files of which a session remembers what the model has seen: half of them at the least, those it
/// dealt with last. One that was forgotten is read again before it is edited.
pub(crate) const TRACKED_FILES: usize = 8_000;
/// Answers that one question to the user offers.
pub(crate) const CHOICES: usize = 20;
/// Characters of a question that its title shows.
pub(crate) const QUESTION_TITLE_CHARS: usize = 80;
/// Characters that the title of a call about tasks has.
pub(crate) const TASK_TITLE_CHARS: usize = 80;
/// Tasks that one session holds.
pub(crate) const TASKS: usize = 500;
/// Lines of a file that are compared with a text that was not found in it.
pub(crate) const NEAREST_SEARCHED: usize = 20_000;
/// Lines that one place near to a text that was not found shows.
pub(crate) const NEAREST_SHOWN: usize = 12;
/// Characters of one line in a message about an edit that did not fit.
pub(crate) const NEAREST_LINE_CHARS: usize = 200;
/// Names offered for a file that was not found.
pub(crate) const NEAR_NAMES: usize = 3;
/// How long an editor may go on showing the text from before a write that it answered, before the
/// write counts as not taken.
pub(crate) const TAKEN_WITHIN: Duration = Duration::from_secs(10);
/// How long a write through an editor that cannot be read is given to appear on disk, before the
/// file counts as not saved.
pub(crate) const SAVED_WITHIN: Duration = Duration::from_secs(1);
/// The first pause between two looks at a text that a write should have changed; each is twice the
/// one before.
pub(crate) const TAKEN_PAUSE: Duration = Duration::from_millis(10);
/// The longest of those pauses.
pub(crate) const TAKEN_PAUSE_MAX: Duration = Duration::from_secs(1);
/// How long an editor may take, before a command runs, to say what it holds of the files whose text
/// on disk is another.
pub(crate) const UNSAVED_WITHIN: Duration = Duration::from_secs(2);
/// How long the editor may take to show one file to a search, before the file on disk is searched
/// instead.
pub(crate) const EDITOR_READ_WITHIN: Duration = Duration::from_secs(5);
/// Files that the editor is asked for at a time.
pub(crate) const EDITOR_READS: usize = 16;
/// Files whose text on disk is another than the one last seen, that the editor is asked for before
/// a command runs.
pub(crate) const UNSAVED_FILES: usize = 64;
/// Files with matches on disk that one search asks the editor for.
pub(crate) const GREP_EDITOR_FILES: usize = 200;
/// Lines of the difference that an editor made to a text on taking it.
pub(crate) const REFORMAT_LINES: usize = 60;

/// The most files of a folder of helpers that are looked at to tell whether an item of a project is trusted.
pub(crate) const TRUST_FILES: usize = 1000;

/// The most bytes of them.
pub(crate) const TRUST_BYTES: usize = 4 * 1024 * 1024;

/// The most bytes of one file that belongs to an item.
pub(crate) const TRUST_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The most paths that the words of an item may mean.
pub(crate) const TRUST_NAMED: usize = 512;

/// The most bytes of the files that they name.
pub(crate) const TRUST_NAMED_BYTES: usize = 32 * 1024 * 1024;

/// How many folders deep they may lie.
pub(crate) const TRUST_DEPTH: usize = 8;

/// The most bytes of output of a hook that are kept, the last ones.
pub(crate) const HOOK_OUTPUT_BYTES: usize = 64 * 1024;

/// The most bytes of what a hook says that are passed on.
pub(crate) const HOOK_NOTE_BYTES: usize = 4096;

/// The most things of sources that one prompt can mention.
pub(crate) const MENTIONS: usize = 16;

/// Bytes of text that one token is taken for.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;
/// Tokens that an image is taken for.
pub(crate) const IMAGE_TOKENS: u64 = 1_500;
/// Turns at the end of a conversation that stay as they were when the rest is summed up, the running one among them.
pub(crate) const COMPACTION_TURNS: usize = 3;
/// Tokens that a part of a conversation must have to be worth summing up.
pub(crate) const COMPACTION_LEAST_TOKENS: u64 = 1_000;
/// How often in a row summing up may fail before it is no longer tried by itself.
pub(crate) const COMPACTION_FAILURES: u32 = 3;
/// The most tokens of a summary.
pub(crate) const COMPACTION_OUTPUT_TOKENS: u64 = 8_000;
/// Characters of one result that a transcript to be summed up has.
pub(crate) const COMPACTION_RESULT_CHARS: usize = 2_000;
/// Characters of the arguments of one call there.
pub(crate) const COMPACTION_ARGUMENT_CHARS: usize = 1_000;
/// Characters of a prompt that is still to be answered which go along with a summary.
pub(crate) const COMPACTION_PROMPT_CHARS: usize = 20_000;
/// Names of files that a small model is told before it is asked.
pub(crate) const AHEAD_NAMES: usize = 60;
/// Files whose text it is given.
pub(crate) const AHEAD_FILES: usize = 3;
/// Bytes of them in all.
pub(crate) const AHEAD_BYTES: usize = 6 * 1024;
/// Files that are looked through for the words of a prompt.
pub(crate) const AHEAD_SEARCHED: usize = 400;
/// The largest of them, in bytes.
pub(crate) const AHEAD_SEARCHED_BYTES: u64 = 32 * 1024;
