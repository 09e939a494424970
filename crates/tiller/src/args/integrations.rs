//! The command line of `tiller integrations`.

use super::ScriptArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The commands of `tiller integrations`.
#[derive(Debug, Subcommand)]
pub(crate) enum IntegrationsCommand {
    /// List integrations, or the functions of the named one.
    List(NamedIntegration),
    /// Show which integrations can be called, and what others lack.
    Status(NamedIntegration),
    /// Check services, credentials and settings for problems.
    Doctor,
    /// List the fields of an integration's accounts.
    Fields(OneIntegration),
    /// Store credentials, enable, and set permissions.
    Configure(Configure),
    /// Find functions by words.
    Search {
        /// Words that must all occur.
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Show the documentation of an integration or a function.
    Docs(OneFunction),
    /// Show the parameters of a function as JSON Schema.
    Schema(OneFunction),
    /// Show example calls of a function.
    Examples(OneFunction),
    /// Call a function.
    ///
    /// After PROVIDER.FUNCTION come its arguments: --NAME=VALUE, NAME=VALUE, --arg NAME=VALUE or a
    /// JSON object, `-` for one from stdin. --account, --dry-run, --force and --json are options of
    /// the call.
    Call {
        /// The function and its arguments.
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "PROVIDER.FUNCTION"
        )]
        words: Vec<String>,
    },
    /// Run a script that calls integrations and MCP servers.
    Lua(ScriptArgs),
    /// Add a service by its OpenAPI document.
    Add(AddIntegration),
    /// Remove an added service and the fields of its accounts.
    Remove(OneIntegration),
    /// Enable an integration.
    Enable(SwitchedIntegration),
    /// Disable an integration.
    Disable(SwitchedIntegration),
    /// PROVIDER FUNCTION …: the same as `call PROVIDER.FUNCTION …`; without a function, lists the
    /// functions.
    #[command(external_subcommand)]
    Provider(Vec<String>),
}

/// An integration, or all of them.
#[derive(Debug, Args)]
pub(crate) struct NamedIntegration {
    /// The integration; defaults to all.
    pub(crate) name: Option<String>,
}

/// An integration.
#[derive(Debug, Args)]
pub(crate) struct OneIntegration {
    /// The integration.
    pub(crate) name: String,
}

/// A function, or an integration.
#[derive(Debug, Args)]
pub(crate) struct OneFunction {
    /// The function, as PROVIDER.FUNCTION; for docs also an integration.
    pub(crate) name: String,
}

/// An integration to enable or disable.
#[derive(Debug, Args)]
pub(crate) struct SwitchedIntegration {
    /// The integration.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) scope: SettingsScope,
}

/// The settings file that is written.
#[derive(Debug, Args)]
pub(crate) struct SettingsScope {
    /// Write the settings of the project in this directory.
    ///
    /// They apply once the directory is trusted.
    #[arg(long, conflicts_with = "global")]
    pub(crate) project: bool,
    /// Write your own settings, the default.
    #[arg(long)]
    pub(crate) global: bool,
}

/// The service to add.
#[derive(Debug, Args)]
pub(crate) struct AddIntegration {
    /// The name.
    pub(crate) name: String,
    /// Its OpenAPI 3.0 or 3.1 document: a file or a URL.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) openapi: String,
    /// Its base URL, instead of the document's.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Allow an address on this machine or in a private network.
    #[arg(long)]
    pub(crate) local: bool,
}

/// The configuration of an integration.
#[derive(Debug, Args)]
pub(crate) struct Configure {
    /// The integration.
    pub(crate) name: String,
    /// The account.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) account: String,
    /// A field that is not secret; may be repeated.
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
    /// Read a field from a variable, once; may be repeated.
    #[arg(long, value_name = "FIELD=VARIABLE")]
    pub(crate) env: Vec<String>,
    /// Remove a field. May be repeated.
    #[arg(long, value_name = "FIELD")]
    pub(crate) unset: Vec<String>,
    /// Remove the whole account.
    #[arg(long, conflicts_with_all = ["set", "stdin", "api_key_stdin", "stdin_json", "env", "unset"])]
    pub(crate) forget: bool,
    /// Enable the integration.
    #[arg(long, conflicts_with = "disable")]
    pub(crate) enable: bool,
    /// Disable the integration.
    #[arg(long)]
    pub(crate) disable: bool,
    /// The permission of functions that only read.
    #[arg(long, value_name = "PERMISSION")]
    pub(crate) read: Option<Word>,
    /// The permission of all other functions.
    #[arg(long, value_name = "PERMISSION")]
    pub(crate) write: Option<Word>,
    #[command(flatten)]
    pub(crate) scope: SettingsScope,
}

/// The permission of a kind of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Word {
    /// The call is made.
    Allow,
    /// The call needs approval; where no user can approve it, it is refused.
    Ask,
    /// The call is never made.
    Deny,
}

/// Returns the file from which a document is read; `None` if it is a URL.
pub(crate) fn file(given: &str) -> Option<PathBuf> {
    (!given.starts_with("http://") && !given.starts_with("https://")).then(|| PathBuf::from(given))
}
