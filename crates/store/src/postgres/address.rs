//! The address of a database: its URL, the settings of a connection, and encryption.

use crate::limits::{POSTGRES_CONNECT, POSTGRES_POOL, POSTGRES_POOL_WAIT, POSTGRES_STATEMENT};
use agent::StoreError;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use rustls_platform_verifier::BuilderVerifierExt as _;
use std::{net::IpAddr, sync::Arc};
use tokio_postgres::{
    Client, Config,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The schema of our tables, apart from those of other programs.
pub(super) const SCHEMA: &str = "tiller";
/// The role that the programs act as.
const ROLE: &str = "tiller_app";

/// Where a database is, and how it is reached.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Address {
    /// Parses a URL such as `postgres://user:password@host:5432/database`, or the same as
    /// `host=… user=…`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Format`] if it is none. The message does not contain it, since it may have a
    /// password.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            StoreError::Format(format!(
                "the URL of the session database is not valid: {error}: {cause}; write postgres://USER@HOST/DATABASE"
            ))
        })?;
        if config.get_application_name().is_none() {
            config.application_name("tiller");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(POSTGRES_CONNECT);
        }
        if config.get_ssl_mode() == SslMode::Prefer && config.get_hosts().iter().any(is_remote) {
            // With `prefer`, an attacker in between could remove the encryption.
            config.ssl_mode(SslMode::Require);
        }
        config.tcp_user_timeout(POSTGRES_STATEMENT);
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        Ok(Self { config, tls: MakeRustlsConnect::new(tls()?) })
    }

    /// Returns a pool of connections that act as [`ROLE`].
    pub(super) fn pool(&self) -> Result<Pool, StoreError> {
        self.pool_of(POSTGRES_POOL)
    }

    /// Returns a pool of at most `size` connections that act as [`ROLE`].
    pub(super) fn pool_of(&self, size: usize) -> Result<Pool, StoreError> {
        let manager_config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.as_app(), self.tls.clone(), manager_config);
        Pool::builder(manager)
            .max_size(size)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(POSTGRES_POOL_WAIT))
            .create_timeout(Some(POSTGRES_CONNECT))
            .build()
            .map_err(|error| StoreError::Io(format!("the session database: {error}")))
    }

    /// Connects as the user of the URL.
    pub(super) async fn connect(&self) -> Result<Client, tokio_postgres::Error> {
        connect(&with(&self.config, &[("search_path", SCHEMA)]), self.tls.clone()).await
    }

    /// Connects as [`ROLE`], outside of the pool.
    pub(super) async fn connect_as_app(&self) -> Result<Client, tokio_postgres::Error> {
        connect(&self.as_app(), self.tls.clone()).await
    }

    /// Connects as the user of the URL, with the settings of the connections in a pool.
    pub(super) async fn connect_as_programs_do(&self) -> Result<Client, tokio_postgres::Error> {
        connect(&self.with_timeouts(), self.tls.clone()).await
    }

    /// Returns the settings of connections that the server does not know, with their values.
    pub(super) fn settings_of_connections(&self) -> impl Iterator<Item = (String, String)> {
        let seconds = self.config.get_tcp_user_timeout().map(|timeout| format!("{}s", timeout.as_secs()));
        let attributes = match self.config.get_target_session_attrs() {
            TargetSessionAttrs::ReadWrite => Some("read-write".to_owned()),
            _ => None,
        };
        [("target_session_attrs", attributes), ("tcp_user_timeout", seconds)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    }

    fn as_app(&self) -> Config {
        with(&self.with_timeouts(), &[("role", ROLE)])
    }

    fn with_timeouts(&self) -> Config {
        let timeout = POSTGRES_STATEMENT.as_millis().to_string();
        with(
            &self.config,
            &[
                ("search_path", SCHEMA),
                ("statement_timeout", &timeout),
                ("idle_in_transaction_session_timeout", &timeout),
            ],
        )
    }
}

/// Connects; a task of the current runtime serves the connection until the client is dropped.
async fn connect(config: &Config, tls: MakeRustlsConnect) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(tls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the session database ended");
        }
    });
    Ok(client)
}

/// Adds settings to those of the URL.
fn with(config: &Config, settings: &[(&str, &str)]) -> Config {
    let mut options = config.get_options().unwrap_or_default().to_owned();
    for (name, value) in settings {
        options.push_str(&format!(" -c {name}={value}"));
    }
    let mut config = config.clone();
    config.options(options);
    config
}

/// Whether the traffic to a host leaves this machine.
fn is_remote(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let is_loopback = name.parse().is_ok_and(|address: IpAddr| address.is_loopback());
            !is_loopback && name != "localhost"
        }
        Host::Unix(_) => false,
    }
}

/// Returns the settings of encryption: the certificates that this machine trusts.
fn tls() -> Result<rustls::ClientConfig, StoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_platform_verifier())
        .map(|builder| builder.with_no_client_auth())
        .map_err(|error| StoreError::Io(format!("no encrypted connections can be made: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_machine_is_encrypted() {
        for (url, expected) in [
            ("postgres://u@db.example.com/d", SslMode::Require),
            ("postgres://u@db.example.com/d?sslmode=disable", SslMode::Disable),
            ("postgres://u@10.0.0.1,127.0.0.1/d", SslMode::Require),
            ("postgres://u@localhost/d", SslMode::Prefer),
            ("postgres://u@[::1]/d", SslMode::Prefer),
            ("host=/run/postgresql user=u", SslMode::Prefer),
        ] {
            assert_eq!(Address::parse(url).unwrap().config.get_ssl_mode(), expected, "{url}");
        }
        let error = Address::parse("postgres://u:secret@h:port/").err().unwrap().to_string();
        assert!(!error.contains("secret") && error.contains("postgres://USER"), "{error}");
    }
}
