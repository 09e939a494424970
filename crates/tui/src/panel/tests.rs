//! Tests of the questions that wait.

use super::body::names as body_names;
use super::*;
use crate::input::KeyCode;
use crate::keys::{KeyReader, Pressed, Situation};
use crate::theme::Theme;
use agent::{
    CallPlace, Choice, Content, Description, Diff, PermissionOutcome, PermissionRequest, Question,
    QuestionOutcome, ToolContent, ToolKind,
};
use proptest::prelude::*;
use serde_json::json;
use std::sync::LazyLock;
use system::AbsPath;

fn request(command: &str) -> PermissionRequest {
    PermissionRequest {
        id: "tool_0".into(),
        name: "bash".to_owned(),
        description: Description {
            title: format!("Run {command}"),
            kind: ToolKind::Execute,
            locations: Vec::new(),
        },
        question: format!("Run `{command}` outside the sandbox, in /home/me/shop? It publishes."),
        brief: "Run this outside the sandbox, in /home/me/shop? It publishes; asks in every mode.".to_owned(),
        place: CallPlace {
            directory: Some(AbsPath::new("/home/me/shop").unwrap()),
            facts: vec!["outside the sandbox".to_owned(), "network".to_owned()],
        },
        content: Vec::new(),
        raw_input: json!({ "command": command }),
        grant_label: "`git push …` in this session".to_owned(),
        remedy: agent::Remedy::default(),
    }
}

fn asked(command: &str) -> Asked {
    Asked::Permission(request(command))
}

fn choices() -> Asked {
    let choice = |label: &str, recommended| Choice { label: label.to_owned(), detail: None, recommended };
    Asked::Question(Question {
        id: "tool_1".into(),
        text: "Which database?".to_owned(),
        choices: vec![choice("SQLite", true), choice("PostgreSQL", false)],
    })
}

static BINDINGS: LazyLock<Bindings> = LazyLock::new(Bindings::default);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A user in front of an interface with a composer.
struct User {
    asks: AskQueue,
    composed: String,
    reader: KeyReader,
    bindings: Bindings,
    now: Duration,
    answers: Vec<(AskId, Answer)>,
}

impl User {
    fn new() -> Self {
        Self {
            asks: AskQueue::new(BINDINGS.clone()),
            composed: String::new(),
            reader: KeyReader::default(),
            bindings: BINDINGS.clone(),
            now: ms(60_000),
            answers: Vec::new(),
        }
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += ms(millis);
        self.answers.extend(self.asks.settle_held(self.now));
        self.settle()
    }

    /// Lets time pass without a look at the focus.
    fn wait_only(&mut self, millis: u64) {
        self.now += ms(millis);
        self.answers.extend(self.asks.settle_held(self.now));
    }

    fn settle(&mut self) -> &mut Self {
        self.asks.settle(self.composed.is_empty(), false, self.now);
        self
    }

    fn asked(&mut self, id: u64, asked: Asked) -> &mut Self {
        self.asks.push(AskId(id), asked);
        self.settle()
    }

    /// Presses keys one by one, as a user does who answers.
    fn press(&mut self, name: &str) -> &mut Self {
        for name in name.split(' ') {
            let chord: crate::keys::spelling::Chord = name.parse().unwrap();
            self.press_key(chord.keys()[0]);
            // Nothing follows for a moment.
            self.answers.extend(self.asks.settle_held(self.now + ms(400)));
        }
        self
    }

    /// Types a text with this time before each key.
    fn types(&mut self, text: &str, gap: u64) -> &mut Self {
        for character in text.chars() {
            self.wait(gap);
            let code = if character == '\n' { KeyCode::Enter } else { KeyCode::Char(character) };
            self.press_key(Key::plain(code));
        }
        self
    }

