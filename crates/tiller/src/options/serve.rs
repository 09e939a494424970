//! Options of the server.

use crate::limits::SERVE_LINGER;
use ::serve::auth::{GroupScopes, QuotaLimits};
use agent::Scopes;
use std::time::Duration;

/// How `tiller serve` is reached, and what happens to sessions without a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServeSettings {
    /// Where it listens; the user's own Unix socket if empty.
    pub(crate) listen: Vec<String>,
    /// Values of `Host` that are accepted over TCP beside those of loopback.
    pub(crate) hosts: Vec<String>,
    /// Origins of web pages that may use the server.
    pub(crate) origins: Vec<String>,
    /// Networks of reverse proxies.
    pub(crate) behind_proxy: Vec<String>,
    /// The PEM files of the certificate and of its key.
    pub(crate) tls_cert: Option<String>,
    pub(crate) tls_key: Option<String>,
    /// Ids of other users that may connect to the Unix socket.
    pub(crate) unix_users: Vec<u32>,
    /// Whether turns go on when their last client is gone.
    pub(crate) turns_go_on: bool,
    /// How long a connection without a socket can be resumed.
    pub(crate) resume_grace: Duration,
    /// How long a session with neither a client nor a turn stays open.
    pub(crate) linger: Duration,
    /// The identity provider whose tokens are accepted.
    oidc: OidcSettings,
    /// What users may use.
    operation: OperationSettings,
    /// How it is one of several nodes.
    nodes: NodeSettings,
    /// Where its traces go.
    otel: OtelSettings,
}

/// The traces of OpenTelemetry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OtelSettings {
    /// The URL of the collector.
    pub(crate) endpoint: Option<String>,
    /// Whether spans have prompts, answers, arguments and results.
    pub(crate) content: bool,
}

/// What the users of a server may use of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperationSettings {
    /// The limits of each user.
    pub(crate) user: QuotaLimits,
    /// The limits of all users of a tenant together.
    pub(crate) tenant: QuotaLimits,
    /// Requests to one provider of models at the same time; any number without it.
    pub(crate) model_concurrency: Option<usize>,
    /// Where metrics are offered over TCP.
    pub(crate) metrics_listen: Option<String>,
    /// The directory of the users' folders: each stays in the own one.
    pub(crate) user_folders: Option<String>,
    /// The providers whose keys users may use; those in the environment if `None`.
    pub(crate) shared_keys: Option<Vec<String>>,
    /// How long a session is kept after its last use; forever without it.
    pub(crate) retention: Option<Duration>,
}

impl Default for OperationSettings {
    fn default() -> Self {
        Self {
            user: QuotaLimits::default(),
            tenant: QuotaLimits::unlimited(),
            model_concurrency: None,
            metrics_listen: None,
            user_folders: None,
            shared_keys: None,
            retention: None,
        }
    }
}

/// How a server is one of several nodes that share a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodeSettings {
    /// Where it listens for other nodes; it is the only node without one.
    pub(crate) listen: Option<String>,
    /// Where the others reach it, as `HOST:PORT`; the address that it listens on without one.
    pub(crate) address: Option<String>,
    /// The PEM files of its certificate and its key.
    pub(crate) cert: Option<String>,
    pub(crate) key: Option<String>,
    /// The PEM file of the authority that signs the certificates of all nodes.
    pub(crate) ca: Option<String>,
    /// The name of the folders that sessions work in; that of the machine without one.
    pub(crate) folders: Option<String>,
    /// Whether turns go on by themselves after the death of their node.
    pub(crate) goes_on_after_death: bool,
}

/// The identity provider whose tokens are accepted, and what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OidcSettings {
    /// Its URL; none is accepted without one.
    pub(crate) issuer: Option<String>,
    /// The id of this server there.
    pub(crate) audience: Option<String>,
    /// The claim that names the user.
    pub(crate) user_claim: String,
    /// The claim that names the tenant; all users are of one tenant without it.
    pub(crate) tenant_claim: Option<String>,
    /// The claim that names the groups.
    pub(crate) groups_claim: String,
    /// What each group permits.
    pub(crate) groups: Vec<GroupScopes>,
    /// What every user may do.
    pub(crate) scopes: Scopes,
    /// Whether the provider may be on this machine or in a private network.
    pub(crate) is_local: bool,
}

impl Default for OidcSettings {
    fn default() -> Self {
        Self {
            issuer: None,
            audience: None,
            user_claim: "sub".to_owned(),
            tenant_claim: None,
            groups_claim: "groups".to_owned(),
            groups: Vec::new(),
            scopes: Scopes::default(),
            is_local: false,
        }
    }
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            behind_proxy: Vec::new(),
            tls_cert: None,
            tls_key: None,
            unix_users: Vec::new(),
            turns_go_on: true,
            resume_grace: ::serve::limits::RESUME_GRACE,
            linger: SERVE_LINGER,
            oidc: OidcSettings::default(),
            operation: OperationSettings::default(),
            nodes: NodeSettings::default(),
            otel: OtelSettings::default(),
        }
    }
}

impl ServeSettings {
    /// How it is one of several nodes.
    pub(crate) fn nodes(&self) -> &NodeSettings {
        &self.nodes
    }

    /// The same, to be changed.
    pub(crate) fn nodes_mut(&mut self) -> &mut NodeSettings {
        &mut self.nodes
    }

    /// Where its traces go.
    pub(crate) fn otel(&self) -> &OtelSettings {
        &self.otel
    }

    /// The same, to be changed.
    pub(crate) fn otel_mut(&mut self) -> &mut OtelSettings {
        &mut self.otel
    }

    /// The identity provider whose tokens are accepted.
    pub(crate) fn oidc(&self) -> &OidcSettings {
        &self.oidc
    }

    /// What users may use.
    pub(crate) fn operation(&self) -> &OperationSettings {
        &self.operation
    }

    /// The same, to be changed.
    pub(crate) fn operation_mut(&mut self) -> &mut OperationSettings {
        &mut self.operation
    }

    /// The identity provider, to be changed.
    pub(crate) fn oidc_mut(&mut self) -> &mut OidcSettings {
        &mut self.oidc
    }
}

impl OidcSettings {
    /// Reads the scopes of a group, written as `GROUP=scope,scope`.
    ///
    /// # Errors
    /// If there is no `=`, no group or no scope, or a scope is unknown.
    pub(crate) fn group(text: &str) -> Result<GroupScopes, String> {
        // The name of a group may contain an equals sign, as in LDAP.
        let (group, scopes) = text
            .rsplit_once('=')
            .filter(|(group, _)| !group.is_empty())
            .ok_or_else(|| format!("{text:?} is not GROUP=SCOPE,SCOPE, such as admins=connect,admin"))?;
        let scopes = scopes.parse::<Scopes>().map_err(|error| error.to_string())?;
        Ok(GroupScopes { group: group.to_owned(), scopes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::Scope;

    #[test]
    fn a_group_is_written_with_its_scopes() {
        let scopes = |scopes: &[Scope]| scopes.iter().copied().collect::<Scopes>();
        let admins = OidcSettings::group("admins=connect, admin").unwrap();
        assert_eq!(
            (admins.group.as_str(), admins.scopes),
            ("admins", scopes(&[Scope::Connect, Scope::Admin]))
        );
        assert_eq!(OidcSettings::group("cn=dev,dc=x=session:read").unwrap().group, "cn=dev,dc=x");
        for bad in ["", "admins", "=admin", "admins=", "admins=fly", "admins=admin,,connect"] {
            assert!(OidcSettings::group(bad).is_err(), "{bad}");
        }
    }
}
