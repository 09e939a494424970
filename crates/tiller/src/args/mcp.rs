//! The command line of `tiller mcp`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The commands of `tiller mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the servers of this directory, without starting them.
    List,
    /// Configure a server.
    ///
    /// `add NAME -- COMMAND ARGS…` for a program, `add NAME --url URL` for a URL.
    Add(Add),
    /// Remove a server.
    Remove(Edited),
    /// Enable a server.
    Enable(Edited),
    /// Disable a server, but keep its configuration.
    Disable(Edited),
    /// Start all servers or one, and report whether they work.
    Status(Named),
    /// List the tools of all servers or one.
    Tools(Named),
    /// Show a tool with the schema of its arguments.
    Schema(Called),
    /// Call a tool.
    Call(Called),
    /// Run a Lua script that calls tools.
    ///
    /// A script calls a tool as app.mcp.SERVER.TOOL, if the settings allow it without approval.
    Lua(super::ScriptArgs),
    /// Show the project's servers in full and trust all of them or one; with a name, also approve
    /// the current definitions of that server's tools.
    Trust(Trusted),
    /// Check the configuration of servers, without starting them.
    Doctor,
    /// Show command lines to copy, from a configuration to a call.
    Examples,
    /// List a server's resources, or read one.
    Resources {
        /// The server.
        server: String,
        /// The resource's URI.
        uri: Option<String>,
    },
    /// List a server's prompts, or get one with its arguments filled in.
    Prompts {
        /// The server.
        server: String,
        /// The prompt.
        prompt: Option<String>,
        /// One argument, as NAME=VALUE; may be repeated.
        #[arg(long = "arg", value_name = "NAME=VALUE")]
        arguments: Vec<String>,
    },
    /// Read one resource of a server.
    Resource {
        /// The server.
        server: String,
        /// The resource's URI.
        uri: String,
    },
    /// Get one prompt of a server with its arguments filled in.
    Prompt {
        /// The server.
        server: String,
        /// The prompt.
        prompt: String,
        /// One argument, as NAME=VALUE; may be repeated.
        #[arg(long = "arg", value_name = "NAME=VALUE")]
        arguments: Vec<String>,
    },
    /// Well-known servers, ready to add.
    #[command(subcommand)]
    Preset(PresetCommand),
    /// Sign in to a server over HTTP, in your browser.
    Login(Login),
    /// Sign out of a server.
    Logout {
        /// The server.
        server: String,
    },
    /// Serve the tools of chosen servers on stdin and stdout.
    Serve(Serve),
    /// Secrets, which configurations refer to as `@secret:KEY`.
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Import the servers of another program's file.
    Import {
        /// The file, with `mcpServers` or `servers`.
        file: PathBuf,
        #[command(flatten)]
        edited: Scope,
    },
    /// Print the servers as a file that other programs read.
    Export,
}

/// The file that is written.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// Write the project's `.mcp.json` instead of your own file.
    #[arg(long)]
    pub(crate) project: bool,
}

/// A server in a file.
#[derive(Debug, Args)]
pub(crate) struct Edited {
    /// The server.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// The server to add.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The name.
    pub(crate) name: String,
    /// Its URL, for streamable HTTP.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// The URL is of an SSE stream, the transport before streamable HTTP.
    #[arg(long, requires = "url")]
    pub(crate) sse: bool,
    /// An environment variable of the server; may be repeated.
    ///
    /// The value may be `@secret:KEY` or `${env:NAME}`.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// A header of every request; may be repeated.
    ///
    /// The value may be `@secret:KEY` or `${env:NAME}`.
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// Timeout in seconds for connecting and for a call.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) timeout: Option<u32>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// The program and its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// A server, or all of them.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The server; defaults to all.
    pub(crate) server: Option<String>,
}

/// The servers to trust.
#[derive(Debug, Args)]
pub(crate) struct Trusted {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The project's servers; this is always the case.
    #[arg(long, hide = true)]
    pub(crate) project: bool,
    /// Trust the shown items without asking; for scripts.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A tool and its arguments.
#[derive(Debug, Args)]
pub(crate) struct Called {
    /// The tool, as `SERVER.TOOL` or as models call it: `mcp__SERVER__TOOL`.
    pub(crate) function: String,
    /// One argument; may be repeated.
    ///
    /// A value that is not valid JSON is text.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object.
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    pub(crate) input: Option<String>,
    /// Use a server of an untrusted project; for trusted automation.
    #[arg(long)]
    pub(crate) force: bool,
}

/// The commands of `tiller mcp secret`.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a secret, read from stdin.
    Set {
        /// Its key, such as mcp.github.env.GITHUB_TOKEN.
        key: String,
    },
    /// List the keys. Values are never shown.
    List,
    /// Remove a secret.
    Unset {
        /// Its key.
        key: String,
    },
}

/// The commands of `tiller mcp preset`.
#[derive(Debug, Subcommand)]
pub(crate) enum PresetCommand {
    /// List the presets.
    List,
    /// Show a preset and its requirements.
    Show {
        /// The preset.
        preset: String,
    },
    /// Configure the server of a preset in your own file, or in the project's.
    Add {
        /// The preset.
        preset: String,
        /// The name of the server; defaults to the preset's.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        scope: Scope,
    },
}

/// The arguments of `tiller mcp login`.
#[derive(Debug, Args)]
pub(crate) struct Login {
    /// The server.
    pub(crate) server: String,
    /// Open no browser; the URL of the page is printed in any case.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// The OAuth scope to request, instead of the server's.
    #[arg(long, value_name = "SCOPES")]
    pub(crate) scope: Option<String>,
    /// The OAuth client id that you registered yourself.
    ///
    /// It is needed if the server supports no dynamic registration.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
}

/// The tools that are served.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// A configured server whose tools are served. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) upstream: Vec<String>,
    /// An integration whose functions are served; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) integration: Vec<String>,
    /// Whether to serve tools that are not marked as read-only.
    #[arg(long, value_enum, default_value_t = WriteAccess::Deny)]
    pub(crate) write: WriteAccess,
}

/// Whether tools that may change something are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WriteAccess {
    /// They are not served.
    Deny,
    /// They are served.
    Allow,
}

impl WriteAccess {
    /// Whether such tools are served.
    pub(crate) fn allows(self) -> bool {
        self == Self::Allow
    }
}
