//! Evaluates the permission rules of the settings: deny, ask and allow.

use super::{
    Decision, NetworkRules, Policy, Resolved, Subject,
    names::Kind,
    rule::PermissionRule,
    servers::{self, Answer, ServerAnswer, ServerRules},
    shape::{self, Form},
    shell::{Shell, SimpleCommand, Word},
};
use crate::{Access, Lifetime};
use system::AbsPath;

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
    /// The rules for the network of commands.
    pub network: NetworkRules,
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
    /// Forms of a command of which a part is known only when it runs.
    open: Vec<String>,
}

impl Part {
    fn new(kind: Option<Kind>, spelling: String) -> Self {
        Self { kind, spellings: vec![spelling], aliases: Vec::new(), open: Vec::new() }
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.spellings.iter().chain(&self.aliases)
    }
}

/// How a rule that denies or asks applies to a call.
#[derive(PartialEq, Eq)]
enum Match {
    No,
    /// Some part of a command is known only when it runs, and the rule may apply to it.
    Maybe,
    Yes,
}

/// Returns whether a rule that denies or asks applies to any target of a call.
///
/// A rule for a tool that writes, runs or fetches applies to every tool with that kind of access,
/// and one for a tool that reads does if it has a pattern: a path that may not be read may not be
/// searched either. A URL whose host cannot be determined counts as a match.
fn touches(rule: &PermissionRule, subject: &Subject<'_>, parts: &[Part]) -> Match {
    let named = rule.names(subject.tool);
    let kind = rule.kind();
    if named && rule.pattern.is_none() {
        return Match::Yes;
    }
    let about = |part: &&Part| named || (kind.is_some() && kind == part.kind);
    let fits = |part: &Part| part.all().any(|text| rule.fits(text) || rule.is_puzzled_by(text));
    let may_fit = |part: &Part| part.open.iter().any(|open| rule.may_fit(open));
    match parts.iter().filter(about).collect::<Vec<_>>() {
        parts if parts.iter().any(|part| fits(part)) => Match::Yes,
        parts if parts.iter().any(|part| may_fit(part)) => Match::Maybe,
        _ => Match::No,
    }
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
    let mut rules = policy.settings.rules.deny.iter();
    let rule = rules.find(|rule| touches(rule, subject, &parts) == Match::Yes)?;
    Some(Decision::Deny { rule: "DenyRule", reason: format!("The setting permissions.deny has '{rule}'.") })
}

/// Returns the question of a rule, if one asks about the call, or may ask about it or deny it.
pub(super) fn asks(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let PermissionRules { deny, ask, .. } = policy.settings.rules;
    if deny.is_empty() && ask.is_empty() {
        return None;
    }
    let parts = parts(subject);
    let asking = ask.iter().map(|rule| ("ask", rule)).chain(deny.iter().map(|rule| ("deny", rule)));
    let why = asking.into_iter().find_map(|(list, rule)| match touches(rule, subject, &parts) {
        Match::No => None,
        Match::Yes => Some(format!("The setting permissions.{list} has '{rule}'.")),
        Match::Maybe => Some(format!(
            "Parts of it are known only when it runs, and the setting permissions.{list} has '{rule}'."
        )),
    })?;
    let question = super::question::of(policy, subject, &why);
    Some(Decision::Ask { rule: "AskRule", question })
}

