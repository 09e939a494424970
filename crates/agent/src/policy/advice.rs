//! What would allow a call that is asked about, for a run without a user who could approve it.

use super::{
    Decision, NetworkRule, PermissionRule, PermissionRules, Policy, PolicySettings, Subject, decide, settings,
};
use crate::{Access, PermissionMode, text::host};
use system::AbsPath;

/// What allows a call that is asked about. Each was checked: the policy decided again with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remedy {
    /// The narrowest rules that allow it together; empty if no rules do.
    pub rules: Vec<PermissionRule>,
    /// Paths outside the project that must be allowed beside the rules.
    pub paths: Vec<AbsPath>,
    /// The rules that allow the connection, if it is one of a command.
    pub hosts: Vec<NetworkRule>,
    /// The rule that the user can add to the settings with the answer; `None` where that is not
    /// offered.
    pub user_rule: Option<NetworkRule>,
    /// The setting that decides about it, if no rule does.
    pub setting: Option<&'static str>,
    /// Whether it runs without approval in the permission mode Prometheus.
    pub in_prometheus: bool,
}

impl Remedy {
    /// Returns whether a rule or a path allows the call.
    pub fn has_settings(&self) -> bool {
        !self.rules.is_empty() || !self.paths.is_empty() || !self.hosts.is_empty()
    }
}

/// Returns what would allow a call.
pub(crate) fn remedy(policy: &Policy<'_>, subject: &Subject<'_>) -> Remedy {
    let in_prometheus = allows(policy, subject, PermissionMode::Prometheus, &[], &[]);
    let outside = outside(subject);
    let tried = candidates(subject).into_iter().flat_map(|rules| {
        let with = |paths: &[AbsPath]| (rules.clone(), paths.to_vec());
        [with(&[]), with(&outside)]
    });
    let found = tried.into_iter().find(|(rules, paths)| {
        (!rules.is_empty() || !paths.is_empty())
            && allows(policy, subject, policy.permission_mode, rules, paths)
    });
    let (rules, paths) = found.unwrap_or_default();
    Remedy { rules, paths, in_prometheus, ..Remedy::default() }
}

/// Returns whether the policy allows a call with another mode and with more settings.
fn allows(
    policy: &Policy<'_>,
    subject: &Subject<'_>,
    permission_mode: PermissionMode,
    rules: &[PermissionRule],
    paths: &[AbsPath],
) -> bool {
    let mut all = PermissionRules::clone(policy.settings.rules);
    all.allow.extend(rules.iter().cloned());
    let allowed = [policy.settings.allowed_paths, paths].concat();
    let settings = PolicySettings { rules: &all, allowed_paths: &allowed, ..policy.settings };
    let readable = policy.readable.clone();
    let policy = Policy { permission_mode, settings, readable, temp: policy.temp.clone(), ..*policy };
    matches!(decide(&policy, subject), Decision::Allow { .. })
}

/// Returns sets of rules for a call, the narrowest first: none, one for each of its parts, one for
/// the whole command line, and one for the tool.
fn candidates(subject: &Subject<'_>) -> Vec<Vec<PermissionRule>> {
    let rule = |pattern: &str| format!("{}({pattern})", subject.tool).parse::<PermissionRule>().ok();
    let parts = settings::targets(subject).into_iter().map(|target| match target {
        settings::Target::Url(url) => rule(&format!("domain:{}", host::of(&url)?)),
        settings::Target::Text(text) => rule(&text),
        settings::Target::Function => None,
    });
    let lines = subject.accesses.iter().map(|resolved| match &resolved.access {
        Access::Execute { command, .. } => rule(command.trim()),
        _ => None,
    });
    let mut sets = vec![Some(Vec::new()), parts.collect(), lines.collect(), Some(Vec::new())];
    if let Some(Some(tool)) = sets.last_mut() {
        tool.extend(subject.tool.parse());
    }
    sets.into_iter().flatten().collect()
}

/// Returns the places of a call that are outside the session's directories.
fn outside(subject: &Subject<'_>) -> Vec<AbsPath> {
    let place = |resolved: &super::Resolved| match &resolved.access {
        Access::Read(path) | Access::Write(path) | Access::Execute { cwd: path, .. } => {
            Some(resolved.canonical.clone().unwrap_or_else(|| path.clone()))
        }
        _ => None,
    };
    let is_inside = |path: &AbsPath| subject.roots.iter().any(|root| path.starts_with(root));
    subject.accesses.iter().filter_map(place).filter(|path| !is_inside(path)).collect()
}
