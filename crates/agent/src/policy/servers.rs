//! What the settings say of functions of MCP servers, by what a function says that it does.

use super::{Subject, rule::MCP};
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

/// What may be done with one server.
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

/// The strictest of what is said of the functions that a call is about, with the server and what the function does; `None` where it is about none.
pub(super) fn answer(rules: &ServerRules, subject: &Subject<'_>) -> Option<(Answer, String, &'static str)> {
    let answers = subject.accesses.iter().filter_map(|resolved| {
        let Access::Call { function, read_only } = &resolved.access else { return None };
        let (server, _) = function.strip_prefix(MCP)?.split_once("__")?;
        let operation = if *read_only { "read" } else { "write" };
        Some((rules.of(server, *read_only), server.to_owned(), operation))
    });
    let strictness = |answer: Answer| Answer::ALL.iter().position(|(_, known)| *known == answer);
    answers.max_by_key(|(answer, ..)| strictness(*answer))
}
