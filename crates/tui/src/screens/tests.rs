//! The screens against a terminal emulator that behaves like xterm.

use super::{
    frame::{self, Frame, Rendering},
    full::Full,
    inline::Inline,
};
use crate::{
    safety::{
        control,
        emulator::{resize, rows, terminal},
    },
    text::row::Row,
};
use proptest::{collection::vec, prelude::*};
use ratatui_core::{style::Color, text::Span};

/// The fewest columns and rows in these tests; the number of a line fits into a row.
const LEAST: (u16, u16) = (10, 4);

#[derive(Debug, Clone)]
enum Step {
    /// Commits lines of these widths, with a live region of these widths, and a cursor.
    Draw {
        commit: Vec<u16>,
        live: Vec<u16>,
        cursor: Option<(u16, u16)>,
    },
    Resize {
        columns: u16,
        rows: u16,
    },
    Redraw,
}

fn steps(narrower: bool) -> impl Strategy<Value = Vec<Step>> {
    let columns = if narrower { 10..90_u16 } else { 60..61 };
    let draw = (vec(0..150_u16, 0..4), vec(0..100_u16, 0..4), proptest::option::of((0..90_u16, 0..4_u16)))
        .prop_map(|(commit, live, cursor)| Step::Draw { commit, live, cursor });
    let resize = (columns, 4..30_u16).prop_map(|(columns, rows)| Step::Resize { columns, rows });
    vec(prop_oneof![8 => draw, 2 => resize, 1 => Just(Step::Redraw)], 1..60)
}

/// A committed line: its number, and filling up to a width.
fn committed(number: usize, width: u16) -> String {
    format!("L{number:04}.{}", "x".repeat(usize::from(width)))
}

fn live(number: usize, width: u16) -> Row {
    Row::new(format!("~{number}{}", "-".repeat(usize::from(width))))
}

/// Plays steps and gives the terminal back; returns all rows, and the lines that were committed.
fn played(steps: &[Step]) -> (Vec<(String, bool)>, Vec<String>) {
    let (columns, height) = (60, 20);
    let mut parser = terminal(columns, height);
    let mut inline = Inline::new(columns, height, Rendering::default());
    let mut lines = Vec::new();
    for step in steps {
        match step {
            Step::Draw { commit, live: widths, cursor } => {
                let from = lines.len();
                lines.extend(commit.iter().enumerate().map(|(at, width)| committed(from + at, *width)));
                let frame = Frame {
                    commit: lines[from..].iter().cloned().map(Row::logical).collect(),
                    live: widths.iter().enumerate().map(|(number, width)| live(number, *width)).collect(),
                    cursor: cursor
                        .map(|(column, row)| (column, row.min(widths.len().saturating_sub(1) as u16))),
                };
                let bytes = inline.draw(&frame);
                control::read(&bytes, frame::Screen::Inline);
                parser.process(&bytes);
            }
            Step::Resize { columns, rows } => {
                resize(&mut parser, *columns, *rows);
                inline.resize(*columns, *rows, false);
            }
            Step::Redraw => inline.redraw(),
        }
    }
    parser.process(&inline.farewell());
    let mut found = rows(&mut parser);
    while found.last().is_some_and(|(row, _)| row.is_empty()) {
        found.pop();
    }
    (found, lines)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// While the width stays the same, the scrollback and the screen are exactly the committed
    /// lines.
    #[test]
    fn committed_lines_are_there_once_whole_and_in_order(steps in steps(false)) {
        let (rows, lines) = played(&steps);
        let mut found: Vec<String> = Vec::new();
        let mut goes_on = false;
        for (row, wrapped) in rows {
            match found.last_mut() {
                Some(line) if goes_on => line.push_str(&row),
                _ => found.push(row),
            }
            goes_on = wrapped;
        }
        prop_assert_eq!(found, lines);
    }

    /// The emulator cuts lines on the screen when it becomes narrower, as xterm does; the beginning
    /// of each stays, and nothing else.
    #[test]
    fn no_change_of_the_size_loses_or_repeats_a_line(steps in steps(true)) {
        let (rows, lines) = played(&steps);
        let found: Vec<&str> = rows.iter().filter(|(row, _)| row.starts_with('L')).map(|(row, _)| &row[..6]).collect();
        let expected: Vec<&str> = lines.iter().map(|line| &line[..6]).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(!rows.iter().any(|(row, _)| row.starts_with('~')), "a part of the live region stayed: {rows:?}");
    }

    /// What the terminal shows after any frames is the last one.
    #[test]
    fn the_live_region_is_the_last_frame_s(frames in vec(vec("[ -~漢é]{0,30}", 0..6), 1..12)) {
        let mut parser = terminal(24, 12);
        let mut inline = Inline::new(24, 12, Rendering::default());
        let mut full_parser = terminal(24, 12);
        let mut full = Full::new(24, 12, Rendering::default());
        for texts in &frames {
            let live: Vec<Row> = texts.iter().cloned().map(Row::new).collect();
            let cursor = (!live.is_empty()).then_some((3, 0));
            let frame = Frame { commit: Vec::new(), live, cursor };
            parser.process(&inline.draw(&frame));
            full_parser.process(&full.draw(&frame));
            let expected = shown_by_a_new_terminal(texts);
            for (name, parser) in [("inline", &parser), ("full", &full_parser)] {
                prop_assert_eq!(&shown(parser), &expected, "{}", name);
                if cursor.is_some() {
                    prop_assert_eq!(parser.screen().cursor_position(), (0, 3), "{}", name);
                }
            }
        }
    }
}

