//! The command lines of `tiller serve` and `tiller connect`.

use super::{SessionArgs, StoreArgs};
use clap::Args;
use std::path::PathBuf;

/// The arguments of `tiller serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Where to listen: unix:PATH or tcp:ADDRESS:PORT. May be repeated.
    ///
    /// TCP needs a token (`tiller token create`); beyond loopback it also needs TLS or a proxy.
    #[arg(long, value_name = "PLACE")]
    pub(crate) listen: Vec<String>,
    /// The PEM file with the certificate and its intermediates.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The PEM file with the private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Networks of reverse proxies that speak TLS for the server. May be repeated.
    #[arg(long, value_name = "CIDR")]
    pub(crate) behind_proxy: Vec<String>,
    /// Where to offer metrics beside the Unix socket: tcp:ADDRESS:PORT. It needs a token with the
    /// scope metrics.
    #[arg(long, value_name = "PLACE")]
    pub(crate) metrics_listen: Option<String>,
}

/// The arguments of `tiller connect`.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// The server: wss://HOST, ws://HOST or unix:PATH; without it, your own on this machine.
    ///
    /// A token is read from the variable TILLER_TOKEN or from --token-file.
    #[arg(value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The file that holds the token.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// How long to try to connect again before giving up, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) give_up: u64,
}
