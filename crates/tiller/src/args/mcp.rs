//! The command line of `tiller mcp`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The commands of `tiller mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the servers that are described for this folder. Starts none.
    List(Common),
    /// Describe a server: `add NAME -- COMMAND ARGS…`, or `add NAME --url URL`.
    Add(Add),
    /// Forget a server.
    Remove(Edited),
    /// Use a server again.
    Enable(Edited),
    /// Keep a server, and do not use it.
    Disable(Edited),
    /// Start servers, all or one, and tell whether that works.
    Status(Named),
    /// List the tools of servers, all or one.
    Tools(Named),
    /// Show a tool with the schema of its arguments.
    Schema(Called),
    /// Call a tool.
    Call(Called),
    /// Run a Lua script that calls tools as app.mcp.SERVER.TOOL, as far as the settings allow that
    /// without asking.
    Lua(super::ScriptArgs),
    /// Show the project's servers in full and trust them, all or one; with a name, approve of that
    /// server's tools as they are now too.
    Trust(Trusted),
    /// Tell what is wrong with the descriptions. Starts nothing.
    Doctor(Common),
    /// List a server's resources, or read one.
    Resources {
        /// The server.
        server: String,
        /// The resource's URI.
        uri: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// List a server's prompts, or fill one in.
    Prompts {
        /// The server.
        server: String,
        /// The prompt.
        prompt: Option<String>,
        /// One argument, as NAME=VALUE; may be repeated.
        #[arg(long = "arg", value_name = "NAME=VALUE")]
        arguments: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Read one resource of a server.
    Resource {
        /// The server.
        server: String,
        /// The resource's URI.
        uri: String,
        #[command(flatten)]
        common: Common,
    },
    /// Fill in one prompt of a server.
    Prompt {
        /// The server.
        server: String,
        /// The prompt.
        prompt: String,
        /// One argument, as NAME=VALUE; may be repeated.
        #[arg(long = "arg", value_name = "NAME=VALUE")]
        arguments: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Well-known servers, ready to be added.
    #[command(subcommand)]
    Preset(PresetCommand),
    /// Sign in to a server over HTTP, in your browser.
    Login(Login),
    /// Forget that you signed in to a server.
    Logout {
        /// The server.
        server: String,
        #[command(flatten)]
        common: Common,
    },
    /// Be an MCP server on stdin and stdout, for the tools of chosen servers.
    Serve(Serve),
    /// Secrets that descriptions refer to as `@secret:KEY`.
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Take over the servers of another program's file.
    Import {
        /// The file, with `mcpServers` or `servers`.
        file: PathBuf,
        #[command(flatten)]
        edited: Scope,
    },
    /// Print the described servers as a file that other programs read.
    Export(Common),
}

/// The option of every command.
#[derive(Debug, Default, Args)]
pub(crate) struct Common {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The file that is written.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// The project's `.mcp.json` in place of your own file.
    #[arg(long)]
    pub(crate) project: bool,
    #[command(flatten)]
    pub(crate) common: Common,
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
    /// What it is to be called.
    pub(crate) name: String,
    /// Its address, for streamable HTTP.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// Its address is that of a stream of events, the transport before streamable HTTP.
    #[arg(long, requires = "url")]
    pub(crate) sse: bool,
    /// A variable of its environment; the value may be `@secret:KEY` or `${env:NAME}`. May be
    /// repeated.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// A header of every request; the value may refer to a secret too. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// How many seconds it has to connect, and to answer a call.
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
    /// The server; all without it.
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The servers to trust.
#[derive(Debug, Args)]
pub(crate) struct Trusted {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The project's servers, which is what is meant in any case.
    #[arg(long, hide = true)]
    pub(crate) project: bool,
    /// Trust what is shown without asking: for scripts.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A tool and its arguments.
#[derive(Debug, Args)]
pub(crate) struct Called {
    /// The tool, as `SERVER.TOOL` or as models call it: `mcp__SERVER__TOOL`.
    pub(crate) function: String,
    /// One argument, as NAME=VALUE; the value is JSON if it reads as that, and text if not. May be
    /// repeated.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object.
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    pub(crate) input: Option<String>,
    /// Use a server of a project that is not trusted: for trusted automation.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The commands of `tiller mcp secret`.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Keep a secret, read from stdin.
    Set {
        /// Its key, such as mcp.github.env.GITHUB_TOKEN.
        key: String,
        #[command(flatten)]
        common: Common,
    },
    /// List the keys. Values are never shown.
    List(Common),
    /// Forget a secret.
    Unset {
        /// Its key.
        key: String,
        #[command(flatten)]
        common: Common,
    },
}

/// The commands of `tiller mcp preset`.
#[derive(Debug, Subcommand)]
pub(crate) enum PresetCommand {
    /// List them.
    List(Common),
    /// Show one, and what it needs.
    Show {
        /// The preset.
        preset: String,
        #[command(flatten)]
        common: Common,
    },
    /// Describe the server of one in your own file, or in the project's.
    Add {
        /// The preset.
        preset: String,
        /// What the server is to be called; as the preset is, without it.
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
    /// Open no browser; the page's address is printed to stderr either way.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// What is asked to be allowed, in place of what the server names.
    #[arg(long, value_name = "SCOPES")]
    pub(crate) scope: Option<String>,
    /// The id of a client that you registered, for servers without dynamic registration.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The tools that are served.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// A described server whose tools are served; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) upstream: Vec<String>,
    /// An integration whose functions are served; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) integration: Vec<String>,
    /// Whether tools are served that do not say of themselves that they only read.
    #[arg(long, value_enum, default_value_t = WriteAccess::Deny)]
    pub(crate) write: WriteAccess,
}

/// Whether tools that may change something are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WriteAccess {
    /// It is not.
    Deny,
    /// It is.
    Allow,
}

impl WriteAccess {
    /// Whether such tools are served.
    pub(crate) fn allows(self) -> bool {
        self == Self::Allow
    }
}
