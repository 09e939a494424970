//! The command line.
//!
//! The doc comments of variants and fields are the help texts of `--help`.

#[cfg(not(feature = "extensions"))]
mod absent;
mod acp;
mod config;
#[cfg(feature = "extensions")]
mod integrations;
#[cfg(feature = "extensions")]
mod mcp;
mod mistyped;
mod spelling;

#[cfg(not(feature = "extensions"))]
pub(crate) use absent::Anything;
pub(crate) use config::{ConfigCommand, ConfigPlace};
#[cfg(feature = "extensions")]
pub(crate) use integrations::{
    AddIntegration, Configure, IntegrationsCommand, OneFunction, SettingsScope, Word, file as document_file,
};
#[cfg(feature = "extensions")]
pub(crate) use mcp::{
    Add, Called, Common, Edited, Login, McpCommand, PresetCommand, Scope, SecretCommand, Serve, Trusted,
};
use mistyped::prompt_or_suggestion;
use spelling::spelled;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A coding agent that works through the editor.
#[derive(Debug, Parser)]
#[command(name = "tiller", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the Agent Client Protocol on stdin and stdout: what editors start.
    Acp(AcpArgs),
    /// Play the editor against `tiller acp` on a sample project and show what passes between them.
    Demo(DemoArgs),
    /// List, show, search, export, import, archive, delete, rewind or repair stored sessions.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Set up a model provider: store its key, and choose the model of new sessions. Asks what is
    /// not given.
    Setup(SetupArgs),
    /// Show settings, and write them.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List the models that can be chosen now, or get newer prices and limits of vendors' models.
    Models(ModelsArgs),
    /// Tell what this machine and these settings give, and what is wrong with them.
    Doctor(DoctorArgs),
    /// Show what a folder brings (settings that loosen, servers, hooks) and trust it, one by one:
    /// let it execute and redirect until it changes.
    Trust(TrustArgs),
    /// List, add, check, call and serve MCP servers.
    #[cfg_attr(feature = "extensions", command(subcommand))]
    Mcp(McpCommand),
    /// Integrations: services whose functions can be called, and what they may do.
    #[cfg_attr(feature = "extensions", command(subcommand))]
    Integrations(IntegrationsCommand),
    /// Explain what would be allowed, or show what was.
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Run Lua scripts.
    #[cfg_attr(feature = "extensions", command(subcommand))]
    Lua(LuaCommand),
    /// Print the JSON Schema of a wire or of the settings.
    #[command(subcommand)]
    Schema(SchemaCommand),
}

/// The arguments of `tiller models`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The commands of `tiller models`; without one it lists the models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Get the catalogue of vendors' models anew: limits, efforts and prices. Nothing does this by
    /// itself.
    Refresh {
        /// Where it is: an address, or a file that was downloaded elsewhere.
        #[arg(long, value_name = "URL|FILE", default_value = providers::CATALOGUE_URL)]
        from: String,
    },
}

/// The commands of `tiller schema`.
#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// The events and requests of the native layer.
    Native,
    /// The settings files.
    Settings,
}

#[cfg(not(feature = "extensions"))]
pub(crate) type McpCommand = Anything;
#[cfg(not(feature = "extensions"))]
pub(crate) type IntegrationsCommand = Anything;
#[cfg(not(feature = "extensions"))]
pub(crate) type LuaCommand = Anything;

/// The commands of `tiller lua`.
#[cfg(feature = "extensions")]
#[derive(Debug, Subcommand)]
pub(crate) enum LuaCommand {
    /// Run a script as a model's would be run, without an agent's tools, and print what it prints
    /// and returns.
    Run(ScriptArgs),
}

