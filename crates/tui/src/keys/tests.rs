//! Tests of the table, the bindings and the lookup.

use super::action::TABLE;
use super::bindings::Bindings;
use super::situation::PLACES;
use super::spelling::Chord;
use super::*;
use crate::input::{Key, KeyCode};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn settings(lines: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    lines
        .iter()
        .map(|(id, keys)| ((*id).to_owned(), keys.iter().map(|k| (*k).to_owned()).collect()))
        .collect()
}

fn find(bindings: &Bindings, situation: &Situation, key: &str) -> Match {
    bindings.find(situation, key.parse::<Chord>().unwrap().keys())
}

#[test]
fn each_action_has_one_name_keys_and_a_place_that_is_listed() {
    let ids: BTreeSet<_> = TABLE.iter().map(|entry| entry.id).collect();
    assert_eq!(ids.len(), TABLE.len(), "two actions have the same name");
    for entry in TABLE {
        assert!(!entry.keys.is_empty(), "{} has no key", entry.id);
        for key in entry.keys {
            assert_eq!(key.parse::<Chord>().unwrap().to_string(), *key, "{}", entry.id);
        }
        assert!(PLACES.contains(&entry.place));
        assert_eq!(Action::from_id(entry.id), Some(entry.action));
        assert_eq!(entry.action.entry(), entry);
    }
}

#[test]
fn nothing_exists_only_with_alt() {
    for entry in
        TABLE.iter().filter(|entry| entry.action != Action::YankOlder && entry.action != Action::KillWord)
    {
        let chords = entry.keys.iter().map(|key| key.parse::<Chord>().unwrap());
        assert!(chords.into_iter().any(|chord| chord.keys().iter().all(|key| !key.alt)), "{}", entry.id);
    }
}

#[test]
fn the_defaults_have_no_clash() {
    assert_eq!(Bindings::default().clashes(), []);
}

#[test]
fn tab_completes_then_answers_then_sends_after_the_turn() {
    let bindings = Bindings::default();
    let mut now = Situation {
        empty: false,
        running: true,
        completing: true,
        asked: true,
        ..Situation::idle(Place::Composer)
    };
    assert_eq!(find(&bindings, &now, "tab"), Match::Action(Action::Complete));
    now.completing = false;
    assert_eq!(find(&bindings, &now, "tab"), Match::Action(Action::Answer));
    now.asked = false;
    assert_eq!(find(&bindings, &now, "tab"), Match::Action(Action::After));
    now.running = false;
    assert_eq!(find(&bindings, &now, "tab"), Match::Nothing);
}

#[test]
fn esc_stops_the_innermost_thing_and_twice_opens_the_rewind_list_when_idle() {
    let bindings = Bindings::default();
    let idle = Situation::idle(Place::Composer);
    for (situation, expected) in [
        (Situation { completing: true, running: true, ..idle }, Match::Action(Action::CompletionClose)),
        (Situation { running: true, ..idle }, Match::Action(Action::Stop)),
        (idle, Match::Begun),
        (Situation { empty: false, ..idle }, Match::Nothing),
        (Situation::idle(Place::Permission), Match::Action(Action::PermissionLeave)),
    ] {
        assert_eq!(find(&bindings, &situation, "esc"), expected, "{situation:?}");
    }
    assert_eq!(find(&bindings, &idle, "esc esc"), Match::Action(Action::Rewind));
}

#[test]
fn up_takes_a_waiting_message_back_before_it_goes_to_the_history() {
    let bindings = Bindings::default();
    let idle = Situation::idle(Place::Composer);
    let waiting = Situation { waiting: true, ..idle };
    assert_eq!(find(&bindings, &waiting, "up"), Match::Action(Action::TakeBack));
    assert_eq!(find(&bindings, &idle, "up"), Match::Action(Action::Up));
    assert_eq!(find(&bindings, &Situation { empty: false, ..waiting }, "up"), Match::Action(Action::Up));
}

#[test]
fn keys_of_a_place_come_before_those_of_everywhere() {
    let bindings = Bindings::default();
    for (place, key, expected) in [
        (Place::Picker, "ctrl+c", Action::PickerClose),
        (Place::Composer, "ctrl+c", Action::Interrupt),
        (Place::Permission, "ctrl+c", Action::Interrupt),
        (Place::Permission, "ctrl+o", Action::Transcript),
        (Place::Transcript, "pgup", Action::PageUp),
        (Place::Composer, "pgup", Action::TranscriptPage),
    ] {
        assert_eq!(find(&bindings, &Situation::idle(place), key), Match::Action(expected), "{place:?} {key}");
    }
}

