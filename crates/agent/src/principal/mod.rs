//! Who asks for something: the person or program behind a connection.

mod may;
mod operation;
mod owner;
mod scopes;

pub use may::{Decision, may};
pub use operation::Operation;
pub use owner::Owner;
pub use scopes::{Scope, Scopes, UnknownScope};

/// The person or program that a connection was authenticated as.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The group of users that share settings and limits; nothing is visible across tenants.
    pub tenant: String,
    /// The user inside the tenant.
    pub user: String,
    /// The credential that authenticated it, by an id that is not secret.
    pub credential: String,
    /// What the credential permits.
    pub scopes: Scopes,
}

impl Principal {
    /// The tenant of servers that have only one.
    pub const ONLY_TENANT: &'static str = "default";

    /// Returns the principal of a user of this machine, with every scope.
    pub fn local(user: impl Into<String>) -> Self {
        Self {
            tenant: Self::ONLY_TENANT.to_owned(),
            user: user.into(),
            credential: "local".to_owned(),
            scopes: Scopes::all(),
        }
    }

    /// Returns the owner of what this principal creates.
    pub fn owner(&self) -> Owner {
        Owner { tenant: self.tenant.clone(), user: self.user.clone() }
    }

    /// Whether both are the same user; their credentials may differ.
    pub fn is_same_user(&self, other: &Self) -> bool {
        self.tenant == other.tenant && self.user == other.user
    }
}
