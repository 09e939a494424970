//! The entry of an editor's settings that starts this program.

use super::{
    Editor,
    block::block,
    jsonc::{self, JsoncError},
};
use serde_json::{Value, json};
use system::{AbsPath, System, SystemError};

/// A change of an editor's settings that is not written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// The file has the entry already, or has none to remove.
    Nothing,
    /// The text before, if the file exists, and after.
    Change { before: Option<String>, after: String },
    /// A person has to paste the block, for this reason.
    ByHand { why: String, block: String },
}

/// Returns the section of an editor's settings and the fields of the entry; `None` if its
/// configuration is a program.
pub(super) fn fields(editor: Editor, command: &str) -> Option<(&'static str, Vec<(&'static str, Value)>)> {
    let (command, args) = (("command", json!(command)), ("args", json!(["acp"])));
    match editor {
        Editor::Zed => Some(("agent_servers", vec![("type", json!("custom")), command, args])),
        Editor::Jetbrains => Some(("agent_servers", vec![command, args])),
        Editor::Vscode => Some(("acp.agents", vec![command, args])),
        Editor::Neovim | Editor::Emacs => None,
    }
}

/// Returns the change that adds or updates the entry, or removes it (`command` is `None`).
///
/// # Errors
/// If the file cannot be read.
pub(crate) async fn edited(
    system: &dyn System,
    editor: Editor,
    file: &AbsPath,
    name: &str,
    command: Option<&str>,
) -> Result<Edit, SystemError> {
    let shown = command.unwrap_or("tiller");
    let by_hand = |why: String| Edit::ByHand { why, block: block(editor, shown, name) };
    let Some((section, mut fields)) = fields(editor, shown) else {
        return Ok(by_hand(match command {
            Some(_) => format!("add this to {file}:"),
            None => format!("remove this from {file}:"),
        }));
    };
    let before = system.read_text_on_disk(file).await?;
    let text = before.as_deref().unwrap_or_default();
    let after = match command {
        Some(_) => {
            // Options that the user added after `acp` stay.
            let kept = jsonc::get(text, section, name).ok().flatten();
            let kept = kept.as_ref().and_then(|entry| entry["args"].as_array());
            if kept.is_some_and(|args| args.first().and_then(Value::as_str) == Some("acp")) {
                fields.retain(|(field, _)| *field != "args");
            }
            jsonc::set(text, section, name, &fields)
        }
        None => jsonc::remove(text, section, name),
    };
    Ok(match after {
        Ok(None) => Edit::Nothing,
        Ok(Some(after)) => Edit::Change { before, after },
        Err(why) => by_hand(refusal(file, &why, command.is_some())),
    })
}

fn refusal(file: &AbsPath, why: &JsoncError, adding: bool) -> String {
    let verb = if adding { "add" } else { "remove" };
    format!("{file} is not edited: {why}. To {verb} the entry yourself:")
}

/// Returns the command of the entry in a settings file; `None` if there is no entry.
pub(super) fn command_in(editor: Editor, text: &str, name: &str) -> Result<Option<String>, JsoncError> {
    let Some((section, _)) = fields(editor, "") else { return Ok(None) };
    let entry = jsonc::get(text, section, name)?;
    Ok(entry.and_then(|entry| entry["command"].as_str().map(str::to_owned)))
}
