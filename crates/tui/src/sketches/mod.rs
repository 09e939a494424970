//! Pictures of the whole interface, as the contract sketches it: a terminal emulator shows each at
//! 80 × 24 and 40 × 12.
//!
//! Tests only. A change that is meant is renewed by `INSTA_UPDATE=always cargo nextest run -p tui
//! pictures`, and reviewed in the difference of the files below `snapshots`.

mod play;

use crate::input::{Key, KeyCode};
use agent::{SessionEvent, TurnEnd};
use play::Play;

/// Plays a scene on both sizes, and compares what the terminal shows.
macro_rules! picture {
    ($name:ident, $play:expr) => {
        #[test]
        fn $name() {
            let sizes = [(80, 24), (40, 12)];
            let shown = sizes.map(|size| play::shown(size, $play));
            insta::assert_snapshot!(stringify!($name), shown.concat());
        }
    };
}

/// The words that are in the composer of several pictures.
const DRAFT: &str = "and the changelog";

mod pictures {
    use super::*;

    picture!(a_turn_that_runs, |play: &mut Play| {
        play.turn();
        play.says("keep the public signature");
        play.types("then update the changelog");
        play.key(Key::plain(KeyCode::Tab));
        play.types(DRAFT);
    });

    picture!(a_permission_that_waits_while_one_types, |play: &mut Play| {
        play.turn();
        play.types(DRAFT);
        play.asks(play::push());
    });

    picture!(a_permission_with_the_focus, |play: &mut Play| {
        play.turn();
        play.waits();
        play.asks(play::push());
    });

    picture!(a_permission_that_shows_what_always_covers, |play: &mut Play| {
        play.turn();
        play.waits();
        play.asks(play::push());
        play.waits();
        play.types("a");
    });

    picture!(a_permission_with_a_change, |play: &mut Play| {
        play.turn();
        play.waits();
        play.asks(play::edit());
    });

    picture!(plan_and_agents_opened, |play: &mut Play| {
        play.turn();
        play.plan();
        play.key(Key::ctrl('t'));
    });

    picture!(plan_and_agents_in_a_row, |play: &mut Play| {
        play.turn();
        play.plan();
    });

    picture!(the_list_of_sessions, |play: &mut Play| {
        play.says("/sessions");
        play.reply(play::sessions());
        play.key(Key::plain(KeyCode::Down));
        play.reply(play::glance());
    });

    picture!(the_list_of_models, |play: &mut Play| {
        play.says("/model");
        play.reply(play::models());
    });

    picture!(a_search_in_the_transcript, |play: &mut Play| {
        play.turn();
        play.key(Key::ctrl('o'));
        play.types("/pag");
        play.key(Key::plain(KeyCode::Enter));
        play.types("N");
    });

    picture!(a_question, |play: &mut Play| {
        play.turn();
        play.waits();
        play.asks(play::question());
    });

    picture!(a_turn_that_failed, |play: &mut Play| {
        play.turn();
        let why = "anthropic: the key was refused (401)\nrun: tiller setup".to_owned();
        play.event(SessionEvent::TurnEnded { turn: "run_1".into(), end: TurnEnd::Failed(why) });
    });

    picture!(completions_of_a_command, |play: &mut Play| {
        play.types("/co");
    });
}
