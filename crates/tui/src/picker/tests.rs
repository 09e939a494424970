//! Tests of lists to choose from.

use super::*;
use crate::input::KeyCode;
use crate::theme::Theme;
use proptest::prelude::*;

fn look(width: usize) -> Look {
    Look::new(Theme::terminal().without_colour(), width)
}

fn sessions() -> Picker {
    let mut picker = Picker::new("sessions", Bindings::default())
        .offers([
            (How::Open, "open"),
            (How::Fork, "fork"),
            (How::Rename, "rename"),
            (How::Archive, "archive"),
        ])
        .scopes(["this folder", "all"], 0)
        .flexible(1)
        .leaves_out([5, 3, 4, 2])
        .numbers([3, 5]);
    let mut login = Item::new(["2 h", "Fix login loop", "main", "14 turns", "sonnet-4-5", "$0.40"]);
    login.preview = vec![
        ("you".to_owned(), "the login loops when the cookie is old".to_owned()),
        ("last".to_owned(), "✓ all 42 tests pass".to_owned()),
    ];
    let auth = Item::new(["3 d", "Auth refactor plan", "feat/a", "6 turns", "gpt-5.6-sol", ""]);
    let bad = Item::new(["4 d", "日本\u{1b}[2J", "main", "1 turn", "x", ""]);
    picker.set_items(vec![login, auth, bad]);
    picker
}

fn typed(picker: &mut Picker, text: &str) {
    for c in text.chars() {
        picker.key(Key::plain(KeyCode::Char(c)));
    }
}

fn plain(picker: &Picker, width: usize, most: usize) -> String {
    let look = look(width);
    let shown = picker.rows(&look, most);
    shown.rows.iter().map(|row| format!("{}\n", row.plain().trim_end())).collect()
}