    fn press_key(&mut self, key: Key) {
        let place = if self.asks.has_focus() { self.asks.place() } else { Place::Composer };
        let asked = !self.asks.is_empty() && !self.asks.has_focus();
        let situation = Situation { empty: self.composed.is_empty(), asked, ..Situation::idle(place) };
        let pressed = self.reader.press(&self.bindings, &situation, key, self.now);
        match (pressed, place) {
            (Pressed::Action(Action::Answer), Place::Composer) => self.asks.take_focus(self.now),
            (pressed, Place::Composer) => {
                self.asks.typed(self.now);
                match (pressed, key.code) {
                    (Pressed::Key(_), KeyCode::Char(c)) => self.composed.push(c),
                    (Pressed::Action(Action::Send), _) => self.composed.clear(),
                    _ => {}
                }
            }
            (Pressed::Begun, _) => {}
            (pressed, _) => {
                let action = if let Pressed::Action(action) = pressed { Some(action) } else { None };
                match (self.asks.use_of(key, action, self.now), action) {
                    (KeyUse::Question, Some(action)) => {
                        self.answers.extend(self.asks.act(action, self.now));
                    }
                    (KeyUse::Question, None) => self.asks.key(key, self.now),
                    (KeyUse::Held, _) => {}
                    (KeyUse::Message(keys), _) => {
                        self.composed.extend(keys.iter().map(|key| match key.code {
                            KeyCode::Char(character) => character,
                            _ => panic!("only characters are a message"),
                        }))
                    }
                }
            }
        }
        self.settle();
    }

    fn permissions(&self) -> Vec<(u64, PermissionOutcome)> {
        let one = |(id, answer): &(AskId, Answer)| match answer {
            Answer::Permission { outcome, .. } => (id.0, *outcome),
            Answer::Question(_) => panic!("a permission was asked for"),
        };
        self.answers.iter().map(one).collect()
    }
}

#[test]
fn a_letter_answers_a_request_that_has_the_focus() {
    for (keys, expected) in [
        ("y", PermissionOutcome::AllowOnce),
        ("n", PermissionOutcome::RejectOnce),
        ("a enter", PermissionOutcome::AllowAlways),
        ("N enter", PermissionOutcome::RejectAlways),
        ("a n", PermissionOutcome::RejectOnce),
        ("e enter", PermissionOutcome::RejectOnce),
    ] {
        let mut user = User::new();
        user.asked(1, asked("git push")).wait(400).press(keys);
        assert_eq!(user.permissions(), [(1, expected)], "{keys}");
        assert!(user.asks.is_empty() && !user.asks.has_focus(), "{keys}");
    }
}

#[test]
fn all_sessions_are_offered_after_always_with_the_rule() {
    let remedy = agent::Remedy { user_rule: "network(group:npm)".parse().ok(), ..agent::Remedy::default() };
    let request = PermissionRequest { remedy, ..request("npm install") };
    let offered = || Asked::Permission(request.clone());
    let mut user = User::new();
    user.asked(1, offered()).wait(400).press("u");
    assert_eq!(user.permissions(), [], "it was not shown");
    user.press("esc");
    let mut user = User::new();
    user.asked(1, offered()).wait(400).press("a");
    let rows = plain(&user.asks, 80, 20, user.now);
    assert!(rows.contains("u in all sessions: add network(group:npm) to your settings"), "{rows}");
    user.press("u");
    assert_eq!(user.permissions(), [(1, PermissionOutcome::AllowForUser)]);
    let mut user = User::new();
    user.asked(1, asked("npm install")).wait(400).press("a u");
    assert_eq!(user.permissions(), [], "it was not offered");
}

#[test]
fn enter_space_digits_and_capitals_never_approve() {
    for keys in [
        "enter",
        "space",
        "1",
        "2",
        "Y",
        "A",
        "enter enter",
        "ctrl+y",
        "alt+y",
        "a y",
        "a space",
        "a a",
        "N y",
    ] {
        let mut user = User::new();
        user.asked(1, asked("git push")).wait(400).press(keys);
        assert_eq!(user.answers, [], "{keys}");
        assert!(user.asks.has_focus(), "{keys}");
    }
}