/// Whether rules allow a whole call: each of its commands and each of its files.
///
/// A line that is not fully parsed, writes by redirection or runs with elevated rights is allowed
/// by a rule that is exactly this line, and by no pattern.
pub(super) fn allows(policy: &Policy<'_>, subject: &Subject<'_>) -> bool {
    if let Some(ServerAnswer { answer: Answer::Allow, .. }) = servers::answer(policy.settings.rules, subject)
    {
        return true;
    }
    if policy.settings.rules.allow.is_empty() {
        return false;
    }
    let lifted =
        subject.accesses.iter().any(|r| matches!(r.access, Access::Execute { unconfined: true, .. }));
    let rules = || {
        let rules = policy.settings.rules.allow.iter();
        rules.filter(|rule| rule.too_wide_to_allow().is_none())
    };
    let is_exact = |line: &str| rules().any(|rule| is_for(rule, subject) && rule.is_exactly(line.trim()));
    let understood = |resolved: &Resolved| match (&resolved.access, &resolved.shell) {
        (Access::Execute { command, .. }, _) if is_exact(command) => true,
        (_, Some(Shell::Commands(commands))) => commands.iter().all(|c| c.writes.is_empty() && !c.elevated),
        (_, Some(Shell::Unknown { .. })) => false,
        (_, None) => true,
    };
    let allowed = |part: &Part| {
        part.spellings.iter().all(|text| rules().any(|rule| is_for(rule, subject) && rule.fits(text)))
    };
    let covered = |resolved: &Resolved| match &resolved.access {
        Access::Execute { command, .. } if is_exact(command) => true,
        _ => {
            let parts = parts_of(subject, resolved);
            !parts.is_empty() && parts.iter().all(allowed)
        }
    };
    !lifted
        && !subject.accesses.is_empty()
        && subject.accesses.iter().all(|resolved| understood(resolved) && covered(resolved))
}

/// Whether a rule that allows is for a call. A rule for one tool that runs commands is for each of
/// them, but not for the input of a command that is running.
fn is_for(rule: &PermissionRule, subject: &Subject<'_>) -> bool {
    let starts = |resolved: &Resolved| {
        matches!(resolved.access, Access::Execute { lifetime: Lifetime::Session | Lifetime::Kept, .. })
    };
    rule.names(subject.tool)
        || rule.kind() == Some(Kind::Run)
            && !subject.accesses.is_empty()
            && subject.accesses.iter().all(starts)
}

/// Whether a rule allows a line that is one command in exactly these words.
///
/// The rule contains no star; the line contains no word known only at run time, no redirection, no
/// elevation and no other command, such as a `cd` before it.
pub(super) fn allows_word_for_word(policy: &Policy<'_>, subject: &Subject<'_>, shell: &Shell) -> bool {
    let Shell::Commands(commands) = shell else { return false };
    let [command] = commands.as_slice() else { return false };
    let plain = command.writes.is_empty() && !command.elevated && command.args().iter().all(Word::is_exact);
    let line = command.line();
    plain && policy.settings.rules.allow.iter().any(|rule| is_for(rule, subject) && rule.is_exactly(&line))
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
    subject.accesses.iter().flat_map(|resolved| parts_of(subject, resolved)).collect()
}

fn parts_of(subject: &Subject<'_>, resolved: &Resolved) -> Vec<Part> {
    let kind = Kind::of(&resolved.access);
    match &resolved.access {
        Access::Execute { .. } => {
            let commands = resolved.shell.as_ref().map_or(&[][..], Shell::commands);
            commands.iter().map(command).collect()
        }
        Access::Read(declared) | Access::Write(declared) => {
            vec![path(subject, declared, resolved.canonical.as_ref(), kind)]
        }
        Access::Fetch(url) => vec![Part::new(kind, url.clone())],
        Access::Call { function, .. } => vec![Part::new(kind, function.clone())],
    }
}

/// A command is matched in its other forms too: a rule that denies `curl` matches `/usr/bin/curl`,
/// a rule that allows it does not.
fn command(command: &SimpleCommand) -> Part {
    let mut part = Part::new(Some(Kind::Run), command.line());
    for form in shape::forms(command) {
        match form {
            Form::Known(text) => part.aliases.push(text),
            Form::Open(text) => part.open.push(text),
        }
    }
    part
}

/// A path below the session's directories is matched in its relative spelling, and by deny and ask
/// rules in its absolute spelling too.
fn path(subject: &Subject<'_>, declared: &AbsPath, canonical: Option<&AbsPath>, kind: Option<Kind>) -> Part {
    let full: Vec<_> = [Some(declared), canonical].into_iter().flatten().collect();
    let below = |path: &AbsPath| {
        let below = subject.roots.iter().find_map(|root| path.relative_to(root));
        below.unwrap_or(path.as_str()).to_owned()
    };
    Part {
        kind,
        spellings: full.iter().map(|path| below(path)).collect(),
        aliases: full.iter().map(|path| path.as_str().to_owned()).collect(),
        open: Vec::new(),
    }
}
