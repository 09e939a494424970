//! Resolves tool names as models write them: other case, prefixes of templates, names used by other
//! agents.

/// Prefixes that templates and other programs put before a tool's own name.
const PREFIXES: [&str; 10] = [
    "functions.",
    "function.",
    "default_api.",
    "tools.",
    "tool.",
    "container.",
    "repo_browser.",
    "assistant.",
    "functions:",
    "default_api:",
];

/// Names in other agents, squashed (see [`squashed`]), and the tools here, in order of preference.
const ALIASES: &[(&[&str], &[&str])] = &[
    (
        &[
            "read",
            "readfile",
            "readfiles",
            "view",
            "viewfile",
            "openfile",
            "open",
            "cat",
            "readtextfile",
            "getfilecontents",
            "readmanyfiles",
        ],
        &["file_read"],
    ),
    (
        &[
            "write",
            "writefile",
            "create",
            "createfile",
            "writetofile",
            "savefile",
            "newfile",
            "createnewfile",
            "filecreate",
        ],
        &["file_write"],
    ),
    (
        &[
            "edit",
            "editfile",
            "multiedit",
            "strreplace",
            "replace",
            "replaceinfile",
            "searchreplace",
            "searchandreplace",
            "replacestringinfile",
            "multireplacestringinfile",
            "insert",
            "modifyfile",
            "updatefile",
        ],
        &["file_edit"],
    ),
    (&["patch", "applydiff", "editpatch"], &["apply_patch"]),
    (
        &[
            "bash",
            "shell",
            "sh",
            "zsh",
            "exec",
            "execute",
            "command",
            "runcommand",
            "runcommands",
            "executecommand",
            "execcommand",
            "runterminalcmd",
            "runterminalcommand",
            "runinterminal",
            "runshellcommand",
            "executebash",
            "runbash",
            "executeshell",
            "shellcommand",
            "localshell",
            "terminal",
            "launchprocess",
        ],
        &["bash"],
    ),
    (
        &[
            "search",
            "grepsearch",
            "searchfilecontent",
            "ripgrep",
            "rg",
            "searchfiles",
            "searchcode",
            "codesearch",
            "searchtext",
            "searchcontent",
            "findinfiles",
            "contentsearch",
        ],
        &["grep"],
    ),
    (
        &[
            "find",
            "findfiles",
            "findfile",
            "filesearch",
            "searchfilenames",
            "globsearch",
            "globfiles",
            "globfilesearch",
            "findbyname",
            "findpath",
        ],
        &["glob"],
    ),
    (
        &["ls", "dir", "listdir", "listdirectory", "listfiles", "listfolder", "listfilesindirectory"],
        &["glob"],
    ),
    (
        &[
            "todowrite",
            "writetodos",
            "updateplan",
            "plan",
            "updatetodolist",
            "settodolist",
            "managetodolist",
            "todolist",
            "todo",
            "taskplan",
        ],
        &["update_plan", "todo_write", "task_create"],
    ),
    (
        &[
            "task",
            "agent",
            "subagents",
            "runsubagent",
            "spawnagent",
            "spawnsubagent",
            "dispatchagent",
            "delegate",
            "delegatetask",
            "launchagent",
        ],
        &["subagent"],
    ),
    (&["todoread", "readtodos", "readplan"], &["task_list", "update_plan"]),
    (
        &["ask", "askuserquestion", "askfollowupquestion", "askquestion", "question", "requestuserinput"],
        &["ask_user"],
    ),
    (
        &["bashoutput", "getterminaloutput", "readterminal", "shelloutput", "commandstatus", "readoutput"],
        &["shell_read", "shell"],
    ),
    (&["writestdin", "writetoterminal", "sendinput", "shellinput"], &["shell_write", "shell"]),
    (&["killshell", "killbash", "killterminal", "killprocess", "stopcommand"], &["shell_kill", "shell"]),
    (
        &["strreplaceeditor", "strreplacebasededittool", "strreplaceedittool", "texteditor", "fileeditor"],
        &["file_edit"],
    ),
    (&["runlua", "lua"], &["execute_lua"]),
];

