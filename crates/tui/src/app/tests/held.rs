//! A session that another process holds.

use super::{Person, sent};
use crate::{
    app::FirstMessage,
    driver::{
        reply::{OpenedSession, Reply},
        request::{Request, When},
    },
    input::Key,
    screens::frame::Screen,
};
use agent::{Content, LeaseHolder, SessionEvent, TurnEnd};

fn holder() -> LeaseHolder {
    LeaseHolder { pid: 4242, host: "desk".to_owned(), since: "2026-11-25T08:00:00Z".to_owned() }
}

fn held() -> OpenedSession {
    OpenedSession { held: Some(holder()), new: false, ..Person::opened() }
}

fn told(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { id: "u".into(), content: vec![Content::text(text)] }
}

#[test]
fn it_is_shown_followed_and_says_who_has_it() {
    let mut person = Person::without_session(Screen::Inline, (80, 24), FirstMessage::default());
    person.opens(held(), &[told("said before")]);
    let live = person.live();
    assert!(live.contains("read-only · ctrl+y: take it over · process 4242 on desk has it"), "{live}");
    assert!(person.committed.join("\n").contains("said before"));
    assert_eq!(person.requests(), [], "nothing is asked of a session that is not open");
    person.turn_begins();
    person.event(told("said meanwhile"));
    person.turn_ends(TurnEnd::Failed("it broke".to_owned()));
    let live = person.live();
    assert!(!live.contains("esc: stop") && !live.contains("try again"), "{live}");
    assert!(person.committed.join("\n").contains("said meanwhile"));
    person.reply(Reply::HeldBy(None));
    assert!(person.live().contains("read-only · ctrl+y: open it · the process that had it"));
}

#[test]
fn nothing_is_sent_and_the_draft_is_kept() {
    let mut person = Person::without_session(Screen::Inline, (80, 24), FirstMessage::default());
    person.opens(held(), &[]);
    person.requests();
    person.says("go on");
    assert_eq!(person.requests(), []);
    let live = person.live();
    assert!(live.contains("> go on") && live.contains("read-only, so nothing was sent"), "{live}");
    // The key edits while there is text, as ever.
    person.press(Key::ctrl('u'));
    person.press(Key::ctrl('y'));
    assert_eq!(person.requests(), [Request::TakeOver], "the message was empty");
    person.types("text");
    person.press(Key::ctrl('y'));
    assert_eq!(person.requests(), [], "there is text");
    person.press(Key::ctrl('c'));
    person.says("/take-over");
    assert_eq!(person.requests(), [Request::TakeOver]);
}

#[test]
fn taking_it_over_goes_on_without_printing_it_again_and_sends_the_prompt() {
    let first = FirstMessage { prompt: Some("and now?".to_owned()), images: Vec::new() };
    let mut person = Person::without_session(Screen::Inline, (80, 24), first);
    person.opens(held(), &[told("said before")]);
    assert!(person.live().contains("your message is sent once you have taken the session over"));
    assert_eq!(person.requests(), []);
    person.press(Key::ctrl('y'));
    assert_eq!(person.requests(), [Request::TakeOver]);
    person.opens(Person::opened(), &[told("said before"), told("said last")]);
    let live = person.live();
    assert!(!live.contains("read-only"), "{live}");
    let committed = person.committed.join("\n");
    assert_eq!(committed.matches("said before").count(), 1, "{committed}");
    assert_eq!(committed.matches("said last").count(), 1, "{committed}");
    assert!(person.requests().contains(&sent("and now?", 1, When::After)));
    person.says("/take-over");
    assert_eq!(person.requests(), []);
}

#[test]
fn in_plain_mode_a_line_says_who_has_it_and_a_command_takes_it_over() {
    let mut person = Person::without_session(Screen::Plain, (80, 24), FirstMessage::default());
    person.opens(held(), &[]);
    person.frame();
    let said = person.committed.join("\n");
    assert!(said.contains("read-only: process 4242 on desk has it since"), "{said}");
    assert!(said.contains("; /take-over: take it over"), "{said}");
    person.line("hello");
    assert_eq!(person.requests(), []);
    person.line("/take-over");
    assert_eq!(person.requests(), [Request::TakeOver]);
}
