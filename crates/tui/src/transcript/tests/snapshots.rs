//! What each kind of cell looks like: at four widths, and in each theme.
//!
//! A change that is meant is renewed by `INSTA_UPDATE=always cargo nextest run -p tui snapshots`,
//! and reviewed in the difference of the files below `snapshots`.

use super::{kinds::KINDS, path, user};
use crate::{
    highlight::Highlighter,
    look::Look,
    text::row::Row,
    theme::{Background, Theme},
    transcript::{
        Transcript,
        rows::{Fold, Paint},
    },
};
use agent::SessionEvent;
use ratatui_core::style::Style;
use std::{fmt::Write as _, time::Duration};

/// Appends the rows of the cells of events, a line each.
fn render(events: &[SessionEvent], look: &Look, fold: Fold, line: fn(&Row) -> String, out: &mut String) {
    let mut transcript = Transcript::new(Some(path("/w")));
    events.iter().for_each(|event| transcript.apply_at(event, Some(Duration::ZERO)));
    let highlighter = Highlighter::in_place();
    let paint =
        Paint { transcript: &transcript, look, highlighter: &highlighter, now: Duration::from_secs(75) };
    for cell in 0..transcript.cells().len() {
        paint.coloured_rows(cell, fold).iter().for_each(|row| writeln!(out, "{}", line(row)).unwrap());
    }
}

/// Renders the cells of events at four widths, then with styles, then whole, then for `plain`.
fn shown(events: &[SessionEvent]) -> String {
    let mut out = String::new();
    let mut show = |name: &str, look: &Look, fold, line: fn(&Row) -> String| {
        writeln!(out, "== {name}").unwrap();
        render(events, look, fold, line, &mut out);
    };
    for width in [20, 40, 80, 140] {
        show(&width.to_string(), &Look::new(Theme::terminal(), width), Fold::Folded, Row::plain);
    }
    show("80, styles", &Look::new(Theme::terminal(), 80), Fold::Folded, styled);
    show("80, no colours", &Look::new(Theme::terminal().without_colour(), 80), Fold::Folded, styled);
    show("80, whole", &Look::new(Theme::terminal(), 80), Fold::Whole, Row::plain);
    show("plain", &Look::plain(), Fold::Folded, Row::plain);
    out
}

/// Returns a row with the style before each part: `‹bold cyan›you`, `‹#000000 on #ffff66›match`.
fn styled(row: &Row) -> String {
    let style = |style: Style| {
        let mut words: Vec<String> = Vec::new();
        let modifiers = format!("{:?}", style.add_modifier).to_lowercase();
        words.extend((!style.add_modifier.is_empty()).then_some(modifiers));
        words.extend(style.fg.map(|colour| colour.to_string().to_lowercase()));
        words.extend(style.bg.map(|colour| format!("on {}", colour.to_string().to_lowercase())));
        words.join(" ")
    };
    let parts = row.line.spans.iter().map(|span| match style(span.style).as_str() {
        "" if span.content.trim().is_empty() => span.content.to_string(),
        words => format!("‹{words}›{}", span.content),
    });
    parts.collect()
}

#[test]
fn every_kind_of_cell_at_every_width() {
    for (name, events) in KINDS {
        insta::assert_snapshot!(name, shown(&events()));
    }
}

#[test]
fn every_kind_of_cell_in_every_theme() {
    for name in Theme::SHIPPED {
        let mut out = String::new();
        let [dark, light] = [Background::Dark, Background::Light].map(|it| Theme::shipped(name, it).unwrap());
        let variants = match dark.follows_background() {
            true => vec![("on dark", dark), ("on light", light)],
            false => vec![("", dark)],
        };
        for (variant, theme) in variants {
            writeln!(out, "==== {name} {variant}").unwrap();
            let look = Look::new(theme, 80);
            for (name, events) in KINDS {
                writeln!(out, "== {}", name.replace('_', " ")).unwrap();
                render(&events(), &look, Fold::Folded, styled, &mut out);
            }
        }
        insta::assert_snapshot!(format!("theme_{name}"), out);
    }
}

#[test]
fn a_command_of_the_user_is_shown_as_it_is_typed() {
    for text in ["/run git status --short", "  /run   git status --short\n"] {
        let rows = shown(&[user(text)]);
        assert!(rows.contains("! git status --short") && !rows.contains("/run"), "{rows}");
    }
    for text in ["/run", "please /run it", "/running late"] {
        assert!(shown(&[user(text)]).contains(text), "{text}");
    }
}
