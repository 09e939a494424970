//! The editors of this machine, and their entries for this program.

use super::{ENTRY_NAME, Editor, Places, entry};
use crate::installation;
use system::{AbsPath, System};

/// The state of one editor.
#[derive(Debug, Clone)]
pub(crate) struct FoundEditor {
    pub(crate) editor: Editor,
    /// Its settings file, whether it exists or not.
    pub(crate) file: AbsPath,
    /// Whether the editor has left traces: its file, or its directory.
    pub(crate) is_present: bool,
    /// The command of the entry; `None` if there is no entry, or the settings are a program.
    pub(crate) command: Option<String>,
    /// Whether the entry's command exists; `true` without an entry.
    pub(crate) command_exists: bool,
    /// Why the settings could not be read.
    pub(crate) problem: Option<String>,
}

/// Looks at the settings of all editors. `path` is the variable `PATH`.
pub(crate) async fn look(system: &dyn System, places: &Places, path: &str) -> Vec<FoundEditor> {
    let mut all = Vec::new();
    for editor in Editor::ALL {
        let file = places.user_file(editor, system).await;
        let directory = file.parent().filter(|directory| *directory != places.home);
        let mut is_present = system.metadata(&file).await.is_ok();
        if let Some(directory) = directory {
            is_present |= system.metadata(&directory).await.is_ok();
        }
        let (mut command, mut problem) = (None, None);
        match system.read_text_on_disk(&file).await {
            Ok(text) => match entry::command_in(editor, &text.unwrap_or_default(), ENTRY_NAME) {
                Ok(found) => command = found,
                Err(why) => problem = Some(why.to_string()),
            },
            Err(why) => problem = Some(why.to_string()),
        }
        let command_exists = match &command {
            Some(command) => installation::exists(system, path, command).await,
            None => true,
        };
        all.push(FoundEditor { editor, file, is_present, command, command_exists, problem });
    }
    all
}
