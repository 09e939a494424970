//! `/settings` and `/theme`: lists, changes that are in force at once, and keys that are bound by
//! pressing them.

use super::{Person, options, permission};
use crate::{
    app::effect::Effect,
    client::{asks::AskId, mailbox::Letter},
    driver::{reply::Reply, request::Request},
    input::{Key, KeyCode},
    keys::Bindings,
    options::AppOptions,
    screens::{frame::Screen, terminal::Switches},
    settings::{Choice, ListedTheme, Setting, SettingsFor, SettingsRead, ThemesFor, Values},
    theme::{Background, Role, Theme},
};
use std::collections::BTreeMap;

fn choices(values: &[&str], default: &str, current: &str) -> Values {
    let one = |value: &&str| Choice {
        value: (*value).to_owned(),
        is_default: *value == default,
        is_current: *value == current,
    };
    Values::Words(values.iter().map(one).collect())
}

fn setting(name: &str, value: &str, values: Values) -> Setting {
    Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        origin: "default".to_owned(),
        place: None,
        outranked_by: None,
        note: None,
        does: format!("What {name} does."),
        values,
    }
}

fn settings() -> Vec<Setting> {
    let mut screen =
        setting("ui.screen", "\"auto\"", choices(&["auto", "inline", "full", "plain"], "auto", "full"));
    (screen.origin, screen.place) = ("config.toml:3".to_owned(), Some("/c/config.toml:3".to_owned()));
    let mut animation = setting("ui.animation", "false", choices(&["true", "false"], "true", "true"));
    animation.outranked_by = Some("--no-animation".to_owned());
    vec![
        screen,
        setting("ui.theme", "\"terminal\"", Values::Theme),
        setting("ui.keys", "default", Values::Keys(BTreeMap::new())),
        setting("ui.enter", "\"steer\"", choices(&["steer", "after"], "steer", "steer")),
        animation,
    ]
}

fn themes() -> Vec<ListedTheme> {
    let listed = |name: &str, theme| ListedTheme { name: name.to_owned(), theme, file: None };
    let shipped = |name: &str| listed(name, Ok(Theme::shipped(name, Background::Dark).unwrap()));
    vec![
        shipped("terminal"),
        shipped("dark"),
        shipped("high-contrast"),
        listed("bad", Err("/c/themes/bad.toml:2: unknown key \"txet\"".to_owned())),
    ]
}

fn coloured(screen: Screen) -> AppOptions {
    let mut options = options(screen);
    options.look.theme = Theme::terminal();
    options
}

impl Person {
    fn read(&mut self, why: SettingsFor, options: AppOptions) {
        let read = SettingsRead { settings: settings(), options };
        self.reply(Reply::Settings(why, Box::new(read)));
    }

    fn changed(&mut self, name: &str, options: AppOptions) {
        let (name, done) = (name.to_owned(), format!("{name} is in /c/config.toml."));
        self.read(SettingsFor::Changed { name, done }, options);
    }

    fn key(&mut self, code: KeyCode) {
        self.press(Key::plain(code));
    }
}

fn change(name: &str, value: Option<&[&str]>) -> Request {
    let value = value.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
    Request::ChangeSetting { name: name.to_owned(), value }
}

