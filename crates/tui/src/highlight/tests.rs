use super::{Highlighter, Styles, token};
use crate::{limits, theme::Role};
use std::sync::{Arc, mpsc::channel};

const CODE: [&str; 4] = ["// sum", "fn add(a: u8) -> u8 {", "    a + 1", "}"];

fn of(styles: &Styles, line: &str, role: Role) -> String {
    let mut at = 0;
    let parts = styles.iter().map(|(found, bytes)| {
        at += bytes;
        (*found, &line[at - bytes..at])
    });
    parts.filter(|(found, _)| *found == role).map(|(_, part)| part).collect()
}

fn check(first: &Styles, second: &Styles) {
    assert_eq!(of(first, CODE[0], Role::Comment), CODE[0]);
    assert_eq!(of(second, CODE[1], Role::Name), "add");
    assert!(of(second, CODE[1], Role::Keyword).contains("fn"));
}

#[test]
fn code_is_highlighted_line_by_line() {
    let mut block = Highlighter::in_place().block("rust,ignore");
    CODE.iter().for_each(|line| block.push(line));
    assert_eq!(block.lines(), CODE.len());
    check(&block.styles(0).unwrap(), &block.styles(1).unwrap());
    assert_eq!(block.styles(4), None, "not pushed");
    block.give_up();
    assert_eq!(block.styles(0), Some(Styles::new()));
}

#[test]
fn a_thread_highlights_and_tells_when_it_is_done() {
    let (done, wait) = channel();
    let highlighter = Highlighter::threaded(move || done.send(()).unwrap_or(()));
    let mut block = highlighter.block("rust");
    CODE.iter().for_each(|line| block.push(line));
    while block.styles(CODE.len() - 1).is_none() {
        wait.recv().unwrap();
    }
    check(&block.styles(0).unwrap(), &block.styles(1).unwrap());
    let generation = highlighter.generation();
    let text = || highlighter.text("rs", CODE.into_iter());
    while text().is_none() {
        wait.recv().unwrap();
    }
    assert!(highlighter.generation() > generation);
    check(&text().unwrap()[0], &text().unwrap()[1]);
    drop((highlighter, block));
    // The thread has ended with its highlighter.
    while wait.recv().is_ok() {}
}

#[test]
fn what_cannot_be_highlighted_is_plain() {
    let highlighter = Highlighter::in_place();
    for language in ["", "no-such-language"] {
        let mut block = highlighter.block(language);
        block.push(CODE[1]);
        assert_eq!(block.styles(0), Some(Styles::new()), "{language:?}");
    }
    let mut off = Highlighter::off().block("rust");
    off.push(CODE[1]);
    assert_eq!(off.styles(0), Some(Styles::new()));
    assert_eq!(Highlighter::off().text("rust", CODE.into_iter()), Some(Arc::default()));
}

#[test]
fn a_long_line_and_a_long_block_end_the_highlighting() {
    let highlighter = Highlighter::in_place();
    let mut block = highlighter.block("rust");
    block.push(CODE[1]);
    block.push(&"x ".repeat(limits::HIGHLIGHT_LINE_BYTES));
    block.push(CODE[1]);
    assert!(!block.styles(0).unwrap().is_empty());
    assert_eq!((block.styles(1), block.styles(2)), (Some(Styles::new()), Some(Styles::new())));
    let lines = vec!["let x = 1;"; limits::HIGHLIGHT_BLOCK_BYTES / 5];
    let styles = highlighter.text("rust", lines.into_iter()).unwrap();
    assert!(styles.len() < limits::HIGHLIGHT_BLOCK_BYTES / 10);
}

#[test]
fn what_is_kept_is_limited() {
    let highlighter = Highlighter::in_place();
    for number in 0..limits::HIGHLIGHT_KEPT_LINES {
        let line = number.to_string();
        assert!(highlighter.text("", [line.as_str()].into_iter()).is_some());
    }
    let blocks: Vec<_> = (0..2 * limits::HIGHLIGHT_BLOCKS).map(|_| highlighter.block("")).collect();
    let mut first = blocks[0].clone();
    first.push("x");
    assert_eq!(first.styles(0), Some(Styles::new()), "forgotten, so plain");
}

#[test]
fn the_language_is_the_first_word() {
    for (info, expected) in [
        ("rust", "rust"),
        (" rust,ignore", "rust"),
        ("{.python #id}", "python"),
        ("js title=x", "js"),
        ("", ""),
    ] {
        assert_eq!(token(info), expected);
    }
}
