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
fn picture(name: &str, scene: fn(&mut Play)) {
    let shown = [(80, 24), (40, 12)].map(|size| play::shown(size, scene));
    insta::assert_snapshot!(name, shown.concat());
}

/// The words that are in the composer of several pictures.
const DRAFT: &str = "and the changelog";

mod pictures {
    use super::*;

    #[test]
    fn a_turn_that_runs() {
        picture("a_turn_that_runs", |play| {
            play.turn();
            play.says("keep the public signature");
            play.types("then update the changelog");
            play.key(Key::plain(KeyCode::Tab));
            play.types(DRAFT);
        });
    }

    #[test]
    fn a_permission_that_waits_while_one_types() {
        picture("a_permission_that_waits_while_one_types", |play| {
            play.turn();
            play.types(DRAFT);
            play.asks(play::push());
        });
    }

    #[test]
    fn a_permission_with_the_focus() {
        picture("a_permission_with_the_focus", |play| {
            play.turn();
            play.waits();
            play.asks(play::push());
        });
    }

    #[test]
    fn a_permission_that_shows_what_always_covers() {
        picture("a_permission_that_shows_what_always_covers", |play| {
            play.turn();
            play.waits();
            play.asks(play::push());
            play.waits();
            play.types("a");
        });
    }

    #[test]
    fn a_permission_with_a_change() {
        picture("a_permission_with_a_change", |play| {
            play.turn();
            play.waits();
            play.asks(play::edit());
        });
    }

    #[test]
    fn plan_and_agents_opened() {
        picture("plan_and_agents_opened", |play| {
            play.turn();
            play.plan();
            play.key(Key::ctrl('t'));
        });
    }

    #[test]
    fn plan_and_agents_in_a_row() {
        picture("plan_and_agents_in_a_row", |play| {
            play.turn();
            play.plan();
        });
    }

    #[test]
    fn the_list_of_sessions() {
        picture("the_list_of_sessions", |play| {
            play.says("/sessions");
            play.reply(play::sessions());
            play.key(Key::plain(KeyCode::Down));
            play.reply(play::glance());
        });
    }

    #[test]
    fn the_list_of_models() {
        picture("the_list_of_models", |play| {
            play.says("/model");
            play.reply(play::models());
        });
    }

    #[test]
    fn a_search_in_the_transcript() {
        picture("a_search_in_the_transcript", |play| {
            play.turn();
            play.key(Key::ctrl('o'));
            play.types("/pag");
            play.key(Key::plain(KeyCode::Enter));
            play.types("N");
        });
    }

    #[test]
    fn a_question() {
        picture("a_question", |play| {
            play.turn();
            play.waits();
            play.asks(play::question());
        });
    }

    #[test]
    fn a_turn_that_failed() {
        picture("a_turn_that_failed", |play| {
            play.turn();
            let why = "anthropic: the key was refused (401)\nrun: tiller setup".to_owned();
            play.event(SessionEvent::TurnEnded { turn: "run_1".into(), end: TurnEnd::Failed(why) });
        });
    }

    #[test]
    fn completions_of_a_command() {
        picture("completions_of_a_command", |play| {
            play.types("/co");
        });
    }
}
