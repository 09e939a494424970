//! The settings for functions of MCP servers and integrations, by whether a function declares
//! itself read-only.

use super::{PermissionRules, Subject, names::INTEGRATION, rule};
use crate::Access;
use std::collections::BTreeMap;

/// The rules for all servers and for individual ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerRules {
    /// The answer for servers without a rule of their own.
    pub default: Answer,
    /// Rules of individual servers, by the server name in tool names.
    pub servers: BTreeMap<String, ServerRule>,
}

/// The rule of one server or integration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerRule {
    /// The answer for calls of functions that declare themselves read-only.
    pub read: Option<Answer>,
    /// The answer for all other calls.
    pub write: Option<Answer>,
}

/// How a call is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answer {
    /// Runs without approval.
    Allow,
    /// Needs approval, which is also the default.
    #[default]
    Ask,
    /// Never runs.
    Deny,
}

impl Answer {
    /// Every answer with its name in the settings.
    pub const ALL: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];

    /// Returns the answer's name in the settings.
    pub fn id(self) -> &'static str {
        Self::ALL.iter().find(|(_, answer)| *answer == self).map_or("", |(word, _)| word)
    }
}

impl ServerRules {
    /// Returns the answer for a server's read-only functions, or for its other functions.
    pub fn of(&self, server: &str, read_only: bool) -> Answer {
        let own = self.servers.get(server).and_then(|rule| if read_only { rule.read } else { rule.write });
        own.unwrap_or(self.default)
    }
}

/// The rule that applies to a call of a function.
pub(super) struct ServerAnswer {
    pub(super) answer: Answer,
    /// The name of the server or integration.
    whose: String,
    is_integration: bool,
    operation: &'static str,
}

impl ServerAnswer {
    /// Returns why the call is not run. Callers rely on these texts.
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

/// Returns the strictest rule for the functions that a call uses; `None` if it uses none.
pub(super) fn answer(rules: &PermissionRules, subject: &Subject<'_>) -> Option<ServerAnswer> {
    let answers = subject.accesses.iter().filter_map(|resolved| {
        let Access::Call { function, read_only } = &resolved.access else { return None };
        let (whose, _) = rule::function(function)?.split_once("__")?;
        let is_integration = function.starts_with(INTEGRATION);
        let rules = if is_integration { &rules.integrations } else { &rules.servers };
        let operation = if *read_only { "read" } else { "write" };
        let answer = rules.of(whose, *read_only);
        Some(ServerAnswer { answer, whose: whose.to_owned(), is_integration, operation })
    });
    let strictness = |answer: Answer| Answer::ALL.iter().position(|(_, known)| *known == answer);
    answers.max_by_key(|said| strictness(said.answer))
}