#[test]
fn a_message_that_is_begun_while_a_request_is_shown_is_a_message() {
    for begun in [0, 100, 390, 400, 1_000] {
        for text in
            ["this is my folder", "yes please do", "yes", "no way", "my", "Yes, go on", "1. do it", "nyny"]
        {
            for gap in [20, 70, 150, 190] {
                let mut user = User::new();
                user.asked(1, asked("git push")).wait(begun).types(text, gap).wait(2_000);
                assert_eq!(user.answers, [], "{text:?} after {begun} ms, {gap} ms between keys");
                assert_eq!(user.composed, text, "after {begun} ms, {gap} ms between keys");
                assert!(!user.asks.has_focus());
            }
        }
    }
}

#[test]
fn slow_typing_that_is_begun_as_a_request_appears_does_not_approve_it() {
    for gap in [210, 300, 390] {
        let mut user = User::new();
        user.asked(1, asked("git push")).types("my yard", gap).wait(2_000);
        assert_eq!(user.answers, [], "{gap} ms between keys");
    }
}

#[test]
fn a_letter_that_is_pressed_again_is_one_answer_and_enter_does_not_change_it() {
    for keys in ["yy", "y\n", "yyy"] {
        let mut user = User::new();
        user.asked(1, asked("git push")).wait(400).types(keys, 50);
        assert_eq!(user.answers, [], "another key may follow");
        assert!(user.asks.due(user.now).is_some());
        user.wait(200);
        assert_eq!(user.permissions(), [(1, PermissionOutcome::AllowOnce)], "{keys}");
    }
    let mut user = User::new();
    user.asked(1, asked("git push")).wait(400).types("y", 0);
    user.press_key(Key::plain(KeyCode::Esc));
    user.wait(1_000);
    assert_eq!(user.answers, [], "esc takes it back");
}

#[test]
fn a_request_takes_no_focus_while_one_types() {
    let mut user = User::new();
    user.press("x").asked(1, asked("git push")).wait(5_000);
    assert!(!user.asks.has_focus(), "there is text in the composer");
    user.press("y");
    assert_eq!((user.answers.len(), user.composed.as_str()), (0, "xy"));
    user.press("enter").wait(999);
    assert!(!user.asks.has_focus(), "something was typed less than a second ago");
    user.wait(1);
    assert!(user.asks.has_focus());
    user.wait(399).press("y");
    assert_eq!(user.answers, [], "what was typed ahead is dropped");
    user.wait(399).press("y");
    assert_eq!(user.answers, [], "and it begins the time anew");
    user.wait(400).press("y");
    assert_eq!(user.permissions(), [(1, PermissionOutcome::AllowOnce)]);
}

#[test]
fn tab_gives_the_focus_and_esc_returns_it_until_the_next_tab() {
    let mut user = User::new();
    user.press("x").asked(1, asked("git push")).press("tab");
    assert!(user.asks.has_focus());
    user.press("y").wait(400).press("esc").wait(10_000);
    user.composed.clear();
    user.wait(10_000);
    assert!(!user.asks.has_focus(), "it was left");
    user.press("tab").wait(400).press("y");
    assert_eq!(user.permissions(), [(1, PermissionOutcome::AllowOnce)]);
}

#[test]
fn without_the_terminals_focus_and_just_after_it_keys_are_ignored() {
    let mut user = User::new();
    user.asks.focus_changed(false, user.now);
    user.asked(1, asked("git push")).wait(5_000);
    assert!(!user.asks.has_focus());
    user.asks.focus_changed(true, user.now);
    user.settle();
    assert!(user.asks.has_focus());
    user.wait(399).press("y");
    assert_eq!(user.answers, []);
    user.asks.focus_changed(false, user.now);
    user.wait(5_000);
    user.asks.focus_changed(true, user.now);
    user.wait(399).press("y");
    assert_eq!(user.answers, []);
    user.wait(400).press("y");
    assert_eq!(user.answers.len(), 1);
}

