//! `/settings`: the settings of the interface, their values, and the keys of each action.

use super::{App, Overlay, binding::Binding, effect::Effect, lists::Rows};
use crate::{
    driver::request::Request,
    keys::listing::{self, Listed},
    limits::SETTING_LINES,
    picker::{How, Item, Picker},
    screens::frame::Screen,
    settings::{Setting, SettingsFor, SettingsRead, ThemesFor, Values},
};

/// What the choice of a row does to a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pick {
    /// Writes this value.
    Write(Vec<String>),
    /// Removes it from the user's file.
    Unset,
    /// Binds the key that is pressed next, besides these.
    Press(Vec<String>),
}

impl App {
    /// `/settings`, `/settings KEY`, `/settings KEY VALUE` and `/settings unset KEY`.
    pub(super) fn settings_command(&mut self, argument: &str) -> Vec<Effect> {
        let argument = argument.strip_prefix("set ").unwrap_or(argument).trim();
        let (first, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        let rest = rest.trim();
        let request = match (first, rest) {
            ("", _) => Request::ReadSettings(SettingsFor::List),
            ("unset", "") => return self.fail("write the name of the setting: /settings unset ui.theme"),
            ("unset", name) => match full_name(name) {
                Ok(name) => Request::ChangeSetting { name, value: None },
                Err(problem) => return self.fail(&problem),
            },
            (name, value) => match (full_name(name), value) {
                (Ok(name), "") => Request::ReadSettings(SettingsFor::One(name)),
                (Ok(name), value) => Request::ChangeSetting { name, value: Some(words(value)) },
                (Err(problem), _) => return self.fail(&problem),
            },
        };
        vec![Effect::Request(request)]
    }

    pub(super) fn settings_read(&mut self, why: SettingsFor, read: SettingsRead) -> Vec<Effect> {
        let SettingsRead { settings, options } = read;
        let SettingsFor::Changed { name, done } = why else {
            let effects = self.apply(options, None);
            match why {
                SettingsFor::One(name) => return [effects, self.open_setting(&name, &settings)].concat(),
                _ => self.list_settings(settings),
            }
            return effects;
        };
        let setting = settings.iter().find(|setting| is_of(&name, setting));
        let outranked = setting.and_then(|setting| setting.outranked_by.clone());
        let before = self.options.bindings.clashes();
        let chosen = setting.map(|setting| setting.name.as_str()).filter(|_| outranked.is_none());
        let effects = self.apply(options, chosen);
        let mut said = done;
        if let Some(by) = outranked {
            said += &format!(" In this run {by} outranks it.");
        }
        if let Some(note) = setting.and_then(|setting| setting.note.as_ref()) {
            said += &format!(" {note}.");
        }
        let clash = self.options.bindings.clashes().into_iter().find(|clash| !before.contains(clash));
        if let Some(clash) = clash {
            said += &format!(" But {clash}.");
        }
        self.tell(&said);
        self.refresh_lists(&settings);
        effects
    }

    fn list_settings(&mut self, settings: Vec<Setting>) {
        let picker = Picker::new("settings", self.options.bindings.clone())
            .offers([(How::Open, "change")])
            .flexible(3)
            .main(0);
        let items = self.setting_items(&settings);
        self.show(picker, Rows::Settings(settings), Some(items));
    }

    /// Lists the values of a setting, above the list of settings if that is open.
    pub(super) fn open_setting(&mut self, name: &str, settings: &[Setting]) -> Vec<Effect> {
        let Some(setting) = settings.iter().find(|setting| is_of(name, setting)) else {
            let names = settings.iter().map(|setting| setting.name.as_str());
            let nearest = agent::closest(name, names, |name| name);
            let nearest = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
            return self.fail(&format!("the interface has no setting {name}{nearest}"));
        };
        match &setting.values {
            Values::Theme => {
                vec![Effect::Request(Request::ListThemes(ThemesFor::Setting {
                    is_set: setting.place.is_some(),
                }))]
            }
            Values::Words(choices) => {
                let mut items = Vec::new();
                let mut picks = Vec::new();
                for choice in choices {
                    let about = if choice.is_default { "default" } else { "" };
                    items.push(Item {
                        marked: choice.is_current,
                        ..Item::new([choice.value.as_str(), about])
                    });
                    picks.push(Pick::Write(vec![choice.value.clone()]));
                }
                if setting.place.is_some() {
                    items.push(Item::new([
                        "unset",
                        "remove it from your file, so that the default is in force",
                    ]));
                    picks.push(Pick::Unset);
                }
                let does = described(&setting.does, self.options.look.width);
                items.iter_mut().for_each(|item| item.preview.extend(does.clone()));
                let picker = Picker::new(setting.name.clone(), self.options.bindings.clone())
                    .offers([(How::Open, "write it to your settings")])
                    .flexible(1)
                    .main(0);
                self.show_above(picker, Rows::Values { name: setting.name.clone(), picks }, items);
                Vec::new()
            }
            Values::Keys(_) => match name.strip_prefix("ui.keys.") {
                Some(action) => self.open_action(action),
                None => {
                    self.list_actions(setting.clone());
                    Vec::new()
                }
            },
        }
    }

    fn list_actions(&mut self, setting: Setting) {
        let actions = listing::listed(&self.options.bindings);
        let items = action_items(&actions, &setting);
        let picker = Picker::new("ui.keys", self.options.bindings.clone())
            .offers([(How::Open, "change")])
            .flexible(3)
            .main(0);
        let actions = actions.into_iter().map(|listed| listed.action).collect();
        self.show_above(picker, Rows::Actions { setting: Box::new(setting), actions }, items);
    }

    /// Lists what can be done with the keys of an action.
    pub(super) fn open_action(&mut self, action: &str) -> Vec<Effect> {
        let actions = listing::listed(&self.options.bindings);
        let Some(listed) = actions.iter().find(|listed| listed.action == action) else {
            return self.fail(&format!("ui.keys: there is no action {action}; /keys lists them"));
        };
        let keys = listed.keys.join(", ");
        let mut rows = vec![
            (Pick::Press(Vec::new()), ["set a key", "the key that you press next is its only one"]),
            (Pick::Write(vec!["[]".to_owned()]), ["no key", "the action has no key"]),
        ];
        if !listed.keys.is_empty() {
            let add = ["add a key", "the key that you press next is one more"];
            rows.insert(1, (Pick::Press(listed.keys.clone()), add));
        }
        if listed.is_set {
            rows.push((Pick::Unset, ["unset", "the default keys, without a line in your file"]));
        }
        let now = if keys.is_empty() { "no key".to_owned() } else { keys };
        let preview = [("now".to_owned(), now), ("does".to_owned(), listed.does.to_owned())];
        let (picks, columns): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let item = |columns: [&str; 2]| Item { preview: preview.to_vec(), ..Item::new(columns) };
        let name = format!("ui.keys.{action}");
        let picker = Picker::new(name.clone(), self.options.bindings.clone())
            .offers([(How::Open, "choose")])
            .flexible(1)
            .main(0);
        self.show_above(picker, Rows::Values { name, picks }, columns.into_iter().map(item).collect());
        Vec::new()
    }

    /// Does what a row of a list of values stands for; the list is closed.
    pub(super) fn picked_value(&mut self, name: &str, pick: Pick) -> Vec<Effect> {
        let change = |value| vec![Effect::Request(Request::ChangeSetting { name: name.to_owned(), value })];
        match pick {
            Pick::Write(value) => change(Some(value)),
            Pick::Unset => change(None),
            Pick::Press(kept) => {
                let below = match std::mem::take(&mut self.overlay) {
                    Overlay::List(list) => Some(list),
                    _ => None,
                };
                let binding = Binding::new(name.to_owned(), kept, below);
                if self.options.screen == Screen::Plain {
                    self.plain.hint("Write the key, such as ctrl+q or ctrl+x ctrl+e, or cancel");
                }
                self.overlay = Overlay::Binding(Box::new(binding));
                Vec::new()
            }
        }
    }

    /// Shows the settings as they are now in the lists of them that are open.
    fn refresh_lists(&mut self, settings: &[Setting]) {
        let items = self.setting_items(settings);
        let actions = listing::listed(&self.options.bindings);
        let Overlay::List(list) = &mut self.overlay else { return };
        let mut list = Some(list);
        while let Some(open) = list {
            match &mut open.rows {
                Rows::Settings(rows) => {
                    *rows = settings.to_vec();
                    open.picker.set_items(items.clone());
                }
                Rows::Actions { setting, .. } => {
                    if let Some(new) = settings.iter().find(|new| new.name == setting.name) {
                        **setting = new.clone();
                        open.picker.set_items(action_items(&actions, new));
                    }
                }
                _ => {}
            }
            list = open.below.as_mut();
        }
    }

    /// Returns the rows of settings: name, value, origin and what each does.
    fn setting_items(&self, settings: &[Setting]) -> Vec<Item> {
        let width = self.options.look.width;
        let item = |setting: &Setting| {
            let (value, origin) = match self.changed_here(&setting.name) {
                Some((value, command)) => (value, command.to_owned()),
                None => (setting.value.clone(), setting.origin.clone()),
            };
            let mut item = Item::new([setting.name.clone(), value, origin, setting.does.clone()]);
            item.preview = described(&setting.does, width);
            if let Some(place) = &setting.place {
                item.preview.push(("in".to_owned(), place.clone()));
            }
            item.preview.extend(setting.note.clone().map(|note| ("note".to_owned(), note)));
            if let Some(by) = &setting.outranked_by {
                item.preview.push(("note".to_owned(), format!("in this run {by} outranks the file")));
            }
            item
        };
        settings.iter().map(item).collect()
    }

    /// Returns the value of a setting that a command changed for this session, and the command.
    fn changed_here(&self, name: &str) -> Option<(String, &'static str)> {
        let (now, settled) = (&self.options, &self.settled);
        match name {
            "ui.theme" if now.look.theme.name != settled.look.theme.name => {
                Some((format!("{:?}", now.look.theme.name), "/theme"))
            }
            "ui.screen" if now.screen != settled.screen => {
                Some((format!("{:?}", now.screen.name()), "/screen"))
            }
            "ui.notify" if now.notify != settled.notify => Some((now.notify.to_string(), "/notify")),
            _ => None,
        }
    }
}

/// Whether a name is that of a setting, or of one of the keys that it stands for.
fn is_of(name: &str, setting: &Setting) -> bool {
    name == setting.name || name.strip_prefix(setting.name.as_str()).is_some_and(|rest| rest.starts_with('.'))
}

fn action_items(actions: &[Listed], setting: &Setting) -> Vec<Item> {
    let Values::Keys(origins) = &setting.values else { return Vec::new() };
    let item = |listed: &Listed| {
        let keys = if listed.keys.is_empty() { "(none)".to_owned() } else { listed.keys.join(", ") };
        let origin = origins.get(listed.action).map_or("default", String::as_str);
        let mut item = Item::new([listed.action, &keys, origin, listed.does]);
        item.preview.push(("in".to_owned(), listed.place.to_owned()));
        if !listed.when.is_empty() {
            item.preview.push(("if".to_owned(), listed.when.clone()));
        }
        item
    };
    actions.iter().map(item).collect()
}

/// Returns a text in rows of a preview.
fn described(text: &str, width: usize) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = vec![("does".to_owned(), String::new())];
    for word in text.split_whitespace() {
        let last = rows
            .last_mut()
            .map(|(_, line)| line)
            .filter(|line| line.is_empty() || line.chars().count() + word.chars().count() + 10 <= width);
        match last {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => *line += &format!(" {word}"),
            None => rows.push((String::new(), word.to_owned())),
        }
    }
    rows.truncate(SETTING_LINES);
    rows
}

