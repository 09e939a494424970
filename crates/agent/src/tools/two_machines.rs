//! Adjusts the descriptions of the agent's own tools for models when the user's editor runs on
//! another machine: the tools then act on the agent's machine and cannot reach the editor's
//! buffers.

use crate::ToolSpec;

/// The sentence of `file_read`'s description that is true only if files are read through the
/// editor.
pub(super) const READS_BUFFERS: &str = "Unsaved changes in the editor are included.";
/// The corresponding sentence of `grep`.
pub(super) const SEARCHES_BUFFERS: &str =
    "Unsaved changes in the editor are searched where it gives them out.";

/// Adapts the specification of one of the agent's own tools; returns other specifications
/// unchanged.
pub(crate) fn on_agents_machine(mut spec: ToolSpec) -> ToolSpec {
    let (place, instead) = match spec.name.as_str() {
        "shell" => (
            "Deals with commands of the agent's machine, NOT of the user's.",
            "Commands of 'ide_terminal' are not among them.",
        ),
        "bash" => (
            "Executes a command on the agent's machine. It runs WHERE TILLER IS RUNNING, not on the user's machine: use it for the agent's own work \
             and files.",
            "For the user's project commands, use 'ide_terminal' instead.",
        ),
        "file_read" => (
            "Reads a file of the agent's machine, NOT of the user's; what the user's editor holds is not seen.",
            "For the user's files, use 'ide_read_file' instead.",
        ),
        "file_write" => (
            "Writes a file of the agent's machine, NOT of the user's.",
            "For the user's files, use 'ide_write_file' instead.",
        ),
        "file_edit" => (
            "Edits a file of the agent's machine, NOT of the user's.",
            "For the user's files, use 'ide_edit' instead.",
        ),
        "apply_patch" => (
            "Changes files of the agent's machine, NOT of the user's.",
            "For the user's files, use 'ide_edit' and 'ide_write_file' instead.",
        ),
        "glob" | "grep" => (
            "Searches the agent's machine, NOT the user's; what the user's editor holds is not seen.",
            "For the user's project, search with 'ide_terminal' instead.",
        ),
        _ => return spec,
    };
    let own = spec.description.replace(READS_BUFFERS, "").replace(SEARCHES_BUFFERS, "");
    spec.description = format!("{place} {} {instead}", own.trim());
    spec
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::builtin;

    #[test]
    fn no_tool_promises_what_the_editor_holds_on_another_machine() {
        for tool in builtin() {
            let (own, name) = (tool.spec(), tool.name().into_owned());
            let apart = on_agents_machine(tool.spec());
            assert_eq!(own.parameters, apart.parameters);
            let of_session = ["task_", "shell_", "memory_", "session_"];
            if of_session.iter().any(|prefix| name.starts_with(prefix))
                || name.ends_with("_goal")
                || ["update_plan", "subagent"].contains(&name.as_str())
            {
                assert_eq!(own, apart);
                continue;
            }
            let text = &apart.description;
            assert!(
                text.contains("ide_") && !text.contains("nsaved") && !text.contains("buffer"),
                "{name}: {text}"
            );
            assert!(text.contains("the agent's machine"), "{name}: {text}");
            assert!(!own.description.contains("ide_"), "{name}");
        }
        let spec =
            |name: &str| builtin().into_iter().find(|tool| tool.name() == name).unwrap().spec().description;
        assert!(spec("file_read").contains(READS_BUFFERS) && spec("grep").contains(SEARCHES_BUFFERS));
    }
}
