//! The themes of the terminal interface: those that come with it, and the user's own, which are the
//! files `themes/NAME.toml` beside the settings.

use crate::options::Directories;
use system::{AbsPath, LocalSystem, System as _, SystemError};
use tui::{
    settings::ListedTheme,
    theme::{Background, Role, Theme},
};

/// A dark and a light background, on which the contrast of a user's theme is checked.
const BACKGROUNDS: [(&str, Background, [u8; 3]); 2] =
    [("dark", Background::Dark, [0x1e; 3]), ("light", Background::Light, [0xff; 3])];

/// Returns the directory of the user's themes.
pub(crate) fn directory(directories: &Directories) -> AbsPath {
    directories.config.join("themes")
}

/// Returns all themes: those that come with Tiller, then the user's by their names, also those that
/// cannot be used.
///
/// # Errors
/// A message for the user if the directory cannot be read.
pub(crate) async fn all(directories: &Directories) -> Result<Vec<ListedTheme>, String> {
    let shipped = Theme::SHIPPED.into_iter().filter_map(|name| {
        let theme = Theme::shipped(name, Background::Dark)?;
        Some(ListedTheme { name: name.to_owned(), theme: Ok(theme), file: None })
    });
    let names = names(directories).await?;
    let own = names.into_iter().map(|name| {
        let file = Some(file(directories, &name).to_string());
        ListedTheme { theme: read(directories, &name), name, file }
    });
    Ok(shipped.chain(own).collect())
}

/// Returns the names of the user's themes. A file with the name of a theme that comes with Tiller
/// is none.
async fn names(directories: &Directories) -> Result<Vec<String>, String> {
    let directory = directory(directories);
    let entries = match LocalSystem::new().read_dir(&directory).await {
        Ok(entries) => entries,
        Err(SystemError::NotFound(_)) => Vec::new(),
        Err(error) => return Err(format!("the themes in {directory} cannot be read: {error}")),
    };
    let name = |path: &AbsPath| path.file_name()?.strip_suffix(".toml").map(str::to_owned);
    let names = entries.iter().filter_map(|entry| name(&entry.path));
    Ok(names.filter(|name| is_name(name) && !Theme::SHIPPED.contains(&name.as_str())).collect())
}

/// Returns the theme of a name.
///
/// # Errors
/// A message for the user that names the setting, or the file and the line.
pub(crate) async fn find(directories: &Directories, name: &str) -> Result<Theme, String> {
    if let Some(theme) = Theme::shipped(name, Background::Dark) {
        return Ok(theme);
    }
    let own = names(directories).await?;
    if own.iter().any(|own| own == name) {
        return read(directories, name);
    }
    let all: Vec<&str> = Theme::SHIPPED.into_iter().chain(own.iter().map(String::as_str)).collect();
    let nearest = agent::closest(name, all.iter().copied(), |name| name);
    let nearest = nearest.map(|nearest| format!("did you mean {nearest:?}? ")).unwrap_or_default();
    let directory = directory(directories);
    Err(format!(
        "ui.theme: there is no theme {name:?}; {nearest}Choose one of {}, or write {directory}/NAME.toml",
        all.join(", ")
    ))
}

/// Returns the roles of a theme whose contrast is too low, and the background: the one of a dark
/// and a light one that the theme is better on, unless it has a variant for each.
pub(crate) fn faint_roles(theme: &Theme) -> Option<(&'static str, Vec<Role>)> {
    let on = |(word, background, colour): (&'static str, Background, [u8; 3])| {
        (word, theme.clone().on(background).faint_roles(colour))
    };
    let [dark, light] = BACKGROUNDS.map(on);
    let worst = match theme.follows_background() {
        true if dark.1.is_empty() => light,
        true => dark,
        false if light.1.len() < dark.1.len() => light,
        false => dark,
    };
    (!worst.1.is_empty()).then_some(worst)
}

fn file(directories: &Directories, name: &str) -> AbsPath {
    directory(directories).join(format!("{name}.toml"))
}

/// Whether a name is that of a file in the directory of themes, and not of one elsewhere.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(plain)
}

fn read(directories: &Directories, name: &str) -> Result<Theme, String> {
    let file = file(directories, name);
    let bytes = system::read_regular(&file).map_err(|error| format!("{file}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{file}: not UTF-8"))?;
    let of = |background| {
        Theme::from_toml(name, &text, background).map_err(|error| format!("{file}:{}: {error}", error.line))
    };
    Ok(Theme::following(of(Background::Dark)?, of(Background::Light)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::TemporaryDirectory;

    async fn with(files: &[(&str, &str)]) -> (TemporaryDirectory, Directories) {
        let directory = TemporaryDirectory::new().unwrap();
        let root = AbsPath::from_os(directory.path()).unwrap();
        let directories = Directories::below(root);
        let system = LocalSystem::new();
        system.create_dir_all(&super::directory(&directories)).await.unwrap();
        for (name, text) in files {
            system.write(&super::directory(&directories).join(name), text.as_bytes()).await.unwrap();
        }
        (directory, directories)
    }

    #[tokio::test]
    async fn the_users_themes_follow_those_that_come_with_tiller() {
        let files = [
            ("mine.toml", "base = 'dark'"),
            ("notes.txt", ""),
            ("dark.toml", ""),
            ("bad.toml", "\ntxet = 'red'"),
        ];
        let (_kept, directories) = with(&files).await;
        let all = all(&directories).await.unwrap();
        let names: Vec<_> = all.iter().map(|theme| theme.name.as_str()).collect();
        assert_eq!(names, ["terminal", "dark", "light", "high-contrast", "colour-blind", "bad", "mine"]);
        let problem = all[5].theme.as_ref().unwrap_err();
        assert!(
            problem.ends_with("/themes/bad.toml:2: unknown key \"txet\"; did you mean \"text\"?"),
            "{problem}"
        );
        assert_eq!(all[6].theme.as_ref().map(|theme| theme.name.as_str()), Ok("mine"));
        assert!(find(&directories, "mine").await.is_ok());
    }

    #[tokio::test]
    async fn a_missing_theme_is_named_with_the_nearest_and_none_is_read_from_elsewhere() {
        let (_kept, directories) = with(&[("mine.toml", ""), ("../evil.toml", "")]).await;
        let problem = find(&directories, "mnie").await.unwrap_err();
        assert!(
            problem.starts_with("ui.theme: there is no theme \"mnie\"; did you mean \"mine\"?"),
            "{problem}"
        );
        for name in ["../evil", "", ".hidden", "a/b"] {
            assert!(find(&directories, name).await.is_err(), "{name}");
        }
    }

    #[test]
    fn the_contrast_of_a_theme_is_judged_on_the_background_that_it_is_for() {
        let of = |text: &str| {
            let of = |background| Theme::from_toml("mine", text, background).unwrap();
            faint_roles(&Theme::following(of(Background::Dark), of(Background::Light)))
        };
        assert_eq!(of("base = 'light'"), None);
        assert_eq!(of("base = 'high-contrast'"), None);
        assert_eq!(of("base = 'dark'\nlink = '#333333'"), Some(("dark", vec![Role::Link])));
        assert_eq!(of("base = 'light'\ncode = '#eeeeee'"), Some(("light", vec![Role::Code])));
        assert_eq!(of("base = 'high-contrast'\ncode = '#eeeeee'"), Some(("light", vec![Role::Code])));
    }
}
