//! What a credential permits.

use std::{fmt, str::FromStr};

/// One kind of operation that a credential may permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Opening a connection.
    Connect,
    /// Creating sessions.
    SessionCreate,
    /// Listing, loading and watching one's own sessions.
    SessionRead,
    /// Prompting, steering, cancelling and changing one's own sessions.
    SessionWrite,
    /// Answering permission requests and questions.
    SessionApprove,
    /// Deleting one's own sessions.
    SessionDelete,
    /// Administration: connections, audit and sessions of other users of the tenant.
    Admin,
    /// Reading metrics, and why a node is not ready.
    Metrics,
    /// Connecting as the far side of a workspace.
    Runner,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 9] = [
        Self::Connect,
        Self::SessionCreate,
        Self::SessionRead,
        Self::SessionWrite,
        Self::SessionApprove,
        Self::SessionDelete,
        Self::Admin,
        Self::Metrics,
        Self::Runner,
    ];

    /// Returns its name, as in token files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::SessionCreate => "session:create",
            Self::SessionRead => "session:read",
            Self::SessionWrite => "session:write",
            Self::SessionApprove => "session:approve",
            Self::SessionDelete => "session:delete",
            Self::Admin => "admin",
            Self::Metrics => "metrics",
            Self::Runner => "runner",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope {name:?}; the scopes are {}", Scope::ALL.map(Scope::name).join(", "))]
pub struct UnknownScope {
    /// The name.
    pub name: String,
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        let scope = Self::ALL.into_iter().find(|scope| scope.name() == name);
        scope.ok_or_else(|| UnknownScope { name: name.to_owned() })
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scopes(u16);

impl Scopes {
    /// Returns the set of all scopes.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether a scope is in the set.
    pub fn has(self, scope: Scope) -> bool {
        self.0 & bit(scope) != 0
    }

    /// Whether every scope of another set is in this one.
    pub fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the scopes of the set, in the order of [`Scope::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.has(*scope))
    }
}

/// Reads names that are separated by commas, as on the command line, or by white space, as in
/// OAuth.
impl FromStr for Scopes {
    type Err = UnknownScope;

    fn from_str(names: &str) -> Result<Self, UnknownScope> {
        if names.split(',').any(|part| part.trim().is_empty()) {
            return Err(UnknownScope { name: String::new() });
        }
        names.split(',').flat_map(str::split_whitespace).map(str::parse::<Scope>).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |set, scope| set | bit(scope)))
    }
}

fn bit(scope: Scope) -> u16 {
    1 << scope as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_has_a_name_that_reads_back_and_a_place_of_its_own() {
        for scope in Scope::ALL {
            assert_eq!(scope.name().parse(), Ok(scope));
            let alone: Scopes = [scope].into_iter().collect();
            assert_eq!(alone.iter().collect::<Vec<_>>(), [scope]);
        }
        assert_eq!(Scopes::all().iter().count(), Scope::ALL.len());
        assert_eq!(Scopes::default().iter().count(), 0);
        let one: Scopes = [Scope::Connect].into_iter().collect();
        assert!(Scopes::all().includes(one) && one.includes(one) && !one.includes(Scopes::all()));
        let error = "session:all".parse::<Scope>().unwrap_err().to_string();
        assert!(error.contains("session:all") && error.contains("session:write"), "{error}");
    }

    #[test]
    fn scopes_are_separated_by_commas_or_by_white_space() {
        let expected: Scopes = [Scope::Connect, Scope::SessionRead].into_iter().collect();
        for names in ["connect,session:read", "connect session:read", " session:read,  connect "] {
            assert_eq!(names.parse(), Ok(expected), "{names:?}");
        }
        for bad in ["", ",", "connect,,session:read", "connect,fly"] {
            assert!(bad.parse::<Scopes>().is_err(), "{bad:?}");
        }
    }
}
