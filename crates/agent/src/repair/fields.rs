//! The table of argument names that other agents use for the same tools.
//!
//! A row lists names of one argument. A given name stands for the first name of its row that the
//! tool's schema has, so a row works for every tool and every name that the tool uses.

/// The rows for any tool.
const ANY: &[&[&str]] = &[
    &[
        "path",
        "file_path",
        "filepath",
        "filename",
        "file_name",
        "file",
        "target_file",
        "targetfile",
        "absolute_path",
        "absolutepath",
        "abs_path",
        "relative_path",
        "rel_path",
        "relative_workspace_path",
        "pathname",
        "target_path",
        "notebook_path",
        "directory",
        "dir",
        "folder",
        "dir_path",
        "directory_path",
        "target_directory",
        "search_path",
        "search_directory",
        "root",
        "paths",
        "files",
        "file_paths",
        "dirpath",
    ],
    &["reason", "justification"],
];

/// The rows of the tools for background commands.
const SHELL: &[&[&str]] = &[
    &["id", "session_id", "shell_id", "bash_id", "process_id", "terminal_id", "task_id", "pid"],
    &["text", "input", "chars", "stdin", "data"],
    &["wait_ms", "yield_time_ms", "timeout_ms", "wait"],
];

/// The rows of each tool, which precede those for any tool.
const OF_TOOL: &[(&str, &[&[&str]])] = &[
    (
        "file_read",
        &[
            &[
                "offset",
                "start_line",
                "startline",
                "line_start",
                "start",
                "from_line",
                "begin_line",
                "first_line",
                "start_line_one_indexed",
                "line_offset",
            ],
            &[
                "limit",
                "max_lines",
                "num_lines",
                "line_count",
                "lines",
                "count",
                "n_lines",
                "number_of_lines",
            ],
        ],
    ),
    (
        "file_write",
        &[&[
            "content",
            "contents",
            "text",
            "file_text",
            "filetext",
            "file_content",
            "filecontent",
            "data",
            "body",
            "new_content",
            "code",
            "code_content",
        ]],
    ),
    (
        "file_edit",
        &[
            &[
                "old_string",
                "old_str",
                "old_text",
                "old",
                "oldstring",
                "oldtext",
                "oldstr",
                "search",
                "find",
                "original",
                "original_text",
                "old_content",
                "search_text",
                "search_string",
                "from",
                "target_content",
            ],
            &[
                "new_string",
                "new_str",
                "new_text",
                "new",
                "newstring",
                "newtext",
                "newstr",
                "replace",
                "replacement",
                "replace_with",
                "replace_text",
                "new_content",
                "replacement_text",
                "replacement_content",
                "to",
                "updated_text",
            ],
            &["replace_all", "replaceall", "all", "global", "all_occurrences", "allow_multiple"],
            &["edits", "changes", "replacements", "modifications"],
        ],
    ),
    (
        "apply_patch",
        &[&["patch", "input", "diff", "patch_text", "patchtext", "patch_content", "content", "text"]],
    ),
    (
        "bash",
        &[
            &[
                "command",
                "cmd",
                "script",
                "shell_command",
                "bash_command",
                "command_line",
                "commandline",
                "cmdline",
                "commands",
                "code",
                "input",
            ],
            &[
                "timeout",
                "timeout_seconds",
                "timeout_secs",
                "timeout_sec",
                "time_limit",
                "max_time",
                "timeout_s",
            ],
            &[
                "cwd",
                "workdir",
                "working_directory",
                "workingdirectory",
                "working_dir",
                "work_dir",
                "workingdir",
                "dir",
                "directory",
                "current_dir",
                "folder",
                "path",
            ],
            &[
                "background",
                "run_in_background",
                "is_background",
                "isbackground",
                "in_background",
                "detach",
                "detached",
                "async",
            ],
            &[
                "outside_sandbox",
                "dangerouslydisablesandbox",
                "dangerously_disable_sandbox",
                "with_escalated_permissions",
            ],
        ],
    ),
    (
        "grep",
        &[
            &[
                "pattern",
                "query",
                "regex",
                "regexp",
                "search",
                "search_term",
                "search_string",
                "search_pattern",
                "q",
                "text",
                "needle",
                "expression",
                "re",
            ],
            &[
                "glob",
                "include",
                "include_pattern",
                "includepattern",
                "includes",
                "file_pattern",
                "filepattern",
                "file_glob",
                "glob_pattern",
                "file_types",
            ],
            &["output_mode", "outputmode", "output", "mode"],
            &["ignore_case", "case_insensitive", "caseinsensitive", "ignorecase", "insensitive", "-i", "i"],
            &["before", "before_context", "context_before", "lines_before", "-b"],
            &["after", "after_context", "context_after", "lines_after", "-a"],
            &["context", "context_lines", "contextlines", "-c", "c"],
            &[
                "head_limit",
                "limit",
                "max_results",
                "maxresults",
                "max_count",
                "max_matches",
                "maxmatches",
                "num_results",
            ],
            &["offset", "skip", "page_offset"],
            &["literal", "fixed_strings", "fixedstrings", "is_literal", "-f"],
            &["multiline", "multi_line", "-u"],
            &["exclude", "exclude_pattern", "excludepattern", "excludes"],
            &["type", "file_type", "filetype", "language"],
        ],
    ),
    (
        "glob",
        &[
            &[
                "pattern",
                "glob",
                "glob_pattern",
                "globpattern",
                "query",
                "file_pattern",
                "filepattern",
                "name",
                "filename",
                "name_pattern",
                "q",
                "search",
            ],
            &["limit", "head_limit", "max_results", "maxresults"],
        ],
    ),
    (
        "update_plan",
        &[
            &["plan", "todos", "tasks", "items", "steps", "todo_list", "todolist", "entries"],
            &["content", "step", "subject", "title", "text", "task", "description", "name", "todo"],
            &["status", "state"],
            &["explanation", "note"],
        ],
    ),
    (
        "subagent",
        &[
            &["task", "prompt", "instructions", "instruction", "message", "objective", "goal"],
            &["type", "subagent_type", "subagenttype", "agent_type", "agenttype", "agent", "kind"],
            &["id", "name", "agent_id", "agentid"],
            &["depends_on", "dependson", "dependencies", "depends"],
            &["agents", "tasks", "subagents", "batch"],
        ],
    ),
    (
        "task_create",
        &[
            &["tasks", "todos", "items", "steps", "plan"],
            &["subject", "content", "title", "step", "text", "task", "name"],
            &["active_form", "activeform"],
            &["parent_id", "parent"],
        ],
    ),
    (
        "task_update",
        &[
            &["id", "task_id", "taskid"],
            &["subject", "content", "title", "step"],
            &["active_form", "activeform"],
            &["status", "state"],
        ],
    ),
    ("task_get", &[&["id", "task_id", "taskid"]]),
    ("create_goal", &[&["objective", "goal", "text"], &["token_budget", "budget"]]),
    ("update_goal", &[&["status", "state"], &["reason", "message", "explanation"]]),
    ("shell", SHELL),
    ("shell_read", SHELL),
    ("shell_write", SHELL),
    ("shell_kill", SHELL),
    ("ask_user", &[&["question", "prompt", "message", "text", "query"], &["choices", "options", "answers"]]),
];

