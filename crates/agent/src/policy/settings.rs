//! Rules that people write: `TOOL` or `TOOL(PATTERN)`, to deny, to ask or to allow.

use super::{Decision, Policy, Subject, rules, shell::Shell};
use crate::Access;

/// The rules of all layers together. Deny beats ask, ask beats allow, whichever layer each comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionRules {
    /// Calls that are never run.
    pub deny: Vec<PermissionRule>,
    /// Calls that ask, in every permission mode.
    pub ask: Vec<PermissionRule>,
    /// Calls that need no approval. Never past a denial, a blocked or protected path, or the project's boundary.
    pub allow: Vec<PermissionRule>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    tool: String,
    /// For commands, what each simple command must look like; for files, a path. `*` is any characters, without case.
    pattern: Option<String>,
}

impl std::str::FromStr for PermissionRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("takes TOOL or TOOL(PATTERN), such as bash(cargo *), not {text:?}");
        let name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match text.split_once('(') {
            None if name(text) => Ok(Self { tool: text.to_owned(), pattern: None }),
            Some((tool, rest)) if name(tool) => {
                let pattern = rest.strip_suffix(')').filter(|pattern| !pattern.is_empty()).ok_or_else(bad)?;
                Ok(Self { tool: tool.to_owned(), pattern: Some(pattern.to_owned()) })
            }
            _ => Err(bad()),
        }
    }
}

impl std::fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
        }
    }
}

impl PermissionRule {
    fn is_about(&self, text: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        // `cargo *` is about `cargo` too.
        rules::matches(pattern, text) || rules::matches(pattern, &format!("{text} "))
    }

    /// Whether any part of a call is what the rule names.
    fn touches(&self, subject: &Subject<'_>) -> bool {
        self.tool == subject.tool
            && (self.pattern.is_none() || parts(subject).iter().flatten().any(|p| self.is_about(p)))
    }
}

/// The denial of a rule, if one denies.
pub(super) fn denied(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let rule = policy.rules.deny.iter().find(|rule| rule.touches(subject))?;
    Some(Decision::Deny { rule: "DenyRule", reason: format!("The setting permissions.deny has '{rule}'.") })
}

/// The question of a rule, if one asks.
pub(super) fn asks(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let rule = policy.rules.ask.iter().find(|rule| rule.touches(subject))?;
    let question = format!("{} (the setting permissions.ask has '{rule}')", super::question(policy, subject));
    Some(Decision::Ask { rule: "AskRule", question })
}

/// Whether rules allow all of a call: each of its commands, each of its files. A line that is not fully understood, writes by
/// redirection or runs with more rights is not what a pattern of words speaks of.
pub(super) fn allows(policy: &Policy<'_>, subject: &Subject<'_>) -> bool {
    let understood = subject.accesses.iter().all(|resolved| match &resolved.shell {
        Some(Shell::Commands(commands)) => commands.iter().all(|c| c.writes.is_empty() && !c.elevated),
        Some(Shell::Unknown { .. }) => false,
        None => true,
    });
    let lifted =
        subject.accesses.iter().any(|r| matches!(r.access, Access::Execute { unconfined: true, .. }));
    let parts = parts(subject);
    understood
        && !lifted
        && !parts.is_empty()
        && parts.iter().all(|spellings| {
            // Every spelling of a path has to be allowed: a link does not lend its name.
            policy
                .rules
                .allow
                .iter()
                .any(|rule| rule.tool == subject.tool && spellings.iter().all(|p| rule.is_about(p)))
        })
}

/// The things a call touches, each in all its spellings.
fn parts(subject: &Subject<'_>) -> Vec<Vec<String>> {
    let mut parts = Vec::new();
    for resolved in subject.accesses {
        match (&resolved.access, &resolved.shell) {
            (_, Some(Shell::Commands(commands) | Shell::Unknown { seen: commands, .. })) => {
                parts.extend(commands.iter().map(|command| vec![command.line()]));
            }
            (Access::Read(path) | Access::Write(path), _) => {
                let spellings = [Some(path), resolved.canonical.as_ref()];
                let spell = |path: &system::AbsPath| {
                    let below = subject.roots.iter().find_map(|root| path.relative_to(root));
                    below.unwrap_or(path.as_str()).to_owned()
                };
                parts.push(spellings.into_iter().flatten().map(spell).collect());
            }
            (Access::Fetch(url), _) => parts.push(vec![url.clone()]),
            (Access::Call { function, .. }, _) => parts.push(vec![function.clone()]),
            (Access::Execute { .. }, _) => {}
        }
    }
    parts
}