#[test]
fn a_setting_is_chosen_from_its_values_and_written_and_the_list_shows_where_it_is_from() {
    let mut person = Person::new();
    person.says("/settings");
    assert_eq!(person.requests(), [Request::ReadSettings(SettingsFor::List)]);
    person.read(SettingsFor::List, options(Screen::Inline));
    let live = person.live();
    for text in ["ui.screen", "\"auto\"", "config.toml:3", "What ui.screen does.", "/c/config.toml:3"] {
        assert!(live.contains(text), "{text}: {live}");
    }
    person.types("enter");
    person.key(KeyCode::Enter);
    let live = person.live();
    assert!(live.contains("ui.enter >") && live.contains("▸*steer  default"), "{live}");
    assert!(!live.contains("unset"), "it is in no file: {live}");
    person.key(KeyCode::Down);
    person.key(KeyCode::Enter);
    assert_eq!(person.requests(), [change("ui.enter", Some(&["after"]))]);
    person.changed("ui.enter", AppOptions { enter_steers: false, ..options(Screen::Inline) });
    let live = person.live();
    assert!(live.contains("ui.enter is in /c/config.toml."), "{live}");
    assert!(live.contains("settings >"), "one is back in the list: {live}");
    person.key(KeyCode::Esc);
    person.key(KeyCode::Esc);
    person.turn_begins();
    person.says("and then");
    assert!(matches!(person.requests()[..], [Request::Send { when: super::When::After, .. }]));
}

#[test]
fn a_setting_of_a_file_can_be_removed_from_it() {
    let mut person = Person::new();
    person.read(SettingsFor::One("ui.screen".to_owned()), options(Screen::Inline));
    person.types("unset");
    person.key(KeyCode::Enter);
    assert_eq!(person.requests(), [change("ui.screen", None)]);
    person.says("/settings unset keys.undo");
    assert_eq!(person.requests(), [change("ui.keys.undo", None)]);
}

#[test]
fn a_setting_is_set_directly_and_what_is_none_is_refused_by_name() {
    for screen in [Screen::Inline, Screen::Full, Screen::Plain] {
        let mut person = Person::at(screen, (100, 24));
        let mut say = |line: &str| {
            match screen {
                Screen::Plain => person.line(line),
                _ => person.says(line),
            }
            let requests = person.requests();
            (requests, person.live() + &person.committed.join("\n"))
        };
        assert_eq!(say("/settings ui.theme dark").0, [change("ui.theme", Some(&["dark"]))]);
        assert_eq!(say("/settings set title true").0, [change("ui.title", Some(&["true"]))]);
        let keys = change("ui.keys.undo", Some(&["ctrl+q", "alt+q"]));
        assert_eq!(say("/settings ui.keys.undo ctrl+q alt+q").0, [keys]);
        assert_eq!(
            say("/settings mouse").0,
            [Request::ReadSettings(SettingsFor::One("ui.mouse".to_owned()))]
        );
        let (requests, shown) = say("/settings agent.mode plan");
        assert_eq!(requests, []);
        assert!(shown.contains("tiller settings set agent.mode"), "{shown}");
    }
    let mut person = Person::at(Screen::Plain, (80, 24));
    person.read(SettingsFor::One("ui.scren".to_owned()), options(Screen::Plain));
    person.frame();
    let said = person.committed.join("\n");
    assert!(said.contains("the interface has no setting ui.scren; did you mean ui.screen?"), "{said}");
}

#[test]
fn every_setting_is_in_force_at_once() {
    let mut person = Person::with(coloured(Screen::Inline), (80, 24));
    let (bindings, errors) =
        Bindings::with(&BTreeMap::from([("quit".to_owned(), vec!["ctrl+q".to_owned()])]));
    assert_eq!(errors, []);
    let switches = Switches { mouse: true, title: true, hyperlinks: true, ..Switches::default() };
    let mut new = AppOptions {
        screen: Screen::Full,
        enter_steers: false,
        animation: true,
        notify: false,
        bindings,
        switches,
        ..coloured(Screen::Inline)
    };
    new.look.theme = Theme::shipped("high-contrast", Background::Dark).unwrap();
    person.read(SettingsFor::List, new.clone());
    person.key(KeyCode::Esc);
    let now = &person.app.options;
    assert_eq!(
        (now.screen, now.enter_steers, now.animation, now.notify, now.switches),
        (Screen::Full, false, true, false, switches)
    );
    assert_eq!(now.look.theme, new.look.theme);
    let wanted = [Effect::Screen(Screen::Full), Effect::Switches(switches), Effect::AskBackground];
    assert!(wanted.iter().all(|effect| person.effects.contains(effect)), "{:?}", person.effects);
    assert!(person.effects.iter().any(|effect| matches!(effect, Effect::Title(_))), "{:?}", person.effects);
    person.effects.clear();
    person.press(Key::ctrl('q'));
    assert!(person.effects.contains(&Effect::Quit), "the new key works");
}

