//! The user whom a session belongs to.

/// A user of a server, whom sessions belong to.
///
/// Sessions without an owner belong to the user of the machine that Tiller runs on. Lists and
/// searches return the sessions of one owner only; ids of sessions are unique across all owners.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The group of users that the user belongs to.
    pub tenant: String,
    /// The user inside the tenant.
    pub user: String,
}
