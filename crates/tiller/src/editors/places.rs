//! Where editors keep their settings.

use super::Editor;
use crate::environment::Environment;
use system::{AbsPath, System};

/// The directories of the user from which an editor's settings file follows.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) home: AbsPath,
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    config: AbsPath,
    /// The current directory, for settings of a project.
    pub(crate) project: AbsPath,
    macos: bool,
}

/// The editions of VS Code, by their directory. The first is edited if none exists.
const VSCODE_EDITIONS: [&str; 4] = ["Code", "Code - Insiders", "VSCodium", "Code - OSS"];

impl Places {
    pub(crate) fn new(environment: &Environment, home: AbsPath, project: AbsPath) -> Self {
        let config = environment.get("XDG_CONFIG_HOME").and_then(|path| AbsPath::new(path).ok());
        let config = config.unwrap_or_else(|| home.join(".config"));
        Self { home, config, project, macos: cfg!(target_os = "macos") }
    }

    /// Returns the file with the user's settings of an editor, whether it exists or not.
    pub(crate) async fn user_file(&self, editor: Editor, system: &dyn System) -> AbsPath {
        let candidates = self.candidates(editor);
        for file in &candidates {
            if system.metadata(file).await.is_ok() {
                return file.clone();
            }
        }
        // An editor that has never written settings has its directory.
        for file in &candidates {
            if let Some(directory) = file.parent().filter(|directory| *directory != self.home)
                && system.metadata(&directory).await.is_ok()
            {
                return file.clone();
            }
        }
        candidates.into_iter().next().expect("each editor has a file")
    }

    /// Returns the file with a project's settings, for an editor that takes agents from there.
    pub(crate) fn project_file(&self, editor: Editor) -> Option<AbsPath> {
        match editor {
            Editor::Vscode => Some(self.project.join(".vscode/settings.json")),
            _ => None,
        }
    }

    fn candidates(&self, editor: Editor) -> Vec<AbsPath> {
        let below_config = |path: &str| self.config.join(path);
        match editor {
            Editor::Zed if self.macos => vec![self.home.join(".config/zed/settings.json")],
            Editor::Zed => vec![below_config("zed/settings.json")],
            Editor::Jetbrains => vec![self.home.join(".jetbrains/acp.json")],
            Editor::Neovim => vec![below_config("nvim/init.lua"), below_config("nvim/init.vim")],
            Editor::Emacs => vec![
                self.home.join(".emacs.d/init.el"),
                below_config("emacs/init.el"),
                self.home.join(".emacs"),
            ],
            Editor::Vscode => VSCODE_EDITIONS
                .iter()
                .map(|edition| match self.macos {
                    true => {
                        self.home.join(format!("Library/Application Support/{edition}/User/settings.json"))
                    }
                    false => below_config(&format!("{edition}/User/settings.json")),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    fn places(variables: &[(&str, &str)], macos: bool) -> Places {
        let environment = variables.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let path = |path: &str| AbsPath::new(path).unwrap();
        Places { macos, ..Places::new(&environment, path("/home/me"), path("/work/p")) }
    }

    #[tokio::test]
    async fn each_editor_has_its_own_file_on_each_system() {
        let system = FakeSystem::new();
        for (editor, linux, macos) in [
            (Editor::Zed, "/home/me/.config/zed/settings.json", "/home/me/.config/zed/settings.json"),
            (Editor::Jetbrains, "/home/me/.jetbrains/acp.json", "/home/me/.jetbrains/acp.json"),
            (Editor::Neovim, "/home/me/.config/nvim/init.lua", "/home/me/.config/nvim/init.lua"),
            (Editor::Emacs, "/home/me/.emacs.d/init.el", "/home/me/.emacs.d/init.el"),
            (
                Editor::Vscode,
                "/home/me/.config/Code/User/settings.json",
                "/home/me/Library/Application Support/Code/User/settings.json",
            ),
        ] {
            assert_eq!(places(&[], false).user_file(editor, &system).await.as_str(), linux);
            assert_eq!(places(&[], true).user_file(editor, &system).await.as_str(), macos);
        }
    }

    #[tokio::test]
    async fn the_directory_of_settings_is_followed_and_an_existing_edition_is_chosen() {
        let system = FakeSystem::new();
        let moved = places(&[("XDG_CONFIG_HOME", "/cfg")], false);
        assert_eq!(moved.user_file(Editor::Zed, &system).await.as_str(), "/cfg/zed/settings.json");
        system.add_file("/cfg/VSCodium/User/settings.json", "{}");
        assert_eq!(
            moved.user_file(Editor::Vscode, &system).await.as_str(),
            "/cfg/VSCodium/User/settings.json"
        );
        system.add_file("/home/me/.emacs", "");
        assert_eq!(moved.user_file(Editor::Emacs, &system).await.as_str(), "/home/me/.emacs");
    }

    #[test]
    fn only_vs_code_takes_agents_from_a_project() {
        let places = places(&[], false);
        let with: Vec<_> =
            Editor::ALL.into_iter().filter(|editor| places.project_file(*editor).is_some()).collect();
        assert_eq!(with, [Editor::Vscode]);
    }
}