/// Reduces a name to its letters and digits in lower case, for comparison.
pub(super) fn squashed(name: &str) -> String {
    name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Removes what a template put around a name.
pub(super) fn bare(name: &str) -> &str {
    let name = name.split("<|").next().unwrap_or_default();
    let name = name.trim_matches(|char: char| char.is_whitespace() || "\"'`*:".contains(char));
    let name = name.strip_suffix("()").unwrap_or(name);
    // Kimi's ids: `functions.grep:0`.
    let name = name.rsplit_once(':').filter(|(_, number)| is_number(number)).map_or(name, |(name, _)| name);
    let prefixed =
        |prefix: &&str| name.get(..prefix.len()).is_some_and(|got| got.eq_ignore_ascii_case(prefix));
    match PREFIXES.into_iter().find(prefixed) {
        Some(prefix) if name.len() > prefix.len() => &name[prefix.len()..],
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the tool that is meant, or `None` if that is ambiguous.
pub(super) fn find<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if let Some(exact) = known.iter().find(|known| **known == name) {
        return Some(exact);
    }
    let bare = bare(name);
    let squashed_name = squashed(bare);
    if squashed_name.is_empty() {
        return None;
    }
    let mut same = known.iter().filter(|known| squashed(known) == squashed_name);
    if let Some(one) = same.next() {
        // Two names that differ only in `_` are distinguished by the exact name only.
        return same.next().is_none().then_some(*one);
    }
    if let Some(alias) = alias(&squashed_name, known) {
        return Some(alias);
    }
    // `mcp__tiller__file_read`: a built-in tool, as named by an agent that uses Tiller as an MCP
    // server.
    let (_, last) = bare.strip_prefix("mcp_").and_then(|_| bare.rsplit_once("__"))?;
    known.iter().find(|known| **known == last).copied()
}

fn alias<'a>(squashed_name: &str, known: &[&'a str]) -> Option<&'a str> {
    let (_, meant) = ALIASES.iter().find(|(names, _)| names.contains(&squashed_name))?;
    meant.iter().find_map(|meant| known.iter().find(|known| *known == meant).copied())
}

/// Returns at most three tools with a similar name, nearest first.
pub(super) fn near<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let name = squashed(bare(name));
    if name.is_empty() {
        return Vec::new();
    }
    let distance = |known: &str| {
        let known = squashed(known);
        let far = strsim::damerau_levenshtein(&known, &name);
        let within = name.len() > 3 && known.len() > 3 && (known.contains(&name) || name.contains(&known));
        (far <= 2 || within).then_some(far)
    };
    let mut near: Vec<_> = known.iter().filter_map(|known| Some((distance(known)?, *known))).collect();
    near.sort();
    near.into_iter().map(|(_, known)| known).take(3).collect()
}

/// Returns the error text for a call to an unknown tool.
pub(super) fn unknown(name: &str, offered: &[&str]) -> String {
    let mut text = format!("Tool '{name}' not found.");
    let near = near(name, offered);
    if !near.is_empty() {
        text.push_str(&format!(" Did you mean {}?", near.join(", ")));
    }
    text.push_str(&format!(" The tools are: {}.", offered.join(", ")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 9] = [
        "file_read",
        "file_write",
        "file_edit",
        "apply_patch",
        "glob",
        "grep",
        "bash",
        "update_plan",
        "mcp__github__create_issue",
    ];

    #[test]
    fn names_are_found_as_models_say_them() {
        for (said, meant) in [
            ("file_read", "file_read"),
            ("Read", "file_read"),
            ("read_file", "file_read"),
            ("view", "file_read"),
            ("File_Read ", "file_read"),
            ("fileRead", "file_read"),
            ("functions.file_read", "file_read"),
            ("functions.file_read:0", "file_read"),
            ("default_api.read_file", "file_read"),
            ("tools.Grep", "grep"),
            ("file_read<|channel|>commentary", "file_read"),
            ("`file_read`", "file_read"),
            ("mcp__tiller__file_read", "file_read"),
            ("Write", "file_write"),
            ("create", "file_write"),
            ("MultiEdit", "file_edit"),
            ("str_replace_editor", "file_edit"),
            ("Bash", "bash"),
            ("shell", "bash"),
            ("container.exec", "bash"),
            ("run_command", "bash"),
            ("execute_command", "bash"),
            ("LS", "glob"),
            ("list_dir", "glob"),
            ("Glob", "glob"),
            ("TodoWrite", "update_plan"),
            ("mcp_github_create_issue", "mcp__github__create_issue"),
        ] {
            assert_eq!(find(said, &KNOWN), Some(meant), "{said}");
        }
    }

    #[test]
    fn names_of_others_tools_and_of_none_are_not() {
        for said in [
            "file_raed",
            "mcp__files__create",
            "github.create",
            "deploy",
            "",
            "functions.",
            "r",
            "<|channel|>",
        ] {
            assert_eq!(find(said, &KNOWN), None, "{said}");
        }
        assert_eq!(find("Bash", &["file_read"]), None, "an alias of a tool that is not there");
        assert_eq!(find("filerea_d", &["file_read", "file_re_ad"]), None, "which of the two is not plain");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_and_all() {
        assert_eq!(
            unknown("file_raed", &["file_read", "grep"]),
            "Tool 'file_raed' not found. Did you mean file_read? The tools are: file_read, grep."
        );
        assert_eq!(unknown("deploy", &["grep"]), "Tool 'deploy' not found. The tools are: grep.");
        assert_eq!(unknown("", &["grep"]), "Tool '' not found. The tools are: grep.");
    }
}
