//! Every size of the terminal, for every screen, panel, list and overlay: nothing panics, and what
//! is shown fits.

use super::{fields, stage::Stage};
use crate::{
    client::{asks::AskId, mailbox::Letter},
    driver::reply::Reply,
    screens::frame::Screen,
};
use proptest::prelude::*;

/// What is open.
#[derive(Debug, Clone, Copy)]
enum Open {
    Nothing,
    Reply(usize),
    Asked(usize),
    Keys(&'static str),
}

fn open() -> impl Strategy<Value = Open> {
    prop_oneof![
        Just(Open::Nothing),
        (0..fields::replies("").len()).prop_map(Open::Reply),
        (0..4_usize).prop_map(Open::Asked),
        prop::sample::select(vec![
            "ctrl+t",
            "ctrl+o",
            "?",
            "/",
            "@",
            "ctrl+r",
            "/ t h e m e enter",
            "/ p e r m i s s i o n s enter",
            "ctrl+o / a enter",
            "a ctrl+j b ctrl+j c",
        ])
        .prop_map(Open::Keys),
    ]
}

fn side() -> impl Strategy<Value = u16> {
    prop_oneof![1..8_u16, 1..60_u16, 1..200_u16]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_size_shows_something_that_fits(
        open in open(), sizes in prop::collection::vec((side(), side()), 1..4), screen in 0..3_usize,
        text in prop::sample::select(vec!["short", "漢字 é\u{301} 👩\u{200d}👧 ", "a very long line of words that goes on and on "]),
    ) {
        let screen = [Screen::Inline, Screen::Full, Screen::Plain][screen];
        let text = text.repeat(7);
        let mut stage = Stage::new(screen, sizes[0]);
        stage.letter(Letter::Reply(Box::new(fields::opened(&text))));
        for event in super::corpus::events(&text) {
            stage.letter(Letter::Event(Box::new(event)));
        }
        stage.letter(Letter::Reply(Box::new(Reply::Replayed)));
        stage.draw();
        match open {
            Open::Nothing => {}
            Open::Reply(number) => {
                let reply = fields::replies(&text).swap_remove(number);
                stage.letter(Letter::Reply(Box::new(reply)));
            }
            Open::Asked(number) => {
                let mut asks = fields::permissions(&text);
                asks.push(fields::question(&text));
                stage.letter(Letter::Asked(AskId(1), Box::new(asks.swap_remove(number))));
            }
            Open::Keys(keys) => {
                for key in keys.split(' ') {
                    let chord: crate::keys::spelling::Chord = key.parse().expect("a key");
                    chord.keys().iter().for_each(|key| stage.key(*key));
                }
            }
        }
        for (columns, rows) in sizes {
            stage.resize(columns, rows);
            for key in ["down", "v", "tab", "]", "pgdn", "x"] {
                let frame = stage.draw();
                prop_assert!(frame.live.len() <= usize::from(rows), "{} rows of {rows}", frame.live.len());
                if let Some((column, row)) = frame.cursor {
                    prop_assert!(column < columns, "{column} of {columns}");
                    prop_assert!(usize::from(row) < frame.live.len().max(1));
                }
                let chord: crate::keys::spelling::Chord = key.parse().expect("a key");
                chord.keys().iter().for_each(|key| stage.key(*key));
            }
        }
    }
}
