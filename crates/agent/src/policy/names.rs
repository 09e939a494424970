//! Validates tool names in settings: a rule for an unknown name protects nothing, so it is an
//! error.

/// The prefix of functions of MCP servers: `mcp__SERVER__FUNCTION`.
pub(super) const MCP: &str = "mcp__";

/// The prefix of functions of integrations: `integration__PROVIDER__FUNCTION`.
pub(super) const INTEGRATION: &str = "integration__";

/// What a call declares that reads sessions of every project.
pub(crate) const ALL_PROJECTS: &str = "sessions of all projects";

/// Tools that change memories. In a project that is not trusted with memories they need approval.
pub(super) const CHANGE_MEMORIES: [&str; 2] = ["memory_save", "memory_forget"];

/// Every known tool, whether or not this build and this session provide it.
const TOOLS: &[&str] = &[
    "file_read",
    "file_write",
    "file_edit",
    "apply_patch",
    "glob",
    "grep",
    "bash",
    "shell",
    "shell_start",
    "shell_write",
    "shell_read",
    "shell_kill",
    "subagent",
    "task_create",
    "task_update",
    "task_list",
    "task_get",
    "update_plan",
    "get_goal",
    "create_goal",
    "update_goal",
    "ask_user",
    "ask_choice",
    "memory_search",
    "memory_save",
    "memory_forget",
    "session_search",
    "session_read",
    "web_search",
    "web_fetch",
    "web_crawl",
    "lua_list_docs",
    "lua_search_docs",
    "lua_read_doc",
    "execute_lua",
    "tool_search",
    "ide_terminal",
    "ide_read_file",
    "ide_write_file",
    "ide_edit",
];

/// The similarity above which a known name is suggested.
const ALIKE: f64 = 0.7;

/// Returns the names of the built-in tools, in alphabetical order.
pub fn tool_names() -> Vec<String> {
    let mut names: Vec<_> = TOOLS.iter().map(|name| (*name).to_owned()).collect();
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
    if foreign || TOOLS.contains(&name) {
        return Ok(());
    }
    let likeness = |tool: &&str| strsim::jaro_winkler(name, tool);
    let nearest = TOOLS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
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
    if foreign || TOOLS.iter().any(|tool| super::rules::matches(pattern, tool)) {
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
