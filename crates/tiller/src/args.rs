//! The command line.
//!
//! The doc comments of variants and fields are the help texts of `--help`.

mod acp;
mod caches;
mod completions;
mod config;
mod doctor;
mod examples;
mod globals;
mod help;
mod install;
mod integrations;
mod mcp;
mod memory;
mod mistakes;
mod pages;
mod prompt;
mod providers;
mod read;
mod secrets;
mod serve;
mod settings;
mod setup;
mod skills;
mod spelling;
mod store;
mod token;
mod update;
mod web;
mod words;

pub(crate) use caches::CachesCommand;
pub(crate) use completions::{CompleteArgs, CompletedKind, CompletionsArgs, ManArgs, Shell};
pub(crate) use config::ConfigCommand;
pub(crate) use doctor::DoctorArgs;
#[cfg(test)]
pub(crate) use examples::examples_of;
pub(crate) use globals::{Globals, wishes};
pub(crate) use help::{HelpArgs, TOPICS, help_of, with_examples};
pub(crate) use install::InstallArgs;
pub(crate) use integrations::{
    AddIntegration, Configure, IntegrationsCommand, OneFunction, SettingsScope, Word, file as document_file,
};
pub(crate) use mcp::{
    Add, Called, Edited, Login, McpCommand, PresetCommand, Scope, SecretCommand, Serve, Trusted,
};
pub(crate) use memory::{MemoryCommand, MemoryFilter};
pub(crate) use pages::Pages;
pub(crate) use prompt::{OutputFormat, PrintArgs, ScreenMode};
pub(crate) use providers::{
    AuthCommand, AuthLogin, ConfigureProvider, CustomCommand, ModelsOf, ProvidersCommand,
};
pub(crate) use read::Instead;
pub(crate) use secrets::{SecretStore, SecretsCommand};
pub(crate) use serve::{AdminSocket, ConnectArgs, ServeArgs, ServeCommand, ServePlace, Since};
pub(crate) use settings::{SettingsCommand, SettingsFileChoice, SettingsFrom, SettingsTo};
pub(crate) use setup::SetupArgs;
pub(crate) use skills::SkillsCommand;
pub(crate) use store::{MigrateArgs, StoreArgs, StoreCommand};
pub(crate) use token::{Lifetime, TokenCommand};
pub(crate) use update::UpdateArgs;
pub(crate) use web::{SearchWord, WebCommand, WebConfigure, WebSearchArgs};

use clap::{Args, Parser, Subcommand, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// A coding agent that works through the editor.
#[derive(Debug, Parser)]
#[command(name = "tiller", version, max_term_width = 80, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) globals: Globals,
}

