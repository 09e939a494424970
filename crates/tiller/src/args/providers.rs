//! The command lines of `tiller providers` and `tiller auth`.

use super::SettingsTo;
use clap::{Args, Subcommand, ValueEnum};

/// The commands of `tiller providers`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProvidersCommand {
    /// List the providers, and where their keys come from.
    List,
    /// List the models of a provider, or of all that can be used now.
    Models(ModelsOf),
    /// Show whether providers are set up, without a request.
    Status {
        /// The provider; all without it.
        provider: Option<String>,
    },
    /// Ask the providers that are set up for their models.
    ///
    /// Each gets one request for its list of models; the answers are shown.
    Doctor {
        /// The provider; all that are set up without it.
        provider: Option<String>,
    },
    /// Set a provider up: key, address, model of new sessions.
    Configure(ConfigureProvider),
    /// Remove the stored key of a provider.
    Logout {
        /// The provider.
        provider: String,
    },
    /// Update the catalogue of vendors' models.
    ///
    /// It has limits, efforts and prices.
    RefreshModels {
        /// The source: a URL, or a downloaded file.
        #[arg(long, value_name = "URL|FILE", default_value = ::providers::CATALOGUE_URL)]
        from: String,
    },
    /// List, write or delete providers of your own.
    #[command(subcommand)]
    Custom(CustomCommand),
}

/// The models to list.
#[derive(Debug, Args)]
pub(crate) struct ModelsOf {
    /// The provider.
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Ask servers on other machines too for their models.
    #[arg(long)]
    pub(crate) refresh: bool,
}

/// The configuration of a provider.
#[derive(Debug, Args)]
pub(crate) struct ConfigureProvider {
    /// The provider: one of `tiller providers list`, or a name of your own.
    pub(crate) provider: String,
    /// Read the key from standard input and store it.
    #[arg(long)]
    pub(crate) api_key_stdin: bool,
    /// Take the key from this environment variable, and store none.
    #[arg(long, value_name = "VARIABLE", conflicts_with = "api_key_stdin")]
    pub(crate) api_key_env: Option<String>,
    /// The base URL of its API.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The API that it speaks.
    #[arg(long, value_enum)]
    pub(crate) wire: Option<WireName>,
    /// The model of new sessions.
    #[arg(short, long, value_name = "[PROVIDER/]NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) to: SettingsTo,
}

/// The commands of `tiller providers custom`.
#[derive(Debug, Subcommand)]
pub(crate) enum CustomCommand {
    /// List the providers of your own.
    List,
    /// Create or change a provider of your own.
    Upsert(ConfigureProvider),
    /// Delete a provider of your own, with its stored key.
    Delete {
        /// The provider.
        provider: String,
        #[command(flatten)]
        to: SettingsTo,
    },
}

/// The API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WireName {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
}

impl WireName {
    /// The value of the setting.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

/// The commands of `tiller auth`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Show the state of every key and login.
    Status {
        /// Only this provider or MCP server.
        name: Option<String>,
    },
    /// Sign in, in the browser or with a key.
    ///
    /// The browser is used where the vendor offers that to programs.
    Login(AuthLogin),
    /// Remove a key or a login.
    Logout {
        /// The provider or MCP server.
        name: String,
    },
}

/// The login of a provider or an MCP server.
#[derive(Debug, Args)]
pub(crate) struct AuthLogin {
    /// The provider or MCP server.
    pub(crate) name: String,
    /// Read a key from standard input, and ask nothing.
    #[arg(long)]
    pub(crate) api_key_stdin: bool,
    /// Show the address of the page and open no browser.
    #[arg(long)]
    pub(crate) no_browser: bool,
}
