//! Tests of the composer.

use super::*;
use crate::keys::spelling::Chord;
use crate::keys::{Bindings, KeyReader, Pressed, Situation};
use crate::theme::Theme;
use agent::{CommandGroup, SlashCommand};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

static BINDINGS: LazyLock<Bindings> = LazyLock::new(Bindings::default);

fn look(width: usize) -> Look {
    Look::new(Theme::terminal().without_colour(), width)
}

fn composer() -> Composer {
    Composer::new(History::default(), look(80))
}

/// A composer with a history: two messages of another folder, two of this one, the oldest first.
fn remembering() -> Composer {
    let entry = |text: &str| Entry { parts: vec![EntryPart::Text(text.to_owned())] };
    let stored = [("far one", false), ("near one", true), ("far Two", false), ("near two", true)];
    Composer::new(History::new(stored.map(|(text, here)| (entry(text), here))), look(80))
}

fn with_sources() -> Composer {
    let command = |name: &'static str, hint: Option<&'static str>| SlashCommand {
        name: name.into(),
        description: format!("does {name}").into(),
        hint: hint.map(Into::into),
        group: CommandGroup::BuiltIn,
    };
    let mut composer = composer();
    composer.set_sources(Sources {
        commands: vec![
            command("compact", None),
            command("model", Some("NAME")),
            command("mode", Some("MODE")),
        ],
        files: Arc::new(["src/page.rs", "src/main.rs", "docs/a b.md"].map(str::to_owned).to_vec()),
        loading: false,
    });
    composer
}

/// Presses keys as they are written, separated by spaces; returns what the last one led to.
fn press(composer: &mut Composer, keys: &str) -> Outcome {
    let mut last = Outcome::Ignored;
    for key in keys.split(' ') {
        let key = key.parse::<Chord>().unwrap().keys()[0];
        let situation = Situation {
            empty: composer.is_empty(),
            completing: composer.is_completing(),
            ..Situation::idle(composer.place())
        };
        last = match KeyReader::default().press(&BINDINGS, &situation, key, Duration::ZERO) {
            Pressed::Action(action) => composer.act(action),
            Pressed::Key(key) => composer.key(key),
            Pressed::Begun => Outcome::Ignored,
        };
    }
    last
}

fn write(composer: &mut Composer, text: &str) {
    for c in text.chars() {
        composer.key(Key::plain(KeyCode::Char(c)));
    }
}