impl Cli {
    /// Returns what the flags say about output.
    pub(crate) fn wishes(&self) -> crate::answer::Wishes {
        let pages = match &self.command {
            Some(Command::Sessions(
                SessionsCommand::List { pages, .. }
                | SessionsCommand::Show { pages, .. }
                | SessionsCommand::Search { pages, .. },
            ))
            | Some(Command::Memory(
                MemoryCommand::List { pages, .. } | MemoryCommand::Search { pages, .. },
            ))
            | Some(Command::Permissions(PermissionsCommand::Log { pages, .. })) => Some(pages),
            _ => None,
        };
        let wishes = self.globals.wishes();
        crate::answer::Wishes {
            json: wishes.json || self.print.output_format != OutputFormat::Text,
            lines: pages.is_some_and(|pages| pages.jsonl),
            ..wishes
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the Agent Client Protocol; editors start this command.
    ///
    /// The messages are on stdin and stdout.
    Acp(AcpArgs),
    /// Serve clients over a Unix socket or the network.
    ///
    /// Without --listen, it listens on a Unix socket that only you can reach, and `tiller connect`
    /// finds it by itself.
    Serve(Box<ServeArgs>),
    /// Connect an editor to a server; editors start this command.
    ///
    /// The messages are on stdin and stdout. When the connection breaks, it is made again, and no
    /// message is lost.
    Connect(ConnectArgs),
    /// Show an editor and the agent at work on a sample project.
    ///
    /// Plays the editor against `tiller acp` and shows the messages between them.
    Demo(DemoArgs),
    /// List, show, search, export, rewind and repair stored sessions.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Create, inspect and verify the store of sessions.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Show, edit and export memories, and trust a project with them.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Set up a model provider: its key and the model of new sessions.
    ///
    /// On a terminal it asks for missing values, offers the keys and model servers that it finds,
    /// and tests the choice with one request before anything is stored.
    Setup(SetupArgs),
    /// List, check and configure the providers of models.
    #[command(subcommand)]
    Providers(ProvidersCommand),
    /// List the models that can be used now.
    Models(ModelsArgs),
    /// Sign in to providers and MCP servers, or out.
    #[command(subcommand)]
    Auth(AuthCommand),
    /// Show, write and check settings.
    #[command(subcommand)]
    Settings(SettingsCommand),
    /// Show the effective configuration, its files and its schema.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List and remove the caches of sandboxed commands.
    ///
    /// Commands see the caches of package managers in your home directory and change a copy, which
    /// each project has for itself. It is removed after 30 days without use.
    #[command(subcommand)]
    Caches(CachesCommand),
    /// List, store and remove keys and other secrets.
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// Create, list and revoke the tokens of `tiller serve`.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Check the environment and the configuration.
    Doctor(DoctorArgs),
    /// Show what a project brings along, and trust it.
    ///
    /// Its settings, servers, hooks, skills and commands are shown in full and trusted one by one.
    /// Trust in an item ends when the item changes.
    Trust(TrustArgs),
    /// List, show and check skills, and list commands from files.
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Configure, inspect, call, trust and serve MCP servers.
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Configure and call services, and set their permissions.
    ///
    /// An integration is a service whose functions can be called, such as an issue tracker.
    #[command(subcommand)]
    Integrations(IntegrationsCommand),
    /// Fetch pages, search the web, and configure the search provider.
    #[command(subcommand)]
    Web(WebCommand),
    /// Explain permission decisions, or list those of a session.
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Run Lua scripts.
    #[command(subcommand)]
    Lua(LuaCommand),
    /// Put Tiller into the settings of an editor.
    Install(InstallArgs),
    /// Update this program, or name the command that does.
    Update(UpdateArgs),
    /// Print the completion script for a shell.
    Completions(CompletionsArgs),
    /// Print a manual page, or write all of them.
    Man(ManArgs),
    /// Print the values that a completion script asks for.
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    /// Print a schema as JSON Schema.
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Show the keys of the terminal interface.
    ///
    /// They are those in force: the defaults with the changes of `[ui.keys]` in your settings.
    Keys,
    /// Explain a command or a topic.
    ///
    /// The topics are exit-codes, environment, keys and json.
    Help(HelpArgs),
}

/// The arguments of `tiller models`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
    #[command(flatten)]
    pub(crate) of: ModelsOf,
}

/// The commands of `tiller models`; without one it lists the models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Update the catalogue of vendors' models.
    ///
    /// It has limits, efforts and prices, and is never updated automatically.
    Refresh {
        /// The source: a URL, or a downloaded file.
        #[arg(long, value_name = "URL|FILE", default_value = ::providers::CATALOGUE_URL)]
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
    /// The objects that commands print with --json; without a command, all of them.
    Cli {
        /// The command, such as `sessions list`.
        command: Vec<String>,
    },
}

/// The commands of `tiller lua`.
#[derive(Debug, Subcommand)]
pub(crate) enum LuaCommand {
    /// Run a script, and print its output and its return values.
    ///
    /// The script can call integrations and MCP servers, but not the agent's own tools.
    Run(ScriptArgs),
}

/// A script, its limits and its arguments.
#[derive(Debug, Args)]
pub(crate) struct ScriptArgs {
    /// The script.
    #[arg(value_name = "FILE", required_unless_present = "eval")]
    pub(crate) file: Option<String>,
    /// The code of the script, or one expression.
    #[arg(short, long, value_name = "CODE", conflicts_with = "file", allow_hyphen_values = true)]
    pub(crate) eval: Option<String>,
    /// Memory limit in megabytes.
    #[arg(long, value_name = "MB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) memory: u32,
    /// CPU time limit in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub(crate) cpu: f64,
    /// A global variable of the script; may be repeated.
    ///
    /// A value that is not valid JSON is text.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(crate) args: Vec<String>,
    /// Make calls that need approval, and use untrusted servers.
    ///
    /// Untrusted are the servers of a project that is not trusted. Denied calls stay denied.
    #[arg(long)]
    pub(crate) force: bool,
}

/// The options of a new session.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SessionArgs {
    /// The model, as `tiller models` lists it.
    ///
    /// A provider and a name: openai/…, anthropic/…, gemini/…, local/…, offline/pilot or
    /// replay/FILE.
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// The agent mode: edit, plan or ask.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<agent::Mode>,
    /// What needs approval: guardian, argus or prometheus.
    ///
    /// guardian: risky operations. argus: every change and command. prometheus: nothing. What is
    /// denied stays denied in all of them.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<agent::PermissionMode>,
    /// Ask for no approval; what is denied stays denied.
    ///
    /// The same as `--permission-mode prometheus`.
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) yolo: bool,
    /// Record the model's answers for `--model replay/FILE`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// The arguments of `tiller acp`.
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The version of the protocol to serve.
    #[arg(long, value_enum, default_value_t = Protocol::Auto)]
    pub(crate) protocol: Protocol,
    /// Whether to send the events of the native layer, and under which prefix.
    #[arg(long, value_enum, default_value_t = Events::Auto)]
    pub(crate) events: Events,
    /// Run `tiller setup` instead of serving. Editors run this in a terminal to log in.
    #[arg(long, hide = true)]
    pub(crate) setup: bool,
}

/// The version of the protocol that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// The version that the editor requests.
    Auto,
    /// Version 1, regardless of the editor's request.
    #[value(name = "1")]
    V1,
    /// Version 2, a draft; editors that request version 1 are rejected.
    #[value(name = "2")]
    V2,
}

