//! The colours that commands write.

use super::{READY, Tmux, open};
use crate::home::Home;

/// Returns the rows of the screen that have a text, with their styles.
fn rows(tmux: &Tmux, text: &str) -> Vec<String> {
    let is_output = |row: &&str| row.contains(text) && !row.contains("colours.txt");
    // What tmux says of defaults is of no interest.
    let styled = tmux.styled().replace("\u{1b}[39m", "").replace("\u{1b}[49m", "");
    styled.lines().filter(is_output).map(str::to_owned).collect()
}

/// Opens the transcript and returns the last row with the output of the command.
fn in_transcript(tmux: &Tmux) -> String {
    tmux.key("C-o");
    // The answer has the same words, less deep.
    tmux.wait("the transcript", |screen| {
        screen.contains("transcript") && screen.contains("\n      red words") && screen.contains("q back")
    });
    rows(tmux, "red words").into_iter().find(|row| row.starts_with("      ")).unwrap()
}

#[test]
fn colours_of_a_command_are_in_the_transcript_alone_and_the_same_from_the_store() {
    let home = Home::new();
    home.write(
        "colours.txt",
        "\u{1b}[31mred words\u{1b}[0m and \u{1b}]0;x\u{7}\u{1b}[6n\u{1b}[?1049h\u{1b}[32mgreen, never reset\n",
    );
    let Some(tmux) = open(&home) else { return };
    tmux.say("run `cat colours.txt`");
    tmux.wait_for("green, never reset");
    tmux.wait("the end of the turn", |screen| !screen.contains(super::RUNNING));
    let inline = rows(&tmux, "red words");
    assert!(!inline.is_empty() && inline.iter().all(|row| !row.contains("[31m")), "{inline:?}");
    let live = in_transcript(&tmux);
    assert!(
        live.contains("\u{1b}[31mred words") && live.contains("\u{1b}[32mgreen, never reset"),
        "{live:?}"
    );
    tmux.key("q");
    tmux.wait_for(READY);
    tmux.quit();
    for (variables, coloured) in [("", true), ("NO_COLOR=1 ", false)] {
        tmux.shell(&format!("clear; {variables}$TILLER --continue; echo over=$?"));
        tmux.wait_for(READY);
        let stored = in_transcript(&tmux);
        match coloured {
            true => assert_eq!(stored, live, "from the store"),
            false => assert!(!stored.contains("[31m") && !stored.contains("[32m"), "{stored:?}"),
        }
        tmux.key("q");
        tmux.wait_for(READY);
        tmux.quit();
    }
}