#[test]
fn a_view_that_covers_a_request_gives_it_no_keys_on_the_way_back() {
    let mut user = User::new();
    user.asked(1, asked("git push")).wait(5_000);
    user.asks.settle(true, true, user.now);
    user.answers.extend(user.asks.act(Action::PermissionOnce, user.now));
    user.now += ms(5_000);
    user.settle();
    user.answers.extend(user.asks.act(Action::PermissionOnce, user.now));
    assert_eq!(user.answers, []);
    user.wait(400).press("y");
    assert_eq!(user.answers.len(), 1);
}

#[test]
fn answering_one_never_answers_another() {
    let mut user = User::new();
    user.asked(1, asked("one")).asked(2, asked("two")).asked(3, asked("three")).wait(400).press("y y y");
    assert_eq!(user.permissions(), [(1, PermissionOutcome::AllowOnce)]);
    assert!(user.asks.has_focus());
    user.asks.withdraw(AskId(2), user.now + ms(400));
    user.wait(400).press("y");
    assert_eq!(user.answers.len(), 1, "the third one was just put in its place");
    user.wait(400).press("n");
    assert_eq!(user.permissions()[1..], [(3, PermissionOutcome::RejectOnce)]);
}

#[test]
fn a_withdrawn_request_vanishes() {
    let mut user = User::new();
    user.asked(1, asked("one")).wait(400);
    user.asks.withdraw(AskId(1), user.now);
    assert!(user.asks.is_empty() && !user.asks.has_focus());
    user.press("y");
    assert_eq!((user.answers.len(), user.composed.as_str()), (0, "y"));
}

#[test]
fn a_rejection_can_have_a_reason() {
    let mut user = User::new();
    user.asked(1, asked("git push")).wait(400).press("e");
    assert_eq!(user.asks.place(), Place::Reason);
    for c in "yes, later".chars() {
        user.press_key(Key::plain(KeyCode::Char(c)));
    }
    user.asks.paste(" and\nnot today", user.now);
    user.press("enter");
    let reason = Some("yes, later and not today".to_owned());
    let answer = Answer::Permission { outcome: PermissionOutcome::RejectOnce, reason };
    assert_eq!(user.answers, [(AskId(1), answer)]);
}

#[test]
fn what_is_asked_each_time_has_no_lasting_answer() {
    let mut user = User::new();
    let request = PermissionRequest { grant_label: String::new(), ..request("rm -rf x") };
    user.asked(1, Asked::Permission(request)).wait(400).press("a enter").press("N enter");
    assert_eq!(user.answers, []);
    let rows = plain(&user.asks, 80, 20, user.now);
    assert!(!rows.contains("always") && !rows.contains("never"), "{rows}");
}

#[test]
fn a_question_is_answered_by_number_or_in_words_and_not_by_enter_alone() {
    for (keys, expected) in [
        ("enter", None),
        ("1", None),
        ("2 enter", Some(QuestionOutcome::Answered("PostgreSQL".to_owned()))),
        ("down enter", Some(QuestionOutcome::Answered("SQLite".to_owned()))),
        ("up enter", Some(QuestionOutcome::Answered("PostgreSQL".to_owned()))),
        ("1 n o enter", Some(QuestionOutcome::Answered("no".to_owned()))),
        ("9 enter", Some(QuestionOutcome::Answered("9".to_owned()))),
        ("ctrl+d", Some(QuestionOutcome::Dismissed)),
    ] {
        let mut user = User::new();
        user.asked(1, choices()).wait(400);
        for key in keys.split(' ') {
            user.press(key);
        }
        let expected: Vec<_> =
            expected.map(|outcome| (AskId(1), Answer::Question(outcome))).into_iter().collect();
        assert_eq!(user.answers, expected, "{keys}");
    }
}

