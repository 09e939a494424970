//! The command line of `tiller secrets`.

use clap::{Subcommand, ValueEnum};

/// The commands of `tiller secrets`.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// List the names of secrets, their stores and their users.
    ///
    /// Values are never shown.
    List,
    /// Store a secret, from standard input or a hidden question.
    Set {
        /// The name, such as provider.openai.api_key.
        ///
        /// The name of a provider means its key.
        #[arg(value_name = "KEY")]
        name: String,
        /// Where to store it.
        #[arg(long, value_enum, default_value_t = SecretStore::Auto)]
        store: SecretStore,
    },
    /// Remove a secret.
    Unset {
        /// The name.
        #[arg(value_name = "KEY")]
        name: String,
    },
    /// Show which stores there are, and where new secrets go.
    Status,
}

/// The store of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SecretStore {
    /// The desktop's keyring where there is one, else the file.
    Auto,
    /// The desktop's keyring.
    Keyring,
    /// The file that only you can read.
    File,
}