/// Arguments required by other agents' schemas that have no effect here.
const HARMLESS: &[&str] = &[
    "description",
    "explanation",
    "reason",
    "reasoning",
    "thought",
    "thoughts",
    "thinking",
    "rationale",
    "justification",
    "intent",
    "purpose",
    "summary",
    "instructions",
    "instruction",
    "requires_approval",
    "task_progress",
    "yield_time_ms",
    "max_output_tokens",
    "login",
    "tty",
    "toolaction",
    "toolsummary",
    "is_background",
    "run_in_background",
    "background",
    "security_risk",
    "display_description",
    "-n",
    "line_numbers",
    "linenumbers",
    "show_line_numbers",
    "should_read_entire_file",
    "expected_replacements",
    "encoding",
    "overwrite",
    "create_dirs",
    "recursive",
    "activeform",
    "active_form",
    "id",
    "priority",
];

/// The values with which a harmless argument really is harmless: any other value would have an
/// effect.
const MATTERS: &[(&str, &[&str])] = &[
    ("is_background", &["false"]),
    ("run_in_background", &["false"]),
    ("background", &["false"]),
    ("tty", &["false"]),
    ("expected_replacements", &["1"]),
    ("encoding", &["utf-8", "utf8", "text"]),
    ("overwrite", &["true"]),
    ("create_dirs", &["true"]),
    ("recursive", &["true"]),
    ("id", &[]),
    ("priority", &[]),
    ("active_form", &[]),
    ("activeform", &[]),
];

/// File types of ripgrep that models ask for, as glob patterns.
const TYPES: &[(&[&str], &str)] = &[
    (&["py", "python"], "*.{py,pyi}"),
    (&["js", "javascript"], "*.{js,jsx,mjs,cjs}"),
    (&["ts", "typescript"], "*.{ts,tsx,mts,cts}"),
    (&["tsx"], "*.tsx"),
    (&["jsx"], "*.jsx"),
    (&["rs", "rust"], "*.rs"),
    (&["go"], "*.go"),
    (&["java"], "*.java"),
    (&["c"], "*.{c,h}"),
    (&["cpp", "c++"], "*.{cpp,cc,cxx,hpp,hh,h}"),
    (&["rb", "ruby"], "*.rb"),
    (&["php"], "*.php"),
    (&["md", "markdown"], "*.{md,markdown}"),
    (&["json"], "*.json"),
    (&["yaml", "yml"], "*.{yaml,yml}"),
    (&["toml"], "*.toml"),
    (&["html"], "*.{html,htm}"),
    (&["css"], "*.css"),
    (&["sh", "bash"], "*.{sh,bash}"),
    (&["txt"], "*.txt"),
];

