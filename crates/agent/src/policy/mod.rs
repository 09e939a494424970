//! The permission policy: a pure chain of rules over the accesses that a call declares.
//!
//! Architecture Invariant: [`decide`] is called in `gate` and nowhere else, and depends on nothing
//! but its arguments. The order of the chain is: mode, folder of a server's user, blocked path,
//! denied command, denied tool, what asks in every mode (protected path, rule of the settings,
//! irrevocable command), project boundary, session grant, tool lists, permission mode. A later rule
//! never overrules a denial, and a grant never answers a question that is asked in every mode.

mod advice;
mod commands;
mod confinement;
pub(crate) mod found;
mod git;
mod grants;
mod names;
pub(crate) mod network;
mod options;
mod protected;
mod question;
mod rule;
mod rules;
mod servers;
mod settings;
mod severe;
mod severity;
mod shape;
mod shell;
mod table;

pub use advice::Remedy;
pub(crate) use advice::remedy;
pub(crate) use commands::pushes;
pub(crate) use confinement::{Bounds, CommandConfinement, OwnFiles, expected, sandbox};
pub use confinement::{CommandFiles, SandboxOptions, Secrets};
pub(crate) use grants::{Grants, label, may_be_allowed, scope};
pub(crate) use names::{ALL_PROJECTS, mean, runs_commands};
pub use names::{check_tool_name, check_tool_pattern, tool_names};
pub use network::{
    AddressKind, CommandNetwork, ConnectionJudge, Expectation, NetworkOptions, NetworkRule, NetworkRules,
    Push, RefChange, RemoteRepository, SERVICE_PORTS, SignCommits, Signing, Traffic, address_kind,
    refused_address,
};
pub(crate) use question::{beside_command, place};
pub use rule::PermissionRule;
pub use servers::{Answer, ServerRule, ServerRules};
pub use settings::PermissionRules;
pub(crate) use shell::{Dialect, Shell, quoted};

use crate::{Access, Effect, Mode, PermissionMode, one_line};
use names::{Approval, Kind};
use system::AbsPath;

/// The call that a decision is about.
pub(crate) struct Subject<'a> {
    /// The name of the tool.
    pub(crate) tool: &'a str,
    /// The kind of effect that the tool has.
    pub(crate) effect: Effect,
    /// Every access that the call declares.
    pub(crate) accesses: &'a [Resolved],
    /// The session's directory and the additional ones that it may work in.
    pub(crate) roots: &'a [AbsPath],
}

/// An access with the results of its lookups.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    /// The access as declared.
    pub(crate) access: Access,
    /// The path with links resolved, for accesses to files and, where looked up, the directory of a
    /// command.
    pub(crate) canonical: Option<AbsPath>,
    /// The parsed command, for executions.
    pub(crate) shell: Option<Shell>,
    /// Whether it is a file that controls what git runs in a repository of any name.
    pub(crate) controls_git: bool,
}

impl Resolved {
    /// Parses a command in the dialect of the shell that would run it; the caller has resolved
    /// `canonical`.
    pub(crate) fn new(access: Access, canonical: Option<AbsPath>, dialect: Dialect) -> Self {
        let shell = match &access {
            Access::Execute { command, .. } => Some(shell::parse(command, dialect)),
            _ => None,
        };
        Self { access, canonical, shell, controls_git: false }
    }
}

/// The inputs of a decision beyond the call itself.
pub(crate) struct Policy<'a> {
    /// The agent mode.
    pub(crate) mode: Mode,
    /// The permission mode.
    pub(crate) permission_mode: PermissionMode,
    pub(crate) settings: PolicySettings<'a>,
    /// Directories outside the project whose reading needs no approval: the session's full long
    /// results, and the user's skills in use.
    pub(crate) readable: Vec<AbsPath>,
    /// The directory of the session's temporary files, if its commands write there.
    pub(crate) temp: Option<AbsPath>,
    /// The user's remembered "always" answers.
    pub(crate) grants: &'a Grants,
    /// Where a command would run and what would confine it.
    pub(crate) confinement: CommandConfinement,
    /// Whether the user's editor runs on another machine than commands do.
    pub(crate) apart: bool,
}

