//! The roles of scopes, as definitions of languages name them.

use crate::theme::Role;
use syntect::parsing::{Scope, ScopeStack};

/// Beginnings of scopes with their roles; the first that fits counts.
const ROLES: [(&str, Role); 20] = [
    ("comment", Role::Comment),
    ("string", Role::Literal),
    ("constant", Role::Literal),
    ("keyword.operator.word", Role::Keyword),
    ("keyword.operator", Role::Text),
    ("keyword", Role::Keyword),
    ("storage.type.function.arrow", Role::Text),
    ("storage", Role::Keyword),
    ("entity.name.tag", Role::Keyword),
    ("entity.name", Role::Name),
    ("entity.other.inherited-class", Role::Name),
    ("entity.other.attribute-name", Role::Name),
    ("support", Role::Name),
    ("variable.function", Role::Name),
    ("variable.language", Role::Keyword),
    ("markup.inserted", Role::Added),
    ("markup.deleted", Role::Removed),
    ("markup.heading", Role::Heading),
    ("markup.bold", Role::Strong),
    ("meta.diff.header", Role::Dim),
];

/// Finds the roles of scopes.
pub(super) struct Roles(Vec<(Scope, Role)>);

impl Roles {
    pub(super) fn new() -> Self {
        let scope = |name| Scope::new(name).expect("the names are short");
        Self(ROLES.iter().map(|(name, role)| (scope(name), *role)).collect())
    }

    /// Returns the role of text in these scopes; the innermost one that has a role decides.
    pub(super) fn of(&self, stack: &ScopeStack) -> Role {
        let role = |scope: &Scope| {
            self.0.iter().find(|(begin, _)| begin.is_prefix_of(*scope)).map(|(_, role)| *role)
        };
        stack.as_slice().iter().rev().find_map(role).unwrap_or(Role::Text)
    }
}
