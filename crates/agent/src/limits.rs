//! Every limit of the crate as a named constant or setting, with its unit and origin.

use std::time::Duration;

/// Limits of a session's turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Model requests in one turn; beyond it the turn stops with `max_turn_requests`.
    pub turn_requests: u32,
    /// Model requests for one prompt, including all steps of a goal.
    pub run_requests: u32,
    /// Consecutive repetitions of the same call with the same arguments before the turn is stopped.
    pub identical_calls: u32,
    /// Tool calls accepted from one response; further calls are answered with an error.
    pub calls_per_response: usize,
    /// Prompts that may be queued behind a running turn.
    pub queued_prompts: usize,
    /// Timeout of a permission request; an unanswered request counts as a rejection.
    pub permission_wait: Duration,
    /// Limits of tools.
    pub tools: ToolLimits,
    /// The thresholds at which a conversation that outgrows its model's context is shortened.
    pub context: ContextLimits,
    /// Limits of subagents.
    pub subagents: SubagentLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turn_requests: 200,
            run_requests: u32::MAX,
            identical_calls: 5,
            calls_per_response: 64,
            queued_prompts: 32,
            permission_wait: Duration::from_secs(60 * 60),
            tools: ToolLimits::default(),
            context: ContextLimits::default(),
            subagents: SubagentLimits::default(),
        }
    }
}

/// Limits of subagents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentLimits {
    /// Subagents of this process that run at a time; 0 means no limit
    /// (`agent.subagent_concurrency`).
    pub concurrency: usize,
    /// Levels of agents, including the session itself (`agent.subagent_max_depth`).
    pub depth: u32,
    /// How long a running subagent may show no activity before it is stopped; zero means no limit
    /// (`agent.subagent_idle_timeout`).
    pub idle: Duration,
    /// How often a subagent is tried in all when its model fails for a passing reason
    /// (`agent.subagent_attempts`).
    pub attempts: u32,
}

impl Default for SubagentLimits {
    fn default() -> Self {
        Self { concurrency: 10, depth: 3, idle: Duration::from_secs(900), attempts: 2 }
    }
}

/// The thresholds at which a conversation that outgrows its model's context is shortened.
///
/// In tokens unless stated otherwise; for a small context, each buffer is capped at a fraction of
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextLimits {
    /// Whether the conversation is compacted automatically (`context.auto_compact`).
    pub auto_compact: bool,
    /// How full the context may become before compaction, in percent (`context.compact_threshold`).
    pub compact_threshold: u64,
    /// Tokens reserved for the response (`context.reserve_output_tokens`).
    pub reserve_output: u64,
    /// Remaining tokens beyond the reserve at which the user is warned, if automatic compaction is
    /// off (`context.warning_buffer_tokens`).
    pub warning_buffer: u64,
    /// Remaining tokens beyond the reserve at which compaction starts, regardless of the threshold
    /// (`context.auto_compact_buffer_tokens`).
    pub auto_compact_buffer: u64,
    /// Remaining tokens at which requests are no longer sent (`context.blocking_buffer_tokens`).
    pub blocking_buffer: u64,
    /// Tokens of the newest tool results that are never pruned (`context.prune_protect`).
    pub prune_protect: u64,
    /// Tokens that pruning old results must save to be done (`context.prune_min_savings`).
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
    /// Lines of one call's result (`context.max_output_lines`).
    pub output_lines: usize,
    /// Bytes of one call's result (`context.max_output_bytes`).
    pub output_bytes: usize,
    /// Bytes of a command's output that are kept.
    pub command_output_bytes: usize,
    /// Timeout of a command if the model gives none.
    pub command_timeout: Duration,
    /// The longest timeout that the model can set for a command.
    pub command_timeout_max: Duration,
    /// How long to wait for a killed command to exit and for its last output.
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
    /// Returns these limits without truncation, for a call whose result no model reads directly.
    pub(crate) fn uncut(&self) -> Self {
        Self { output_lines: usize::MAX, output_bytes: usize::MAX, ..self.clone() }
    }
}

/// Bytes of one model response in all: text, reasoning, arguments of calls and opaque data of the
/// wire format. Reading stops beyond it, and the response is truncated.
pub const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Events of a response that are handled before the task yields to others.
pub(crate) const ANSWER_EVENTS_AT_ONCE: u32 = 32;

