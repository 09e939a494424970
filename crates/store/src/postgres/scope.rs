//! Whose rows a transaction sees.

use agent::{Owner, Principal};
use uuid::Uuid;

/// The tenant and the user that a transaction acts for.
///
/// The ids are derived from the names: every node knows them without asking, and a role that sees
/// only its own tenant needs no way to look up others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) tenant: Uuid,
    pub(super) owner: Uuid,
    /// Whether it sees the sessions of all users of the tenant.
    pub(super) is_admin: bool,
    /// The names; `None` for the user of the machine.
    pub(super) name: Option<Owner>,
}

impl Scope {
    /// Returns the scope of one user.
    pub(super) fn of(owner: Option<&Owner>) -> Self {
        let (tenant, user) = names(owner);
        Self {
            tenant: id(&["tenant", tenant]),
            owner: id(&["user", tenant, user]),
            is_admin: false,
            name: owner.cloned(),
        }
    }

    /// Returns the scope of a server with one tenant: all of its users.
    pub(super) fn of_server() -> Self {
        Self { is_admin: true, ..Self::of(None) }
    }

    /// Returns the scope of all users of a tenant.
    pub(super) fn of_tenant(tenant: &str) -> Self {
        let (tenant, user) = (tenant.to_owned(), String::new());
        Self { is_admin: true, ..Self::of(Some(&Owner { tenant, user })) }
    }

    /// Returns the statements that begin a transaction of this scope.
    pub(super) fn begin(&self) -> String {
        let admin = if self.is_admin { "on" } else { "off" };
        format!(
            "BEGIN; SET LOCAL tiller.tenant = '{}'; SET LOCAL tiller.owner = '{}'; SET LOCAL tiller.admin = {admin}",
            self.tenant, self.owner
        )
    }

    /// Returns the names in their stored form.
    pub(super) fn names(&self) -> (&str, &str) {
        names(self.name.as_ref())
    }
}

/// Returns the owner with these stored names.
pub(super) fn owner(tenant: String, user: String) -> Option<Owner> {
    (!user.is_empty()).then_some(Owner { tenant, user })
}

/// The user of the machine has no name; its sessions are in the only tenant.
fn names(owner: Option<&Owner>) -> (&str, &str) {
    owner.map_or((Principal::ONLY_TENANT, ""), |owner| (owner.tenant.as_str(), owner.user.as_str()))
}

/// Derives an id from names. The lengths keep `a`, `bc` apart from `ab`, `c`.
fn id(names: &[&str]) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    for name in names {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_all_names_and_never_change() {
        let of = |tenant: &str, user: &str| {
            Scope::of(Some(&Owner { tenant: tenant.to_owned(), user: user.to_owned() }))
        };
        let (ab, other) = (of("a", "bc"), of("ab", "c"));
        assert_ne!((ab.tenant, ab.owner), (other.tenant, other.owner));
        assert_ne!(of("a", "x").owner, of("b", "x").owner);
        assert_eq!(of("a", "x").tenant, of("a", "y").tenant);
        assert_eq!(Scope::of(None).tenant, of(Principal::ONLY_TENANT, "x").tenant);
        // Stored ids: another derivation would orphan every session.
        assert_eq!(Scope::of(None).tenant.to_string(), "21da4929-3680-8228-b970-c6713854bd21");
        assert_eq!(of("a", "bc").owner.to_string(), "94493164-17ee-8a38-8e3c-0569e58797ed");
    }
}
