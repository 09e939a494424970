//! Pasted texts: they arrive at the model as they were copied, and nothing in them is a key.

use super::{Model, Tmux, open_model};
/// The line breaks that each of the long texts has.
const BREAKS: usize = 4_999;

/// Text that a composer, a terminal or a prompt could mistake for something else.
fn long(line_end: &str) -> String {
    let line = |number: usize| match number % 7 {
        0 => format!("{number}: \tfn main() {{\t}}"),
        1 => format!("{number}: naïve café 日本語 👩\u{200d}👧 e\u{301} \u{fffc}"),
        2 => format!("{number}: </stdin></user>\n</pasted>").replace('\n', " "),
        3 => format!("{number}: /quit"),
        4 => "  ".to_owned(),
        5 if number == 2_350 => "x".repeat(10_240),
        5 => format!("{number}: [pasted 12 lines] y n $(date) `id` \\"),
        _ => "!exit".to_owned(),
    };
    let lines: Vec<String> = (0..=BREAKS).map(line).collect();
    assert_eq!(lines[2_350].len(), 10_240, "one line is long");
    lines.join(line_end)
}

/// Returns what the composer shows: the rows below the last rule but the status.
fn composer(screen: &str) -> String {
    screen.rsplit("──").next().unwrap_or_default().trim_start_matches('─').to_owned()
}

#[test]
fn a_paste_of_5000_lines_is_one_token_and_arrives_byte_for_byte() {
    let Some((model, _home, tmux)) = open_model() else { return };
    let text = long("\r\n");
    tmux.text("look at ");
    tmux.wait_for("> look at");
    tmux.paste(&text);
    let screen = tmux.wait_for("> look at [pasted 5000 lines]");
    assert!(!screen.contains("fn main"), "{screen}");
    tmux.key("BSpace");
    tmux.wait("one step deletes it", |screen| {
        composer(screen).contains("> look at\n") && !screen.contains("[pasted")
    });
    tmux.paste(&text);
    tmux.wait_for("> look at [pasted 5000 lines]");
    tmux.text(" please");
    tmux.wait_for("lines] please");
    assert!(model.is_idle(), "nothing was sent");
    tmux.key("Enter");
    let answer = model.next();
    assert_same(&answer.prompt(), &format!("look at {text} please"));
    answer.say("I looked.");
    tmux.wait_for("tiller  I looked.");
}

#[test]
fn a_paste_that_the_terminal_does_not_mark_sends_nothing_and_is_kept() {
    let model = Model::start();
    let home = model.home();
    let Some(tmux) = Tmux::start(&home, &[("TILLER", env!("CARGO_BIN_EXE_tiller"))]) else { return };
    // A terminal of this name is asked nothing, so that it does not say that it marks pastes.
    tmux.shell("TERM=linux $TILLER; echo over=$?");
    tmux.wait_for(super::READY);
    let text = long("\n");
    tmux.paste_unmarked(&text);
    tmux.wait("all of the text in tokens", |screen| breaks(&composer(screen)) == BREAKS);
    assert!(model.is_idle(), "nothing was sent");
    tmux.key("Enter");
    let answer = model.next();
    assert_same(&answer.prompt(), &text);
    answer.say("I looked.");
    tmux.wait_for("tiller  I looked.");
}

/// Returns the line breaks in the tokens of a composer. There is more than one token where the
/// terminal paused.
fn breaks(composer: &str) -> usize {
    let counts = composer.split("[pasted ").skip(1).filter_map(|token| token.split(' ').next()?.parse().ok());
    counts.map(|lines: usize| lines - 1).sum()
}

/// Fails with the first difference: the texts are too long to be read.
fn assert_same(found: &str, expected: &str) {
    let same = found.bytes().zip(expected.bytes()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| {
        String::from_utf8_lossy(&text.as_bytes()[same.min(text.len())..]).chars().take(80).collect::<String>()
    };
    assert!(found == expected, "at byte {same}: {:?} in place of {:?}", around(found), around(expected));
}

#[test]
fn an_image_is_dropped_in_each_spelling_of_its_path() {
    let Some((model, home, tmux)) = open_model() else { return };
    let path = home.file("my shot.png");
    std::fs::write(&path, crate::home::PNG).unwrap();
    let spellings =
        [format!("file://{}", path.replace(' ', "%20")), path.replace(' ', "\\ "), format!("'{path}'")];
    for (number, spelling) in spellings.iter().enumerate() {
        tmux.paste(spelling);
        tmux.wait_for(&format!("[image {} 1280×720]", number + 1));
    }
    // What is no image is pasted as its path.
    tmux.paste("file:///etc/my%20notes.md");
    tmux.wait_for("/etc/my notes.md");
    tmux.key("Enter");
    let answer = model.next();
    let images = answer.parts().iter().filter(|part| part["type"] == "image_url").count();
    assert_eq!(images, 3);
    answer.say("three");
    tmux.wait_for("tiller  three");
}

#[test]
fn a_line_that_is_pasted_with_its_end_is_one_line() {
    let Some((model, _home, tmux)) = open_model() else { return };
    tmux.paste("cargo test\n");
    tmux.wait_for("> cargo test");
    tmux.key("Enter");
    let answer = model.next();
    assert_eq!(answer.prompt(), "cargo test");
    answer.say("done");
}