#[test]
fn what_a_command_changed_for_the_session_stays_until_its_setting_is_chosen() {
    let mut person = Person::with(coloured(Screen::Inline), (80, 24));
    person.says("/theme dark");
    person.says("/notify off");
    person.read(SettingsFor::List, coloured(Screen::Inline));
    let live = person.live();
    assert!(live.contains("\"dark\"") && live.contains("/theme"), "{live}");
    assert_eq!(person.app.options.look.theme.name, "dark");
    person.key(KeyCode::Esc);
    // The value is the one of the file already, but not the one in force.
    person.changed("ui.theme", coloured(Screen::Inline));
    assert_eq!(person.app.options.look.theme.name, "terminal");
    assert!(!person.app.options.notify);
}

#[test]
fn what_outranks_the_file_is_said_and_stays_in_force() {
    let mut person = Person::new();
    person.changed("ui.animation", options(Screen::Inline));
    let live = person.live();
    assert!(
        live.contains("ui.animation is in /c/config.toml. In this run --no-animation outranks it."),
        "{live}"
    );
    person.read(SettingsFor::List, options(Screen::Inline));
    person.types("animation");
    assert!(person.live().contains("in this run --no-animation outranks the file"));
}

#[test]
fn a_theme_is_worn_while_it_is_selected_and_taken_off_again() {
    let mut person = Person::with(coloured(Screen::Inline), (80, 24));
    let worn = |person: &Person| person.app.options.look.theme.name.clone();
    person.says("/theme");
    assert_eq!(person.requests(), [Request::ListThemes(ThemesFor::Session)]);
    person.reply(Reply::Themes(ThemesFor::Session, themes()));
    assert_eq!(worn(&person), "terminal");
    person.key(KeyCode::Down);
    assert_eq!(worn(&person), "dark");
    let style = person.app.options.look.style(Role::Text);
    assert_ne!(style, Theme::terminal().style(Role::Text));
    person.effects.clear();
    person.key(KeyCode::Down);
    assert_eq!(worn(&person), "high-contrast");
    assert!(person.effects.contains(&Effect::AskBackground), "it follows the background");
    person.key(KeyCode::Down);
    assert!(person.live().contains("bad.toml:2: unknown key"), "{}", person.live());
    person.key(KeyCode::Enter);
    assert!(person.live().contains("bad.toml:2: unknown key"), "{}", person.live());
    assert_eq!(worn(&person), "terminal", "a wrong theme is not worn");
    for close in [Key::plain(KeyCode::Esc), Key::ctrl('c')] {
        person.reply(Reply::Themes(ThemesFor::Session, themes()));
        person.types("dark");
        assert_eq!(worn(&person), "dark");
        person.press(close);
        assert_eq!(worn(&person), "terminal");
    }
    person.requests();
    person.reply(Reply::Themes(ThemesFor::Session, themes()));
    person.types("dark");
    person.key(KeyCode::Enter);
    assert_eq!((worn(&person), person.requests()), ("dark".to_owned(), Vec::new()), "for this session only");
    person.reply(Reply::Themes(ThemesFor::Session, themes()));
    person.types("terminal");
    person.press(Key::ctrl('s'));
    assert_eq!(person.requests(), [change("ui.theme", Some(&["terminal"]))]);
    assert_eq!(worn(&person), "terminal");
}

#[test]
fn without_colours_no_theme_has_some() {
    let mut person = Person::new();
    person.says("/theme dark");
    let theme = &person.app.options.look.theme;
    assert_eq!((theme.name.as_str(), theme.style(Role::Text).fg), ("dark", None));
}

