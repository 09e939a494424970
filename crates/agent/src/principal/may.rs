//! Whether a principal may do something: one pure function for all requests.

use super::{Operation, Owner, Principal, Scope};

/// Whether a principal may do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allowed,
    /// It may, as an administrator who reads what belongs to another user. The audit records it.
    AllowedAndAudited,
    /// Its credential has no such scope. This does not depend on the session, not even on whether
    /// there is one.
    Forbidden(Scope),
    /// The session does not exist, as far as this principal may know.
    NotFound,
}

impl Decision {
    /// Whether the operation may be carried out.
    pub fn is_allowed(self) -> bool {
        matches!(self, Self::Allowed | Self::AllowedAndAudited)
    }
}

/// Decides whether a principal may do something. `owner` is the owner of the session that it is
/// about, `None` if there is no such session; it is ignored for operations that are about none. A
/// session that is stored without an owner belongs to the user of the machine: pass that one.
///
/// The scopes are examined first, so that the answer to a request for another's session is in every
/// case the answer for a session that does not exist.
pub fn may(principal: &Principal, owner: Option<&Owner>, operation: Operation) -> Decision {
    if let Some(missing) = operation.scopes().iter().find(|scope| !principal.scopes.has(**scope)) {
        return Decision::Forbidden(*missing);
    }
    if !operation.is_about_a_session() {
        return match operation {
            Operation::ListTenant => Decision::AllowedAndAudited,
            _ => Decision::Allowed,
        };
    }
    let Some(owner) = owner else { return Decision::NotFound };
    if owner.tenant != principal.tenant {
        return Decision::NotFound;
    }
    if owner.user == principal.user {
        return Decision::Allowed;
    }
    match operation.crosses_users() && principal.scopes.has(Scope::Admin) {
        true => Decision::AllowedAndAudited,
        false => Decision::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::Scopes;
    use Operation as O;
    use Scope as S;

    /// Each operation with the scopes that it needs, and what it is about.
    const TABLE: [(Operation, &[Scope], About); 22] = [
        (O::Connect, &[S::Connect], About::NoSession),
        (O::Create, &[S::SessionCreate], About::NoSession),
        (O::List, &[S::SessionRead], About::NoSession),
        (O::ListTenant, &[S::Admin, S::SessionRead], About::TheTenant),
        (O::Search, &[S::SessionRead], About::NoSession),
        (O::Read, &[S::SessionRead], About::ASessionToRead),
        (O::Load, &[S::SessionRead], About::ASessionToRead),
        (O::Prompt, &[S::SessionWrite], About::ASession),
        (O::Steer, &[S::SessionWrite], About::ASession),
        (O::Cancel, &[S::SessionWrite], About::ASession),
        (O::Change, &[S::SessionWrite], About::ASession),
        (O::Rewind, &[S::SessionWrite], About::ASession),
        (O::CallTool, &[S::SessionWrite], About::ASession),
        (O::Answer, &[S::SessionApprove], About::ASession),
        (O::Archive, &[S::SessionWrite], About::ASession),
        (O::Fork, &[S::SessionRead, S::SessionCreate], About::ASession),
        (O::Delete, &[S::SessionDelete], About::ASession),
        (O::ReadSettings, &[S::SessionRead], About::NoSession),
        (O::ChangeSettings, &[S::SessionWrite], About::NoSession),
        (O::Administer, &[S::Admin], About::NoSession),
        (O::ReadMetrics, &[S::Metrics], About::NoSession),
        (O::ServeWorkspace, &[S::Runner], About::NoSession),
    ];

    #[derive(Clone, Copy, PartialEq)]
    enum About {
        NoSession,
        TheTenant,
        ASession,
        ASessionToRead,
    }

    fn owner(tenant: &str, user: &str) -> Owner {
        Owner { tenant: tenant.to_owned(), user: user.to_owned() }
    }

    /// Every set of scopes.
    fn all_scopes() -> impl Iterator<Item = Scopes> {
        (0..1 << Scope::ALL.len()).map(|set: u32| {
            let scopes = Scope::ALL.into_iter().enumerate();
            scopes.filter(|(place, _)| set >> place & 1 == 1).map(|(_, scope)| scope).collect()
        })
    }

    #[test]
    fn every_scope_operation_and_owner_is_decided_as_the_table_says() {
        assert_eq!(TABLE.map(|(operation, ..)| operation), Operation::ALL);
        let (own, colleague) = (owner("a", "ada"), owner("a", "bob"));
        let (namesake, stranger) = (owner("b", "ada"), owner("b", "eve"));
        let mut cases = 0;
        for scopes in all_scopes() {
            let principal = Principal { tenant: "a".to_owned(), scopes, ..Principal::local("ada") };
            for (operation, needed, about) in TABLE {
                let decide = |owner| may(&principal, owner, operation);
                let of = [Some(&own), Some(&colleague), Some(&namesake), Some(&stranger), None];
                let decided = of.map(decide);
                cases += decided.len();
                let expected = if let Some(missing) = needed.iter().find(|scope| !scopes.has(**scope)) {
                    [Decision::Forbidden(*missing); 5]
                } else {
                    let hidden = Decision::NotFound;
                    let admin = Decision::AllowedAndAudited;
                    match about {
                        About::NoSession => [Decision::Allowed; 5],
                        About::TheTenant => [admin; 5],
                        About::ASessionToRead if scopes.has(Scope::Admin) => {
                            [Decision::Allowed, admin, hidden, hidden, hidden]
                        }
                        _ => [Decision::Allowed, hidden, hidden, hidden, hidden],
                    }
                };
                assert_eq!(decided, expected, "{operation:?} with {scopes:?}");
            }
        }
        assert_eq!(cases, 512 * 22 * 5);
    }

    #[test]
    fn the_session_of_a_stranger_is_decided_as_one_that_does_not_exist() {
        for scopes in all_scopes() {
            let principal = Principal { scopes, ..Principal::local("ada") };
            for operation in Operation::ALL {
                let strangers = may(&principal, Some(&owner("other", "ada")), operation);
                assert_eq!(strangers, may(&principal, None, operation), "{operation:?}");
            }
        }
    }

    #[test]
    fn an_administrator_changes_nothing_of_another_user() {
        let admin = Principal::local("root");
        let other = owner(&admin.tenant, "ada");
        let allowed: Vec<_> = Operation::ALL
            .into_iter()
            .filter(|operation| operation.is_about_a_session())
            .filter(|operation| may(&admin, Some(&other), *operation).is_allowed())
            .collect();
        assert_eq!(allowed, [Operation::Read, Operation::Load]);
        let reads = may(&admin, Some(&other), Operation::Read);
        assert_eq!(reads, Decision::AllowedAndAudited);
        assert_eq!(may(&admin, Some(&admin.owner()), Operation::Read), Decision::Allowed);
    }
}