/// A script, its limits and its arguments.
#[cfg(feature = "extensions")]
#[derive(Debug, Args)]
pub(crate) struct ScriptArgs {
    /// The script.
    #[arg(value_name = "FILE", required_unless_present = "eval")]
    pub(crate) file: Option<String>,
    /// The script itself, or one expression.
    #[arg(short, long, value_name = "CODE", conflicts_with = "file", allow_hyphen_values = true)]
    pub(crate) eval: Option<String>,
    /// Megabytes of memory.
    #[arg(long, value_name = "MB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) memory: u32,
    /// Seconds of computing.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub(crate) cpu: f64,
    /// A global of the script; the value is JSON, or text where it is none.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(crate) args: Vec<String>,
    /// Make calls that would have to ask, and use servers of a project that is not trusted. What is
    /// denied stays denied.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The options of a new session.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SessionArgs {
    /// The model, as PROVIDER/NAME: openai/…, anthropic/…, gemini/…, local/…, offline/pilot,
    /// replay/FILE.
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// The agent mode: edit, plan or ask.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<agent::Mode>,
    /// How much is asked before acting: guardian, argus or prometheus.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<agent::PermissionMode>,
    /// Ask nothing (the permission mode prometheus); hard denials still hold.
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) yolo: bool,
    /// Write the model's traffic to a file that `replay/FILE` plays back.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// The arguments of `tiller acp`.
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// The folder whose `.tiller/config.toml` applies; the current folder by default.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The version of the protocol: the one the editor asks for, or always the same.
    #[arg(long, value_enum, default_value_t = Protocol::Auto)]
    pub(crate) protocol: Protocol,
    /// The native event layer beside the protocol's own: for clients that ask for it, always in one
    /// spelling, or never.
    #[arg(long, value_enum, default_value_t = Events::Auto)]
    pub(crate) events: Events,
    /// Do what `tiller setup` does, and serve nothing: what editors run in a terminal to log in.
    #[arg(long, hide = true)]
    pub(crate) setup: bool,
}

/// The version of the protocol that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// The one the editor asks for.
    Auto,
    /// The first, whatever the editor asks for.
    #[value(name = "1")]
    First,
    /// The second, a draft; editors that ask for the first are refused.
    #[cfg(feature = "v2")]
    #[value(name = "2")]
    Second,
}

/// When the events of the native layer are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Events {
    /// To clients that ask for them.
    Auto,
    /// Never.
    Off,
    /// Always, as `_tiller/…`.
    Tiller,
    /// Always, as `kosmokrator/…`.
    Kosmokrator,
}

/// The arguments of `tiller -p PROMPT`.
#[derive(Debug, Default, Args)]
#[command(group = clap::ArgGroup::new("said").multiple(true))]
pub(crate) struct PrintArgs {
    /// Run one prompt without an editor and print the answer; `-` (or nothing) reads the prompt
    /// from stdin. What is piped in beside a prompt is appended to it.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1, group = "said")]
    pub(crate) print: Option<Option<String>>,
    /// The prompt, when it does not follow `-p` directly, or `-p` is left out.
    #[arg(value_name = "PROMPT", group = "said")]
    pub(crate) prompt: Vec<String>,
    /// What is printed.
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Text, requires = "said")]
    pub(crate) output_format: OutputFormat,
    /// The folder to work in; the current folder by default.
    #[arg(long, value_name = "DIR", requires = "said")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Model requests at the most; then the exit code is 2.
    #[arg(short = 't', long, value_name = "N", requires = "said", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Seconds at the most; then the exit code is 2.
    #[arg(long, value_name = "SECONDS", requires = "said", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    /// Go on with the last session of this folder.
    #[arg(short = 'c', long = "continue", visible_alias = "resume", requires = "said", conflicts_with_all = ["session_id", "no_session"])]
    pub(crate) resume: bool,
    /// Go on with this session.
    #[arg(long = "session", value_name = "ID", requires = "said", conflicts_with = "no_session")]
    pub(crate) session_id: Option<String>,
    /// Take the session from another process that has it open; that one writes no more.
    #[arg(long, requires = "said", conflicts_with = "no_session")]
    pub(crate) take_over: bool,
    /// Text added to the system prompt.
    #[arg(long, value_name = "TEXT", requires = "said")]
    pub(crate) append_system_prompt: Option<String>,
    /// Keep nothing on disk about this session.
    #[arg(long, requires = "said")]
    pub(crate) no_session: bool,
}

/// The output format of `-p`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer's text as it comes.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line, as things happen.
    StreamJson,
}

