//! `/settings` and `/theme` in a terminal: what is chosen is in the user's file and in force.

use super::{READY, RUNNING, Tmux, open_model, open_with};
use crate::home::Home;
use std::path::PathBuf;

const FILE: &str = "agent.default_model = 'offline/pilot'\nproviders.local.discover = false\n\
                    [ui] # look\n# the colours\ntheme = \"dark\" # for now\n";

/// A file beside the user's settings.
fn beside(home: &Home, name: &str) -> PathBuf {
    home.path().join("home/.config/tiller").join(name)
}

fn written(home: &Home) -> String {
    std::fs::read_to_string(beside(home, "config.toml")).unwrap()
}

/// A screen as one line, so that it does not matter where a message is wrapped.
fn told(screen: &str) -> String {
    screen.split_whitespace().collect()
}

fn open(home: &Home, arguments: &str) -> Option<Tmux> {
    home.settings(FILE);
    open_with(home, arguments)
}

#[test]
fn a_setting_is_chosen_written_with_its_comments_kept_and_in_force() {
    let home = Home::new();
    let Some(tmux) = open(&home, "") else { return };
    tmux.say("/settings");
    let screen = tmux.wait_for("ui.history");
    assert!(screen.contains("ui.theme") && screen.contains("config.toml:5"), "{screen}");
    tmux.text("screen");
    tmux.wait_for("settings > screen");
    tmux.key("Enter");
    tmux.wait_for("ui.screen >");
    tmux.key("Down");
    tmux.key("Down");
    tmux.wait_for("▸ full");
    tmux.key("Enter");
    tmux.wait_for("ui.screen = \"full\" is in");
    assert_eq!(tmux.property("#{alternate_on}"), "1", "it is in force");
    assert_eq!(written(&home), format!("{FILE}screen = \"full\"\n"));
    tmux.key("Escape");
    tmux.wait_for(READY);
    tmux.say("/settings unset screen");
    tmux.wait_for("ui.screen is not in");
    assert_eq!(tmux.property("#{alternate_on}"), "0");
    assert_eq!(written(&home), FILE);
}

#[test]
fn what_is_refused_names_the_setting_and_writes_nothing() {
    let home = Home::new();
    let Some(tmux) = open(&home, "--screen inline") else { return };
    for (line, says) in [
        ("/settings ui.theme drak", "ui.theme: there is no theme \"drak\"; did you mean \"dark\"?"),
        ("/settings ui.enter later", "ui.enter: "),
        ("/settings ui.keys.udno x", "there is no action 'udno'; did you mean 'undo'?"),
        ("/settings ui.keys.permission_once enter", "ui.keys.permission_once: 'enter' may not answer"),
        ("/settings ui.tehme dark", "ui.tehme"),
    ] {
        tmux.say(line);
        tmux.wait(says, |screen| told(screen).contains(&told(says)));
        assert_eq!(written(&home), FILE);
    }
    tmux.say("/settings ui.screen full");
    let says = "In this run --screen outranks it.";
    tmux.wait(says, |screen| told(screen).contains(&told(says)));
    assert_eq!(tmux.property("#{alternate_on}"), "0");
    assert!(written(&home).contains("screen = \"full\""), "it is for the next run");
}

#[test]
fn a_key_that_is_bound_by_pressing_it_works_at_once() {
    let home = Home::new();
    let Some(tmux) = open(&home, "") else { return };
    tmux.say("/settings ui.keys.help");
    tmux.wait_for("ui.keys.help >");
    tmux.key("Enter");
    tmux.wait_for("press the key");
    tmux.key("C-q");
    tmux.wait_for("> ctrl+q");
    tmux.key("Enter");
    tmux.wait_for("ui.keys.help = [\"ctrl+q\"] is in");
    assert!(written(&home).contains("[ui.keys]\nhelp = [\"ctrl+q\"]"), "{}", written(&home));
    tmux.key("Escape");
    tmux.wait_for(READY);
    tmux.key("C-q");
    tmux.wait_for("moves to the question that waits");
}

#[test]
fn the_history_and_the_meaning_of_enter_follow_the_settings_at_once() {
    let Some((model, home, tmux)) = open_model() else { return };
    tmux.say("/settings ui.history false");
    tmux.wait_for("ui.history = false is in");
    tmux.say("/settings ui.enter after");
    tmux.wait_for("ui.enter = \"after\" is in");
    tmux.say("one for nobody");
    let answer = model.next();
    tmux.wait_for(RUNNING);
    tmux.say("and then");
    tmux.wait_for("after ▸ \"and then\"");
    answer.say("done");
    model.next().say("done too");
    tmux.wait_for("tiller  done too");
    let history =
        std::fs::read_to_string(home.path().join("home/.local/share/tiller/history.jsonl")).unwrap();
    assert!(history.contains("ui.history") && !history.contains("for nobody"), "{history}");
}

/// How the terminal gets the colour `bright-magenta`.
const LOUD: &str = "\u{1b}[95m";

#[test]
fn a_theme_of_the_user_is_previewed_and_a_wrong_one_is_told() {
    let home = Home::new();
    home.settings(&FILE.replace("dark", "mine"));
    let themes = beside(&home, "themes");
    std::fs::create_dir(&themes).unwrap();
    std::fs::write(themes.join("mine.toml"), "base = 'dark'\n\n[user]\nfg = '#010203'\nblod = true\n")
        .unwrap();
    std::fs::write(themes.join("loud.toml"), "user = 'bright-magenta'\n").unwrap();
    let Some(tmux) = Tmux::start(&home, &[("TILLER", env!("CARGO_BIN_EXE_tiller"))]) else { return };
    tmux.shell("$TILLER; echo over=$?");
    let says = "themes/mine.toml:5: unknown key \"blod\"; did you mean \"bold\"?; the default theme is used";
    tmux.wait(says, |screen| told(screen).contains(&told(says)));
    tmux.say("/theme");
    let screen = tmux.wait_for("high-contrast");
    assert!(screen.contains("mine") && screen.contains("cannot be used"), "{screen}");
    tmux.text("loud");
    tmux.wait_styled("the theme is worn", |cells| cells.contains(LOUD));
    tmux.key("Escape");
    tmux.wait_for(READY);
    tmux.wait_styled("the theme is taken off", |cells| !cells.contains(LOUD));
    tmux.say("/theme loud");
    tmux.wait_styled("the theme is worn", |cells| cells.contains(LOUD));
}
