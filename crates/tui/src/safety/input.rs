//! What the terminal sends, and what is sanitised, however it is cut into pieces.

use crate::terminal::events::{Decoder, Event};
use proptest::{collection::vec, prelude::*, sample::Index};
use std::time::Duration;

/// Parts of keys, reports, pastes and sequences, and any bytes.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "a",
        "\u{fc}",
        "\u{6f22}",
        "\r",
        "\n",
        "\t",
        "\u{1b}",
        "\u{1b}[",
        "\u{1b}[A",
        "\u{1b}[1;5D",
        "\u{1b}OP",
        "\u{1b}[200~",
        "\u{1b}[201~",
        "\u{1b}[I",
        "\u{1b}[O",
        "\u{1b}[<0;5;7M",
        "\u{1b}[97;5u",
        "\u{1b}[27;5;106~",
        "\u{1b}]11;rgb:0/0/0\u{7}",
        "\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\",
        "\u{1b}P>|tmux 3.4\u{1b}\\",
        "\u{1b}[?62;22c",
        "\u{1b}[?2026;2$y",
        "\u{1b}_x",
        "\u{1b}\\",
        "\u{7}",
        "1;2",
        "~",
        "\u{9b}2J",
    ])
    .prop_map(|text| text.as_bytes().to_vec());
    prop_oneof![4 => known, 1 => vec(any::<u8>(), 1..4)]
}

/// Returns the events of bytes that come in these pieces at once, and then a long pause. The
/// terminal marks what is pasted, so that nothing is guessed by speed.
fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut decoder = Decoder::default();
    decoder.push(b"\x1b[?2004;1$y", Duration::ZERO);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(decoder.push(piece, Duration::ZERO));
    }
    // An escape at the end is a key after a while; what follows it may be one again.
    for _ in 0..4 {
        let Some(deadline) = decoder.deadline() else { break };
        events.extend(decoder.expire(deadline));
    }
    events
}

/// Cuts a slice at these places.
fn pieces<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.sort_unstable();
    let (mut from, mut pieces) = (0, Vec::new());
    for to in at.into_iter().chain([bytes.len()]) {
        pieces.push(&bytes[from..to]);
        from = to;
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_any_pieces_are_the_same_events(parts in vec(part(), 0..20), cuts in vec(any::<Index>(), 0..8)) {
        let bytes = parts.concat();
        let whole = events([bytes.as_slice()]);
        prop_assert_eq!(&events(pieces(&bytes, &cuts)), &whole);
        prop_assert_eq!(&events(bytes.chunks(1)), &whole);
    }

    #[test]
    fn a_sanitised_text_is_the_same_in_any_pieces(parts in vec(part(), 0..20), cuts in vec(any::<Index>(), 0..8)) {
        let text = String::from_utf8_lossy(&parts.concat()).into_owned();
        let mut places: Vec<usize> = cuts.iter().map(|cut| agent::floor_char_boundary(&text, cut.index(text.len() + 1))).collect();
        let mut sanitiser = agent::Sanitiser::default();
        let mut shown = String::new();
        let mut from = 0;
        places.sort_unstable();
        for to in places.into_iter().chain([text.len()]) {
            shown.push_str(&sanitiser.push(&text[from..to]));
            from = to;
        }
        prop_assert_eq!(&shown, &agent::sanitise(&text));
        prop_assert_eq!(agent::sanitise(&shown), shown);
    }
}
