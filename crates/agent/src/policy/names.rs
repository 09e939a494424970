//! The built-in tools as the policy knows them, and the names of tools in settings: a rule for an
//! unknown name protects nothing, so it is an error.

use crate::Access;

/// The prefix of functions of MCP servers: `mcp__SERVER__FUNCTION`.
pub(super) const MCP: &str = "mcp__";

/// The prefix of functions of integrations: `integration__PROVIDER__FUNCTION`.
pub(super) const INTEGRATION: &str = "integration__";

/// What a call declares that reads sessions of every project.
pub(crate) const ALL_PROJECTS: &str = "sessions of all projects";

/// The kind of a call's access, which is what a rule for a tool is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// Runs a command line, or sends a line to a command that is running.
    Run,
    Fetch,
}

impl Kind {
    /// Returns the kind of an access; `None` for calls of functions.
    pub(super) fn of(access: &Access) -> Option<Self> {
        match access {
            Access::Read(_) => Some(Self::Read),
            Access::Write(_) => Some(Self::Write),
            Access::Execute { .. } => Some(Self::Run),
            Access::Fetch(_) => Some(Self::Fetch),
            Access::Call { .. } => None,
        }
    }
}

/// Who decides about a call of a built-in tool that no earlier rule of the chain decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    /// It runs.
    Never,
    /// It runs where the user trusts the project with memories.
    Memories,
    /// Guardian judges its accesses, and Argus asks.
    ByAccess,
    /// It runs in Guardian, and Argus asks.
    InArgus,
}

/// A built-in tool as the policy knows it. A tool without a row is denied.
pub(super) struct BuiltIn {
    name: &'static str,
    /// The kind of access that a rule for this tool is about.
    kind: Option<Kind>,
    pub(super) approval: Approval,
    /// Whether it also exists in Plan mode, and in Ask mode, if its effect allows.
    pub(super) modes: (bool, bool),
}

const fn free(name: &'static str) -> BuiltIn {
    BuiltIn { name, kind: None, approval: Approval::Never, modes: (true, true) }
}

const fn reads(name: &'static str) -> BuiltIn {
    BuiltIn { kind: Some(Kind::Read), ..free(name) }
}

const fn judged(name: &'static str, kind: Option<Kind>) -> BuiltIn {
    BuiltIn { kind, approval: Approval::ByAccess, ..free(name) }
}

const fn writes(name: &'static str) -> BuiltIn {
    judged(name, Some(Kind::Write))
}

const fn runs(name: &'static str) -> BuiltIn {
    judged(name, Some(Kind::Run))
}

/// Every built-in tool, whether or not this build and this session provide it.
const TOOLS: &[BuiltIn] = &[
    reads("file_read"),
    reads("glob"),
    reads("grep"),
    reads("ide_read_file"),
    writes("file_write"),
    writes("file_edit"),
    writes("apply_patch"),
    writes("ide_write_file"),
    writes("ide_edit"),
    runs("bash"),
    runs("shell"),
    runs("shell_start"),
    runs("shell_write"),
    runs("ide_terminal"),
    free("shell_read"),
    free("shell_kill"),
    free("subagent"),
    free("task_create"),
    free("task_update"),
    free("task_list"),
    free("task_get"),
    free("update_plan"),
    free("get_goal"),
    BuiltIn { modes: (false, false), ..free("create_goal") },
    BuiltIn { modes: (false, false), ..free("update_goal") },
    free("ask_user"),
    free("ask_choice"),
    free("memory_search"),
    BuiltIn { approval: Approval::Memories, ..free("memory_save") },
    BuiltIn { approval: Approval::Memories, ..free("memory_forget") },
    free("session_search"),
    free("session_read"),
    BuiltIn { approval: Approval::InArgus, ..free("web_search") },
    judged("web_fetch", Some(Kind::Fetch)),
    judged("web_crawl", Some(Kind::Fetch)),
    free("lua_list_docs"),
    free("lua_search_docs"),
    free("lua_read_doc"),
    BuiltIn { modes: (true, false), ..judged("execute_lua", None) },
    free("tool_search"),
    free("skill"),
];

