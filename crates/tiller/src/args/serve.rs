//! The command lines of `tiller serve` and `tiller connect`.

use super::{SessionArgs, StoreArgs, token::Lifetime};
use crate::logging::LogFormat;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use std::{path::PathBuf, str::FromStr};

/// The arguments of `tiller serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) place: ServePlace,
    /// How the log on stderr is written: lines of text, or a JSON object a line.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// Bring the tables of the store up to date first; on one of several servers alone.
    #[arg(long, requires = "store_place")]
    pub(crate) migrate: bool,
}

/// Where a server listens, and where it stores sessions.
#[derive(Debug, Args)]
pub(crate) struct ServePlace {
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
    /// The directory of the users' folders: each user stays in DIR/TENANT/USER.
    #[arg(long, value_name = "DIR")]
    pub(crate) user_folders: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

/// The arguments of a server that is one of several nodes.
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// Where to listen for other nodes of the same database: tcp:ADDRESS:PORT.
    #[arg(long, value_name = "PLACE")]
    pub(crate) node_listen: Option<String>,
    /// Where other nodes reach this one: HOST:PORT, with a host that is in its certificate.
    #[arg(long, value_name = "HOST:PORT", requires = "node_listen")]
    pub(crate) node_address: Option<String>,
    /// The PEM file with the certificate of this node.
    #[arg(long, value_name = "FILE", requires = "node_listen")]
    pub(crate) node_cert: Option<PathBuf>,
    /// The PEM file with the private key of the node's certificate.
    #[arg(long, value_name = "FILE", requires = "node_listen")]
    pub(crate) node_key: Option<PathBuf>,
    /// The PEM file of the authority that signs the certificates of all nodes.
    #[arg(long, value_name = "FILE", requires = "node_listen")]
    pub(crate) node_ca: Option<PathBuf>,
    /// The name of the folders that sessions work in, the same for nodes that share a file system.
    #[arg(long, value_name = "NAME")]
    pub(crate) node_folders: Option<String>,
}

/// The commands of an administrator.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Show the state of the running server.
    Status(AdminSocket),
    /// List the open sessions of all users, or of one.
    Sessions {
        /// Only those of this user.
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        #[command(flatten)]
        socket: AdminSocket,
    },
    /// Print the conversation of a session, of whichever user; the audit records it.
    Export {
        /// The id of the session.
        #[arg(value_name = "SESSION")]
        session: String,
        #[command(flatten)]
        socket: AdminSocket,
    },
    /// Close a connection, or all of a user.
    ///
    /// A client may connect again, unless its token is revoked. Running turns go on.
    Disconnect {
        /// The connection, as `tiller serve status --json` lists it.
        #[arg(value_name = "CONNECTION", required_unless_present = "user")]
        connection: Option<String>,
        /// All connections of this user.
        #[arg(long, value_name = "USER", conflicts_with = "connection")]
        user: Option<String>,
        /// Only those of the user in this tenant.
        #[arg(long, value_name = "TENANT", requires = "user")]
        tenant: Option<String>,
        #[command(flatten)]
        socket: AdminSocket,
    },
    /// Stop the server as SIGTERM does: its sessions go on at other nodes, if there are any.
    ///
    /// It takes no new connections from now on. Turns stop between two requests to a model and go
    /// on at another node; without one they are cancelled. The command does not wait for the end.
    Drain {
        /// Wait until the server has ended.
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        socket: AdminSocket,
    },
    /// List the processes that share the store of sessions.
    Nodes(AdminSocket),
    /// Show who connected, who was refused, and what administrators did.
    ///
    /// It is read from the server's files, so the server need not run.
    Audit {
        /// Since when: a time such as 2026-11-25T08:00:00Z, or how long ago, such as 12h, 7d or 2w.
        #[arg(long, value_name = "TIME", default_value = "24h")]
        since: Since,
        /// Only records of this user.
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Check settings, files, certificates and the store, without starting the server.
    ///
    /// Takes the same options as the server, and reports every problem that it finds.
    Check(Box<ServePlace>),
}

/// The socket of the server to administer.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AdminSocket {
    /// The server's Unix socket, if it is not the usual one.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

/// A time in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// This time.
    At(Timestamp),
    /// This long before now.
    Ago(std::time::Duration),
}

impl Since {
    /// Returns the time.
    pub(crate) fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(time) => now.checked_sub(time).unwrap_or(Timestamp::MIN),
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        match text.parse() {
            Ok(Lifetime::For(time)) => Ok(Self::Ago(time)),
            _ => Err("write a time such as 2026-11-25T08:00:00Z, or a number and h, d or w".to_owned()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_the_past_is_written_as_a_time_or_as_a_distance() {
        let now: Timestamp = "2026-11-25T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2026-11-25T08:00:00Z", "2026-11-25T08:00:00Z"),
            ("2026-11-25T08:00:00+02:00", "2026-11-25T06:00:00Z"),
            ("12h", "2026-11-25T00:00:00Z"),
            ("1w", "2026-11-18T12:00:00Z"),
        ] {
            assert_eq!(text.parse::<Since>().unwrap().time(now).to_string(), expected);
        }
        for bad in ["", "never", "yesterday", "2026", "12"] {
            bad.parse::<Since>().unwrap_err();
        }
    }
}
