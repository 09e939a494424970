//! The command line of `tiller setup`.

use super::SettingsFileChoice;
use clap::Args;

/// The arguments of `tiller setup`.
#[derive(Debug, Default, Args)]
pub(crate) struct SetupArgs {
    /// The provider: one of `tiller providers list`, or your own.
    ///
    /// A name of your own is for a server that speaks OpenAI's protocol.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model of new sessions.
    #[arg(short, long, value_name = "[PROVIDER/]NAME")]
    pub(crate) model: Option<String>,
    /// The base URL of the provider's API.
    #[arg(long, value_name = "URL", requires = "provider")]
    pub(crate) base_url: Option<String>,
    /// Read the key from standard input and store it.
    #[arg(long, requires = "provider")]
    pub(crate) api_key_stdin: bool,
    /// Read the key from this variable whenever it is needed.
    #[arg(long, value_name = "VARIABLE", requires = "provider", conflicts_with = "api_key_stdin")]
    pub(crate) api_key_env: Option<String>,
    /// Sign in on the provider's page, where it offers that.
    #[arg(long, requires = "provider", conflicts_with_all = ["api_key_stdin", "api_key_env"])]
    pub(crate) device: bool,
    /// Accept a model that the provider does not list.
    #[arg(long)]
    pub(crate) allow_unlisted_model: bool,
    /// Make no request: do not test the choice.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Remove the provider's stored key.
    #[arg(long, requires = "provider", conflicts_with_all = ["api_key_stdin", "api_key_env", "base_url", "model", "device"])]
    pub(crate) forget: bool,
    #[command(flatten)]
    pub(crate) file: SettingsFileChoice,
}