/// Returns the whole name of a setting of the interface, which may be given without `ui.`.
fn full_name(given: &str) -> Result<String, String> {
    match given.split_once('.') {
        Some(("ui", _)) => Ok(given.to_owned()),
        Some(("keys", _)) | None => Ok(format!("ui.{given}")),
        Some(_) => Err(format!(
            "/settings changes the interface, ui.…; for {given} write tiller settings set {given} VALUE in a shell"
        )),
    }
}

/// Splits a typed value into words: a list of TOML is one, and so is a text in quotes.
fn words(value: &str) -> Vec<String> {
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    match quoted('"').or_else(|| quoted('\'')) {
        Some(text) if !text.contains(['"', '\'']) => vec![text.to_owned()],
        _ if value.starts_with('[') && value.len() > 1 => vec![value.to_owned()],
        _ => value.split_whitespace().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_given_without_its_group_and_others_are_refused_with_what_to_do() {
        assert_eq!(full_name("theme").as_deref(), Ok("ui.theme"));
        assert_eq!(full_name("ui.theme").as_deref(), Ok("ui.theme"));
        assert_eq!(full_name("keys.undo").as_deref(), Ok("ui.keys.undo"));
        let problem = full_name("agent.mode").unwrap_err();
        assert!(problem.contains("tiller settings set agent.mode"), "{problem}");
    }

    #[test]
    fn a_typed_value_is_words_a_list_or_a_text_in_quotes() {
        for (value, expected) in [
            ("dark", &["dark"][..]),
            ("ctrl+q  alt+q", &["ctrl+q", "alt+q"]),
            ("\"ctrl+x ctrl+e\"", &["ctrl+x ctrl+e"]),
            ("[\"ctrl+x u\", \"q\"]", &["[\"ctrl+x u\", \"q\"]"]),
            ("[", &["["]),
        ] {
            assert_eq!(words(value), expected, "{value}");
        }
    }

    #[test]
    fn a_description_is_broken_at_words_and_cut_after_two_rows() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        let rows = described(text, 30);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|(_, line)| line.len() <= 20), "{rows:?}");
        assert_eq!(rows[0], ("does".to_owned(), "one two three four".to_owned()));
    }
}