/// The permission settings.
#[derive(Clone, Copy)]
pub(crate) struct PolicySettings<'a> {
    /// Paths outside the project that need no approval.
    pub(crate) allowed_paths: &'a [AbsPath],
    /// Patterns of blocked paths beyond the built-in ones.
    pub(crate) blocked_paths: &'a [String],
    /// Tools that are denied.
    pub(crate) denied_tools: &'a [String],
    /// The permission rules.
    pub(crate) rules: &'a PermissionRules,
    /// The program's own directories: its settings and the trust records.
    pub(crate) own: &'a [AbsPath],
    /// The user's home directory.
    pub(crate) home: Option<&'a AbsPath>,
    /// Whether the user trusts the project with memories.
    pub(crate) memories_trusted: bool,
    /// The folder that no call may leave.
    pub(crate) folder: Option<&'a AbsPath>,
}

/// The decision of the chain and the rule that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Run the call.
    Allow { rule: &'static str },
    /// Ask the user this question.
    Ask { rule: &'static str, question: String },
    /// Do not run the call; the model receives the reason.
    Deny { rule: &'static str, reason: String },
}

/// The rule of a decision by `permissions.allow`.
pub(crate) const ALLOW_RULE: &str = "AllowRule";

/// Rules that ask each time: no remembered answer applies to them.
const EVERY_TIME: &[&str] =
    &["ProtectedPath", "AskRule", "Publishing", "History", "Destructive", "Unclear", "OutsideFolder"];

/// Whether "always" can be remembered as the answer to a rule's question.
pub(crate) fn remembers(rule: &str) -> bool {
    !EVERY_TIME.contains(&rule)
}

/// Decides about a call by the rules of the chain, in order.
pub(crate) fn decide(policy: &Policy<'_>, subject: &Subject<'_>) -> Decision {
    if let Some(denial) = mode_denial(policy, subject)
        .or_else(|| user_folder(policy, subject))
        .or_else(|| blocked_path(policy, subject))
        .or_else(|| commands::denied(policy, subject))
        .or_else(|| denied_tool(policy, subject))
        .or_else(|| settings::denied(policy, subject))
    {
        return denial;
    }
    // Writes to files that decide what may run are asked about every time; questions of an ask
    // rule, in every mode.
    let always = protected_path(policy, subject)
        .or_else(|| settings::asks(policy, subject))
        .or_else(|| commands::irrevocable(policy, subject))
        .or_else(|| outside_folder(policy, subject));
    let asks = always
        .clone()
        .or_else(|| project_boundary(policy, subject))
        .or_else(|| settings::allows(policy, subject).then_some(Decision::Allow { rule: ALLOW_RULE }))
        .or_else(|| approval_required(policy, subject));
    let Some(Decision::Ask { rule, question }) = asks else {
        return asks.unwrap_or_else(|| not_listed(subject));
    };
    match policy.grants.answer(subject, policy.confinement) {
        Some(true) if remembers(rule) => return Decision::Allow { rule: "SessionGrant" },
        Some(false) => {
            let reason = format!("User denied permission for '{}'.", subject.tool);
            return Decision::Deny { rule: "SessionGrant", reason };
        }
        _ => {}
    }
    match policy.permission_mode {
        PermissionMode::Prometheus if always.is_none() => Decision::Allow { rule: "Prometheus" },
        PermissionMode::Guardian if rule == "ApprovalRequired" && guardian_allows(policy, subject) => {
            Decision::Allow { rule: "Guardian" }
        }
        _ => Decision::Ask { rule, question },
    }
}

/// Decides about a command line that the user typed: it runs, but for the few that never do.
pub(crate) fn decide_for_user(policy: &Policy<'_>, subject: &Subject<'_>) -> Decision {
    commands::denied(policy, subject).unwrap_or(Decision::Allow { rule: "User" })
}

/// Evaluates each rule of the chain separately, in order, followed by the decision of the whole
/// chain.
pub(crate) fn chain(policy: &Policy<'_>, subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let allowed = settings::allows(policy, subject).then_some(Decision::Allow { rule: ALLOW_RULE });
    let mut steps: Vec<_> = [
        ("Mode", mode_denial(policy, subject)),
        ("BlockedPath", blocked_path(policy, subject)),
        ("DenyPattern", commands::denied(policy, subject)),
        ("DeniedTools", denied_tool(policy, subject)),
        ("DenyRule", settings::denied(policy, subject)),
        ("ProtectedPath", protected_path(policy, subject)),
        ("AskRule", settings::asks(policy, subject)),
        ("Irrevocable", commands::irrevocable(policy, subject)),
        ("OutsideFolder", outside_folder(policy, subject)),
        ("ProjectBoundary", project_boundary(policy, subject)),
        ("AllowRule", allowed),
        ("ToolLists", approval_required(policy, subject)),
    ]
    .map(|(rule, said)| (rule, said.map_or_else(|| "-".to_owned(), |decision| words(&decision))))
    .to_vec();
    if policy.settings.folder.is_some() {
        let said = user_folder(policy, subject).map_or_else(|| "-".to_owned(), |decision| words(&decision));
        steps.insert(1, ("UserFolder", said));
    }
    steps.push(("decision", words(&decide(policy, subject))));
    steps
}

fn words(decision: &Decision) -> String {
    match decision {
        Decision::Allow { rule } => format!("allow ({rule})"),
        Decision::Ask { rule, question } => format!("ask ({rule}): {question}"),
        Decision::Deny { rule, reason } => format!("deny ({rule}): {reason}"),
    }
}

/// Whether a tool is a function of an MCP server.
pub(crate) fn is_of_server(tool: &str) -> bool {
    tool.starts_with(names::MCP)
}

/// Whether a tool belongs to an MCP server or to an integration.
pub(crate) fn is_foreign(tool: &str) -> bool {
    is_of_server(tool) || tool.starts_with(names::INTEGRATION)
}

/// Whether a mode offers a tool at all.
pub(crate) fn exists(tool: &str, effect: Effect, mode: Mode) -> bool {
    match mode {
        Mode::Edit => true,
        Mode::Plan => effect != Effect::Writes && names::built_in(tool).is_none_or(|tool| tool.modes.0),
        Mode::Ask => effect != Effect::Writes && names::built_in(tool).is_none_or(|tool| tool.modes.1),
    }
}

fn mode_denial(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let (mode, label) = (policy.mode, policy.mode.label());
    if mode == Mode::Edit {
        return None;
    }
    let calls = |a: &Resolved| matches!(a.access, Access::Call { read_only: false, .. });
    let foreign = rule::function(subject.tool).is_some() && subject.accesses.iter().any(calls);
    if !exists(subject.tool, subject.effect, mode) || foreign {
        let reason = format!(
            "Tool '{}' is not available in {label} mode. Switch to Edit mode to use write tools.",
            subject.tool
        );
        return Some(Decision::Deny { rule: "Mode", reason });
    }
    commands::changes_something(policy, subject).then(|| Decision::Deny {
        rule: "Mode",
        reason: format!(
            "Command blocked in {label} mode (read-only). Switch to Edit mode for write operations."
        ),
    })
}

/// Denies what leaves the folder of a server's user: a path outside it, or a command outside it or
/// outside its sandbox.
fn user_folder(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let folder = std::slice::from_ref(policy.settings.folder?);
    let deny = |reason: String| Some(Decision::Deny { rule: "UserFolder", reason });
    let outside = |what: &str, path: &AbsPath| {
        deny(format!("{what} '{path}' is outside '{}', your folder on this server.", folder[0]))
    };
    subject.accesses.iter().find_map(|resolved| match &resolved.access {
        Access::Execute { .. } if policy.confinement == CommandConfinement::Lifted => deny(
            "Commands of a server's users do not leave the sandbox. Run it without outside_sandbox."
                .to_owned(),
        ),
        Access::Execute { cwd, .. } => {
            let at = resolved.canonical.as_ref().unwrap_or(cwd);
            (!at.starts_with(&folder[0])).then(|| outside("The directory", at)).flatten()
        }
        Access::Read(_) | Access::Write(_) if inside(folder, resolved) || is_temp(policy, resolved) => None,
        Access::Read(_) if inside(&policy.readable, resolved) => None,
        Access::Read(path) | Access::Write(path) => outside("Path", path),
        _ => None,
    })
}

fn blocked_path(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    subject.accesses.iter().find_map(|resolved| {
        let (Access::Read(path) | Access::Write(path)) = &resolved.access else { return None };
        let spellings = [Some(path), resolved.canonical.as_ref()];
        spellings.into_iter().flatten().find(|path| is_blocked(policy, subject.roots, path)).map(|_| {
            Decision::Deny {
                rule: "BlockedPath",
                reason: format!(
                    "Path '{path}' is blocked by policy: it may hold secrets or repository internals."
                ),
            }
        })
    })
}

/// Whether a pattern blocks a path, either as a file or as a directory.
fn is_blocked(policy: &Policy<'_>, roots: &[AbsPath], path: &AbsPath) -> bool {
    let spelled = system::PathSpellings::of(path, roots);
    policy.settings.blocked_paths.iter().any(|pattern| spelled.is_in(pattern))
        || rules::names_secret(path.as_str())
}

fn denied_tool(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let has = |kind| subject.accesses.iter().any(|resolved| Kind::of(&resolved.access) == Some(kind));
    // A tool that runs commands or fetches is one of several ways to the same effect.
    let means = |tool: &str| {
        tool == subject.tool
            || names::kind(tool).is_some_and(|kind| matches!(kind, Kind::Run | Kind::Fetch) && has(kind))
    };
    policy.settings.denied_tools.iter().find(|tool| means(tool)).map(|denied| Decision::Deny {
        rule: "DeniedTools",
        reason: match denied == subject.tool {
            true => format!("Tool '{denied}' is denied by the setting tools.denied_tools."),
            false => format!(
                "Tool '{}' is denied by the setting tools.denied_tools, which has '{denied}'.",
                subject.tool
            ),
        },
    })
}

/// Asks about a write to a file that decides what may run: by a tool, or by a command that no
/// sandbox keeps from it.
fn protected_path(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let path = subject.accesses.iter().find_map(|resolved| match &resolved.access {
        Access::Write(path) => {
            let spellings = [Some(path), resolved.canonical.as_ref()];
            let named = spellings.into_iter().flatten().any(|path| is_protected(policy, subject, path));
            (named || resolved.controls_git).then(|| path.clone())
        }
        Access::Execute { cwd, .. } if !matches!(policy.confinement, CommandConfinement::Sandbox { .. }) => {
            let written = commands::written(policy, cwd, resolved.shell.as_ref());
            written.into_iter().find(|path| is_protected(policy, subject, path))
        }
        _ => None,
    })?;
    Some(Decision::Ask {
        rule: "ProtectedPath",
        question: format!(
            "'{}' decides what may run on this machine. Allow '{}' to write it?",
            one_line(path.as_str()),
            subject.tool
        ),
    })
}

/// Whether a file decides what may run on this machine: it belongs to this program, it has one of
/// the names that other programs obey, it makes its directory one of git's, or it is hidden in the
/// home directory, where shells and other programs keep their settings.
fn is_protected(policy: &Policy<'_>, subject: &Subject<'_>, path: &AbsPath) -> bool {
    let below = subject.roots.iter().find_map(|root| path.relative_to(root));
    let makes_repository = path
        .file_name()
        .is_some_and(|name| [".git", "HEAD"].iter().any(|known| rules::Folded::of(name).matches(known)));
    policy.settings.own.iter().any(|own| system::is_within(path, own))
        || makes_repository
        || protected::is_named(below.unwrap_or(path.as_str()))
        || is_hidden_at_home(policy, subject, path)
}

/// Whether a path is hidden in the home directory. A project that is or contains the home directory
/// does not contain such a path.
fn is_hidden_at_home(policy: &Policy<'_>, subject: &Subject<'_>, path: &AbsPath) -> bool {
    policy.settings.home.is_some_and(|home| {
        let is_of_project =
            subject.roots.iter().any(|root| path.starts_with(root) && !home.starts_with(root));
        !is_of_project && path.relative_to(home).is_some_and(|below| below.starts_with('.'))
    })
}

fn project_boundary(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    if policy.permission_mode == PermissionMode::Prometheus {
        return None;
    }
    subject.accesses.iter().find_map(|resolved| {
        let (Access::Read(path) | Access::Write(path)) = &resolved.access else { return None };
        let readable = matches!(resolved.access, Access::Read(_)) && inside(&policy.readable, resolved);
        if readable || is_temp(policy, resolved) || inside(policy.settings.allowed_paths, resolved) {
            return None;
        }
        let (rule, place) = if !inside(subject.roots, resolved) {
            ("ProjectBoundary", "outside the project root")
        } else if is_hidden_at_home(policy, subject, resolved.canonical.as_ref().unwrap_or(path)) {
            ("ProtectedPath", "hidden in your home directory")
        } else {
            return None;
        };
        Some(Decision::Ask { rule, question: format!("Path '{path}' is {place}. Allow?") })
    })
}

/// Asks about a command that would run outside the session's directory and everything else it works
/// in. A grant for the same command inside does not apply.
fn outside_folder(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    if policy.permission_mode == PermissionMode::Prometheus {
        return None;
    }
    subject.accesses.iter().find_map(|resolved| {
        let Access::Execute { cwd, .. } = &resolved.access else { return None };
        let folder = resolved.canonical.as_ref().unwrap_or(cwd);
        let below = |roots: &[AbsPath]| roots.iter().any(|root| folder.starts_with(root));
        let allowed = below(subject.roots) || below(policy.settings.allowed_paths);
        (!allowed).then(|| {
            let why = format!("It would run in '{folder}', outside the project root.");
            Decision::Ask { rule: "OutsideFolder", question: question::of(policy, subject, &why) }
        })
    })
}

/// Whether a path leads to a temporary file of the session.
fn is_temp(policy: &Policy<'_>, resolved: &Resolved) -> bool {
    resolved.canonical.is_some()
        && policy.temp.iter().any(|temp| inside(std::slice::from_ref(temp), resolved))
}

/// Whether a path, with links resolved where known, is below one of the directories.
pub(crate) fn inside(roots: &[AbsPath], resolved: &Resolved) -> bool {
    let (Access::Read(path) | Access::Write(path)) = &resolved.access else { return true };
    let below = |path: &AbsPath| roots.iter().any(|root| path.starts_with(root));
    below(resolved.canonical.as_ref().unwrap_or(path))
}

fn approval_required(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    if let Some(question) = memory_question(policy, subject) {
        return Some(Decision::Ask { rule: "ApprovalRequired", question });
    }
    let approval = match names::built_in(subject.tool) {
        Some(tool) => tool.approval,
        None if rule::function(subject.tool).is_some() => Approval::ByAccess,
        None => return None,
    };
    // Calls that read, list or stop background commands.
    let runs = |resolved: &Resolved| Kind::of(&resolved.access) == Some(Kind::Run);
    let harmless = names::kind(subject.tool) == Some(Kind::Run) && !subject.accesses.iter().any(runs);
    Some(match approval {
        Approval::Never | Approval::Memories => Decision::Allow { rule: "SafeTools" },
        _ if harmless => Decision::Allow { rule: "SafeTools" },
        Approval::ByAccess | Approval::InArgus => Decision::Ask {
            rule: "ApprovalRequired",
            question: question::of(policy, subject, &commands::why(policy, subject)),
        },
    })
}

/// Returns the question about a change of memories in a project that is not trusted with them, or
/// about reading the sessions of other projects.
fn memory_question(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<String> {
    let tool = subject.tool;
    let changes = names::built_in(tool).is_some_and(|tool| tool.approval == Approval::Memories);
    if changes && !policy.settings.memories_trusted {
        return Some(format!("This project is not trusted with memories. Allow '{tool}' to change them?"));
    }
    let all = |a: &Resolved| matches!(&a.access, Access::Call { function, .. } if function == ALL_PROJECTS);
    let reads_all = subject.accesses.iter().any(all);
    reads_all.then(|| format!("Allow '{tool}' to read the sessions of all your projects?"))
}

/// Whether Guardian allows a call without approval: writes of the file tools inside the project
/// without a symbolic link in the path, and commands that a sandbox confines or that the table
/// lists as read-only, and searches of the web: their query goes only to the provider that the user
/// configured. A fetch asks, because its URL can carry data to any host.
fn guardian_allows(policy: &Policy<'_>, subject: &Subject<'_>) -> bool {
    subject.accesses.iter().all(|resolved| match &resolved.access {
        Access::Write(path) => {
            is_temp(policy, resolved)
                || resolved.canonical.as_ref().is_some_and(|real| is_same_below(subject.roots, path, real))
        }
        Access::Execute { unconfined, .. } => {
            !unconfined && commands::obstacle(policy, subject.roots, resolved).is_none()
        }
        Access::Read(_) => true,
        Access::Call { .. } => {
            names::built_in(subject.tool).is_some_and(|tool| tool.approval == Approval::InArgus)
        }
        Access::Fetch(_) => false,
    })
}

/// Whether a path and its real path name the same place below the session's directories: a link may
/// lead to a directory of the session, and none leads on below it.
fn is_same_below(roots: &[AbsPath], path: &AbsPath, real: &AbsPath) -> bool {
    let below = |path| roots.iter().filter_map(move |root| AbsPath::relative_to(path, root));
    below(path).any(|name| below(real).any(|other| other == name))
}

fn not_listed(subject: &Subject<'_>) -> Decision {
    let reason = format!("Tool '{}' is not explicitly allowed by policy.", subject.tool);
    Decision::Deny { rule: "NotListed", reason }
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