#[test]
fn the_state_changes_when_it_is_said_to() {
    let mut user = User::new();
    user.press("x").press("enter");
    assert_eq!(user.asks.due(user.now), None, "nothing waits");
    user.asked(1, asked("git push"));
    assert_eq!(user.asks.due(user.now), Some(user.now + ms(1_000)));
    user.wait(1_000);
    assert_eq!(user.asks.due(user.now), Some(user.now + ms(400)));
    user.wait(400);
    assert_eq!(user.asks.due(user.now), None);
}

fn plain(asks: &AskQueue, width: usize, most: usize, now: Duration) -> String {
    let look = Look::new(Theme::terminal().without_colour(), width);
    let shown = asks.rows(&look, most, now);
    assert!(shown.rows.len() <= most.max(4), "{} rows", shown.rows.len());
    for row in &shown.rows {
        assert!(look.measure.line(&row.line) <= width, "{:?} is wider than {width}", row.plain());
    }
    shown.rows.iter().map(|row| format!("{}\n", row.plain().trim_end())).collect()
}

fn edit(old: &str, new: &str) -> ToolContent {
    ToolContent::Diff(Diff {
        path: AbsPath::new("/home/me/shop/src/page.rs").unwrap(),
        old_text: Some(old.to_owned()),
        new_text: Some(new.to_owned()),
    })
}

