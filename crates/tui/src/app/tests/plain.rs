//! Conversations in plain mode: what is printed, and when a line is asked for.

use super::{Person, permission, sent};
use crate::{
    client::{asks::AskId, mailbox::Letter},
    driver::{
        reply::Reply,
        request::{PromptId, When},
    },
    screens::frame::Screen,
};
use agent::{Content, MessageId, SessionEvent, StopReason, TurnEnd};
use std::time::Duration;

impl Person {
    /// Draws; returns whether a line is asked for.
    fn asks_for_a_line(&mut self) -> bool {
        !self.frame().live.is_empty()
    }

    /// The runtime takes a prompt into the conversation.
    fn inserted(&mut self, id: u64, text: &str) {
        self.turn_begins();
        self.event(SessionEvent::UserMessage {
            id: MessageId(format!("m{id}")),
            content: vec![Content::text(text)],
        });
        self.reply(Reply::Inserted(PromptId(id)));
    }
}

#[test]
fn a_line_is_asked_for_whenever_one_is_awaited_and_not_before() {
    let mut person = Person::at(Screen::Plain, (80, 24));
    assert!(person.asks_for_a_line());
    person.line("hello");
    assert_eq!(person.requests(), [sent("hello", 1, When::Next)]);
    assert!(!person.asks_for_a_line(), "the message waits for its turn");
    person.inserted(1, "hello");
    assert!(!person.asks_for_a_line(), "the turn runs");
    person.letter(Letter::Asked(AskId(1), Box::new(permission())));
    assert!(person.asks_for_a_line(), "the answer is awaited");
    person.line("no");
    assert!(!person.asks_for_a_line());
    person.turn_ends(TurnEnd::Stopped(StopReason::EndTurn));
    assert!(person.asks_for_a_line());
    // What a command asks for comes first; but it is not waited for endlessly.
    person.line("/sessions");
    assert!(!person.asks_for_a_line());
    person.reply(Reply::Sessions { sessions: Vec::new(), more: false });
    assert!(person.asks_for_a_line(), "a number is awaited");
    person.line("cancel");
    assert!(person.asks_for_a_line());
    person.line("/theme");
    assert!(!person.asks_for_a_line());
    assert!(person.app.next_tick().is_some());
    person.waits(Duration::from_secs(2));
    assert!(person.asks_for_a_line());
}

#[test]
fn a_typed_line_is_not_printed_again_where_the_terminal_shows_it() {
    for (echoes, printed) in [(true, 0), (false, 1)] {
        let mut person = Person::at(Screen::Plain, (80, 24));
        person.app.set_echo(echoes);
        person.line("hello there");
        person.line("!git status");
        person.inserted(1, "hello there");
        person.inserted(2, "/run git status");
        // Another program of the session sent this one.
        person.inserted(3, "from elsewhere");
        person.inserted(4, "hello there");
        person.frame();
        let count = |line: &str| person.committed.iter().filter(|said| *said == line).count();
        assert_eq!(count("you: hello there"), printed + 1, "{:#?}", person.committed);
        assert_eq!(count("you: ! git status"), printed, "{:#?}", person.committed);
        assert_eq!(count("you: from elsewhere"), 1);
    }
}

#[test]
fn a_question_rings_the_bell_and_the_end_of_a_short_turn_does_not() {
    let notified = |person: &Person| person.effects.iter().any(|it| matches!(it, super::Effect::Notify(_)));
    let mut person = Person::at(Screen::Plain, (80, 24));
    person.turn_begins();
    person.letter(Letter::Asked(AskId(1), Box::new(permission())));
    assert!(notified(&person));
    person.effects.clear();
    person.turn_ends(TurnEnd::Stopped(StopReason::EndTurn));
    assert!(!notified(&person));
}