/// Returns what the policy knows of a built-in tool.
pub(super) fn built_in(name: &str) -> Option<&'static BuiltIn> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Returns the kind of access that a rule for a tool is about.
pub(super) fn kind(tool: &str) -> Option<Kind> {
    built_in(tool)?.kind
}

/// Returns whether a tool runs commands, or reads what they print.
pub(crate) fn runs_commands(tool: &str) -> bool {
    kind(tool) == Some(Kind::Run)
}

/// Whether one of these patterns means a tool: one matches its name or, for a tool that runs
/// commands, the name of another such tool.
pub(crate) fn mean(patterns: &[String], tool: &str) -> bool {
    let runs = kind(tool) == Some(Kind::Run);
    let others = TOOLS.iter().filter(|other| runs && other.kind == Some(Kind::Run)).map(|other| other.name);
    let mut names = others.chain([tool]);
    names.any(|name| patterns.iter().any(|pattern| super::rules::matches(pattern, name)))
}

/// The similarity above which a known name is suggested.
const ALIKE: f64 = 0.7;

/// Returns the names of the built-in tools, in alphabetical order.
pub fn tool_names() -> Vec<String> {
    let mut names: Vec<_> = TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
    names.sort();
    names
}

/// Checks that a name is a tool's name.
///
/// # Errors
///
/// Fails for an unknown name, with the nearest known one.
pub fn check_tool_name(name: &str) -> Result<(), String> {
    let foreign = name.starts_with(MCP) || name.starts_with(INTEGRATION);
    if foreign || built_in(name).is_some() {
        return Ok(());
    }
    let likeness = |tool: &&str| strsim::jaro_winkler(name, tool);
    let nearest = TOOLS.iter().map(|tool| tool.name).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint = nearest.filter(|tool| likeness(tool) > ALIKE).map_or_else(
        || "names are those of docs/configuration.md, mcp__SERVER__FUNCTION and integration__PROVIDER__FUNCTION".to_owned(),
        |tool| format!("did you mean {tool:?}?"),
    );
    Err(format!("there is no tool {name:?}; {hint}"))
}

/// Checks a name that may contain stars.
///
/// # Errors
///
/// Fails if no tool matches.
pub fn check_tool_pattern(pattern: &str) -> Result<(), String> {
    if !pattern.contains('*') {
        return check_tool_name(pattern);
    }
    // A star in place of a server or its function may match anything.
    let before = pattern.split('*').next().unwrap_or_default();
    let foreign =
        [MCP, INTEGRATION].iter().any(|start| before.starts_with(start) || start.starts_with(before));
    if foreign || TOOLS.iter().any(|tool| super::rules::matches(pattern, tool.name)) {
        return Ok(());
    }
    Err(format!("no tool's name matches {pattern:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p07_a_name_that_is_no_tools_is_an_error_with_the_nearest() {
        for name in [
            "bash",
            "file_read",
            "mcp__github__create_issue",
            "mcp__x",
            "integration__plane__list",
            "execute_lua",
        ] {
            assert_eq!(check_tool_name(name), Ok(()), "{name}");
        }
        for (name, nearest) in [
            ("bsh", "did you mean \"bash\"?"),
            ("file_reed", "did you mean \"file_read\"?"),
            ("file_raed", "did you mean \"file_read\"?"),
            ("Bash", "did you mean \"bash\"?"),
            ("fileread", "did you mean \"file_read\"?"),
            ("xyz", "names are those of"),
        ] {
            let error = check_tool_name(name).unwrap_err();
            assert!(error.contains(nearest), "{name}: {error}");
        }
        for pattern in ["*", "file_*", "mcp__*", "mcp__a__*", "m*", "task_*"] {
            assert_eq!(check_tool_pattern(pattern), Ok(()), "{pattern}");
        }
        assert!(check_tool_pattern("fiel_*").is_err());
    }
}