#[test]
fn a_request_shows_what_where_and_why() {
    let mut user = User::new();
    user.press("x").asked(1, asked("git push origin main")).asked(2, asked("ls"));
    insta::assert_snapshot!(plain(&user.asks, 80, 20, user.now), @r#"
    ┌ permission 1 of 2 ── waits, your keys go to the message ── tab: answer
    │ bash   Run git push origin main
    │ where  /home/me/shop · outside the sandbox · network
    │ why    It publishes; asks in every mode.
    │ y once   a always: `git push …` in this session   n no   N never
    │ e no, because…
    └ ctrl+o context   esc back to the message
    "#);
    user.composed.clear();
    user.wait(1_000).wait(400);
    insta::assert_snapshot!(plain(&user.asks, 38, 20, user.now), @r#"
    ┌ permission 1 of 2 ── waits for your…
    │bash Run git push origin main
    │where /home/me/shop · outside the
    │sandbox · network
    │why It publishes; asks in every mode.
    │y once
    │a always: `git push …` in this
    │session
    │n no   N never   e no, because…
    │ctrl+o context
    └esc back to the message
    "#);
    user.press("a");
    insta::assert_snapshot!(plain(&user.asks, 80, 20, user.now), @r#"
    ┌ permission 1 of 2 ── waits for your answer
    │ bash   Run git push origin main
    │ where  /home/me/shop · outside the sandbox · network
    │ why    It publishes; asks in every mode.
    │ always allows without asking: `git push …` in this session
    └ enter always   n no   esc back
    "#);
}

#[test]
fn a_long_command_says_how_much_is_hidden_and_v_shows_it() {
    let mut user = User::new();
    let command: String = (0..40).map(|at| format!("echo {at}\u{1b}[2J\n")).collect();
    let content = vec![ToolContent::Content(Content::text(format!("```sh\n{command}```")))];
    user.asked(1, Asked::Permission(PermissionRequest { content, ..request("echo …") })).wait(400);
    let rows = plain(&user.asks, 80, 40, user.now);
    assert!(
        rows.contains("text   echo 0\\u{1b}[2J") && rows.contains("… 28 more rows (v shows all)"),
        "{rows}"
    );
    user.press("v");
    let rows = plain(&user.asks, 80, 20, user.now);
    assert!(rows.contains("rows 1–15 of 43") && !rows.contains("echo 39"), "{rows}");
    for _ in 0..100 {
        user.press("j");
    }
    let rows = plain(&user.asks, 80, 20, user.now);
    assert!(rows.contains("echo 39") && rows.contains("of 43"), "{rows}");
    user.press("k");
    assert!(!plain(&user.asks, 80, 20, user.now).contains("echo 39"), "the scroll stops at the end");
}

#[test]
fn diffs_are_shown_by_file_and_side_by_side_in_a_wide_terminal() {
    let mut user = User::new();
    let old = "one\ntwo\nthree\n";
    let content = vec![edit(old, "one\n2\u{202e}\nthree\n"), edit(old, "one\ntwo\nthree\nfour\n")];
    let description = Description { kind: ToolKind::Edit, ..request("x").description };
    user.asked(1, Asked::Permission(PermissionRequest { content, description, ..request("x") })).wait(400);
    insta::assert_snapshot!(plain(&user.asks, 80, 20, user.now), @r#"
    ┌ permission ── waits for your answer
    │ bash   Run x
    │ where  /home/me/shop · outside the sandbox · network
    │ why    It publishes; asks in every mode.
    │ file   /home/me/shop/src/page.rs +1 −1   file 1 of 2
    │ 1   one
    │ 2 − two
    │ 2 + 2\u{202e}
    │ 3   three
    │ y once   a always: `git push …` in this session   n no   N never
    │ e no, because…
    └ ] [ next, previous file   ctrl+o context   esc back to the message
    "#);
    insta::assert_snapshot!(plain(&user.asks, 140, 20, user.now), @r#"
    ┌ permission ── waits for your answer
    │ bash   Run x
    │ where  /home/me/shop · outside the sandbox · network
    │ why    It publishes; asks in every mode.
    │ file   /home/me/shop/src/page.rs +1 −1   file 1 of 2
    │ 1   one                                                             │ 1   one
    │ 2 − two                                                             │ 2 + 2\u{202e}
    │ 3   three                                                           │ 3   three
    │ y once   a always: `git push …` in this session   n no   N never   e no, because…
    └ ] [ next, previous file   ctrl+o context   esc back to the message
    "#);
    user.press("]");
    assert!(plain(&user.asks, 80, 20, user.now).contains("4 + four"));
}

#[test]
fn a_change_shows_rows_of_it_on_a_usual_screen_and_says_how_many_are_hidden() {
    let mut user = User::new();
    let text = |mark: &str| (0..40).map(|at| format!("line {at}{mark}\n")).collect::<String>();
    let description =
        Description { kind: ToolKind::Edit, title: "Edit src/page.rs".to_owned(), locations: Vec::new() };
    let place = CallPlace { directory: Some(AbsPath::new("/home/me/shop").unwrap()), facts: Vec::new() };
    let request = PermissionRequest {
        name: "file_edit".to_owned(),
        description,
        brief: "Write src/page.rs? The mode is argus.".to_owned(),
        content: vec![edit(&text(""), &text("!"))],
        place,
        ..request("x")
    };
    user.asked(1, Asked::Permission(request)).wait(400);
    let look =
        Look { home: AbsPath::new("/home/me").ok(), ..Look::new(Theme::terminal().without_colour(), 80) };
    let shown = user.asks.rows(&look, 14, user.now);
    let rows: String = shown.rows.iter().map(|row| format!("{}\n", row.plain().trim_end())).collect();
    insta::assert_snapshot!(rows, @r#"
    ┌ permission ── waits for your answer
    │ file_edit Edit src/page.rs  +40 −40
    │ where  ~/shop
    │ why    The mode is argus.
    │  1 − line 0
    │  2 − line 1
    │  3 − line 2
    │  4 − line 3
    │  5 − line 4
    │  6 − line 5
    │ … 74 more rows (v shows all)
    │ y once   a always: `git push …` in this session   n no   N never
    │ e no, because…
    └ v whole text   ctrl+o context   esc back to the message
    "#);
    // The name in the title must be the end of the path; else the file has a row of its own.
    assert!(body_names("Edit src/page.rs", "/home/me/shop/src/page.rs"));
    assert!(!body_names("Edit page.rs", "/home/me/shop/homepage.rs"));
    assert!(!body_names("Edit ", "/home/me/shop/page.rs"));
}

#[test]
fn a_long_command_leaves_where_and_why_and_says_how_much_of_it_is_hidden() {
    let mut user = User::new();
    let command = "echo ".to_owned() + &"0123456789 ".repeat(100);
    user.asked(1, asked(&command)).wait(400);
    let rows = plain(&user.asks, 80, 12, user.now);
    assert!(rows.contains("│ where  /home/me/shop · outside the sandbox · network\n"), "{rows}");
    assert!(rows.contains("│ why    It publishes; asks in every mode.\n"), "{rows}");
    assert!(rows.contains("… 11 more rows of the command (v shows all)\n"), "{rows}");
    assert_eq!(rows.lines().count(), 12, "{rows}");
    user.press("v");
    assert!(plain(&user.asks, 80, 40, user.now).contains("esc back to the message"));
    assert!(!plain(&user.asks, 80, 40, user.now).contains("more rows"));
}

#[test]
fn a_question_shows_its_choices_and_the_answer_in_words() {
    let mut user = User::new();
    user.asked(1, choices()).wait(400).press("2");
    insta::assert_snapshot!(plain(&user.asks, 80, 20, user.now), @r#"
    ┌ question ── waits for your answer
    │ Which database?
    │   1 SQLite (recommended)
    │ ▸ 2 PostgreSQL
    │ or in words:
    └ 1–2 select   enter answer   ctrl+d decline   esc back to the message
    "#);
}

#[test]
fn a_tool_without_content_shows_its_arguments() {
    let mut user = User::new();
    let description = Description { kind: ToolKind::Other, ..request("x").description };
    user.asked(1, Asked::Permission(PermissionRequest { description, ..request("x") })).wait(400);
    let rows = plain(&user.asks, 80, 20, user.now);
    assert!(rows.contains("\"command\": \"x\""), "{rows}");
}

/// One thing that happens.
#[derive(Debug, Clone)]
enum Happening {
    Asked,
    Questioned,
    Withdrawn(usize),
    Key(usize),
    Wait(u64),
    Terminal(bool),
    Covered(bool),
    Pasted,
}

/// Reads a number as something that happens; keys and pauses happen most.
fn happening(number: u16) -> Happening {
    let (kind, detail) = (number % 28, number / 28);
    let flag = detail.is_multiple_of(2);
    match kind {
        0..=2 => Happening::Asked,
        3 => Happening::Questioned,
        4 => Happening::Withdrawn(usize::from(detail % 4)),
        5 => Happening::Terminal(flag),
        6 => Happening::Covered(flag),
        7 => Happening::Pasted,
        8..=15 => Happening::Wait(match detail % 3 {
            0 => u64::from(detail % 20),
            1 => 300 + u64::from(detail % 200),
            _ => 900 + u64::from(detail % 600),
        }),
        _ => Happening::Key(usize::from(detail) % KEYS.len()),
    }
}

const KEYS: [&str; 16] =
    ["y", "a", "n", "N", "e", "v", "enter", "space", "tab", "esc", "1", "x", "backspace", "]", "ctrl+d", "y"];

/// The rule, written once more from what happened: since when has the request that is shown been
/// shown with the focus, the terminal's included?
#[derive(Debug, Default)]
struct Witness {
    shown: Option<AskId>,
    since: Option<Duration>,
}

impl Witness {
    fn look(&mut self, asks: &AskQueue, attended: bool, now: Duration) {
        let shown = asks.asks.front().map(|ask| ask.id).filter(|_| asks.has_focus() && attended);
        if shown != self.shown {
            (self.shown, self.since) = (shown, shown.map(|_| now));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn no_call_is_approved_but_by_a_letter_in_a_request_that_had_the_focus_for_400_ms(
        numbers in proptest::collection::vec(any::<u16>(), 1..40),
    ) {
        let mut user = User::new();
        let mut witness = Witness::default();
        let (mut terminal, mut covered, mut next) = (true, false, 0);
        let mut typed = None;
        // The last key, and the request that was shown with the focus for long enough then.
        let mut last: Option<(Key, Option<AskId>)> = None;
        for number in numbers {
            let happening = happening(number);
            let (before, shown, had) = (user.answers.len(), witness.shown, user.asks.has_focus());
            let composed = user.composed.clone();
            match happening {
                Happening::Asked => { next += 1; user.asks.push(AskId(next), asked("git push")); }
                Happening::Questioned => { next += 1; user.asks.push(AskId(next), choices()); }
                Happening::Withdrawn(at) => {
                    if let Some(id) = user.asks.asks.get(at).map(|ask| ask.id) {
                        user.asks.withdraw(id, user.now);
                    }
                }
                Happening::Key(key) => {
                    // A terminal without the focus sends no keys; that they are ignored is tested
                    // all the same.
                    let key: crate::keys::spelling::Chord = KEYS[key].parse().unwrap();
                    let key = key.keys()[0];
                    let settled = witness.since.is_some_and(|since| user.now - since >= ms(400));
                    // Enter leaves a letter that waits as it is.
                    let waits = key.code == KeyCode::Enter && user.asks.held.is_some();
                    if !waits {
                        last = Some((key, shown.filter(|_| settled)));
                    }
                    if covered {
                        user.asks.typed(user.now);
                    } else {
                        user.press_key(key);
                    }
                    typed = Some(user.now);
                }
                Happening::Wait(millis) => { user.wait_only(millis); }
                Happening::Terminal(has) => { terminal = has; user.asks.focus_changed(has, user.now); witness = Witness::default(); }
                Happening::Covered(now) => covered = now,
                Happening::Pasted => {
                    if user.asks.has_focus() { user.asks.paste("y\ny", user.now) } else if !covered { user.composed.push_str("y\ny") }
                    user.asks.typed(user.now);
                    typed = Some(user.now);
                }
            }
            let approved = user.answers[before..].iter().any(|(id, answer)| {
                let approves = matches!(answer, Answer::Permission { outcome, .. } if outcome.allows());
                let letter = last.is_some_and(|(key, shown)| {
                    let codes = [KeyCode::Char('y'), KeyCode::Enter];
                    shown == Some(*id) && codes.map(Key::plain).contains(&key)
                });
                approves && !letter
            });
            prop_assert!(!approved, "{last:?}: {:?} {witness:?}", user.answers.last());
            prop_assert!(user.answers.len() <= before + 1);
            user.asks.settle(user.composed.is_empty(), covered, user.now);
            // Only a key of the user gives the focus against the rule.
            let by_key = matches!(happening, Happening::Key(_));
            if !had && user.asks.has_focus() && !by_key {
                prop_assert!(composed.is_empty() && terminal && !covered);
                prop_assert!(typed.is_none_or(|typed| user.now - typed >= ms(1_000)));
            }
            witness.look(&user.asks, terminal && !covered, user.now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_size_of_the_terminal_panics_and_no_row_is_too_wide(width in 1_usize..160, most in 1_usize..30, keys in "[aeNv\\]2]{0,4}") {
        let mut user = User::new();
        let text = "日本語 a\u{301} \u{1b}[31m very long words ".repeat(6);
        let content = vec![ToolContent::Content(Content::text(text.as_str())), edit("a\nb\n", &format!("a\n{text}\n"))];
        user.asked(1, Asked::Permission(PermissionRequest { content, ..request(&text) }));
        user.asked(2, choices()).wait(400);
        for key in keys.chars() {
            user.press_key(Key::plain(KeyCode::Char(key)));
        }
        let look = Look::new(Theme::terminal(), width);
        for _ in 0..2 {
            let shown = user.asks.rows(&look, most, user.now);
            for row in &shown.rows {
                prop_assert!(look.measure.line(&row.line) <= width, "{:?} is wider than {width}", row.plain());
                prop_assert!(width < 4 || row.plain().starts_with(['┌', '│', '└']));
            }
            user.asks.withdraw(AskId(1), user.now);
        }
    }
}