/// When the events of the native layer are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Events {
    /// To clients that request them.
    Auto,
    /// Never.
    Off,
    /// Always, as `_tiller/…`.
    Tiller,
    /// Always, as `kosmokrator/…`.
    Kosmokrator,
}

/// The arguments of `tiller demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The model, instead of offline/pilot; it uses your keys.
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// A directory of your own instead of the sample project.
    ///
    /// Permission requests are then shown on the terminal.
    #[arg(long, value_name = "DIR", requires = "prompt")]
    pub(crate) project: Option<PathBuf>,
    /// The prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Keep the directory of the sample project.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// The commands of `tiller sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List stored sessions, most recently used first.
    List {
        /// Include archived sessions.
        #[arg(long)]
        archived: bool,
        /// Maximum number of results.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        #[command(flatten)]
        pages: Pages,
    },
    /// Show the conversation of a session.
    Show {
        /// The session's id.
        id: String,
        /// Maximum number of events with --json and --jsonl.
        #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        limit: u32,
        #[command(flatten)]
        pages: Pages,
    },
    /// Create a session that begins with the history of another.
    Fork {
        /// The session's id.
        id: String,
    },
    /// Export a session: as JSON that `import` reads, or as a document.
    Export {
        /// The session's id.
        id: String,
        /// The output format.
        #[arg(long, value_enum, default_value_t = ExportFormat::Json)]
        format: ExportFormat,
    },
    /// Import a session from `export --format json`.
    ///
    /// Prints its id: the exported one, or a new one if that is taken.
    Import {
        /// The file; `-` reads stdin.
        file: PathBuf,
    },
    /// Archive a session: keep it, but omit it from lists.
    Archive {
        /// The session's id.
        id: String,
    },
    /// Restore an archived session to lists.
    Unarchive {
        /// The session's id.
        id: String,
    },
    /// Change the title of a session.
    Rename {
        /// The session's id.
        id: String,
        /// The title.
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Move sessions to the folder in which their project is now.
    ///
    /// For a project that was moved or renamed. Files are not touched. Directories of the sessions
    /// below the old folder move too.
    Move {
        /// A session's id, or the old folder: all sessions of it and below it move.
        #[arg(value_name = "ID|OLD")]
        from: String,
        /// The folder of the project now.
        #[arg(value_name = "NEW", value_hint = clap::ValueHint::DirPath)]
        to: PathBuf,
    },
    /// Delete a session and everything stored of it, permanently.
    Delete {
        /// The session's id.
        id: String,
        /// Delete it without asking; for scripts.
        #[arg(long)]
        yes: bool,
    },
    /// Search messages and titles.
    Search {
        /// Words, or their beginnings, that all occur in one message.
        #[arg(required = true)]
        words: Vec<String>,
        /// Maximum number of results.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        #[command(flatten)]
        pages: Pages,
    },
    /// Restore files to their state at the end of a turn.
    ///
    /// Without --to and --redo, lists the turns that changed files.
    Rewind {
        /// The session's id.
        id: String,
        /// The number of the turn; 0 is the state before the first turn.
        #[arg(long, value_name = "TURN")]
        to: Option<u64>,
        /// Revert the last rewind.
        #[arg(long, conflicts_with = "to")]
        redo: bool,
    },
    /// Copy sessions from one store to another.
    ///
    /// Each session is copied in one transaction and compared. What is there already is left alone,
    /// so the command can be interrupted and repeated.
    Migrate(MigrateArgs),
    /// Check and repair the session database.
    ///
    /// Everything readable is kept, and a damaged file is set aside, never deleted.
    Repair {
        /// Report problems and planned repairs, and change nothing.
        #[arg(long)]
        check: bool,
    },
}

/// The output format of `sessions export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportFormat {
    /// One JSON object per line: the session, then each event.
    Json,
    /// A Markdown document for reading.
    Markdown,
}

/// The arguments of `tiller trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The directory; defaults to the current one.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// List trusted items and whether they have changed. Changes nothing.
    #[arg(long, conflicts_with_all = ["path", "revoke", "yes", "only"])]
    pub(crate) list: bool,
    /// Revoke trust: in all items of the directory, or in the item of this name.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, conflicts_with = "yes")]
    pub(crate) revoke: Option<Option<String>>,
    /// Trust the shown items without asking; for scripts.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only the server, hook, skill, command or `settings` of this name. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
}

/// The commands of `tiller permissions`.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Show what each rule says of a command, a path or a URL.
    Explain {
        /// The command, the path, or the URL.
        #[arg(value_name = "COMMAND|PATH|URL", allow_hyphen_values = true)]
        what: String,
        /// The path would be written, not read.
        #[arg(long)]
        write: bool,
    },
    /// List the decisions of a session and the hosts that its commands used; defaults to the most
    /// recent session of this directory.
    Log {
        /// The session.
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Maximum number of results.
        #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        pages: Pages,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