fn sent(outcome: Outcome) -> Vec<Part> {
    match outcome {
        Outcome::Sent(Sent { message: Message::Prompt(parts), .. }) => parts,
        other => panic!("{other:?}"),
    }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn plain(composer: &Composer, most: usize) -> Vec<String> {
    composer.rows(most).rows.iter().map(|row| row.plain().trim_end().to_owned()).collect()
}

/// A text that is pasted as a token.
fn long(lines: usize) -> String {
    (0..lines).map(|at| format!("line {at}\u{301}\t\u{1b}[31m\r")).collect::<Vec<_>>().join("\n")
}

#[test]
fn readline_keys_edit() {
    for (begin, keys, expected) in [
        ("one two", "ctrl+a X", "Xone two"),
        ("one two", "ctrl+b X", "one twXo"),
        ("one two", "alt+b X", "one Xtwo"),
        ("one two", "ctrl+left ctrl+left X", "Xone two"),
        ("one two", "ctrl+a alt+f X", "oneX two"),
        ("one two", "ctrl+a ctrl+f X ctrl+e Y", "oXne twoY"),
        ("one two", "ctrl+w", "one "),
        ("a/b c/d", "ctrl+w", "a/b "),
        ("one two", "ctrl+w ctrl+w ctrl+y", "one two"),
        ("one two", "ctrl+u ctrl+y ctrl+y", "one twoone two"),
        ("one two", "ctrl+a ctrl+k ctrl+y", "one two"),
        ("one two", "ctrl+a alt+d alt+d X", "X"),
        ("one two", "ctrl+w left right ctrl+w ctrl+y alt+y", "two"),
        ("one two", "ctrl+h ctrl+a delete", "ne tw"),
        ("one two", "ctrl+a ctrl+d", "ne two"),
        ("e\u{301}日👩\u{200d}👧", "backspace backspace", "e\u{301}"),
        ("e\u{301}日", "left left X", "Xe\u{301}日"),
        ("one", "ctrl+j X", "one\nX"),
        ("one\\", "enter X", "one\nX"),
        ("one\ntwo", "ctrl+a backspace X", "oneXtwo"),
        ("one\ntwo", "up X", "oneX\ntwo"),
        ("one\ntwo", "ctrl+u ctrl+u X", "oneX"),
    ] {
        let mut composer = composer();
        composer.insert(begin);
        press(&mut composer, keys);
        assert_eq!(composer.as_text(), expected, "{begin:?} {keys}");
    }
}

#[test]
fn undo_goes_back_by_words_and_a_paste_is_one_step() {
    let mut composer = composer();
    write(&mut composer, "one two");
    composer.paste(&long(20));
    press(&mut composer, "backspace ctrl+_");
    assert_eq!(plain(&composer, 9), ["> one two[pasted 20 lines]"]);
    for expected in ["one two", "one ", "", ""] {
        press(&mut composer, "ctrl+_");
        assert_eq!(composer.as_text(), expected);
    }
}

#[test]
fn a_long_paste_is_a_token_that_is_sent_byte_for_byte() {
    for pasted in [long(11), long(5_000), "x".repeat(1_001)] {
        let mut composer = composer();
        write(&mut composer, "see ");
        composer.paste(&pasted);
        write(&mut composer, " there");
        let token = Part::Token(Token::Paste(pasted.as_str().into()));
        assert_eq!(sent(press(&mut composer, "enter")), [text("see "), token, text(" there")]);
        assert!(composer.is_empty());
    }
    let mut composer = composer();
    for short in [long(10), "x".repeat(1_000)] {
        composer.paste(&short);
        assert!(composer.content().tokens.is_empty());
    }
}

#[test]
fn a_token_is_moved_over_and_deleted_as_one() {
    let mut composer = composer();
    write(&mut composer, "a");
    composer.paste(&long(20));
    composer.attach(7, 1280, 720);
    write(&mut composer, "b");
    assert_eq!(plain(&composer, 9), ["> a[pasted 20 lines][image 1 1280×720]b"]);
    press(&mut composer, "left left left X");
    assert_eq!(plain(&composer, 9), ["> aX[pasted 20 lines][image 1 1280×720]b"]);
    press(&mut composer, "delete");
    assert_eq!(plain(&composer, 9), ["> aX[image 1 1280×720]b"]);
    press(&mut composer, "alt+f backspace");
    assert_eq!(plain(&composer, 9), ["> aXb"]);
}

#[test]
fn a_token_expands_on_a_second_paste_and_on_enter() {
    let pasted = long(20);
    let mut composer = composer();
    composer.paste(&pasted);
    composer.paste(&pasted);
    assert_eq!(composer.content().parts(), [text(&pasted)]);
    press(&mut composer, "ctrl+_");
    assert_eq!(composer.content().parts(), [Part::Token(Token::Paste(pasted.as_str().into()))]);
    assert_eq!(press(&mut composer, "left enter"), Outcome::Changed);
    assert_eq!(composer.content().parts(), [text(&pasted)]);
}

#[test]
fn control_characters_are_shown_and_sent_as_they_are() {
    let mut composer = composer();
    composer.paste("a\u{1b}[2J\u{7}\u{202e}b");
    assert_eq!(plain(&composer, 9), ["> a^[[2J^G\\u{202e}b"]);
    assert_eq!(sent(press(&mut composer, "enter")), [text("a\u{1b}[2J\u{7}\u{202e}b")]);
}

#[test]
fn rows_are_wrapped_at_words_around_the_cursor() {
    let mut composer = composer();
    composer.set_look(look(12));
    composer.insert("the quick brown fox 日本語日本語x");
    assert_eq!(plain(&composer, 9), ["> the quick", "  brown fox", "  日本語日本", "  語x"]);
    assert_eq!(composer.rows(9).cursor, Some((5, 3)));
    assert_eq!(plain(&composer, 2), ["  日本語日本", "  語x"]);
    press(&mut composer, "up up up");
    assert_eq!(composer.rows(9).cursor, Some((5, 0)));
    assert_eq!(plain(&composer, 1), ["> the quick"]);
    press(&mut composer, "X");
    assert_eq!(composer.as_text(), "theX quick brown fox 日本語日本語x");
}

#[test]
fn a_full_row_leaves_a_cell_for_the_cursor() {
    let mut composer = composer();
    composer.set_look(look(12));
    composer.insert("0123456789");
    assert_eq!(composer.rows(9).cursor, Some((2, 1)));
    composer.click(2, 0);
    press(&mut composer, "X");
    assert_eq!(composer.as_text(), "X0123456789");
}

#[test]
fn history_goes_through_this_folder_first_and_keeps_what_was_typed() {
    let mut composer = remembering();
    write(&mut composer, "draft");
    for expected in ["near two", "near one", "far Two", "far one", "far one"] {
        press(&mut composer, "up");
        assert_eq!(composer.as_text(), expected);
    }
    press(&mut composer, "down X down");
    assert_eq!(composer.as_text(), "near one");
    press(&mut composer, "up");
    assert_eq!(composer.as_text(), "far TwoX", "what was edited on the way is kept");
    press(&mut composer, "down down down down");
    assert_eq!(composer.as_text(), "draft");
}

#[test]
fn a_draft_with_a_secret_is_cleared_without_a_trace() {
    let mut composer = remembering();
    let secret = format!("use sk-ant-api03-{}", "aB3dE5fG7hI9".repeat(4));
    write(&mut composer, "half a thought");
    assert_eq!(composer.clear().map(|entry| entry.text()).as_deref(), Some("half a thought"));
    for text in [secret.clone(), format!("one\n{secret}\ntwo")] {
        composer.paste(&text);
        assert_eq!(composer.clear(), None, "{text}");
    }
    composer.paste(&format!("{}\n{secret}", long(20)));
    assert_eq!(composer.clear(), None, "nor within a long paste");
    press(&mut composer, "up");
    assert_eq!(composer.as_text(), "half a thought");
}

#[test]
fn what_is_sent_is_recalled_with_its_tokens_but_not_with_secrets() {
    let mut composer = remembering();
    write(&mut composer, "see ");
    composer.paste(&long(20));
    composer.attach(1, 2, 3);
    let Outcome::Sent(Sent { entry: Some(entry), .. }) = press(&mut composer, "enter") else { panic!() };
    let stored: Entry = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
    assert_eq!(stored.parts, [EntryPart::Text("see ".to_owned()), EntryPart::Paste(long(20))]);
    press(&mut composer, "up");
    assert_eq!(plain(&composer, 9), ["> see [pasted 20 lines]"]);

    composer.clear();
    let secret = format!("use sk-ant-api03-{}", "aB3dE5fG7hI9".repeat(4));
    composer.insert(&secret);
    let Outcome::Sent(Sent { entry, .. }) = press(&mut composer, "enter") else { panic!() };
    assert_eq!(entry, None, "it looks like a key");
    press(&mut composer, "up");
    assert_ne!(composer.as_text(), secret);
}

#[test]
fn a_cleared_draft_is_in_the_history() {
    let mut composer = composer();
    write(&mut composer, "half a thought");
    assert!(composer.clear().is_some() && composer.is_empty());
    press(&mut composer, "up");
    assert_eq!(composer.as_text(), "half a thought");
}

#[test]
fn history_is_searched_as_one_types() {
    let mut composer = remembering();
    write(&mut composer, "draft");
    press(&mut composer, "ctrl+r");
    assert_eq!(composer.place(), Place::Search);
    write(&mut composer, "two");
    let rows = plain(&composer, 9);
    assert!(rows[0].starts_with("search older messages: two") && rows[0].ends_with("1 of 2"), "{rows:?}");
    assert_eq!(rows[1], "> near two");
    press(&mut composer, "ctrl+r enter");
    assert_eq!(composer.as_text(), "far Two");
    press(&mut composer, "ctrl+_");
    assert_eq!(composer.as_text(), "draft");
    press(&mut composer, "ctrl+r T w esc");
    assert_eq!((composer.as_text().as_str(), composer.place()), ("draft", Place::Composer));
}

#[test]
fn a_draft_is_put_aside_and_back() {
    let mut composer = composer();
    write(&mut composer, "first");
    press(&mut composer, "ctrl+s");
    assert!(composer.is_empty());
    assert_eq!(composer.aside().as_deref(), Some("first"));
    write(&mut composer, "second");
    press(&mut composer, "ctrl+s");
    assert_eq!((composer.as_text().as_str(), composer.aside().as_deref()), ("first", Some("second")));
    press(&mut composer, "ctrl+u ctrl+s");
    assert_eq!((composer.as_text().as_str(), composer.aside()), ("second", None));
}

#[test]
fn commands_are_completed_and_sent_by_enter_if_they_take_no_argument() {
    let mut composer = with_sources();
    write(&mut composer, "/cmp");
    let rows: Vec<_> = composer.completion_rows(9).iter().map(Row::plain).collect();
    assert_eq!(rows, ["▸ /compact                does compact"]);
    assert_eq!(sent(press(&mut composer, "enter")), [text("/compact ")]);

    write(&mut composer, "/mo");
    assert_eq!(press(&mut composer, "down enter"), Outcome::Changed);
    assert!(composer.as_text().starts_with("/mode"), "{}", composer.as_text());
    assert!(plain(&composer, 9)[0].ends_with("NAME") || plain(&composer, 9)[0].ends_with("MODE"));

    press(&mut composer, "ctrl+u");
    write(&mut composer, "/mode");
    assert_eq!(sent(press(&mut composer, "enter")), [text("/mode")], "it was typed completely");

    write(&mut composer, "ls /etc");
    assert!(!composer.is_completing(), "a path is no command");
}

#[test]
fn files_are_completed_to_tokens_and_esc_closes_the_list() {
    let mut composer = with_sources();
    write(&mut composer, "look at @pag");
    assert!(composer.is_completing());
    press(&mut composer, "tab");
    write(&mut composer, "!");
    assert_eq!(plain(&composer, 9), ["> look at @src/page.rs !"]);
    let parts = sent(press(&mut composer, "enter"));
    assert_eq!(parts, [text("look at "), Part::Token(Token::File("src/page.rs".into())), text(" !")]);

    write(&mut composer, "@m");
    press(&mut composer, "esc a");
    assert!(!composer.is_completing(), "it was closed for this word");
    write(&mut composer, "x a@m");
    assert!(!composer.is_completing(), "an address is no file");
    write(&mut composer, " @zzz");
    assert!(!composer.is_completing());
}

#[test]
fn an_exclamation_mark_begins_a_command_of_ones_own() {
    let mut composer = with_sources();
    write(&mut composer, "!ls @src");
    assert!(!composer.is_completing());
    match press(&mut composer, "enter") {
        Outcome::Sent(Sent { message: Message::Command(line), .. }) => assert_eq!(line, "ls @src"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_but_space_is_not_sent() {
    let mut composer = composer();
    write(&mut composer, "  ");
    assert_eq!(press(&mut composer, "enter"), Outcome::Changed);
    composer.attach(1, 2, 3);
    assert_eq!(sent(press(&mut composer, "enter")).len(), 2);
}

#[test]
fn the_editor_gets_the_text_and_images_survive_it() {
    let mut composer = composer();
    write(&mut composer, "a ");
    composer.paste(&long(20));
    composer.attach(9, 10, 20);
    let text = composer.as_text();
    assert_eq!(text, format!("a {}[image 1 10×20]", long(20)));
    composer.set_text(&text.replace("a ", "b "));
    let parts = composer.content().parts();
    assert_eq!(parts.len(), 2);
    assert!(matches!(&parts[1], Part::Token(Token::Image(Image { id: 9, .. }))), "{parts:?}");
}

#[test]
fn a_message_that_was_not_sent_returns_before_what_is_written_now() {
    let mut composer = composer();
    write(&mut composer, "new");
    press(&mut composer, "left");
    composer.put_back(Fragment::text("old"));
    press(&mut composer, "X");
    assert_eq!(composer.as_text(), "old\nneXw");
}

/// What a user does.
#[derive(Debug, Clone)]
enum Deed {
    Press(&'static str),
    Write(String),
    Paste(usize),
    Attach,
    Width(usize),
}

const KEYS: [&str; 22] = [
    "left",
    "right",
    "ctrl+left",
    "ctrl+right",
    "home",
    "end",
    "up",
    "down",
    "backspace",
    "delete",
    "ctrl+w",
    "alt+d",
    "ctrl+k",
    "ctrl+u",
    "ctrl+y",
    "alt+y",
    "ctrl+_",
    "ctrl+j",
    "ctrl+s",
    "tab",
    "esc",
    "left",
];

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => (0..KEYS.len()).prop_map(|key| Deed::Press(KEYS[key])),
        8 => "[a /@!\u{301}\u{200d}\u{1F469}日\u{1b}\n\u{fffc}\u{1F1E9}]".prop_map(Deed::Write),
        2 => (9_usize..13).prop_map(Deed::Paste),
        1 => Just(Deed::Attach),
        1 => (1_usize..30).prop_map(Deed::Width),
    ]
}

/// The content as one value for each byte of text and for each token.
fn units(content: &Fragment) -> Vec<Result<u8, Token>> {
    let one = |part: Part| match part {
        Part::Text(text) => text.bytes().map(Ok).collect::<Vec<_>>(),
        Part::Token(token) => vec![Err(token)],
    };
    content.parts().into_iter().flat_map(one).collect()
}

/// Returns whether a text is another one with one stretch of it left out.
fn is_cut_of<T: PartialEq>(short: &[T], long: &[T]) -> bool {
    let same = short.iter().zip(long).take_while(|(one, other)| one == other).count();
    let behind = short.iter().rev().zip(long.iter().rev()).take_while(|(one, other)| one == other).count();
    short.len() <= long.len() && same + behind >= short.len()
}

proptest! {
    #[test]
    fn any_editing_keeps_every_byte_outside_of_what_it_cuts_or_inserts(deeds in proptest::collection::vec(deed(), 1..60)) {
        let mut composer = with_sources();
        let mut pasted = std::collections::BTreeSet::new();
        for deed in deeds {
            let before = units(composer.content());
            match &deed {
                Deed::Press(keys) => { press(&mut composer, keys); }
                Deed::Write(text) => write(&mut composer, text),
                Deed::Paste(lines) => { pasted.insert(long(*lines)); composer.paste(&long(*lines)); }
                Deed::Attach => composer.attach(1, 2, 3),
                Deed::Width(width) => composer.set_look(look(*width)),
            }
            let after = units(composer.content());
            match &deed {
                Deed::Press("left" | "right" | "ctrl+left" | "ctrl+right" | "home" | "end" | "esc") | Deed::Width(_) => {
                    prop_assert_eq!(&before, &after, "{:?}", deed);
                }
                Deed::Press("backspace" | "delete" | "ctrl+w" | "alt+d" | "ctrl+k" | "ctrl+u") => {
                    prop_assert!(is_cut_of(&after, &before), "{deed:?}: {before:?} {after:?}");
                }
                Deed::Press("ctrl+y" | "ctrl+j") | Deed::Write(_) | Deed::Attach => {
                    prop_assert!(is_cut_of(&before, &after), "{deed:?}: {before:?} {after:?}");
                }
                Deed::Press(_) | Deed::Paste(_) => {}
            }
            // A pasted text is there as a whole or not at all.
            for token in composer.content().tokens.values() {
                if let Token::Paste(text) = token {
                    prop_assert!(pasted.contains(&**text));
                }
            }
            // The cursor is where a cluster or a token begins.
            let at = composer.draft.cursor();
            let mut clean = composer.draft.clone();
            clean.move_to(at);
            prop_assert_eq!(clean.cursor(), at);

            let width = composer.look.width;
            let shown = composer.rows(4);
            prop_assert!(shown.rows.len() <= 4);
            for row in &shown.rows {
                prop_assert!(composer.look.measure.line(&row.line) <= width, "{:?} is wider than {width}", row.plain());
                prop_assert!(!row.plain().contains(char::is_control));
            }
            let (column, row) = shown.cursor.unwrap();
            prop_assert!(usize::from(column) < width && usize::from(row) < shown.rows.len());
        }
        // Undo leads back to nothing.
        for _ in 0..200 {
            composer.act(Action::Undo);
        }
        prop_assert!(composer.draft.is_empty());
    }
}