#[test]
fn a_theme_of_the_user_is_chosen_by_its_name() {
    let mut person = Person::with(coloured(Screen::Inline), (80, 24));
    person.says("/theme mine");
    let by_name = ThemesFor::Name("mine".to_owned());
    assert_eq!(person.requests(), [Request::ListThemes(by_name.clone())]);
    person.reply(Reply::Themes(by_name.clone(), themes()));
    assert!(person.live().contains("there is no theme mine; choose terminal, dark, high-contrast, bad"));
    let mine = Theme::from_toml("mine", "base = 'dark'", Background::Dark).unwrap();
    let listed = ListedTheme { name: "mine".to_owned(), theme: Ok(mine), file: None };
    person.reply(Reply::Themes(by_name, vec![listed]));
    assert_eq!(person.app.options.look.theme.name, "mine");
}

#[test]
fn the_theme_of_the_settings_is_written_or_removed() {
    let mut person = Person::with(coloured(Screen::Inline), (80, 24));
    person.read(SettingsFor::List, coloured(Screen::Inline));
    person.types("theme");
    person.key(KeyCode::Enter);
    let wanted = ThemesFor::Setting { is_set: false };
    assert_eq!(person.requests(), [Request::ListThemes(wanted.clone())]);
    person.reply(Reply::Themes(wanted, themes()));
    person.types("dark");
    person.key(KeyCode::Enter);
    assert_eq!(person.requests(), [change("ui.theme", Some(&["dark"]))]);
    assert!(person.live().contains("settings >"));
    person.reply(Reply::Themes(ThemesFor::Setting { is_set: true }, themes()));
    person.types("unset");
    person.key(KeyCode::Enter);
    assert_eq!(person.requests(), [change("ui.theme", None)]);
}

/// Opens the list of what can be done with the keys of `undo`.
fn at_undo() -> Person {
    let mut person = Person::new();
    person.read(SettingsFor::List, options(Screen::Inline));
    person.types("ui.keys");
    person.key(KeyCode::Enter);
    person.types("undo");
    assert!(person.live().contains("ctrl+_, ctrl+/"), "{}", person.live());
    person.key(KeyCode::Enter);
    assert!(person.live().contains("ui.keys.undo >"), "{}", person.live());
    person
}

#[test]
fn a_key_is_bound_by_pressing_it() {
    let mut person = at_undo();
    person.types("set");
    person.key(KeyCode::Enter);
    assert!(person.live().contains("press the key"), "{}", person.live());
    person.press(Key::ctrl('q'));
    assert!(person.live().contains("ctrl+q"), "{}", person.live());
    person.key(KeyCode::Enter);
    assert_eq!(person.requests(), [change("ui.keys.undo", Some(&["[\"ctrl+q\"]"]))]);
    assert!(person.live().contains("ui.keys >"), "one is back in the list of actions: {}", person.live());
    let (bindings, _) = Bindings::with(&BTreeMap::from([("undo".to_owned(), vec!["ctrl+b".to_owned()])]));
    person.changed("ui.keys.undo", AppOptions { bindings, ..options(Screen::Inline) });
    let live = person.live();
    assert!(live.contains("ctrl+b"), "the list shows the new key: {live}");
    let told = live.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("never reaches 'undo', as 'left' takes it first"), "a clash is told: {live}");
}