/// The arguments of `tiller demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Another model than offline/pilot; it needs your configuration and keys.
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Your own files instead of the sample project; permissions are then asked on the terminal.
    #[arg(long, value_name = "DIR", requires = "prompt")]
    pub(crate) project: Option<PathBuf>,
    /// What to ask for.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Keep the sample project's folder.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// The commands of `tiller sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List stored sessions, the last used first.
    List {
        /// Only those of this folder.
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// Include archived sessions.
        #[arg(long)]
        archived: bool,
        /// How many at the most.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Print one JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show the conversation of a session.
    Show {
        /// The session's id.
        id: String,
        /// Print one JSON object a line, as `-o stream-json` does.
        #[arg(long)]
        json: bool,
    },
    /// Print a whole session: as JSON that `import` reads, or as a document.
    Export {
        /// The session's id.
        id: String,
        /// What is printed.
        #[arg(long, value_enum, default_value_t = ExportFormat::Json)]
        format: ExportFormat,
    },
    /// Store a session that `export --format json` printed, and print its id: its own, or a new one
    /// where that is taken.
    Import {
        /// The file; `-` reads stdin.
        file: PathBuf,
        /// The folder it is to work in; its own by default.
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Put a session away: it is kept, and left out of lists.
    Archive {
        /// The session's id.
        id: String,
    },
    /// Put a session back into lists.
    Unarchive {
        /// The session's id.
        id: String,
    },
    /// Delete a session and everything that is stored of it. This cannot be undone.
    Delete {
        /// The session's id.
        id: String,
    },
    /// Find words in messages and titles.
    Search {
        /// Words that must all occur in one message, each whole or as the beginning of one.
        #[arg(required = true)]
        words: Vec<String>,
        /// Only in sessions of this folder.
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// How many at the most.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Print one JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Make files what they were when a turn had ended; without --to and --redo, list the turns
    /// that changed files.
    Rewind {
        /// The session's id.
        id: String,
        /// The turn's number; 0 is before the first.
        #[arg(long, value_name = "TURN")]
        to: Option<u64>,
        /// Take the last rewind back.
        #[arg(long, conflicts_with = "to")]
        redo: bool,
    },
    /// Look the file of all sessions over and repair it: what can be read is kept, and a damaged
    /// file is set aside, never deleted.
    Repair {
        /// Say what is wrong and what would be done, and change nothing.
        #[arg(long)]
        check: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// The output format of `sessions export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line: the session, then each event.
    Json,
    /// A document to be read.
    Markdown,
}

/// The arguments of `tiller setup`.
#[derive(Debug, Default, Args)]
pub(crate) struct SetupArgs {
    /// The provider: openai, anthropic, gemini, or a name of your own for a server that speaks
    /// OpenAI's protocol.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model of new sessions.
    #[arg(short, long, value_name = "[PROVIDER/]NAME")]
    pub(crate) model: Option<String>,
    /// Where the provider's API is.
    #[arg(long, value_name = "URL", requires = "provider")]
    pub(crate) base_url: Option<String>,
    /// Read the key from standard input and store it.
    #[arg(long, requires = "provider")]
    pub(crate) api_key_stdin: bool,
    /// Take the key from this variable of the environment whenever it is needed, and store none.
    #[arg(long, value_name = "VARIABLE", requires = "provider", conflicts_with = "api_key_stdin")]
    pub(crate) api_key_env: Option<String>,
    /// Remove the provider's stored key.
    #[arg(long, requires = "provider", conflicts_with_all = ["api_key_stdin", "api_key_env", "base_url", "model"])]
    pub(crate) forget: bool,
    /// Write settings for the current project alone. A key is stored for all projects.
    #[arg(long)]
    pub(crate) project: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `tiller doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `tiller trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The folder; the current one by default.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// List what is trusted, and whether it is as it was. Asks and changes nothing.
    #[arg(long, conflicts_with_all = ["path", "revoke", "yes", "only"])]
    pub(crate) list: bool,
    /// Take the trust back: in all that the folder brings, or in the server or hook of this name.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, conflicts_with = "yes")]
    pub(crate) revoke: Option<Option<String>>,
    /// Trust what is shown without asking: for scripts.
    #[arg(long)]
    pub(crate) yes: bool,
    /// The server, the hook or the `settings` of this name alone; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
}

/// The commands of `tiller permissions`.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Show what each rule says of a command or a path, and the decision.
    Explain {
        /// The command, or the path.
        #[arg(value_name = "COMMAND|PATH", allow_hyphen_values = true)]
        what: String,
        /// The path is to be written, not read.
        #[arg(long)]
        write: bool,
        /// Decide this often, and tell how long one decision takes.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        time: Option<u32>,
    },
    /// Show the decisions of a session: the last one of this folder, unless one is named.
    Log {
        /// The session.
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Print one JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }
}
