//! The sample project: a program with a bug, a test that fails because of it, and an unsaved line
//! in
//! the editor.

use anyhow::Result;
use system::{AbsPath, System};

/// The file with the bug, relative to the project.
pub(super) const FILE: &str = "src/greet.sh";
/// The misspelt text and its correction.
pub(super) const BUG: (&str, &str) = ("Helo", "Hello");
/// The line that the user has typed but not saved.
pub(super) const UNSAVED: &str = "# typed a minute ago, not saved yet: greet in more languages";
/// The prompt for the pilot, which follows plain commands.
pub(super) const COMMANDS: &str = r#"replace "Helo" with "Hello" in src/greet.sh then run sh test.sh"#;
/// The prompt for a language model.
pub(super) const PROMPT: &str = "The greeting in src/greet.sh is misspelt. Read the file, fix the spelling with one edit and leave everything \
                               else in it alone, then run `sh test.sh` and say whether it passes.";

const GREET: &str = "# Prints a greeting for the name it is given.\ngreet() {\n    echo \"Helo, $1!\"\n}\n";

const TEST: &str = "# Passes when the greeting is spelt right.
. ./src/greet.sh
expected='Hello, editor!'
actual=$(greet editor)
if [ \"$actual\" = \"$expected\" ]; then
    echo \"ok: $actual\"
else
    echo \"not ok: expected '$expected', got '$actual'\"
    exit 1
fi
";

/// Writes the project to disk and returns the text of the editor's unsaved buffer of [`FILE`].
pub(super) async fn write(system: &dyn System, root: &AbsPath) -> Result<String> {
    system.replace_text(&root.join(FILE), None, GREET).await?;
    system.replace_text(&root.join("test.sh"), None, TEST).await?;
    Ok(format!("{UNSAVED}\n{GREET}"))
}