#[test]
fn settings_bind_and_unbind() {
    let (bindings, errors) = Bindings::with(&settings(&[
        ("send", &["ctrl+q", "ctrl+x s"]),
        ("help", &[]),
        ("permission_once", &["j"]),
    ]));
    assert_eq!(errors, []);
    let idle = Situation::idle(Place::Composer);
    assert_eq!(find(&bindings, &idle, "enter"), Match::Nothing);
    assert_eq!(find(&bindings, &idle, "ctrl+q"), Match::Action(Action::Send));
    assert_eq!(find(&bindings, &idle, "ctrl+x s"), Match::Action(Action::Send));
    assert_eq!(find(&bindings, &idle, "?"), Match::Nothing);
    assert_eq!(bindings.key_of(Action::Send).as_deref(), Some("ctrl+q"));
    assert_eq!(bindings.key_of(Action::Help), None);
    let clashes: Vec<_> = bindings.clashes().iter().map(ToString::to_string).collect();
    assert_eq!(
        clashes,
        ["ui.keys: 'j' never reaches 'permission_down', as 'permission_once' takes it first"]
    );
}

#[test]
fn a_key_that_begins_a_sequence_clashes_with_it() {
    let (bindings, errors) = Bindings::with(&settings(&[("undo", &["ctrl+x"])]));
    assert_eq!(errors, []);
    let clashes: Vec<_> = bindings.clashes().iter().map(ToString::to_string).collect();
    assert_eq!(clashes, ["ui.keys: 'ctrl+x ctrl+e' never reaches 'editor', as 'undo' takes it first"]);
}

#[test]
fn lines_that_cannot_be_used_are_errors_and_leave_the_defaults() {
    let (bindings, errors) = Bindings::with(&settings(&[
        ("rewnd", &["ctrl+q"]),
        ("zzz", &["ctrl+q"]),
        ("undo", &["cmd+z"]),
        ("permission_once", &["enter", "5", "space", "ctrl+y", "k"]),
        ("permission_always", &["enter"]),
    ]));
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 8, "{errors:#?}");
    assert!(
        errors.contains(
            &"ui.keys.rewnd: there is no action 'rewnd'; did you mean 'rewind'? (`tiller keys` lists them)"
                .to_owned()
        ),
        "{errors:#?}"
    );
    assert!(errors.contains(&"ui.keys.zzz: there is no action 'zzz' (`tiller keys` lists them)".to_owned()));
    assert!(errors.iter().any(|error| error.starts_with("ui.keys.undo: 'cmd+z' is no key")));
    let permission = Situation::idle(Place::Permission);
    assert_eq!(find(&bindings, &permission, "k"), Match::Action(Action::PermissionOnce));
    for key in ["y", "5", "space", "ctrl+y"] {
        assert_eq!(find(&bindings, &permission, key), Match::Nothing, "{key}");
    }
    assert_eq!(find(&bindings, &permission, "a"), Match::Action(Action::PermissionAlways));
    assert_eq!(find(&bindings, &Situation::idle(Place::Composer), "ctrl+_"), Match::Action(Action::Undo));
}

#[test]
fn a_sequence_is_read_key_by_key_and_forgotten_after_a_pause_or_another_key() {
    let bindings = Bindings::default();
    let idle = Situation::idle(Place::Composer);
    let mut reader = KeyReader::default();
    let (esc, x) = (Key::plain(KeyCode::Esc), Key::plain(KeyCode::Char('x')));
    let mut press = |key, millis| reader.press(&bindings, &idle, key, Duration::from_millis(millis));
    assert_eq!(press(esc, 0), Pressed::Begun);
    assert_eq!(press(esc, 300), Pressed::Action(Action::Rewind));
    assert_eq!(press(esc, 400), Pressed::Begun);
    assert_eq!(press(x, 500), Pressed::Key(x));
    assert_eq!(press(esc, 600), Pressed::Begun);
    assert_eq!(press(esc, 5_000), Pressed::Begun, "the first one was long ago");
    assert_eq!(press(Key::ctrl('x'), 5_100), Pressed::Begun);
    assert_eq!(press(Key::ctrl('e'), 5_200), Pressed::Action(Action::Editor));
    assert_eq!(press(Key::ctrl('e'), 5_300), Pressed::Action(Action::LineEnd));
}

#[test]
fn the_table_is_listed_as_rows_and_markdown() {
    let (bindings, _) = Bindings::with(&settings(&[("undo", &["ctrl+q"]), ("help", &[])]));
    let rows: Vec<_> =
        listing::rows(&bindings, &crate::look::Look::default()).iter().map(|r| r.plain()).collect();
    assert!(
        rows.iter().any(|row| row == "  ctrl+q                   takes the last change back"),
        "{rows:#?}"
    );
    assert!(!rows.iter().any(|row| row.contains("shows the keys")));
    let markdown = listing::markdown(&bindings);
    assert!(markdown.contains("| `ctrl+q` | `undo` | takes the last change back |"), "{markdown}");
    assert_eq!(markdown.matches("\n| `").count() + markdown.matches("\n|  |").count(), TABLE.len());
    let listed = listing::listed(&bindings);
    assert_eq!(listed.len(), TABLE.len());
    let undo = listed.iter().find(|one| one.action == "undo").unwrap();
    assert_eq!((undo.keys.as_slice(), undo.is_set), (&["ctrl+q".to_owned()][..], true));
}