/// Synonyms of enum values.
const VALUES: &[(&str, &[&str])] = &[
    ("completed", &["complete", "done", "finished", "closed", "resolved", "success"]),
    ("in_progress", &["inprogress", "doing", "active", "started", "current", "working", "wip", "running"]),
    ("pending", &["todo", "open", "notstarted", "waiting", "planned", "new", "queued"]),
    ("cancelled", &["canceled", "dropped", "skipped", "abandoned"]),
    ("failed", &["error", "blocked"]),
    ("files_with_matches", &["files", "fileswithmatches", "filenames", "fileswithmatch", "filesonly", "l"]),
    ("files", &["fileswithmatches", "filenames", "fileswithmatch", "filesonly", "paths"]),
    ("content", &["lines", "matches", "text"]),
    ("lines", &["content", "matches", "text"]),
    ("count", &["counts", "countmatches"]),
];

/// Returns the schema's name for an argument; `known` says whether the schema has a name.
pub(super) fn target(tool: &str, given: &str, known: impl Fn(&str) -> bool) -> Option<&'static str> {
    let given = plain(given);
    let of_tool = OF_TOOL.iter().find(|(name, _)| *name == tool).map_or(&[][..], |(_, rows)| rows);
    let holds = |row: &&&[&str]| row.contains(&given.as_str());
    // A row without any of the tool's arguments does not apply.
    of_tool.iter().chain(ANY).filter(holds).find_map(|row| row.iter().copied().find(|name| known(name)))
}

/// Whether an argument may be dropped silently.
pub(super) fn is_harmless(given: &str, value: &str) -> bool {
    let given = plain(given);
    match MATTERS.iter().find(|(name, _)| *name == given) {
        Some((_, values)) => values.contains(&value.trim().to_lowercase().as_str()),
        None => HARMLESS.contains(&given.as_str()),
    }
}

/// Whether an argument of a list's element may be dropped silently: numbers and labels of steps.
pub(super) fn is_label(given: &str) -> bool {
    ["id", "priority", "activeform", "active_form", "description", "explanation", "reason"]
        .contains(&plain(given).as_str())
}

/// Returns the enum value that is meant.
pub(super) fn meant<'a>(given: &str, values: &[&'a str]) -> Option<&'a str> {
    let given = super::names::squashed(given);
    let same = |value: &&&str| super::names::squashed(value) == given;
    let stands = |value: &&&str| {
        VALUES.iter().any(|(name, others)| name == *value && others.contains(&given.as_str()))
    };
    values.iter().find(same).or_else(|| values.iter().find(stands)).copied()
}

/// Returns the glob pattern of a ripgrep file type.
pub(super) fn file_type(given: &str) -> Option<&'static str> {
    let given = given.trim().trim_start_matches('.').to_lowercase();
    TYPES.iter().find(|(names, _)| names.contains(&given.as_str())).map(|(_, pattern)| *pattern)
}

/// Normalises an argument name to the form of the rows.
pub(super) fn plain(given: &str) -> String {
    given.trim().trim_start_matches("--").to_lowercase().replace(' ', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_what_the_tool_calls_it() {
        for (tool, given, has, expected) in [
            ("file_read", "file_path", &["path"][..], Some("path")),
            ("file_read", "filePath", &["path"], Some("path")),
            ("bash", "workdir", &["command", "cwd"], Some("cwd")),
            ("bash", "workdir", &["command"], None),
            ("grep", "include", &["pattern", "glob", "path"], Some("glob")),
            ("grep", "directory", &["pattern", "glob", "path"], Some("path")),
            ("grep", "-A", &["pattern", "after"], Some("after")),
            ("grep", "-A", &["pattern", "after_context"], Some("after_context")),
            ("apply_patch", "input", &["patch"], Some("patch")),
            ("file_read", "colour", &["path"], None),
        ] {
            assert_eq!(target(tool, given, |name| has.contains(&name)), expected, "{tool} {given}");
        }
    }

    #[test]
    fn no_name_is_in_two_rows_of_one_tool() {
        for (tool, rows) in OF_TOOL {
            let mut seen = std::collections::HashSet::new();
            for name in rows.iter().copied().flatten() {
                assert!(seen.insert(name), "{tool} {name}");
                assert_eq!(plain(name), **name, "{tool} {name}");
            }
        }
    }

    #[test]
    fn harmless_is_what_changes_nothing() {
        assert!(is_harmless("description", "lists files"));
        assert!(is_harmless("run_in_background", "false"));
        assert!(!is_harmless("run_in_background", "true"));
        assert!(!is_harmless("encoding", "latin-1"));
        assert!(!is_harmless("colour", "red"));
    }

    #[test]
    fn values_are_known_by_their_common_names() {
        let statuses = ["pending", "in_progress", "completed"];
        assert_eq!(meant("done", &statuses), Some("completed"));
        assert_eq!(meant("In Progress", &statuses), Some("in_progress"));
        assert_eq!(meant("purple", &statuses), None);
        assert_eq!(file_type("python"), Some("*.{py,pyi}"));
    }
}
