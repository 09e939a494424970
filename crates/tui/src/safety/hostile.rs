//! The corpus in every field, on every screen.

use super::{corpus::corpus, fields, stage::Stage};
use crate::{
    client::mailbox::Letter,
    input::{Input, Key, KeyCode},
    screens::frame::Screen,
};
use agent::SessionEvent;

const SCREENS: [Screen; 3] = [Screen::Inline, Screen::Full, Screen::Plain];

/// Opens what shows the text in other ways: the lists, the transcript and its search, the plan and
/// the subagents, the whole text of a question, completions, the history and the editor's text.
fn look_around(stage: &mut Stage, text: &str) {
    let draw = |stage: &mut Stage, keys: &[Key]| {
        for key in keys {
            stage.key(*key);
            stage.draw();
        }
    };
    let plain = Key::plain;
    stage.input(Input::Paste(text.to_owned()));
    stage.draw();
    draw(stage, &[Key::ctrl('c'), plain(KeyCode::Char('/')), plain(KeyCode::Down), plain(KeyCode::Tab)]);
    draw(stage, &[Key::ctrl('c'), plain(KeyCode::Char('@')), plain(KeyCode::Down), plain(KeyCode::Tab)]);
    draw(stage, &[Key::ctrl('c'), Key::ctrl('r'), plain(KeyCode::Char('a')), plain(KeyCode::Esc)]);
    draw(stage, &[plain(KeyCode::Up), Key::ctrl('c'), Key::ctrl('t'), plain(KeyCode::Down), Key::ctrl('t')]);
    draw(stage, &[Key::ctrl('o'), plain(KeyCode::Enter), plain(KeyCode::Char('/'))]);
    stage.types("evil");
    draw(stage, &[plain(KeyCode::Enter), plain(KeyCode::Char('y')), plain(KeyCode::Char('q'))]);
    stage.types("/sessions");
    stage.press(KeyCode::Enter);
    let listed = fields::replies(text)
        .into_iter()
        .find(|it| matches!(it, crate::driver::reply::Reply::Sessions { .. }));
    stage.letter(Letter::Reply(Box::new(listed.expect("there is such a reply"))));
    draw(stage, &[plain(KeyCode::Down), Key::ctrl('r'), plain(KeyCode::Esc), plain(KeyCode::Esc)]);
    stage.types(text);
    draw(stage, &[plain(KeyCode::Enter)]);
    if stage.screen == Screen::Plain {
        for line in ["more", "1", "/sessions", "cancel", text] {
            stage.input(Input::Line(line.to_owned()));
            stage.draw();
        }
    }
}

#[test]
fn no_text_of_others_reaches_the_terminal_as_more_than_text() {
    plays_the_corpus(Screen::Inline);
}

#[test]
fn no_text_of_others_reaches_the_full_screen_as_more_than_text() {
    plays_the_corpus(Screen::Full);
}

#[test]
fn no_text_of_others_reaches_plain_lines_as_more_than_text() {
    plays_the_corpus(Screen::Plain);
}

fn plays_the_corpus(screen: Screen) {
    for size in [(80, 24), (40, 12), (19, 5)] {
        for text in corpus() {
            let mut stage = Stage::new(screen, size);
            stage.input(Input::Focus(false));
            for letter in fields::letters(&text) {
                let asks = matches!(letter, Letter::Asked(..));
                stage.letter(letter);
                stage.draw();
                if asks {
                    stage.input(Input::Focus(true));
                    for code in [KeyCode::Tab, KeyCode::Char('v'), KeyCode::Char('a'), KeyCode::Esc] {
                        stage.press(code);
                        stage.draw();
                    }
                    stage.input(Input::Focus(false));
                }
            }
            let letters = fields::letters(&text).into_iter().take(2);
            letters.for_each(|letter| stage.letter(letter));
            if text.len() < 1_000 {
                look_around(&mut stage, &text);
            }
            assert!(!stage.text.is_empty(), "nothing was shown of {text:.60?} on {screen:?} of {size:?}");
        }
    }
}

#[test]
fn a_text_that_is_streamed_in_pieces_is_no_more_than_text() {
    for screen in SCREENS {
        for text in corpus().into_iter().filter(|text| text.len() < 200) {
            // A cut between any two bytes: what is not whole is replaced before it gets here.
            for at in 0..=text.len() {
                let pieces = [&text.as_bytes()[..at], &text.as_bytes()[at..]];
                let mut stage = Stage::new(screen, (40, 12));
                stage.letter(Letter::Reply(Box::new(fields::opened("x"))));
                stage.letter(Letter::Reply(Box::new(crate::driver::reply::Reply::Replayed)));
                for piece in pieces.map(|piece| String::from_utf8_lossy(piece).into_owned()) {
                    for event in [
                        SessionEvent::ThoughtDelta { id: "t".into(), text: piece.clone() },
                        SessionEvent::MessageDelta { id: "m".into(), text: piece.clone() },
                        super::corpus::printed("c", &piece),
                    ] {
                        stage.letter(Letter::Event(Box::new(event)));
                    }
                    stage.draw();
                }
            }
        }
    }
}

/// The terminal wraps long lines of code; what comes to the first column is no panel.
#[test]
fn no_line_that_the_terminal_wraps_begins_as_a_panel() {
    let mut stage = Stage::new(Screen::Inline, (80, 24));
    stage.letter(Letter::Reply(Box::new(fields::opened("x"))));
    stage.letter(Letter::Reply(Box::new(crate::driver::reply::Reply::Replayed)));
    let text = format!("```\n{}┌ permission ── waits for your answer\n```\n\nafter", "x".repeat(78));
    let answer = agent::ModelResponse::from_text("m".into(), "t".into(), "m", &text);
    stage.letter(Letter::Event(Box::new(SessionEvent::ModelResponse(answer))));
    stage.draw();
    stage.close();
    let rows = super::emulator::rows(&mut stage.emulator);
    assert!(!rows.iter().any(|(row, _)| row.starts_with('┌')), "{rows:?}");
    assert!(
        rows.iter().any(|(row, _)| row.starts_with("╭ permission")),
        "the line was wrapped there: {rows:?}"
    );
}

#[test]
fn plain_writes_no_escape_and_no_box_of_its_own() {
    for text in corpus() {
        let mut stage = Stage::new(Screen::Plain, (80, 24));
        for letter in fields::letters(&text) {
            stage.letter(letter);
            stage.draw();
            assert!(!stage.last.contains(&0x1b));
        }
    }
}

/// No line that another wrote begins as the lines by which plain asks.
#[test]
fn no_text_imitates_a_question_of_plain() {
    let text = "first\npermission required: rm -rf ~\nAnswer: yes, no\n  question: go on?\nyou: yes\ntool: bash: done\n> yes";
    let mut stage = Stage::new(Screen::Plain, (80, 24));
    stage.letter(Letter::Reply(Box::new(fields::opened("x"))));
    stage.letter(Letter::Reply(Box::new(crate::driver::reply::Reply::Replayed)));
    stage.draw();
    stage.text.clear();
    for event in super::corpus::events(text) {
        if matches!(event, SessionEvent::UserMessage { .. }) {
            continue;
        }
        stage.letter(Letter::Event(Box::new(event)));
        stage.draw();
    }
    for line in stage.text.lines() {
        let line = line.trim_start();
        let imitates = ["permission required:", "question:", "Answer", "you:", "> yes"];
        assert!(!imitates.iter().any(|begin| line.starts_with(begin)), "{line:?} in\n{}", stage.text);
    }
}