/// Lines that one read returns if the model gives no number.
pub(crate) const READ_LINES: usize = 2_000;
/// The maximum number of lines that one read returns.
pub(crate) const READ_LINES_MAX: usize = 5_000;
/// Lines that a read scans beyond its end to report how many remain.
pub(crate) const READ_AHEAD_LINES: usize = 1_000;
/// Characters of one line that a read shows.
pub(crate) const READ_LINE_CHARS: usize = 2_000;
/// Paths that one glob returns if the model gives no number.
pub(crate) const GLOB_PATHS: usize = 200;
/// The maximum number of paths that one glob returns.
pub(crate) const GLOB_PATHS_MAX: usize = 5_000;
/// Maximum size of a pattern for `grep`, in bytes.
pub(crate) const GREP_PATTERN_BYTES: usize = 16 * 1024;
/// Maximum size of a compiled pattern for `grep`, in bytes.
pub(crate) const GREP_COMPILED_BYTES: usize = 16 * 1024 * 1024;
/// Matches per file that a search of a directory returns if the model gives no number.
pub(crate) const GREP_PER_FILE: usize = 50;
/// Matches that one search returns if the model gives no number.
pub(crate) const GREP_MATCHES: usize = 100;
/// The maximum number of matches that one search returns.
pub(crate) const GREP_MATCHES_MAX: usize = 2_000;
/// Matches beyond those shown that a search counts, to report how many remain.
pub(crate) const GREP_COUNTED: usize = 1_000;
/// The maximum number of context lines around a match.
pub(crate) const GREP_CONTEXT: usize = 50;
/// Timeout of one search.
pub(crate) const GREP_TIME: Duration = Duration::from_secs(30);
/// Files that one directory walk visits.
pub(crate) const WALK_FILES: usize = 200_000;
/// Characters of a session's title, taken from its first prompt.
pub(crate) const TITLE_CHARS: usize = 80;
/// How long a tool may clean up once the turn is cancelled; then it is dropped, which kills the
/// child processes it owns.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_millis(400);
/// Folders below a session's directory whose instructions are read.
pub(crate) const INSTRUCTIONS_FOLDERS: usize = 200;
/// Bytes of the project's instructions in the prompt; fewer for a model with a small context.
pub(crate) const INSTRUCTIONS_BYTES: usize = 32 * 1024;
/// The largest instruction file that is read, in bytes; a larger one is rejected.
pub(crate) const INSTRUCTIONS_FILE_BYTES: usize = 1024 * 1024;
/// Bytes of the instructions that may come from one file.
pub(crate) const INSTRUCTIONS_OF_ONE_FILE: usize = 16 * 1024;
/// How long a turn waits for the lookup of its directory's surroundings before it starts without
/// them.
pub(crate) const LOOK_AROUND_WAIT: Duration = Duration::from_secs(5);
/// Parent directories of the session's directory that are searched for the root of its repository.
pub(crate) const PARENT_FOLDERS: usize = 64;
/// The largest git file that is read to find the checked-out branch, in bytes.
pub(crate) const BRANCH_BYTES: u64 = 4 * 1024;
/// Maximum length of the address of a remote that is stored, in bytes.
pub(crate) const REMOTE_BYTES: usize = 1024;
/// Maximum size of the log of `HEAD`, and of the configuration of a repository, that is read to
/// recognize it, in bytes.
pub(crate) const REPOSITORY_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Timeout of a store operation; a timed-out operation counts as failed, and the log is reloaded
/// before the next turn.
pub(crate) const STORE_WAIT: Duration = Duration::from_secs(30);
/// The pause between two looks at background commands while the session's lease is unconfirmed.
pub(crate) const UNCONFIRMED_STEP: Duration = Duration::from_secs(1);
/// Timeout for obtaining a model before a request.
pub(crate) const MODEL_WAIT: Duration = Duration::from_secs(60);
/// How long a responding model may stay silent, if it does not monitor that itself.
pub(crate) const MODEL_SILENCE: Duration = Duration::from_secs(300);
/// Extra silence allowed to a model that monitors its server itself: longer than the longest delay
/// before a retry.
pub(crate) const SILENCE_GRACE: Duration = Duration::from_secs(120);
/// Timeout of the lookup of a session's directory.
pub(crate) const ROOT_WAIT: Duration = Duration::from_secs(5);
/// Timeout of the file lookups for a prompt: attachments and resolved paths.
pub(crate) const LOOK_WAIT: Duration = Duration::from_secs(60);
/// Timeout of a call that writes: the user may review the change.
pub(crate) const REVIEW_WAIT: Duration = Duration::from_secs(60 * 60);
/// Timeout of a call that reads.
pub(crate) const FILES_WAIT: Duration = Duration::from_secs(600);
/// Timeout of any other call; commands have lower limits of their own.
pub(crate) const CALL_WAIT: Duration = Duration::from_secs(6 * 60 * 60);
/// Nested calls that may be queued behind the running one.
pub(crate) const NESTED_CALLS: usize = 16;
/// Timeout for a tool source to list its tools.
pub(crate) const SOURCE_WAIT: Duration = Duration::from_secs(5);
/// Characters of the id that a client gives a prompt.
pub(crate) const PROMPT_ID_CHARS: usize = 128;
/// Prompts with an id whose result an open session remembers beside its log: the results that are
/// not stored, and errors in full.
pub(crate) const REMEMBERED_PROMPTS: usize = 256;
/// Bytes of idle sessions' conversations that stay in memory for their next turns, in addition to
/// the most recently idle one.
pub(crate) const IDLE_BYTES: usize = 32 * 1024 * 1024;
/// The interval at which an answer is stored in parts while it arrives.
pub(crate) const ANSWER_PART_EVERY: Duration = Duration::from_secs(1);
/// Events read from the store at a time.
pub(crate) const EVENTS_PAGE: usize = 500;
/// Sessions that `/sessions` lists.
pub(crate) const SESSIONS_SHOWN: usize = 20;
/// Events at the end of a log that are searched first for an interrupted turn.
pub(crate) const TAIL_EVENTS: u64 = 64;
/// Events at the end of a log that are searched for the last prompt of a session in a list.
pub(crate) const GLANCE_EVENTS: u64 = 1024;
/// Characters of a message that a search shows.
pub(crate) const EXCERPT_CHARS: usize = 160;
/// Bytes of a file's content that are kept so that a change can be undone; of a larger file, only
/// the hash is kept.
pub(crate) const CHECKPOINT_FILE_BYTES: usize = 8 * 1024 * 1024;
/// Characters of one line that a search shows.
pub(crate) const GREP_LINE_CHARS: usize = 500;
/// Bytes at the start of a file that are checked for NUL; a file with one counts as binary in a
/// search.
pub(crate) const BINARY_PROBE_BYTES: usize = 8_192;
/// Bytes of one long result that are kept in a file: its first and its last half.
pub(crate) const WHOLE_BYTES: usize = 8 * 1024 * 1024;
/// Files of long results that one session keeps; a new one replaces the oldest.
pub(crate) const WHOLE_FILES: usize = 32;
/// Bytes of a local command's output that may be buffered before they are read.
pub(crate) const COMMAND_PENDING_BYTES: usize = 4 * 1024 * 1024;
/// A `timeout` of at least this value is taken as milliseconds, since no command runs for ten
/// thousand seconds.
pub(crate) const TIMEOUT_IN_MILLISECONDS: u64 = 10_000;
/// Background commands that one session runs at a time.
pub(crate) const SHELLS: usize = 8;
/// Background commands that one process keeps running for closed sessions, and may start for that.
pub(crate) const SHELLS_KEPT: usize = 8;
/// Lines of that output that a slash command shows; see [`SHELL_SHOWN_BYTES`].
pub(crate) const SHELL_SHOWN_LINES: usize = 40;
/// Bytes of a background command's last output that the user can look at.
pub(crate) const SHELL_SHOWN_BYTES: usize = 16 * 1024;
/// Finished background commands whose output a session keeps.
pub(crate) const SHELLS_ENDED: usize = 16;
/// Bytes of a background command's unread output that are kept; the newest bytes win.
pub(crate) const SHELL_BYTES: usize = 1024 * 1024;
/// How long a new background command is watched for an early failure, unless the call gives a
/// duration.
pub(crate) const SHELL_START_WAIT: Duration = Duration::from_secs(1);
/// How long a call waits for output of a background command, unless it gives a duration.
pub(crate) const SHELL_WAIT: Duration = Duration::from_millis(500);
/// The longest such wait that a call can request.
pub(crate) const SHELL_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long a background command may take to read its input.
pub(crate) const SHELL_INPUT_WAIT: Duration = Duration::from_secs(5);
/// How long closing a session waits for its background commands to exit.
pub(crate) const SHELLS_END_WAIT: Duration = Duration::from_secs(4);
/// Lines of output in the message to the model about a finished background command.
pub(crate) const SHELL_NEWS_LINES: usize = 10;
/// Bytes of output in that message; see [`SHELL_NEWS_LINES`].
pub(crate) const SHELL_NEWS_BYTES: usize = 1_000;
/// Characters of a command line in the list of background commands.
pub(crate) const SHELL_LINE_CHARS: usize = 80;
/// Characters of a command in a call's title.
pub(crate) const COMMAND_TITLE_CHARS: usize = 80;
/// Bytes of a command that a question's title shows in full; a longer command is shown in a block
/// below the title.
pub(crate) const WHOLE_TITLE_BYTES: usize = 200;
/// The shortest interval between two updates with a running command's output: 25 a second.
pub(crate) const LIVE_EVERY: Duration = Duration::from_millis(40);
/// Bytes of a running command's output that are shown in full; beyond it, only excerpts are.
pub(crate) const LIVE_BYTES: usize = 256 * 1024;
/// Bytes per second of those excerpts.
pub(crate) const LIVE_TRICKLE_BYTES: usize = 4 * 1024;
/// Bytes of a running command's output that may wait to be shown; beyond it, the older half is
/// dropped.
pub(crate) const LIVE_PENDING_BYTES: usize = 16 * 1024;
/// The first and the last runs of colour that are kept of a command's output; of more than three
/// times as many, the middle becomes plain.
pub(crate) const COLOUR_RUNS: usize = 2_048;
/// Bytes of the parameters of a control sequence that are read; a longer one colours nothing.
pub(crate) const SGR_BYTES: usize = 64;
/// Bytes of a running command's output that are kept for clients that join in the middle.
pub(crate) const LIVE_KEPT_BYTES: usize = 64 * 1024;
/// Characters of one output line to which carriage returns and similar controls are applied;
/// earlier text stays unchanged.
pub(crate) const PLAIN_LINE_CHARS: usize = 16 * 1024;
/// "Always" answers that one session remembers; further answers apply once.
pub(crate) const GRANTS: usize = 1_000;

