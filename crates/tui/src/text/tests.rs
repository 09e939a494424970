use super::{
    clean::clean,
    cut::{broken, cut_text},
    measure::Measure,
    row::Row,
    wrap::wrap,
};
use proptest::prelude::*;
use ratatui_core::text::Span;

const NARROW: Measure = Measure { wide_ambiguous: false };

fn wrapped(text: &str, first: usize, width: usize) -> Vec<String> {
    let lines = wrap(&[Span::raw(text)], first, width, NARROW);
    lines.iter().map(|line| line.iter().map(|span| span.content.as_ref()).collect()).collect()
}

#[test]
fn text_is_wrapped_at_words() {
    for (text, width, expected) in [
        ("", 5, vec![""]),
        ("one two", 20, vec!["one two"]),
        ("one two three", 7, vec!["one two", "three"]),
        ("one  two", 4, vec!["one", "two"]),
        ("one two ", 7, vec!["one two"]),
        ("  indented text", 10, vec!["  indented", "text"]),
        ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
        ("a bcdefghij", 4, vec!["a", "bcde", "fghi", "j"]),
        ("漢字かな交じり", 6, vec!["漢字か", "な交じ", "り"]),
        ("漢字、かな", 4, vec!["漢", "字、", "かな"]),
        ("see 漢字", 7, vec!["see 漢", "字"]),
        ("漢", 1, vec!["·"]),
        ("      ", 3, vec![""]),
    ] {
        assert_eq!(wrapped(text, width, width), expected, "{text:?} at {width}");
    }
    assert_eq!(wrapped("one two three", 3, 9), ["one", "two three"]);
}

#[test]
fn a_cut_text_says_so_and_never_exceeds_its_width() {
    for (text, width, expected) in [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("漢字", 3, "漢…"),
        ("漢字", 2, "…"),
        ("hello", 1, "…"),
        ("hello", 0, ""),
    ] {
        assert_eq!(cut_text(text, width, NARROW), expected);
    }
}

#[test]
fn a_broken_row_loses_nothing() {
    let row = Row::logical(vec![Span::raw("ab漢"), Span::raw("cde")].into_iter().collect::<Vec<_>>());
    let parts: Vec<_> = broken(&row, 3, NARROW).iter().map(Row::plain).collect();
    assert_eq!(parts, ["ab", "漢c", "de"]);
    let parts: Vec<_> = broken(&row, 1, NARROW).iter().map(Row::plain).collect();
    assert_eq!(parts, ["a", "b", "·", "c", "d", "e"]);
}

#[test]
fn what_a_row_shows_cannot_repaint_hide_or_spill() {
    let marks = format!("a{}b", "\u{301}".repeat(500));
    for (text, expected) in [
        ("a\tb", "a   b".to_owned()),
        ("\u{1b}[31mred\u{1b}]0;x\u{7}", "red".to_owned()),
        ("abc\u{202e}txt", "abctxt".to_owned()),
        ("a\u{200b}b\u{feff}", "ab".to_owned()),
        ("a\r\nb", "a b".to_owned()),
        ("\u{9b}2Jx", "x".to_owned()),
        (&marks, format!("a{}b", "\u{301}".repeat(7))),
    ] {
        assert_eq!(clean(text, 0, NARROW), expected);
    }
}

#[test]
fn ambiguous_characters_are_as_wide_as_the_setting_says() {
    assert_eq!(NARROW.text("±…"), 2);
    assert_eq!(Measure { wide_ambiguous: true }.text("±…"), 4);
    assert_eq!(NARROW.text("e\u{301}🙂🇩🇪"), 5);
}

proptest! {
    #[test]
    fn wrapping_keeps_every_word_and_no_line_is_too_wide(
        text in "[a-c 漢字é🙂、]{0,60}", first in 2usize..12, width in 2usize..12, wide in any::<bool>(),
    ) {
        let measure = Measure { wide_ambiguous: wide };
        let lines = wrap(&[Span::raw(&text)], first, width, measure);
        let mut together = String::new();
        for (at, line) in lines.iter().enumerate() {
            let line: String = line.iter().map(|span| span.content.as_ref()).collect();
            prop_assert!(measure.text(&line) <= if at == 0 { first.min(width) } else { width }, "{:?}", line);
            together.push_str(&line);
        }
        prop_assert_eq!(together.replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn a_broken_row_is_the_row_in_pieces(text in "[a-c 漢é🙂]{1,40}", width in 2usize..9) {
        let parts = broken(&Row::logical(text.clone()), width, NARROW);
        prop_assert!(parts.iter().all(|part| part.width() <= width));
        prop_assert_eq!(parts.iter().map(Row::plain).collect::<String>(), text);
    }

    #[test]
    fn a_clean_text_has_no_control_characters(text in any::<String>()) {
        let shown = clean(&text, 0, NARROW).into_owned();
        prop_assert!(!shown.chars().any(char::is_control), "{:?}", shown);
        prop_assert_eq!(clean(&shown, 0, NARROW).into_owned(), shown.clone());
    }
}
