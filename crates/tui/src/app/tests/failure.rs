//! Turns that fail, and the key that tries them again.

use super::{Person, sent};
use crate::{
    driver::{
        reply::Reply,
        request::{PromptId, When},
    },
    input::{Key, KeyCode},
    keys::Bindings,
    screens::frame::Screen,
};
use agent::{ModelResponse, SessionEvent, StopReason, TurnEnd};
use std::time::Duration;

const ENTER: Key = Key::plain(KeyCode::Enter);
const HINT: &str = "r enter: try again";

/// A person whose prompt failed.
fn failed(screen: Screen) -> Person {
    let mut person = Person::at(screen, (80, 24));
    fail(&mut person);
    person
}

fn fail(person: &mut Person) {
    person.turn_begins();
    person.turn_ends(TurnEnd::Failed("lab is overloaded (429): slow down; wait a little".to_owned()));
}

fn responds(person: &mut Person, model: &str) {
    let response = ModelResponse::from_text("m".into(), "t".into(), model, "text");
    person.event(SessionEvent::ModelResponse(response));
    person.turn_ends(TurnEnd::Stopped(StopReason::EndTurn));
}

#[test]
fn a_failure_shows_what_happened_what_to_do_and_the_key() {
    let mut person = failed(Screen::Inline);
    let live = person.live();
    assert!(live.contains(HINT), "{live}");
    let said = person.committed.join("\n");
    assert!(said.contains("✗ error  lab is overloaded (429): slow down"), "{said}");
    assert!(said.contains("to do: wait a little"), "{said}");
}

#[test]
fn the_letter_tries_again_only_as_the_whole_message() {
    let mut person = failed(Screen::Inline);
    person.types("r");
    assert_eq!(person.requests(), [], "a letter alone does nothing");
    assert!(person.live().contains(HINT));
    // However long the person waits before Enter.
    person.waits(Duration::from_secs(60));
    person.press(ENTER);
    assert_eq!(person.requests(), [sent("/retry", 1, When::After)]);
    assert!(!person.live().contains(HINT), "it was requested");
}

#[test]
fn nothing_that_is_typed_after_an_error_is_lost() {
    for pause in [0, 500, 5_000] {
        let mut person = failed(Screen::Inline);
        person.waits(Duration::from_millis(pause));
        person.types("r");
        person.waits(Duration::from_millis(pause));
        person.types("un it again");
        assert!(!person.live().contains(HINT));
        person.press(ENTER);
        assert_eq!(person.requests(), [sent("run it again", 1, When::Next)]);
    }
}

#[test]
fn the_letter_is_a_message_where_nothing_can_be_tried_again() {
    let mut person = Person::new();
    person.says("r");
    assert_eq!(person.requests(), [sent("r", 1, When::Next)]);
    let mut person = failed(Screen::Inline);
    person.turn_begins();
    responds(&mut person, "lab/model");
    assert!(!person.live().contains(HINT));
    person.says("r");
    assert_eq!(person.requests(), [sent("r", 1, When::Next)]);
    person.reply(Reply::Inserted(PromptId(1)));
    fail(&mut person);
    person.turn_begins();
    person.says("r");
    assert_eq!(person.requests(), [sent("r", 2, When::Next)], "a turn runs");
}

#[test]
fn a_command_in_between_leaves_the_failed_turn_to_be_tried_again() {
    let mut person = failed(Screen::Inline);
    person.turn_begins();
    responds(&mut person, "");
    assert!(person.live().contains(HINT));
}

#[test]
fn another_key_acts_at_once_on_an_empty_message() {
    let (bindings, errors) = Bindings::with(&[("retry".to_owned(), vec!["ctrl+q".to_owned()])].into());
    assert_eq!(errors, []);
    let mut person = Person::new();
    person.app.options.bindings = bindings;
    person.press(Key::ctrl('q'));
    assert_eq!(person.requests(), [], "nothing failed");
    fail(&mut person);
    assert!(person.live().contains("ctrl+q: try again"));
    person.types("some text");
    person.press(Key::ctrl('q'));
    assert_eq!(person.requests(), [], "something is being written");
    person.press(Key::ctrl('c'));
    person.requests();
    person.press(Key::ctrl('q'));
    assert_eq!(person.requests(), [sent("/retry", 1, When::After)]);
}

#[test]
fn in_plain_mode_the_letter_is_a_line() {
    let mut person = failed(Screen::Plain);
    person.frame();
    let said = person.committed.join("\n");
    assert!(said.contains("the turn failed; r enter asks again"), "{said}");
    person.line("r");
    assert_eq!(person.requests(), [sent("/retry", 1, When::After)]);
}
