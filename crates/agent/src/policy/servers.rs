//! What the settings say of functions of MCP servers and of integrations, by what a function says that it does.

use super::{PermissionRules, Subject, names::INTEGRATION, rule};
use crate::Access;
use std::collections::BTreeMap;

/// What may be done without asking, of every server and of single ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerRules {
    /// Of servers of which nothing else is said.
    pub default: Answer,
    /// Of single servers, by the names that tools have of them.
    pub servers: BTreeMap<String, ServerRule>,
}

/// What may be done with one server, or one integration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerRule {
    /// Calls of functions that say that they only read.
    pub read: Option<Answer>,
    /// All other calls.
    pub write: Option<Answer>,
}

/// What comes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answer {
    /// It needs no approval.
    Allow,
    /// It needs one, as it would if nothing were said.
    #[default]
    Ask,
    /// It is never run.
    Deny,
}

impl Answer {
    /// Every answer with its word.
    pub const ALL: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];

    /// Its word.
    pub fn id(self) -> &'static str {
        Self::ALL.iter().find(|(_, answer)| *answer == self).map_or("", |(word, _)| word)
    }
}

impl ServerRules {
    /// What is said of a server's functions that only read, or of its others.
    pub fn of(&self, server: &str, read_only: bool) -> Answer {
        let own = self.servers.get(server).and_then(|rule| if read_only { rule.read } else { rule.write });
        own.unwrap_or(self.default)
    }
}

/// What is said of a call of a function.
pub(super) struct Said {
    pub(super) answer: Answer,
    /// The server, or the integration.
    whose: String,
    is_integration: bool,
    operation: &'static str,
}

impl Said {
    /// Why it is not run; callers know these texts.
    pub(super) fn denial(&self) -> String {
        let Self { whose, operation, .. } = self;
        match self.is_integration {
            false => format!("MCP server '{whose}' {operation} access denied."),
            true => {
                format!(
                    "Integration '{whose}' {operation} access denied. Enable it in /settings → Integrations"
                )
            }
        }
    }
}

/// The strictest of what is said of the functions that a call is about; `None` where it is about none.
pub(super) fn answer(rules: &PermissionRules, subject: &Subject<'_>) -> Option<Said> {
    let answers = subject.accesses.iter().filter_map(|resolved| {
        let Access::Call { function, read_only } = &resolved.access else { return None };
        let (whose, _) = rule::function(function)?.split_once("__")?;
        let is_integration = function.starts_with(INTEGRATION);
        let rules = if is_integration { &rules.integrations } else { &rules.servers };
        let operation = if *read_only { "read" } else { "write" };
        let answer = rules.of(whose, *read_only);
        Some(Said { answer, whose: whose.to_owned(), is_integration, operation })
    });
    let strictness = |answer: Answer| Answer::ALL.iter().position(|(_, known)| *known == answer);
    answers.max_by_key(|said| strictness(said.answer))
}
