//! The colours of commands: they end with their cell, and are nowhere but in the transcript.

use super::{corpus, emulator, fields, stage::Stage};
use crate::{
    client::mailbox::Letter,
    driver::reply::Reply,
    input::{Key, KeyCode},
    screens::frame::Screen,
    text::{clean, measure::Measure},
    theme::{Background, Theme},
};
use agent::{
    Colours, Content, Ink, Run, SessionEvent, Severity, ToolCallUpdate, ToolContent, ToolKind, ToolResult,
    ToolStatus,
};
use proptest::prelude::*;
use ratatui_core::style::{Color, Modifier, Style};

/// Red from a byte on, and never reset.
fn red_from(byte: usize) -> Colours {
    let ink = Ink { colour: Some(1), underline: true, ..Ink::default() };
    Colours::of([Run { bytes: byte..usize::MAX, ink }])
}

fn letters(is_stored: bool) -> Vec<Letter> {
    let text = "plain\nRED one\nRED two\n";
    let call = |status| {
        let mut call = ToolCallUpdate::of("c".into(), "bash").status(status);
        call.display.kind = Some(ToolKind::Execute);
        call
    };
    let mut ended = call(ToolStatus::Completed).content(vec![ToolContent::Content(Content::text(text))]);
    (ended.result, ended.colours) = (Some(ToolResult::ok(text)), red_from(6));
    let mut events = vec![SessionEvent::ToolCall(call(ToolStatus::InProgress))];
    match is_stored {
        true => events.push(SessionEvent::ToolCall(ended)),
        false => {
            for (piece, byte) in [(&text[..8], 6), (&text[8..], 0)] {
                let mut live = ToolCallUpdate::of("c".into(), "bash");
                live.output = Some(agent::LiveOutput::Text(piece.to_owned()));
                live.colours = red_from(byte);
                events.push(SessionEvent::ToolCall(live));
            }
        }
    }
    let notice =
        SessionEvent::Notice { severity: Severity::Info, title: "after it".to_owned(), description: None };
    events.push(notice);
    let opening = [fields::opened("x"), Reply::Replayed].map(|reply| Letter::Reply(Box::new(reply)));
    opening.into_iter().chain(events.into_iter().map(|event| Letter::Event(Box::new(event)))).collect()
}

/// Returns the text on the screen that is red, underlined, or both.
fn red(stage: &Stage) -> String {
    let screen = stage.emulator.screen();
    let (rows, columns) = screen.size();
    let all =
        (0..rows.get()).flat_map(|row| (0..columns.get()).filter_map(move |column| screen.cell(row, column)));
    let red = all.filter(|cell| cell.fgcolor() == vt100::Color::Idx(1) || cell.underline());
    red.map(|cell| cell.contents()).collect()
}

#[test]
fn a_colour_that_is_never_reset_ends_with_its_cell() {
    for is_stored in [true, false] {
        let mut stage = Stage::new(Screen::Full, (60, 20));
        letters(is_stored).into_iter().for_each(|letter| stage.letter(letter));
        stage.draw();
        let rows = emulator::rows(&mut stage.emulator);
        assert!(rows.iter().any(|(row, _)| row.contains("after it")), "{rows:?}");
        assert_eq!(red(&stage), "RED oneRED two", "stored: {is_stored}");
        stage.key(Key::ctrl('o'));
        stage.press(KeyCode::Enter);
        stage.draw();
        assert_eq!(red(&stage), "RED oneRED two", "in the transcript too");
    }
}

#[test]
fn what_is_committed_to_the_scrollback_has_no_colour_of_a_command() {
    let mut stage = Stage::new(Screen::Inline, (60, 20));
    letters(true).into_iter().for_each(|letter| stage.letter(letter));
    stage.draw();
    assert!(stage.committed.iter().any(|row| row.contains("RED two")), "{:?}", stage.committed);
    assert_eq!(red(&stage), "");
}

#[test]
fn no_ink_hides_a_text_in_any_theme() {
    let backgrounds = [Background::Dark, Background::Light];
    let shipped = |name: &&str| backgrounds.map(|it| Theme::shipped(name, it).expect("it is shipped"));
    for theme in Theme::SHIPPED.iter().flat_map(shipped) {
        for (colour, behind) in (0..256).map(|both: u32| ((both % 16) as u8, (both / 16) as u8)) {
            for reverse in [false, true] {
                let ink = Ink { colour: Some(colour), behind: Some(behind), reverse, ..Ink::default() };
                let style = theme.ink(ink, Style::new());
                assert_eq!(style.bg, None, "a colour behind a text is that colour reversed: {ink:?}");
                assert!(!style.add_modifier.contains(Modifier::HIDDEN));
                let plain = theme.clone().without_colour().ink(ink, Style::new());
                assert_eq!((plain.fg, plain.bg), (None, None));
            }
        }
    }
    let theme = Theme::terminal();
    let ink = |colour, behind| theme.ink(Ink { colour, behind, ..Ink::default() }, Style::new());
    let fg = |colour: Color| Style::new().fg(colour);
    assert_eq!(ink(Some(1), None), fg(Color::Red));
    assert_eq!(ink(Some(9), None), fg(Color::LightRed));
    assert_eq!(ink(Some(15), Some(2)), fg(Color::Green).add_modifier(Modifier::REVERSED));
    assert_eq!(theme.ink(Ink::default(), fg(Color::Blue)), fg(Color::Blue));
}

proptest! {
    #[test]
    fn a_painted_line_has_the_text_of_a_plain_one(
        text in "[ab \\t\n\r\u{7}\u{1b}\u{9b}\\[\\]8;0m\u{200b}\u{202e}\u{301}é漢👩\u{200d}]{0,40}",
    ) {
        let style = |ink: Ink| Style::new().add_modifier(if ink.reverse { Modifier::REVERSED } else { Modifier::BOLD });
        let spans = clean::painted(&text, corpus::hostile_colours(&text), style, Measure::default());
        let painted: String = spans.iter().map(|span| span.content.as_ref()).collect();
        prop_assert_eq!(painted, clean::clean(&text, 0, Measure::default()).into_owned());
    }
}
