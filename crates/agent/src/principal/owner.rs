//! The user that something belongs to.

/// A user of a server, whom sessions belong to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The group of users that the user belongs to.
    pub tenant: String,
    /// The user inside the tenant.
    pub user: String,
}
