//! Evaluates the permission rules of the settings: deny, ask and allow.

use super::{
    Decision, Policy, Resolved, Subject,
    rule::{Kind, PermissionRule},
    servers::{self, Answer, ServerAnswer, ServerRules},
    shell::{Shell, SimpleCommand, Word},
};
use crate::Access;

/// The rules of all settings layers together. Deny beats ask, and ask beats allow, regardless of
/// the layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionRules {
    /// Calls that are never run.
    pub deny: Vec<PermissionRule>,
    /// Calls that ask in every permission mode.
    pub ask: Vec<PermissionRule>,
    /// Calls that need no approval. They never override a denial, a blocked or protected path, or
    /// the project's boundary.
    pub allow: Vec<PermissionRule>,
    /// The rules for functions of MCP servers.
    pub servers: ServerRules,
    /// The rules for functions of integrations.
    pub integrations: ServerRules,
}

/// One target of a call, in all its spellings.
struct Part {
    kind: Option<Kind>,
    /// An allow rule must match each of these, so that a link cannot lend its name to its target.
    spellings: Vec<String>,
    /// Further spellings that only deny and ask rules match.
    aliases: Vec<String>,
}

impl Part {
    fn all(&self) -> impl Iterator<Item = &String> {
        self.spellings.iter().chain(&self.aliases)
    }
}

/// Whether a rule that denies or asks applies to any target of a call.
///
/// A pattern of a tool that reads, writes, runs or fetches applies to every tool of that kind: a
/// path that may not be read may not be searched either. A target that cannot be determined counts
/// as a match.
fn touches(rule: &PermissionRule, subject: &Subject<'_>, parts: &[Part]) -> bool {
    let named = rule.names(subject.tool);
    if rule.pattern.is_none() {
        return named;
    }
    let kind = rule.kind();
    parts.iter().any(|part| {
        let about = named || (kind.is_some() && kind == part.kind);
        about && part.all().any(|text| rule.fits(text) || rule.is_puzzled_by(text))
    })
}

/// Returns the denial by a rule, if one denies the call.
pub(super) fn denied(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    if let Some(said @ ServerAnswer { answer: Answer::Deny, .. }) =
        servers::answer(policy.settings.rules, subject)
    {
        return Some(Decision::Deny { rule: "DenyRule", reason: said.denial() });
    }
    if policy.settings.rules.deny.is_empty() {
        return None;
    }
    let parts = parts(subject);
    let rule = policy.settings.rules.deny.iter().find(|rule| touches(rule, subject, &parts))?;
    Some(Decision::Deny { rule: "DenyRule", reason: format!("The setting permissions.deny has '{rule}'.") })
}

/// Returns the question of a rule, if one asks about the call.
pub(super) fn asks(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    if policy.settings.rules.ask.is_empty() {
        return None;
    }
    let parts = parts(subject);
    let rule = policy.settings.rules.ask.iter().find(|rule| touches(rule, subject, &parts))?;
    let why = format!("The setting permissions.ask has '{rule}'.");
    let question = super::question::of(policy, subject, &why);
    Some(Decision::Ask { rule: "AskRule", question })
}

/// Whether rules allow a whole call: each of its commands and each of its files.
///
/// A line that is not fully parsed, writes by redirection or runs with elevated rights is never
/// allowed by a pattern.
pub(super) fn allows(policy: &Policy<'_>, subject: &Subject<'_>) -> bool {
    if let Some(ServerAnswer { answer: Answer::Allow, .. }) = servers::answer(policy.settings.rules, subject)
    {
        return true;
    }
    if policy.settings.rules.allow.is_empty() {
        return false;
    }
    let understood = subject.accesses.iter().all(|resolved| match &resolved.shell {
        Some(Shell::Commands(commands)) => commands.iter().all(|c| c.writes.is_empty() && !c.elevated),
        Some(Shell::Unknown { .. }) => false,
        None => true,
    });
    let lifted =
        subject.accesses.iter().any(|r| matches!(r.access, Access::Execute { unconfined: true, .. }));
    let parts = parts(subject);
    let allowed = |text: &String| {
        let mut rules = policy.settings.rules.allow.iter();
        rules.any(|rule| rule.too_wide_to_allow().is_none() && rule.names(subject.tool) && rule.fits(text))
    };
    understood && !lifted && !parts.is_empty() && parts.iter().all(|part| part.spellings.iter().all(allowed))
}