/// How long a connection of a command waits for the user's answer, unless the settings say
/// otherwise. Package managers wait longer.
pub(crate) const NETWORK_ASK_WAIT: Duration = Duration::from_secs(60);

/// Maximum number of changes of files that a question names; further ones are counted.
pub(crate) const OPEN_CHANGES_TOLD: usize = 5;

/// Maximum number of changes of files that a question shows with their differences.
pub(crate) const OPEN_CHANGES_SHOWN: usize = 50;

/// Maximum size of a file whose changes a question shows, in bytes.
pub(crate) const OPEN_CHANGE_BYTES: usize = 256 * 1024;

/// Maximum number of characters of a setting's value in a question.
pub(crate) const SETTING_CHARS: usize = 120;

/// Maximum number of questions about hosts for one command; further hosts are refused.
pub(crate) const NETWORK_QUESTIONS: usize = 8;

/// How many bytes commands of a session send to the hosts of a group before the user is asked,
/// beside a share of what they received: one byte for each [`NETWORK_SENT_SHARE`]. Downloads of
/// packages send at most 0.25 % of what they receive.
pub(crate) const NETWORK_SENT_BYTES: u64 = 256 * 1024;

/// See [`NETWORK_SENT_BYTES`].
pub(crate) const NETWORK_SENT_SHARE: u64 = 64;

