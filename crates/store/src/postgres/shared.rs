//! What the scopes of a store have in common.

use super::{connections::Connections, leases::Leases, node::Node};

/// The connections, the node and the leases of this process.
pub(super) struct Shared {
    pub(super) pool: Connections,
    pub(super) node: Node,
    pub(super) leases: Leases,
}