/// Whether a rule allows a line that is one command in exactly these words.
///
/// The rule contains no star; the line contains no word known only at run time, no redirection, no
/// elevation and no other command, such as a `cd` before it.
pub(super) fn allows_word_for_word(policy: &Policy<'_>, tool: &str, shell: &Shell) -> bool {
    let Shell::Commands(commands) = shell else { return false };
    let [command] = commands.as_slice() else { return false };
    let plain = command.writes.is_empty() && !command.elevated && command.args().iter().all(Word::is_exact);
    let line = command.line();
    plain && policy.settings.rules.allow.iter().any(|rule| rule.names(tool) && rule.is_exactly(&line))
}

/// What a rule for one part of a call is about.
pub(super) enum Target {
    Url(String),
    Text(String),
    /// The function that the tool is.
    Function,
}

/// Returns what allow rules must match for a call.
pub(super) fn targets(subject: &Subject<'_>) -> Vec<Target> {
    let target = |kind, text: String| match kind {
        Some(Kind::Fetch) => Target::Url(text),
        Some(_) => Target::Text(text),
        None => Target::Function,
    };
    let parts = parts(subject).into_iter();
    let mut all: Vec<_> =
        parts.flat_map(|part| part.spellings.into_iter().map(move |text| (part.kind, text))).collect();
    all.dedup_by(|a, b| a.1 == b.1);
    all.into_iter().map(|(kind, text)| target(kind, text)).collect()
}

/// Returns the targets of a call.
fn parts(subject: &Subject<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    for resolved in subject.accesses {
        match (&resolved.access, &resolved.shell) {
            (_, Some(Shell::Commands(commands) | Shell::Unknown { seen: commands, .. })) => {
                parts.extend(commands.iter().map(command));
            }
            (Access::Read(_), _) => parts.push(path(subject, resolved, Kind::Read)),
            (Access::Write(_), _) => parts.push(path(subject, resolved, Kind::Write)),
            (Access::Fetch(url), _) => {
                parts.push(Part {
                    kind: Some(Kind::Fetch),
                    spellings: vec![url.clone()],
                    aliases: Vec::new(),
                });
            }
            (Access::Call { function, .. }, _) => {
                parts.push(Part { kind: None, spellings: vec![function.clone()], aliases: Vec::new() });
            }
            (Access::Execute { .. }, _) => {}
        }
    }
    parts
}

/// A command is matched by its program's base name too: a rule that denies `curl` matches
/// `/usr/bin/curl`, a rule that allows it does not.
fn command(command: &SimpleCommand) -> Part {
    let rest = command.args().iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let by_name = format!("{} {rest}", command.program()).trim_end().to_owned();
    Part { kind: Some(Kind::Run), spellings: vec![command.line()], aliases: vec![by_name] }
}

/// A path below the session's directories is matched in its relative spelling, and by deny and ask
/// rules in its absolute spelling too.
fn path(subject: &Subject<'_>, resolved: &Resolved, kind: Kind) -> Part {
    let declared = match &resolved.access {
        Access::Read(path) | Access::Write(path) => Some(path),
        _ => None,
    };
    let full: Vec<_> = [declared, resolved.canonical.as_ref()].into_iter().flatten().collect();
    let below = |path: &system::AbsPath| {
        let below = subject.roots.iter().find_map(|root| path.relative_to(root));
        below.unwrap_or(path.as_str()).to_owned()
    };
    Part {
        kind: Some(kind),
        spellings: full.iter().map(|path| below(path)).collect(),
        aliases: full.iter().map(|path| path.as_str().to_owned()).collect(),
    }
}