/// Maximum number of ports at which commands reach other hosts.
pub(crate) const NETWORK_PORTS: usize = 32;

/// Maximum number of hosts that are remembered for the result of a command.
pub(crate) const NETWORK_HOSTS: usize = 64;

/// Maximum number of hosts and ports whose use is added up for a session.
pub(crate) const NETWORK_HOSTS_OF_SESSION: usize = 256;

/// Maximum number of hosts that a result names.
pub(crate) const NETWORK_HOSTS_TOLD: usize = 8;

/// Maximum number of references that one push changes.
pub(crate) const PUSHED_REFS: usize = 64;

/// Maximum number of references that the question about a push names.
pub(crate) const PUSHED_REFS_TOLD: usize = 8;

/// Maximum time for the search whether a push loses commits.
pub(crate) const ANCESTRY_WAIT: Duration = Duration::from_secs(20);
/// Files that a session tracks as seen by the model. Eviction keeps at least the most recently used
/// half; an evicted file must be read again before it is edited.
pub(crate) const TRACKED_FILES: usize = 8_000;
/// Options of one question to the user.
pub(crate) const CHOICES: usize = 20;
/// Characters of a question in its title.
pub(crate) const QUESTION_TITLE_CHARS: usize = 80;
/// Characters of a task call's title.
pub(crate) const TASK_TITLE_CHARS: usize = 80;
/// Tasks in one session.
pub(crate) const TASKS: usize = 500;
/// Bytes of all texts of a session's tasks together. Every change stores the whole list.
pub(crate) const TASKS_BYTES: usize = 128 * 1024;
/// Characters of a goal's objective.
pub(crate) const GOAL_OBJECTIVE_CHARS: usize = 4_000;
/// Answers in a row without a tool call after which a goal counts as blocked.
pub(crate) const GOAL_IDLE_ANSWERS: u32 = 3;
/// How often one turn goes on after an answer because of a goal.
pub(crate) const GOAL_CONTINUATIONS: u32 = 1_000;
/// Requests that a goal may make once its token budget is used up.
pub(crate) const GOAL_LAST_REQUESTS: u32 = 2;
/// The used part of a token budget, in percent, from which on the user is warned.
pub(crate) const GOAL_WARNING_PERCENT: u64 = 80;
/// Lines of the open tasks in a message to the model.
pub(crate) const TASKS_BRIEFED: usize = 50;
/// Lines of a file that are searched for near matches of a text that was not found.
pub(crate) const NEAREST_SEARCHED: usize = 20_000;
/// Lines shown of one near match.
pub(crate) const NEAREST_SHOWN: usize = 12;
/// Characters of one line in the message about a failed edit.
pub(crate) const NEAREST_LINE_CHARS: usize = 200;
/// Suggested names for a file that was not found.
pub(crate) const NEAR_NAMES: usize = 3;
/// The maximum size in bytes of a file on disk that is compared with the editor's text at each
/// read.
pub(crate) const COMPARED_BYTES: u64 = 1 << 20;
/// How often a change is made again if the file changes at the moment of the write.
pub(crate) const WRITE_TRIES: usize = 3;
/// How long an editor may still return the old text after it acknowledged a write, before the write
/// counts as not applied.
pub(crate) const TAKEN_WITHIN: Duration = Duration::from_secs(10);
/// How long a write through an editor whose buffers cannot be read may take to appear on disk,
/// before the file counts as not saved.
pub(crate) const SAVED_WITHIN: Duration = Duration::from_secs(1);
/// The first delay between two checks whether a write has been applied; it doubles each time.
pub(crate) const TAKEN_PAUSE: Duration = Duration::from_millis(10);
/// The longest of those delays.
pub(crate) const TAKEN_PAUSE_MAX: Duration = Duration::from_secs(1);
/// Timeout for the editor, before a command runs, to return its buffers of files whose text differs
/// on disk.
pub(crate) const UNSAVED_WITHIN: Duration = Duration::from_secs(2);
/// Timeout for the editor to return one file to a search; then the file on disk is searched.
pub(crate) const EDITOR_READ_WITHIN: Duration = Duration::from_secs(5);
/// Concurrent file requests to the editor.
pub(crate) const EDITOR_READS: usize = 16;
/// Files whose text on disk differs from the text last seen and whose buffers are requested from
/// the editor before a command runs.
pub(crate) const UNSAVED_FILES: usize = 64;
/// Files with matches on disk that one search requests from the editor.
pub(crate) const GREP_EDITOR_FILES: usize = 200;
/// Lines of the diff that shows how an editor reformatted a text that it accepted.
pub(crate) const REFORMAT_LINES: usize = 60;

