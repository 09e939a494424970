//! How a server is one of several nodes, from the settings `serve.node`.

use super::{listeners::tcp_address, refuse, users::owner};
use crate::options::NodeSettings;
use ::serve::{CertificateFiles, Directory, Holder, Listener, NodeAddress, NodeOptions, auth::Source};
use agent::{Principal, SessionId};
use anyhow::Result;
use async_trait::async_trait;
use std::sync::Arc;
use store::nodes::{NodeHolder, Nodes, Peer};

/// A server that is one of several nodes.
pub(super) struct Node {
    pub(super) nodes: Arc<dyn Nodes>,
    pub(super) listener: Listener,
    pub(super) options: NodeOptions,
    /// Where other nodes reach it.
    pub(super) address: String,
}

impl Node {
    /// Binds the listener for other nodes; `None` if the settings name none.
    ///
    /// # Errors
    /// If the settings are incomplete, the database cannot be shared, or the listener cannot be
    /// bound.
    pub(super) async fn bind(settings: &NodeSettings, nodes: Option<Arc<dyn Nodes>>) -> Result<Option<Self>> {
        let NodeSettings { listen: Some(listen), address, cert, key, ca, .. } = settings else {
            return Ok(None);
        };
        let Some(nodes) = nodes else {
            return Err(refuse(
                "--node-listen: only nodes of a PostgreSQL database work together; pass --store postgres://…"
                    .to_owned(),
            ));
        };
        let (Some(cert), Some(key), Some(ca)) = (cert, key, ca) else {
            return Err(refuse(
                "--node-listen: nodes know each other by certificates of one authority; pass --node-cert FILE \
                 --node-key FILE --node-ca FILE"
                    .to_owned(),
            ));
        };
        let bound = tcp_address(listen).ok_or_else(|| {
            refuse(format!("--node-listen {listen}: write tcp:ADDRESS:PORT, such as tcp:10.0.0.5:7443"))
        })?;
        if address.is_none() && bound.ip().is_unspecified() {
            return Err(refuse(format!(
                "--node-listen {listen}: other nodes cannot reach this address; pass --node-address HOST:PORT"
            )));
        }
        let certificate = CertificateFiles {
            certificate: cert.into(),
            key: key.into(),
            client_authorities: Some(ca.into()),
        };
        let listener = Listener::nodes(bound, certificate.clone()).await?;
        let place = listener.place();
        let address =
            address.clone().unwrap_or_else(|| place.strip_prefix("tcp:").unwrap_or(&place).to_owned());
        let directory = Arc::new(SharedDirectory(nodes.clone()));
        Ok(Some(Self { nodes, listener, options: NodeOptions { directory, certificate }, address }))
    }
}

/// The nodes that share the database.
struct SharedDirectory(Arc<dyn Nodes>);

#[async_trait]
impl Directory for SharedDirectory {
    async fn holder(&self, principal: &Principal, source: Source, session: &str) -> Result<Holder, String> {
        let owner = owner(principal, source);
        let holder = self.0.holder(owner.as_ref(), &SessionId::from(session)).await;
        Ok(match holder.map_err(|error| error.to_string())? {
            NodeHolder::Free | NodeHolder::Here => Holder::FreeOrHere,
            NodeHolder::Other(Peer { id, address: Some(address) }) => {
                Holder::Other(NodeAddress { id, address })
            }
            NodeHolder::FreeAt(Peer { id, address: Some(address) }) => {
                Holder::FreeAt(NodeAddress { id, address })
            }
            // No server is there, so it can be read here.
            NodeHolder::FreeAt(Peer { address: None, .. }) => Holder::FreeOrHere,
            NodeHolder::Other(Peer { id, address: None }) => Holder::Unreachable(id),
        })
    }

    async fn takers(&self) -> Result<Vec<NodeAddress>, String> {
        let others = self.0.others().await.map_err(|error| error.to_string())?;
        Ok(others
            .into_iter()
            .filter_map(|peer| Some(NodeAddress { id: peer.id, address: peer.address? }))
            .collect())
    }

    async fn alive(&self) -> Result<Vec<String>, String> {
        self.0.alive().await.map_err(|error| error.to_string())
    }
}
