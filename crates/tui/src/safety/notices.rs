//! Notifications and titles: when there are any, and what they say.

use super::fields;
use crate::{
    app::{
        App, FirstMessage,
        effect::{Effect, Occasion},
    },
    client::{asks::AskId, mailbox::Letter},
    driver::reply::Reply,
    input::Input,
    keys::Bindings,
    look::Look,
    options::AppOptions,
    screens::frame::Screen,
    theme::Theme,
};
use agent::{SessionEvent, StopReason, TurnEnd};
use std::time::Duration;

fn app(notify: bool) -> App {
    let options = AppOptions {
        look: Look::new(Theme::terminal(), 80),
        bindings: Bindings::default(),
        screen: Screen::Inline,
        enter_steers: true,
        animation: false,
        notify,
        everywhere: false,
        notes: Default::default(),
        switches: crate::screens::terminal::Switches::default(),
    };
    let mut app = App::new(options, (80, 24), FirstMessage::default());
    app.letter(Letter::Reply(Box::new(fields::opened("My\u{1b}[2J title; of \u{202e}text"))));
    app.letter(Letter::Reply(Box::new(Reply::Replayed)));
    app
}

fn event(event: SessionEvent) -> Letter {
    Letter::Event(Box::new(event))
}

fn ended(end: TurnEnd) -> Letter {
    event(SessionEvent::TurnEnded { turn: "r".into(), end })
}

fn occasions(effects: &[Effect]) -> Vec<Occasion> {
    let occasion = |effect: &Effect| match effect {
        Effect::Notify(occasion) => Some(*occasion),
        _ => None,
    };
    effects.iter().filter_map(occasion).collect()
}

#[test]
fn one_who_looks_at_a_short_turn_is_not_notified() {
    for (notify, focused, seconds) in
        [(true, true, 1), (true, true, 11), (true, false, 1), (false, false, 11)]
    {
        let wanted = notify && (!focused || seconds > 10);
        let letters = {
            let permission = fields::permissions("x").swap_remove(0);
            [
                (Letter::Asked(AskId(1), Box::new(permission)), Some(Occasion::Permission)),
                (Letter::Asked(AskId(2), Box::new(fields::question("x"))), Some(Occasion::Question)),
                (ended(TurnEnd::Stopped(StopReason::EndTurn)), Some(Occasion::Ended)),
                (ended(TurnEnd::Failed("no key".to_owned())), Some(Occasion::Failed)),
                (ended(TurnEnd::Stopped(StopReason::Cancelled)), None),
            ]
        };
        for (letter, occasion) in letters {
            let mut app = app(notify);
            app.input(Input::Focus(focused), Duration::ZERO);
            app.letter(event(SessionEvent::TurnStarted { turn: "r".into(), prompt: None }));
            app.set_now(Duration::from_secs(seconds));
            let effects = app.letter(letter);
            let expected: Vec<_> = occasion.filter(|_| wanted).into_iter().collect();
            assert_eq!(occasions(&effects), expected, "{notify} {focused} {seconds}");
        }
    }
}

#[test]
fn a_notification_says_fixed_words_and_the_title() {
    let mut app = app(true);
    assert_eq!(app.notification(Occasion::Ended), "Tiller has finished: My title; of text");
    app.letter(event(SessionEvent::MessageDelta { id: "m".into(), text: "said by the model".to_owned() }));
    assert_eq!(app.notification(Occasion::Question), "Tiller asks a question: My title; of text");
    app.letter(event(SessionEvent::TitleChanged("W".repeat(10_000))));
    assert!(app.notification(Occasion::Failed).len() < 120);
    app.letter(event(SessionEvent::TitleChanged("\u{1b}[2J\u{200b}".to_owned())));
    assert_eq!(app.notification(Occasion::Permission), "Tiller waits for a permission");
}

#[test]
fn the_title_of_the_terminal_names_the_session() {
    let mut app = app(true);
    let effects = app.letter(event(SessionEvent::TitleChanged("Fix\u{7} pages".to_owned())));
    assert!(effects.contains(&Effect::Title("tiller: Fix pages".to_owned())), "{effects:?}");
    app.letter(Letter::Reply(Box::new(fields::opened("Other"))));
    assert_eq!(app.letter(event(SessionEvent::TitleChanged("stored".to_owned()))), [], "it is replayed");
    let effects = app.letter(Letter::Reply(Box::new(Reply::Replayed)));
    assert!(effects.contains(&Effect::Title("tiller: stored".to_owned())), "{effects:?}");
}