/// Files of a helper directory that are read to check whether a project's item is trusted.
pub(crate) const TRUST_FILES: usize = 1000;

/// Bytes of those files in all.
pub(crate) const TRUST_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of one file that belongs to an item.
pub(crate) const TRUST_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Paths that the words of an item may name.
pub(crate) const TRUST_NAMED: usize = 512;

/// Bytes of the files at those paths in all.
pub(crate) const TRUST_NAMED_BYTES: usize = 32 * 1024 * 1024;

/// How many directories deep those files may lie.
pub(crate) const TRUST_DEPTH: usize = 8;

/// Nesting depth of a YAML document.
pub(crate) const YAML_DEPTH: usize = 100;
/// Bytes that all aliases in a YAML document may expand to, in total.
pub(crate) const YAML_COPIED_BYTES: usize = 16 * 1024 * 1024;

/// Skills that are used of one directory of skills, and commands of one directory of commands; the
/// first ones by name.
pub(crate) const SKILLS: usize = 200;
/// Entries of such a directory that are searched.
pub(crate) const SKILL_ENTRIES: usize = 2_000;
/// Bytes of a SKILL.md or of a command's file; a larger one is not used.
pub(crate) const SKILL_BYTES: usize = 256 * 1024;
/// Bytes of the front matter of such a file.
pub(crate) const FRONT_MATTER_BYTES: usize = 16 * 1024;
/// Characters of a skill's name.
pub(crate) const SKILL_NAME_CHARS: usize = 64;
/// Characters of the description of a skill or command; the rest is cut.
pub(crate) const SKILL_DESCRIPTION_CHARS: usize = 1024;
/// Characters of a skill's `compatibility`.
pub(crate) const SKILL_COMPATIBILITY_CHARS: usize = 500;
/// Characters of the argument hint of a skill or command.
pub(crate) const COMMAND_HINT_CHARS: usize = 100;
/// Directories below a directory of commands that a command's file may lie in.
pub(crate) const COMMAND_DEPTH: usize = 4;
/// Files of a skill's directory that are listed with the skill.
pub(crate) const SKILL_FILES: usize = 200;
/// Bytes of the list of skills that a model gets; fewer for a model with a small context.
pub(crate) const SKILLS_SECTION_BYTES: usize = 8 * 1024;
/// How long the directories of skills stay unread after a session's start, unless a turn begins:
/// the session's own response goes first.
pub(crate) const SKILLS_HEAD_START: Duration = Duration::from_millis(20);
/// Names of skills that a notice or an error message lists.
pub(crate) const SKILL_NAMES_SHOWN: usize = 20;

