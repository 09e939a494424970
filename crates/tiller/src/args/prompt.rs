//! The flags of a prompt.

use super::SessionArgs;
use crate::options::Rule;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The arguments of `tiller PROMPT`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Prompt options")]
pub(crate) struct PrintArgs {
    /// The prompt, quoted; on a terminal it opens the interface
    #[arg(value_name = "PROMPT", help_heading = None)]
    pub(crate) prompt: Vec<String>,
    /// Print the answer and exit
    ///
    /// `-` or nothing reads the prompt from stdin. With a prompt, piped input follows it.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1)]
    pub(crate) print: Option<Option<String>>,
    /// Open the interface, also with piped input
    #[arg(short, long, conflicts_with_all = ["print", "output_format"])]
    pub(crate) interactive: bool,
    /// The output format
    #[arg(short, long, alias = "output", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The thought level: low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL")]
    pub(crate) effort: Option<agent::Effort>,
    /// Maximum number of model requests; then exit code 2
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Time limit in seconds; then exit code 2
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    /// Continue the last session of this directory
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["resume", "session_id", "no_session"])]
    pub(crate) latest: bool,
    /// Continue a session: this one, or one you choose
    ///
    /// Without a terminal, and without an id, it is the last session of this directory.
    #[arg(short, long, value_name = "ID", num_args = 0..=1, require_equals = true, conflicts_with_all = ["session_id", "no_session"])]
    pub(crate) resume: Option<Option<String>>,
    /// Continue the session with this id, or the beginning of one
    #[arg(long = "session", value_name = "ID", conflicts_with = "no_session")]
    pub(crate) session_id: Option<String>,
    /// Continue in a copy of that session
    #[arg(long, conflicts_with_all = ["no_session", "take_over"])]
    pub(crate) fork: bool,
    /// Take the session over from another process
    ///
    /// That process can then no longer write to it.
    #[arg(long, conflicts_with = "no_session")]
    pub(crate) take_over: bool,
    /// Store nothing about this session
    #[arg(long)]
    pub(crate) no_session: bool,
    /// The system prompt, instead of the built-in one
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) system_prompt: Option<String>,
    /// Text added to the system prompt
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) append_system_prompt: Option<String>,
    /// Another directory of the session; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// An image that follows the prompt; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Allow what this rule matches; may be repeated
    ///
    /// A rule is a tool with a pattern, such as 'bash(make *)'.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<Rule>,
    /// Let commands connect to a host, HOST:PORT or a group such as npm; may be repeated
    ///
    /// The same as --allow 'network(host:HOST)' and --allow 'network(group:GROUP)'.
    #[arg(long, value_name = "WORD", value_parser = Rule::host)]
    pub(crate) allow_host: Vec<Rule>,
    /// Deny what this rule matches; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<Rule>,
    /// The answer is JSON that this JSON Schema describes
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// Whether stream-json has pieces of answers [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) include_partial: Option<bool>,
    /// Do not read stdin
    #[arg(long)]
    pub(crate) no_stdin: bool,
    /// Report the progress on stderr, without a terminal too
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// How the interface uses the screen
    #[arg(long, alias = "renderer", value_enum, value_name = "MODE")]
    pub(crate) screen: Option<ScreenMode>,
    /// No animation in the interface
    #[arg(long)]
    pub(crate) no_animation: bool,
}

/// The output format of `-p`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer's text as it is generated.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per line, as events occur.
    StreamJson,
}

/// How the interface uses the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScreenMode {
    /// Below what the terminal shows already, which stays in its history.
    Inline,
    /// The whole screen.
    Full,
    /// Lines only, for screen readers and logs.
    Plain,
}
