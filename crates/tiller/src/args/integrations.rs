//! The command line of `tiller integrations`.

use super::{Common, ScriptArgs};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The commands of `tiller integrations`.
#[derive(Debug, Subcommand)]
pub(crate) enum IntegrationsCommand {
    /// List integrations, or with a name the functions of one.
    List(NamedIntegration),
    /// Tell which can be called, and what the others lack.
    Status(NamedIntegration),
    /// Tell what is wrong: with what was added, with credentials, with the settings.
    Doctor(Common),
    /// List what an account of an integration has.
    Fields(OneIntegration),
    /// Store credentials, switch an integration on, say what it may do.
    Configure(Configure),
    /// Find functions by words.
    Search {
        /// Words that must all occur.
        #[arg(required = true)]
        words: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Show a page about an integration or a function.
    Docs(OneFunction),
    /// Show what a function takes, as JSON Schema.
    Schema(OneFunction),
    /// Show calls of a function.
    Examples(OneFunction),
    /// Call a function: PROVIDER.FUNCTION, then --NAME=VALUE, NAME=VALUE, --arg NAME=VALUE or a
    /// JSON object, `-` for one from stdin; --account, --dry-run, --force, --json.
    Call {
        /// The function and what it is called with.
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "PROVIDER.FUNCTION"
        )]
        words: Vec<String>,
    },
    /// Run a Lua script that can call integrations and MCP servers.
    Lua(ScriptArgs),
    /// Add a service by its OpenAPI document.
    Add(AddIntegration),
    /// Forget a service that was added, and what its accounts have.
    Remove(OneIntegration),
    /// Switch an integration on.
    Enable(SwitchedIntegration),
    /// Switch an integration off.
    Disable(SwitchedIntegration),
    /// PROVIDER FUNCTION …: the same as `call PROVIDER.FUNCTION …`; without a function, those that
    /// there are.
    #[command(external_subcommand)]
    Provider(Vec<String>),
}

/// An integration, or all of them.
#[derive(Debug, Args)]
pub(crate) struct NamedIntegration {
    /// The integration; all without it.
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// An integration.
#[derive(Debug, Args)]
pub(crate) struct OneIntegration {
    /// The integration.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// A function, or an integration.
#[derive(Debug, Args)]
pub(crate) struct OneFunction {
    /// The function, as PROVIDER.FUNCTION; for docs also an integration.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// An integration to enable or disable.
#[derive(Debug, Args)]
pub(crate) struct SwitchedIntegration {
    /// The integration.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) scope: SettingsScope,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The settings file that is written.
#[derive(Debug, Args)]
pub(crate) struct SettingsScope {
    /// The project's settings, in place of your own; they count once the folder is trusted.
    #[arg(long, conflicts_with = "global")]
    pub(crate) project: bool,
    /// Your own settings, as without this.
    #[arg(long)]
    pub(crate) global: bool,
}

/// The service to add.
#[derive(Debug, Args)]
pub(crate) struct AddIntegration {
    /// What it is to be called.
    pub(crate) name: String,
    /// Its OpenAPI 3.0 or 3.1 document, in JSON: a file, or an address.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) openapi: String,
    /// Its address, in place of the document's.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// It is on this machine or in a private network.
    #[arg(long)]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The configuration of an integration.
#[derive(Debug, Args)]
pub(crate) struct Configure {
    /// The integration.
    pub(crate) name: String,
    /// The account.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) account: String,
    /// A field that is no secret. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Read this field from stdin.
    #[arg(long, value_name = "FIELD", conflicts_with = "stdin_json")]
    pub(crate) stdin: Option<String>,
    /// The same as --stdin api_key.
    #[arg(long, conflicts_with_all = ["stdin", "stdin_json"])]
    pub(crate) api_key_stdin: bool,
    /// Read fields from stdin, as one JSON object.
    #[arg(long)]
    pub(crate) stdin_json: bool,
    /// Take a field from a variable of the environment, once. May be repeated.
    #[arg(long, value_name = "FIELD=VARIABLE")]
    pub(crate) env: Vec<String>,
    /// Forget a field. May be repeated.
    #[arg(long, value_name = "FIELD")]
    pub(crate) unset: Vec<String>,
    /// Forget the whole account.
    #[arg(long, conflicts_with_all = ["set", "stdin", "api_key_stdin", "stdin_json", "env", "unset"])]
    pub(crate) forget: bool,
    /// Switch it on.
    #[arg(long, conflicts_with = "disable")]
    pub(crate) enable: bool,
    /// Switch it off.
    #[arg(long)]
    pub(crate) disable: bool,
    /// What functions may do that only read.
    #[arg(long, value_name = "PERMISSION")]
    pub(crate) read: Option<Word>,
    /// What all others may do.
    #[arg(long, value_name = "PERMISSION")]
    pub(crate) write: Option<Word>,
    #[command(flatten)]
    pub(crate) scope: SettingsScope,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The permission of a kind of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Word {
    /// It is made.
    Allow,
    /// It needs approval; without a user it is refused.
    Ask,
    /// It is never made.
    Deny,
}

/// Returns the file from which a document is read; `None` if it is a URL.
pub(crate) fn file(given: &str) -> Option<PathBuf> {
    (!given.starts_with("http://") && !given.starts_with("https://")).then(|| PathBuf::from(given))
}