/// Bytes of a hook's output that are kept; the last ones win.
pub(crate) const HOOK_OUTPUT_BYTES: usize = 64 * 1024;

/// Bytes of a hook's text that are passed on.
pub(crate) const HOOK_NOTE_BYTES: usize = 4096;

/// Items of tool sources that one prompt can mention.
pub(crate) const MENTIONS: usize = 16;

/// Bytes of text per token, for estimates.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;
/// Tokens per image, for estimates.
pub(crate) const IMAGE_TOKENS: u64 = 1_500;
/// Turns at the end of a conversation that compaction leaves unchanged, including the running one.
pub(crate) const COMPACTION_TURNS: usize = 3;
/// The smallest part of a conversation worth compacting, in tokens.
pub(crate) const COMPACTION_LEAST_TOKENS: u64 = 1_000;
/// Consecutive failures after which automatic compaction stops.
pub(crate) const COMPACTION_FAILURES: u32 = 3;
/// The maximum length of a summary, in tokens.
pub(crate) const COMPACTION_OUTPUT_TOKENS: u64 = 8_000;
/// Characters of one result in the transcript that is summarised.
pub(crate) const COMPACTION_RESULT_CHARS: usize = 2_000;
/// Characters of one call's arguments in that transcript.
pub(crate) const COMPACTION_ARGUMENT_CHARS: usize = 1_000;
/// Characters of an unanswered prompt that accompany a summary.
pub(crate) const COMPACTION_PROMPT_CHARS: usize = 20_000;
/// File names that a small model is given before its first request.
pub(crate) const AHEAD_NAMES: usize = 60;
/// Files whose text a small model is given.
pub(crate) const AHEAD_FILES: usize = 3;
/// Bytes of those texts in all.
pub(crate) const AHEAD_BYTES: usize = 6 * 1024;
/// Files that are searched for the words of a prompt.
pub(crate) const AHEAD_SEARCHED: usize = 400;
/// The largest file that is searched, in bytes.
pub(crate) const AHEAD_SEARCHED_BYTES: u64 = 32 * 1024;
/// Characters of a memory's title.
pub(crate) const MEMORY_TITLE_CHARS: usize = 120;
/// Bytes of a memory's content.
pub(crate) const MEMORY_CONTENT_BYTES: usize = 8 * 1024;
/// Days after which a working memory expires, unless another time is given.
pub(crate) const WORKING_MEMORY_DAYS: u32 = 14;
/// The greatest number of days that a call can give, ten years.
pub(crate) const MEMORY_DAYS_MAX: u64 = 3_650;
/// The maximum number of memories that one request lists.
pub const MEMORIES_LISTED: usize = 2_000;
/// Memories that one search of a model returns.
pub(crate) const MEMORIES_FOUND: usize = 20;
/// Memories that are compared with the first prompt of a session, the most important ones.
pub(crate) const MEMORIES_CONSIDERED: usize = 200;
/// Memories that a session is sent.
pub(crate) const MEMORIES_RECALLED: usize = 6;
/// Bytes of those memories in all; fewer for a model with a small context.
pub const MEMORIES_RECALLED_BYTES: usize = 6 * 1024;
/// Bytes of one of those memories' content.
pub(crate) const MEMORY_RECALLED_BYTES: usize = 1_000;
/// Words of a prompt that memories are compared with.
pub(crate) const PROMPT_WORDS: usize = 64;
/// What one word that a memory has in common with the prompt adds to its importance.
pub(crate) const MEMORY_HIT_WEIGHT: i64 = 10;
/// Common words that count.
pub(crate) const MEMORY_HITS: usize = 6;
/// How long the first request of a session waits for the memories before it is sent without them.
pub(crate) const MEMORIES_WAIT: Duration = Duration::from_secs(2);
/// Sessions or messages that one search of earlier sessions returns.
pub(crate) const PAST_SESSIONS: usize = 10;
/// Entries of an earlier session that a read returns if the model gives no number.
pub(crate) const PAST_ENTRIES: usize = 50;
/// The maximum number of those entries.
pub(crate) const PAST_ENTRIES_MAX: usize = 200;
/// Characters of one entry that such a read shows.
pub(crate) const PAST_ENTRY_CHARS: usize = 2_000;
/// The shortest beginning of a session's id that a read accepts, in characters.
pub(crate) const SESSION_ID_CHARS: usize = 8;
/// Characters of a subagent's answer that the agent which requested it receives; a longer answer is
/// cut, and stored in a file.
pub const SUBAGENT_RESULT_CHARS: usize = 4_000;
/// Characters of a subagent's last message in the tree.
pub(crate) const SUBAGENT_PREVIEW_CHARS: usize = 200;
/// Subagents that one session has in all, at every level.
pub(crate) const SUBAGENTS: usize = 1_000;
/// Subagents that one call requests.
pub(crate) const SUBAGENTS_AT_ONCE: usize = 100;
/// Characters of a subagent's id.
pub(crate) const SUBAGENT_ID_CHARS: usize = 64;
/// The shortest interval between two snapshots of the subagents: 4 a second.
pub(crate) const SWARM_EVERY: Duration = Duration::from_millis(250);
/// Bytes of the diffs that the call of subagents shows when it has ended.
pub(crate) const SUBAGENT_DIFF_BYTES: usize = 256 * 1024;
/// Bytes of the diffs that it shows while they are at work: they are sent with each snapshot.
pub(crate) const SUBAGENT_LIVE_DIFF_BYTES: usize = 32 * 1024;
/// How long a cancelled subagent may take to end before it is left to itself.
pub(crate) const SUBAGENT_END_WAIT: Duration = Duration::from_secs(10);
/// The longest delay before a retry of a subagent, without jitter.
pub(crate) const SUBAGENT_RETRY_MAX: Duration = Duration::from_secs(30);
/// Calls of a subagent that are compared to detect that it is stuck.
pub(crate) const STUCK_WINDOW: usize = 8;
/// Equal calls among those that mean that it is stuck.
pub(crate) const STUCK_EQUAL: usize = 3;
/// Consecutive calls of one tool that mean the same.
pub(crate) const STUCK_SAME_TOOL: usize = 10;
/// Rounds after a warning in which it is not repeated.
pub(crate) const STUCK_COOLDOWN: u32 = 2;
/// Bytes of a git command's output that are read for a subagent's worktree.
pub(crate) const GIT_OUTPUT_BYTES: usize = 64 * 1024;
/// Timeout of a git command for a subagent's worktree; a checkout may be large.
pub(crate) const GIT_WAIT: Duration = Duration::from_secs(300);
/// How long a question waits for a client to join a session that has none.
pub(crate) const QUESTION_WAIT: Duration = Duration::from_secs(24 * 3600);
/// Searches of one answer that are shown to the user, if the model's provider searches by itself.
pub(crate) const SEARCHES_SHOWN: usize = 50;