#[test]
fn a_list_shows_its_query_rows_preview_and_keys() {
    insta::assert_snapshot!(plain(&sessions(), 80, 20), @r#"
    sessions >                                       this folder · tab: all · 1 of 3
    ▸ 2 h  Fix login loop      main    14 turns  sonnet-4-5   $0.40
      3 d  Auth refactor plan  feat/a   6 turns  gpt-5.6-sol
      4 d  日本\u{1b}[2J       main      1 turn  x
      you   the login loops when the cookie is old
      last  ✓ all 42 tests pass
    enter open · ctrl+f fork · ctrl+r rename · ctrl+d archive · esc back
    "#);
}

#[test]
fn what_has_no_room_gives_way_in_order() {
    let first = |width: usize| -> Vec<String> {
        plain(&sessions(), width, 20).lines().take(2).map(str::to_owned).collect()
    };
    insta::assert_debug_snapshot!([140, 60, 50, 40, 24].map(first), @r#"
    [
        [
            "sessions >                                                                                                   this folder · tab: all · 1 of 3",
            "▸ 2 h  Fix login loop      main    14 turns  sonnet-4-5   $0.40",
        ],
        [
            "sessions >                              this folder · 1 of 3",
            "▸ 2 h  Fix login loop      main    14 turns  sonnet-4-5",
        ],
        [
            "sessions >                    this folder · 1 of 3",
            "▸ 2 h  Fix login loop      main    sonnet-4-5",
        ],
        [
            "sessions >                        1 of 3",
            "▸ 2 h  Fix login loop      main",
        ],
        [
            "sessions >        1 of 3",
            "▸ 2 h  Fix login loop",
        ],
    ]
    "#);
}

#[test]
fn the_number_of_rows_is_a_lower_bound_if_there_are_more() {
    let mut picker = sessions();
    picker.set_more(true);
    assert!(plain(&picker, 80, 20).contains(" · 1 of 3+\n"));
}

#[test]
fn typing_searches_and_the_selected_row_is_picked() {
    let mut picker = sessions();
    typed(&mut picker, "auth");
    assert_eq!(picker.act(Action::PickerOpen), Outcome::Picked { index: 1, how: How::Open });
    assert_eq!(picker.act(Action::PickerFork), Outcome::Picked { index: 1, how: How::Fork });
    assert_eq!(picker.act(Action::PickerDefault), Outcome::Ignored, "sessions have no default");
    typed(&mut picker, "zzz");
    assert_eq!(picker.act(Action::PickerOpen), Outcome::Changed, "there is nothing to open");
    assert!(plain(&picker, 80, 20).contains("nothing matches"));
    assert_eq!(picker.act(Action::PickerClose), Outcome::Closed);
}

#[test]
fn the_selection_moves_around_the_ends_and_by_pages() {
    let mut picker = Picker::new("files", Bindings::default());
    picker.set_items((0..100).map(|at| Item::new([format!("file {at}")])).collect());
    let steps = [
        (Action::PickerUp, 99),
        (Action::PickerDown, 0),
        (Action::PickerDown, 1),
        (Action::PickerPageDown, 9),
        (Action::PickerLast, 99),
        (Action::PickerPageUp, 91),
        (Action::PickerFirst, 0),
    ];
    for (action, expected) in steps {
        picker.rows(&look(80), 10);
        assert_eq!(picker.act(action), Outcome::Changed);
        assert_eq!(picker.index(), Some(expected), "{action:?}");
        assert!(
            plain(&picker, 80, 10).contains(&format!("▸  file {expected}\n").replace("  ", " ")),
            "{}",
            plain(&picker, 80, 10)
        );
    }
}

#[test]
fn tab_goes_through_the_scopes() {
    let mut picker = sessions();
    assert_eq!(picker.act(Action::PickerNextScope), Outcome::Scope(1));
    assert_eq!(picker.act(Action::PickerNextScope), Outcome::Scope(0));
    assert_eq!(picker.act(Action::PickerPreviousScope), Outcome::Scope(1));
    picker.set_loading(true);
    assert!(plain(&picker, 80, 20).contains("reading…"));
}

#[test]
fn the_marked_row_is_selected_first_and_the_selected_one_stays() {
    let mut picker = Picker::new("models", Bindings::default());
    let items = |names: &[&str]| -> Vec<Item> {
        names.iter().map(|name| Item { marked: *name == "b", ..Item::new([*name]) }).collect()
    };
    picker.set_items(items(&["a", "b", "c"]));
    assert_eq!(picker.index(), Some(1));
    picker.act(Action::PickerDown);
    picker.set_items(items(&["x", "a", "b", "c"]));
    assert_eq!(picker.index(), Some(3));
}

#[test]
fn a_text_can_be_typed_for_a_row() {
    let mut picker = sessions();
    picker.edit(1, "rename", "Auth");
    typed(&mut picker, " plan");
    assert_eq!(picker.query(), "");
    assert!(plain(&picker, 80, 20).starts_with("rename: Auth plan\n"));
    assert_eq!(picker.act(Action::PickerOpen), Outcome::Edited { index: 1, text: "Auth plan".to_owned() });
    picker.edit(1, "rename", "Auth");
    assert_eq!(picker.act(Action::PickerClose), Outcome::Changed);
    assert_eq!(picker.act(Action::PickerClose), Outcome::Closed);
}

#[test]
fn a_caller_who_searches_gets_the_query_and_its_rows_stay() {
    let mut picker = Picker::new("sessions", Bindings::default()).searches();
    picker.set_items(vec![Item::new(["one"]), Item::new(["two"])]);
    assert!(picker.paste("cookie"));
    assert_eq!(picker.query(), "cookie");
    assert!(plain(&picker, 80, 9).contains("two"));
}

#[test]
fn rows_have_numbers_for_plain_lines() {
    let mut picker = sessions();
    assert_eq!(picker.numbered(1, 1), ["2. 3 d, Auth refactor plan, feat/a, 6 turns, gpt-5.6-sol"]);
    assert_eq!(picker.select_number(2), Some(1));
    assert_eq!(picker.select_number(0), None);
    assert_eq!(picker.select_number(4), None);
}

proptest! {
    #[test]
    fn no_size_panics_and_no_row_is_too_wide(width in 1_usize..100, most in 1_usize..12, query in "\\PC{0,6}", down in 0_usize..4) {
        let mut picker = sessions();
        picker.paste(&query);
        for _ in 0..down {
            picker.act(Action::PickerDown);
        }
        let look = look(width);
        let shown = picker.rows(&look, most);
        prop_assert!(shown.rows.len() <= most);
        for row in &shown.rows {
            prop_assert!(look.measure.line(&row.line) <= width, "{:?} is wider than {width}", row.plain());
            prop_assert!(!row.plain().contains(char::is_control));
        }
        let (column, _) = shown.cursor.unwrap();
        prop_assert!(usize::from(column) < width);
    }
}
