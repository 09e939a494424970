//! The tools of the small profile, for models with a small context or little ability. Only the
//! specifications differ: calls run the tools with the same names, and every other tool of the
//! session can be called too.

use crate::ToolSpec;
use serde_json::{Value, json};

/// Returns the specifications of the small profile's six tools, in the order in which they are
/// sent. They are under 3 KB as JSON, so that prefill on a CPU takes seconds.
pub fn small_profile() -> Vec<ToolSpec> {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer" });
    vec![
        spec(
            "file_read",
            "Read a file. Shows numbered lines.",
            json!({ "path": text(), "offset": number(), "limit": number() }),
            &["path"],
        ),
        spec(
            "file_edit",
            "Replace text in a file. old_string must be copied exactly from the file, without line numbers, and occur once.",
            json!({ "path": text(), "old_string": text(), "new_string": text() }),
            &["path", "old_string", "new_string"],
        ),
        spec(
            "file_write",
            "Create a file, or replace all of it.",
            json!({ "path": text(), "content": text() }),
            &["path", "content"],
        ),
        spec(
            "grep",
            "Search file contents with a regular expression.",
            json!({ "pattern": text(), "path": text() }),
            &["pattern"],
        ),
        spec(
            "glob",
            "List files by pattern, such as **/*.py or *.",
            json!({ "pattern": text() }),
            &["pattern"],
        ),
        spec(
            "bash",
            "Run a command in the project folder and return its output.",
            json!({ "command": text() }),
            &["command"],
        ),
    ]
}

fn spec(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required }),
    }
}