#[test]
fn a_key_is_added_as_a_sequence_and_escape_and_enter_can_be_bound_too() {
    let mut person = at_undo();
    person.types("add");
    person.key(KeyCode::Enter);
    person.press(Key::ctrl('x'));
    person.key(KeyCode::Char('u'));
    person.key(KeyCode::Char('v'));
    person.key(KeyCode::Enter);
    let value = "[\"ctrl+_\",\"ctrl+/\",\"ctrl+x u\"]";
    assert_eq!(person.requests(), [change("ui.keys.undo", Some(&[value]))]);
    for (key, value) in [(KeyCode::Esc, "[\"esc\"]"), (KeyCode::Enter, "[\"enter\"]")] {
        let mut person = at_undo();
        person.types("set");
        person.key(KeyCode::Enter);
        person.key(key);
        person.key(KeyCode::Enter);
        assert_eq!(person.requests(), [change("ui.keys.undo", Some(&[value]))]);
    }
    let mut person = at_undo();
    person.types("set");
    person.key(KeyCode::Enter);
    person.press(Key::ctrl('q'));
    person.key(KeyCode::Esc);
    assert_eq!(person.requests(), [], "escape goes back");
    person.types("no key");
    person.key(KeyCode::Esc);
    let mut person = at_undo();
    person.types("no key");
    person.key(KeyCode::Enter);
    assert_eq!(person.requests(), [change("ui.keys.undo", Some(&["[]"]))]);
}

#[test]
fn plain_mode_lists_settings_by_number_and_takes_a_key_by_its_name() {
    let mut person = Person::at(Screen::Plain, (80, 24));
    person.line("/settings");
    assert_eq!(person.requests(), [Request::ReadSettings(SettingsFor::List)]);
    person.read(SettingsFor::List, options(Screen::Plain));
    person.frame();
    let line = "4. ui.enter, \"steer\", default, What ui.enter does.";
    assert!(person.committed.iter().any(|said| said == line), "{:#?}", person.committed);
    person.line("4");
    person.frame();
    assert!(person.committed.iter().any(|said| said == "2. after"), "{:#?}", person.committed);
    person.line("2");
    assert_eq!(person.requests(), [change("ui.enter", Some(&["after"]))]);
    person.changed("ui.enter", options(Screen::Plain));
    person.frame();
    assert!(person.committed.iter().any(|said| said == "ui.enter is in /c/config.toml."));
    person.line("hello");
    assert!(matches!(person.requests()[..], [Request::Send { .. }]), "no list is open any more");

    person.read(SettingsFor::One("ui.keys.undo".to_owned()), options(Screen::Plain));
    person.line("1");
    person.line("hyper+q");
    person.frame();
    assert!(person.committed.iter().any(|said| said.starts_with("'hyper+q' is no key")));
    person.line("ctrl+x u");
    assert_eq!(person.requests(), [change("ui.keys.undo", Some(&["[\"ctrl+x u\"]"]))]);
}

#[test]
fn a_refusal_is_shown_in_the_list_and_changes_nothing() {
    let mut person = Person::new();
    person.read(SettingsFor::List, options(Screen::Inline));
    person.reply(Reply::Failed("ui.theme: there is no theme \"mnie\"".to_owned()));
    let live = person.live();
    assert!(live.contains("ui.theme: there is no theme") && live.contains("settings >"), "{live}");
}

#[test]
fn a_permission_request_that_waits_moves_to_the_other_screen() {
    let mut person = Person::new();
    person.turn_begins();
    person.letter(Letter::Asked(AskId(7), Box::new(permission())));
    person.changed("ui.screen", options(Screen::Plain));
    person.frame();
    assert!(person.committed.iter().any(|line| line.starts_with("permission required: ")));
    person.changed("ui.screen", options(Screen::Inline));
    assert!(person.live().contains("rm -rf build"), "{}", person.live());
    person.waits(std::time::Duration::from_secs(2));
    person.waits(std::time::Duration::from_millis(500));
    person.types("n");
    person.waits(std::time::Duration::from_millis(200));
    assert!(matches!(person.answers()[..], [(AskId(7), _)]));
    person.changed("ui.screen", options(Screen::Plain));
    person.committed.clear();
    person.frame();
    assert!(!person.committed.iter().any(|line| line.starts_with("permission required: ")), "it is answered");
}
