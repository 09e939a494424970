//! Who may do what: a pure chain of rules over declared accesses.
//!
//! Architecture Invariant: [`decide`] is called in `gate.rs` and nowhere else, and looks at nothing but its arguments. The order of the chain is
//! the specification's: mode, blocked path, denied command, denied tool, protected path, publishing, project boundary, session grant, tool lists,
//! permission mode. A denial is never overruled by a later rule.

mod grants;
mod host;
mod protected;
mod rule;
mod rules;
mod servers;
mod settings;
mod shell;
mod shelter;

pub(crate) use grants::{Grants, label, scope};
pub use rule::PermissionRule;
pub use servers::{Answer, ServerRule, ServerRules};
pub use settings::PermissionRules;
pub(crate) use shell::Shell;
pub use shelter::SandboxOptions;
pub(crate) use shelter::{Bounds, Shelter, expected, sandbox};

use crate::{Access, Effect, Mode, PermissionMode};
use system::AbsPath;

/// What a decision is about.
pub(crate) struct Subject<'a> {
    /// The tool.
    pub(crate) tool: &'a str,
    /// What the tool does to the world.
    pub(crate) effect: Effect,
    /// All it is going to touch.
    pub(crate) accesses: &'a [Resolved],
    /// The session's folder and the further ones it may work in.
    pub(crate) roots: &'a [AbsPath],
}

/// An access with what had to be looked up about it.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    /// As declared.
    pub(crate) access: Access,
    /// The path with links resolved, for accesses to files.
    pub(crate) canonical: Option<AbsPath>,
    /// The parsed command, for executions.
    pub(crate) shell: Option<Shell>,
}

impl Resolved {
    /// Parses what is parsed; `canonical` was looked up by the caller.
    pub(crate) fn new(access: Access, canonical: Option<AbsPath>) -> Self {
        let shell = match &access {
            Access::Execute { command, .. } => Some(shell::parse(command)),
            _ => None,
        };
        Self { access, canonical, shell }
    }
}

/// The settings that decide.
pub(crate) struct Policy<'a> {
    /// The agent mode.
    pub(crate) mode: Mode,
    /// The permission mode.
    pub(crate) permission_mode: PermissionMode,
    /// Paths outside the project that are not asked about.
    pub(crate) allowed_paths: &'a [AbsPath],
    /// Blocked path patterns beside the built-in ones.
    pub(crate) blocked_paths: &'a [String],
    /// Tools that are denied.
    pub(crate) denied_tools: &'a [String],
    /// Rules from the settings.
    pub(crate) rules: &'a PermissionRules,
    /// What the user said "always" to.
    pub(crate) grants: &'a Grants,
    /// Folders of this program's own: its settings, and what it remembers of folders that are trusted.
    pub(crate) own: &'a [AbsPath],
    /// Who would run a command, and what would hold it back.
    pub(crate) shelter: Shelter,
}