fn shown(parser: &vt100::Parser) -> Vec<String> {
    let rows = parser.screen().rows(0, 24).map(|row| row.trim_end().to_owned());
    let mut rows: Vec<String> = rows.collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

/// Returns the rows of a screen that was drawn from the beginning.
fn shown_by_a_new_terminal(texts: &[String]) -> Vec<String> {
    let mut parser = terminal(24, 12);
    let live = texts.iter().cloned().map(Row::new).collect();
    parser.process(&Inline::new(24, 12, Rendering::default()).draw(&Frame { live, ..Frame::default() }));
    shown(&parser)
}

#[test]
fn a_step_of_a_spinner_is_a_few_bytes() {
    let mut inline = Inline::new(80, 24, Rendering::default());
    let frame = |spinner: &str, seconds: &str| Frame {
        commit: Vec::new(),
        live: vec![
            Row::new(format!(
                "  {spinner} bash  cargo test -p pager                          sandbox · {seconds} s"
            )),
            Row::new("─".repeat(80)),
            Row::new("> what about it"),
            Row::new("edit · guardian · a/model · ctx 34%"),
        ],
        cursor: Some((15, 2)),
    };
    inline.draw(&frame("◐", "14"));
    let bytes = inline.draw(&frame("◓", "15"));
    assert!(bytes.len() <= 40, "{} bytes: {:?}", bytes.len(), String::from_utf8_lossy(&bytes));
    assert!(inline.draw(&frame("◓", "15")).is_empty(), "nothing changed");
}

#[test]
fn a_link_is_written_as_one_only_where_the_terminal_has_them() {
    let address: std::sync::Arc<str> = "https://a.example/".into();
    let style = ratatui_core::style::Style { underline_color: Some(Color::Indexed(0)), ..Default::default() };
    let line = vec![Span::raw("see "), Span::styled("here", style), Span::raw(".")];
    let row = Row { links: Some([address].into()), ..Row::new(line) };
    let linked = "see \u{1b}]8;;https://a.example/\u{1b}\\here\u{1b}]8;;\u{1b}\\.";
    for (hyperlinks, expected) in [(true, linked), (false, "see here.")] {
        let rendering = Rendering { hyperlinks, ..Rendering::default() };
        let frame = Frame { commit: vec![row.clone()], live: vec![row.clone()], cursor: None };
        let inline = String::from_utf8(Inline::new(40, 5, rendering).draw(&frame)).unwrap();
        assert_eq!(inline.matches(expected).count(), 2, "committed and live: {inline:?}");
        let full = String::from_utf8(Full::new(40, 5, rendering).draw(&frame)).unwrap();
        assert_eq!(full.matches(expected).count(), 1, "{full:?}");
        assert_eq!(
            control::read(inline.as_bytes(), frame::Screen::Inline).addresses.len(),
            2 * usize::from(hyperlinks)
        );
        assert!(!super::plain::lines(&frame).contains("a.example"));
    }
}

#[test]
fn nothing_panics_in_the_smallest_terminal() {
    for (columns, rows) in [(0, 0), (1, 1), (2, 1), (1, 2)] {
        let mut inline = Inline::new(columns, rows, Rendering::default());
        let mut full = Full::new(columns, rows, Rendering::default());
        let frame = Frame {
            commit: vec![Row::new("committed")],
            live: vec![Row::new("漢字"), Row::new("composer"), Row::new("status")],
            cursor: Some((40, 40)),
        };
        for _ in 0..2 {
            inline.draw(&frame);
            full.draw(&frame);
            inline.resize(1, 1, true);
            full.resize(1, 1);
        }
        inline.farewell();
    }
}

#[test]
fn a_live_region_that_was_wrapped_again_is_removed_whole() {
    // 40 columns: the first row takes two rows, the row of the cursor too, and the cursor is in its
    // second.
    let mut inline = Inline::new(80, 24, Rendering::default());
    let live = vec![live(0, 60), live(1, 60), live(2, 60)];
    inline.draw(&Frame { commit: Vec::new(), live, cursor: Some((45, 1)) });
    inline.resize(40, 24, true);
    assert!(String::from_utf8(inline.farewell()).unwrap().starts_with("\u{1b}[3A\r"));
    inline.resize(40, 24, false);
}

#[test]
fn the_smallest_size_fits_the_number_of_a_line() {
    assert!(committed(0, 0).len() <= LEAST.0.into() && LEAST.1 >= 4);
}
