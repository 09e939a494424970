//! The operations, as models see them: names, descriptions and parameters.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdeOperation {
    Terminal,
    Read,
    Write,
    Edit,
}

impl IdeOperation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Terminal => "ide_terminal",
            Self::Read => "ide_read_file",
            Self::Write => "ide_write_file",
            Self::Edit => "ide_edit",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Terminal => {
                "Executes a command in the user's IDE terminal. The command runs ON THE USER'S MACHINE, in the IDE's terminal panel, where the user \
                 sees live output. Use it for the user's project: its tests, builds, git. With `args` the command is an executable; without, it is a \
                 line for `sh -c`. Returns JSON: output, exit_code, truncated. Do NOT use it for the agent's internal operations: use 'bash' instead."
            }
            Self::Read => {
                "Reads a text file from the user's IDE, ON THE USER'S MACHINE. IMPORTANT: it returns the unsaved buffer of the editor if the file is \
                 open! Page long files with `line` and `limit`. Use it for the user's project; for the agent's own files use 'file_read'."
            }
            Self::Write => {
                "Writes a text file in the user's IDE, ON THE USER'S MACHINE: creates it, or replaces all of it (read it with ide_read_file first). The \
                 editor tracks the change. To change a part use ide_edit; for the agent's own files use 'file_write'."
            }
            Self::Edit => {
                "Replaces text in a file of the user's IDE, ON THE USER'S MACHINE, unsaved changes included. The editor tracks the change. `old_string` \
                 must match exactly, including whitespace and indentation, and must occur once unless `replace_all` is true. For the agent's own files \
                 use 'file_edit'."
            }
        }
    }

    /// Returns the error for an unsupported operation.
    pub(super) fn unavailable(self) -> &'static str {
        match self {
            Self::Terminal => "IDE does not support terminal capability. Use 'bash' tool instead.",
            Self::Read => "IDE does not support file reading.",
            Self::Write | Self::Edit => "IDE does not support file writing.",
        }
    }

    /// Returns the JSON Schema of the arguments.
    pub(super) fn parameters(self) -> Value {
        let path =
            json!({"type": "string", "description": "File, absolute or relative to the project folder"});
        let (properties, required) = match self {
            Self::Terminal => (
                json!({
                    "command": {"type": "string", "description": "An executable, if args are given; else a shell line"},
                    "args": {"type": "array", "items": {"type": "string"}, "description": "The executable's arguments"},
                    "cwd": {"type": "string", "description": "Where it runs (default: the project folder)"},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables to add"},
                    "timeout": {"type": "integer", "minimum": 1, "maximum": 7200, "description": "Seconds it may run (default 120)"}
                }),
                json!(["command"]),
            ),
            Self::Read => (
                json!({
                    "path": path,
                    "line": {"type": "integer", "minimum": 1, "description": "First line, from 1 (default 1)"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most lines (default: all)"}
                }),
                json!(["path"]),
            ),
            Self::Write => (
                json!({"path": path, "content": {"type": "string", "description": "The whole text of the file"}}),
                json!(["path", "content"]),
            ),
            Self::Edit => (
                json!({
                    "path": path,
                    "old_string": {"type": "string", "description": "The text to replace"},
                    "new_string": {"type": "string", "description": "The text to put in its place"},
                    "replace_all": {"type": "boolean", "description": "Replace every occurrence (default false)"}
                }),
                json!(["path", "old_string", "new_string"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required})
    }
}