/// What the chain says, and which rule said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Run it.
    Allow { rule: &'static str },
    /// Ask, with this question.
    Ask { rule: &'static str, question: String },
    /// Do not run it; the reason is for the model.
    Deny { rule: &'static str, reason: String },
}

/// Tools that need no approval, whatever they touch inside the project.
const SAFE_TOOLS: &[&str] = &[
    "file_read",
    "ide_read_file",
    "glob",
    "grep",
    "task_create",
    "task_update",
    "task_list",
    "task_get",
    "ask_user",
    "ask_choice",
    "tool_search",
    "lua_list_docs",
    "lua_search_docs",
    "lua_read_doc",
];
/// Tools that need approval.
const APPROVAL_REQUIRED: &[&str] =
    &["file_write", "file_edit", "apply_patch", "bash", "ide_write_file", "ide_terminal", "execute_lua"];
/// Tools that the mode `ask` lacks, beside those that write.
const NOT_IN_ASK: &[&str] = &["execute_lua"];

/// A command of more bytes is asked about with its length, so that nobody takes what fits the window for all of it.
const LONG_COMMAND: usize = 200;

/// Walks the chain.
pub(crate) fn decide(policy: &Policy<'_>, subject: &Subject<'_>) -> Decision {
    if let Some(denial) = mode_denial(policy, subject)
        .or_else(|| blocked_path(policy, subject))
        .or_else(|| denied_command(subject))
        .or_else(|| denied_tool(policy, subject))
        .or_else(|| settings::denied(policy, subject))
    {
        return denial;
    }
    // What decides about running things asks every time; what a rule asks about, in every mode.
    let protected = protected_path(policy, subject);
    let always =
        protected.clone().or_else(|| settings::asks(policy, subject)).or_else(|| publishing(policy, subject));
    let asks = always
        .clone()
        .or_else(|| project_boundary(policy, subject))
        .or_else(|| settings::allows(policy, subject).then_some(Decision::Allow { rule: "AllowRule" }))
        .or_else(|| approval_required(policy, subject));
    let Some(Decision::Ask { rule, question }) = asks else {
        return asks.unwrap_or_else(|| not_listed(subject));
    };
    match policy.grants.answer(subject) {
        Some(true) if protected.is_none() => return Decision::Allow { rule: "SessionGrant" },
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

/// Each rule of the chain by itself, in order, with what it says; and what the chain says.
pub(crate) fn chain(policy: &Policy<'_>, subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let allowed = settings::allows(policy, subject).then_some(Decision::Allow { rule: "AllowRule" });
    let mut steps: Vec<_> = [
        ("Mode", mode_denial(policy, subject)),
        ("BlockedPath", blocked_path(policy, subject)),
        ("DenyPattern", denied_command(subject)),
        ("DeniedTools", denied_tool(policy, subject)),
        ("DenyRule", settings::denied(policy, subject)),
        ("ProtectedPath", protected_path(policy, subject)),
        ("AskRule", settings::asks(policy, subject)),
        ("Publishing", publishing(policy, subject)),
        ("ProjectBoundary", project_boundary(policy, subject)),
        ("AllowRule", allowed),
        ("ToolLists", approval_required(policy, subject)),
    ]
    .map(|(rule, said)| (rule, said.map_or_else(|| "-".to_owned(), |decision| words(&decision))))
    .to_vec();
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
    tool.starts_with(rule::MCP)
}

/// Whether a tool belongs to a server or to an integration.
pub(crate) fn is_foreign(tool: &str) -> bool {
    is_of_server(tool) || tool.starts_with(rule::INTEGRATION)
}

/// Whether a tool exists in a mode at all.
pub(crate) fn exists(tool: &str, effect: Effect, mode: Mode) -> bool {
    match mode {
        Mode::Edit => true,
        Mode::Plan => effect != Effect::Writes,
        Mode::Ask => effect != Effect::Writes && !NOT_IN_ASK.contains(&tool),
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
    let mutative = subject.accesses.iter().filter_map(|a| a.shell.as_ref()).any(|shell| match shell {
        Shell::Commands(commands) => commands.iter().any(rules::is_mutative),
        Shell::Unknown { .. } => true,
    });
    mutative.then(|| Decision::Deny {
        rule: "Mode",
        reason: format!(
            "Command blocked in {label} mode (read-only). Switch to Edit mode for write operations."
        ),
    })
}

fn blocked_path(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    subject.accesses.iter().find_map(|resolved| {
        let (Access::Read(path) | Access::Write(path)) = &resolved.access else { return None };
        let spellings = [Some(path), resolved.canonical.as_ref()];
        spellings.into_iter().flatten().find(|path| is_blocked(policy, path.as_str())).map(|_| {
            Decision::Deny {
                rule: "BlockedPath",
                reason: format!(
                    "Path '{path}' is blocked by policy: it may hold secrets or repository internals."
                ),
            }
        })
    })
}

fn is_blocked(policy: &Policy<'_>, path: &str) -> bool {
    let (name, folded) =
        (rules::Folded::of(path.rsplit('/').next().unwrap_or(path)), rules::Folded::of(path));
    policy.blocked_paths.iter().any(|pattern| folded.matches(pattern) || name.matches(pattern))
        || rules::names_secret(path)
}

fn denied_command(subject: &Subject<'_>) -> Option<Decision> {
    subject.accesses.iter().filter_map(|a| a.shell.as_ref()).find_map(|shell| {
        let (Shell::Commands(commands) | Shell::Unknown { seen: commands, .. }) = shell;
        if let Shell::Unknown { why: shell::TOO_MUCH, .. } = shell {
            let reason = format!("Command not run: {}. Split it, or put it into a script.", shell::TOO_MUCH);
            return Some(Decision::Deny { rule: "TooMuch", reason });
        }
        commands.iter().find_map(rules::denied).map(|pattern| Decision::Deny {
            rule: "DenyPattern",
            reason: format!("Command matches the denied pattern '{pattern}' and is never run."),
        })
    })
}

fn denied_tool(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    policy.denied_tools.iter().any(|tool| tool == subject.tool).then(|| Decision::Deny {
        rule: "DeniedTools",
        reason: format!("Tool '{}' is denied by the setting tools.denied_tools.", subject.tool),
    })
}

fn protected_path(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let decides = |path: &AbsPath| {
        let folded = rules::Folded::of(path.as_str());
        policy.own.iter().any(|own| path.starts_with(own))
            || rules::PROTECTED_PATHS.iter().any(|pattern| folded.matches(pattern))
    };
    subject.accesses.iter().find_map(|resolved| {
        let Access::Write(path) = &resolved.access else { return None };
        let spellings = [Some(path), resolved.canonical.as_ref()];
        spellings.into_iter().flatten().any(decides).then(|| Decision::Ask {
            rule: "ProtectedPath",
            question: format!(
                "'{path}' decides what may run on this machine. Allow '{}' to write it?",
                subject.tool
            ),
        })
    })
}

/// What is handed to others cannot be taken back: it asks in every mode, unless a rule of the settings allows it.
fn publishing(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let shells = subject.accesses.iter().filter_map(|resolved| resolved.shell.as_ref());
    let mut commands = shells.flat_map(|shell| match shell {
        Shell::Commands(commands) | Shell::Unknown { seen: commands, .. } => commands,
    });
    let asks = commands.any(rules::publishes) && !settings::allows(policy, subject);
    asks.then(|| Decision::Ask {
        rule: "Publishing",
        question: format!(
            "{} It publishes, so it asks in every mode (the setting permissions.allow can allow it).",
            question(policy, subject)
        ),
    })
}

fn project_boundary(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    if policy.permission_mode == PermissionMode::Prometheus {
        return None;
    }
    subject.accesses.iter().find_map(|resolved| {
        let (Access::Read(path) | Access::Write(path)) = &resolved.access else { return None };
        let allowed = inside(subject.roots, resolved) || inside(policy.allowed_paths, resolved);
        (!allowed).then(|| Decision::Ask {
            rule: "ProjectBoundary",
            question: format!("Path '{path}' is outside the project root. Allow?"),
        })
    })
}

/// Whether a path lies below one of the folders, both as it is spelled and with links resolved.
pub(crate) fn inside(roots: &[AbsPath], resolved: &Resolved) -> bool {
    let (Access::Read(path) | Access::Write(path)) = &resolved.access else { return true };
    let below = |path: &AbsPath| roots.iter().any(|root| path.starts_with(root));
    below(resolved.canonical.as_ref().unwrap_or(path))
}

fn approval_required(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    if SAFE_TOOLS.contains(&subject.tool) {
        return Some(Decision::Allow { rule: "SafeTools" });
    }
    (APPROVAL_REQUIRED.contains(&subject.tool) || rule::function(subject.tool).is_some())
        .then(|| Decision::Ask { rule: "ApprovalRequired", question: question(policy, subject) })
}

fn question(policy: &Policy<'_>, subject: &Subject<'_>) -> String {
    let mut writes = Vec::new();
    for resolved in subject.accesses {
        match &resolved.access {
            Access::Execute { command, cwd, .. } => {
                let size = match command.len() {
                    0..=LONG_COMMAND => String::new(),
                    long => format!(" ({long} bytes)"),
                };
                let line = crate::one_line(command);
                return format!("Run `{line}`{size} {}, in {cwd}?", policy.shelter.words());
            }
            Access::Write(path) => writes.push(path.as_str()),
            _ => {}
        }
    }
    let sampling = subject.tool.strip_suffix(crate::SAMPLING).and_then(|rest| rest.strip_suffix("__"));
    if let Some(server) = sampling.and_then(|rest| rest.strip_prefix(rule::MCP)) {
        return format!("Let the MCP server '{server}' ask your model this?");
    }
    match writes.as_slice() {
        [] => format!("Allow '{}'?", subject.tool),
        writes => format!("Write {}?", writes.join(", ")),
    }
}

/// What Guardian lets pass without asking: writes of the file tools inside the project with no symbolic link on the way, and commands that are
/// all known to be safe, or that run the project's own code in a sandbox that holds.
fn guardian_allows(policy: &Policy<'_>, subject: &Subject<'_>) -> bool {
    subject.accesses.iter().all(|resolved| match &resolved.access {
        Access::Write(path) => {
            subject.tool != "apply_patch"
                && resolved.canonical.as_ref() == Some(path)
                && subject.roots.iter().any(|root| path.starts_with(root))
        }
        Access::Execute { .. } => match resolved.shell.as_ref() {
            Some(Shell::Commands(commands)) => {
                let held = |c: &shell::SimpleCommand| policy.shelter.holds() && rules::is_confinable(c);
                let passes = |c: &shell::SimpleCommand| rules::is_safe(c) || held(c);
                policy.shelter != Shelter::Lifted
                    && !commands.is_empty()
                    && commands.iter().all(|c| passes(c) && names_no_secret(c))
            }
            _ => false,
        },
        Access::Read(_) => true,
        Access::Fetch(_) | Access::Call { .. } => false,
    })
}

/// A command that names a blocked path is never safe, whatever the program.
fn names_no_secret(command: &shell::SimpleCommand) -> bool {
    !command.globs.iter().any(|word| rules::may_name_secret(word))
        && !command.words.iter().skip(1).any(|word| rules::names_secret(word))
}

fn not_listed(subject: &Subject<'_>) -> Decision {
    let reason = format!("Tool '{}' is not explicitly allowed by policy.", subject.tool);
    Decision::Deny { rule: "NotListed", reason }
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
