//! Messages that are likely a slip.

use super::Person;
use crate::{app::effect::Effect, driver::request::Request, input::Key, screens::frame::Screen};
use agent::{StopReason, TurnEnd};

#[test]
fn a_likely_slip_is_not_sent() {
    let mut person = Person::new();
    for (slip, says) in [
        ("!", "write a command behind the !"),
        ("/qiut", "there is no command /qiut; did you mean /quit?"),
        ("/bananas", "there is no command /bananas; /help lists the commands"),
        ("/sesions foo", "there is no command /sesions; did you mean /sessions?"),
        ("/bananas are yellow", "there is no command /bananas; /help lists the commands; a blank before"),
    ] {
        person.says(slip);
        assert_eq!(person.requests(), [], "{slip}");
        let live = person.live();
        assert!(live.contains(says), "{live}");
        assert!(slip == "!" || live.contains(&format!("> {slip}")), "the draft is kept: {live}");
        person.press(Key::ctrl('c'));
        person.requests();
    }
    for prompt in [
        "/usr/bin is full",
        "/usr/bin/x is broken",
        "/etc/hosts has a wrong line",
        "/tmp is full",
        "/README.md is old",
        "//TODO why?",
        " /bananas are yellow",
        "exit the loop early",
        "quitting",
    ] {
        person.says(prompt);
        assert!(matches!(person.requests()[..], [Request::Send { .. }]), "{prompt}");
    }
    person.turn_begins();
    person.says("exit");
    assert!(!person.effects.contains(&Effect::Quit) && person.requests().is_empty());
    person.turn_ends(TurnEnd::Stopped(StopReason::EndTurn));
    person.says("exit");
    assert!(person.effects.contains(&Effect::Quit));
}

#[test]
fn in_plain_mode_a_slip_is_told_and_not_sent() {
    let mut person = Person::at(Screen::Plain, (80, 24));
    person.line("/sesions foo");
    assert_eq!(person.requests(), []);
    person.frame();
    let said = person.committed.join("\n");
    assert!(said.contains("there is no command /sesions; did you mean /sessions?"), "{said}");
    person.line("/etc/hosts is odd");
    assert!(matches!(person.requests()[..], [Request::Send { .. }]));
}
