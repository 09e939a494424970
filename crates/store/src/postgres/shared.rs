//! What the scopes of a store have in common.

use super::{leases::Leases, node::Node};
use deadpool_postgres::Pool;

/// The connections, the node and the leases of this process.
pub(super) struct Shared {
    pub(super) pool: Pool,
    pub(super) node: Node,
    pub(super) leases: Leases,
}
