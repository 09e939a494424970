//! The command line of `tiller web`.

use super::SettingsScope;
use clap::{Args, Subcommand, ValueEnum};

/// The commands of `tiller web`.
#[derive(Debug, Subcommand)]
pub(crate) enum WebCommand {
    /// Fetch a page and print its text.
    ///
    /// Of HTML, the main content is printed as Markdown.
    Fetch {
        /// The URL.
        url: String,
        /// Print HTML as its source.
        #[arg(long)]
        raw: bool,
    },
    /// Search the web through the configured provider.
    Search(WebSearchArgs),
    /// Show the search provider, and whether it can be used.
    ///
    /// It also shows the hosts of web.local_hosts.
    Status,
    /// Like status; fails if the search provider cannot be used.
    Doctor,
    /// Choose the search provider, and store its key.
    Configure(WebConfigure),
}

/// A search.
#[derive(Debug, Args)]
pub(crate) struct WebSearchArgs {
    /// The words of the query.
    #[arg(required = true)]
    pub(crate) query: Vec<String>,
    /// Maximum number of results.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=20))]
    pub(crate) limit: u64,
    /// Only results of this domain. May be repeated.
    #[arg(long = "domain", value_name = "DOMAIN")]
    pub(crate) allowed: Vec<String>,
    /// No results of this domain. May be repeated.
    #[arg(long = "without", value_name = "DOMAIN")]
    pub(crate) blocked: Vec<String>,
}

/// The search provider.
#[derive(Debug, Args)]
pub(crate) struct WebConfigure {
    /// The provider; `off` ends searches.
    pub(crate) provider: SearchWord,
    /// The base URL of the provider; SearXNG needs it.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Read the key from standard input and store it.
    #[arg(long)]
    pub(crate) key_stdin: bool,
    /// Remove the stored key of the provider.
    #[arg(long, conflicts_with = "key_stdin")]
    pub(crate) forget_key: bool,
    #[command(flatten)]
    pub(crate) scope: SettingsScope,
}

/// The name of a search provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchWord {
    /// No searches.
    Off,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// A SearXNG server.
    Searxng,
    /// The vendor of the model searches by itself.
    Hosted,
}
