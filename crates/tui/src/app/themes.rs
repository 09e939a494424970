//! Choosing a theme: by its name, or from a list in which the selected one is worn at once.

use super::{
    App, Overlay,
    effect::Effect,
    lists::{List, Rows},
};
use crate::{
    driver::request::Request,
    picker::{How, Item, Picker},
    screens::frame::Screen,
    settings::{ListedTheme, ThemesFor},
    theme::Theme,
};

/// The themes of a list.
pub(super) struct ThemeRows {
    themes: Vec<ListedTheme>,
    /// The theme before the list was opened.
    before: Theme,
    /// Whether the chosen one is written to the user's file.
    writes: bool,
    /// Whether a row behind the themes removes the setting from the user's file.
    unsets: bool,
}

impl App {
    pub(super) fn choose_theme(&mut self, name: &str) -> Vec<Effect> {
        let list = |purpose| vec![Effect::Request(Request::ListThemes(purpose))];
        match (name, Theme::shipped(name, self.background)) {
            ("", _) => list(ThemesFor::Session),
            (_, Some(theme)) => self.change_theme(theme),
            (name, None) => list(ThemesFor::Name(name.to_owned())),
        }
    }

    pub(super) fn themes_listed(&mut self, purpose: ThemesFor, themes: Vec<ListedTheme>) -> Vec<Effect> {
        let (writes, unsets) = match purpose {
            ThemesFor::Name(name) => return self.change_to_named(&name, themes),
            ThemesFor::Session => (false, false),
            ThemesFor::Setting { is_set } => (true, is_set),
        };
        let offers = match writes {
            true => vec![(How::Open, "write it to your settings")],
            false => vec![(How::Open, "this session"), (How::Default, "also as default")],
        };
        let title = if writes { "ui.theme" } else { "theme" };
        let picker = Picker::new(title, self.options.bindings.clone()).offers(offers).flexible(1).main(0);
        let current = match writes {
            true => self.settled.look.theme.name.clone(),
            false => self.options.look.theme.name.clone(),
        };
        let mut items: Vec<_> = themes.iter().map(|theme| item(theme, theme.name == current)).collect();
        if unsets {
            items.push(Item::new(["unset", "remove it from your file, so that the default is in force"]));
        }
        let before = self.options.look.theme.clone();
        let rows = Rows::Themes(Box::new(ThemeRows { themes, before, writes, unsets }));
        self.show_above(picker, rows, items);
        Vec::new()
    }

    fn change_to_named(&mut self, name: &str, themes: Vec<ListedTheme>) -> Vec<Effect> {
        let names: Vec<_> = themes.iter().map(|theme| theme.name.clone()).collect();
        match themes.into_iter().find(|theme| theme.name == name).map(|listed| listed.theme) {
            Some(Ok(theme)) => self.change_theme(theme),
            Some(Err(problem)) => self.fail(&problem),
            None => self.fail(&format!("there is no theme {name}; choose {}", names.join(", "))),
        }
    }

    /// Wears the theme that is selected in a list of themes, until the list is closed.
    pub(super) fn preview_theme(&mut self) -> Vec<Effect> {
        let Overlay::List(list) = &self.overlay else { return Vec::new() };
        let List { picker, rows: Rows::Themes(rows), .. } = &**list else { return Vec::new() };
        let selected = picker.index().and_then(|index| rows.themes.get(index));
        match selected.and_then(|listed| listed.theme.as_ref().ok()) {
            Some(theme) if theme.name != self.options.look.theme.name => self.change_theme(theme.clone()),
            _ => Vec::new(),
        }
    }

    /// Wears the theme again that was worn before a list of themes, if that is what was closed.
    pub(super) fn unpreview_theme(&mut self, closed: &List) -> Vec<Effect> {
        match &closed.rows {
            Rows::Themes(rows) if self.options.screen != Screen::Plain => {
                self.change_theme(rows.before.clone())
            }
            _ => Vec::new(),
        }
    }

    /// Chooses a theme of the list, which is closed.
    pub(super) fn picked_theme(&mut self, rows: &ThemeRows, index: usize, how: How) -> Vec<Effect> {
        let Some(listed) = rows.themes.get(index) else {
            let unset = Request::ChangeSetting { name: "ui.theme".to_owned(), value: None };
            return if rows.unsets { vec![Effect::Request(unset)] } else { Vec::new() };
        };
        let theme = match &listed.theme {
            Ok(theme) => theme.clone(),
            Err(problem) => {
                let problem = problem.clone();
                let mut effects = self.change_theme(rows.before.clone());
                effects.extend(self.fail(&problem));
                return effects;
            }
        };
        let write = (rows.writes || how == How::Default).then(|| Request::ChangeSetting {
            name: "ui.theme".to_owned(),
            value: Some(vec![listed.name.clone()]),
        });
        let mut effects = self.change_theme(theme);
        effects.extend(write.map(Effect::Request));
        effects
    }
}

fn item(listed: &ListedTheme, marked: bool) -> Item {
    let (about, preview) = match (&listed.theme, &listed.file) {
        (Err(problem), _) => ("cannot be used".to_owned(), Some(("wrong", problem.clone()))),
        (Ok(_), Some(file)) => ("yours".to_owned(), Some(("file", file.clone()))),
        (Ok(_), None) => (String::new(), None),
    };
    let mut item = Item { marked, ..Item::new([listed.name.clone(), about]) };
    item.preview.extend(preview.map(|(name, text)| (name.to_owned(), text)));
    item
}
