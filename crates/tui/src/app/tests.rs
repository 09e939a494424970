//! Conversations with the interface: keys and events go in, rows and effects come out.

mod failure;
mod first_run;
mod held;
mod plain;
mod settings;
mod slips;

use super::{App, FirstMessage, effect::Effect};
use crate::{
    client::{
        asks::{Answer, AskId, Asked},
        mailbox::Letter,
    },
    driver::{
        reply::{OpenedSession, Reply},
        request::{PromptId, Request, When},
    },
    input::{Input, Key, KeyCode},
    keys::Bindings,
    look::Look,
    options::AppOptions,
    screens::{
        frame::{Frame, Screen},
        terminal::Switches,
    },
    theme::Theme,
};
use agent::{
    Content, Description, MessageId, Mode, PermissionMode, PermissionOutcome, PermissionRequest,
    PromptOutcome, SessionEvent, SessionId, SessionState, StopReason, ToolCallId, ToolKind, TurnEnd, TurnId,
    Usage,
};
use proptest::prelude::*;
use std::time::Duration;
use system::AbsPath;

pub(super) struct Person {
    pub(super) app: App,
    now: Duration,
    effects: Vec<Effect>,
    /// The rows that were committed so far.
    committed: Vec<String>,
}

fn options(screen: Screen) -> AppOptions {
    AppOptions {
        look: Look::new(Theme::terminal().without_colour(), 80),
        bindings: Bindings::default(),
        screen,
        enter_steers: true,
        animation: false,
        notify: true,
        everywhere: false,
        notes: Default::default(),
        switches: Switches::default(),
    }
}

impl Person {
    /// Begins with a session.
    pub(super) fn at(screen: Screen, size: (u16, u16)) -> Self {
        Self::with(options(screen), size)
    }

    fn with(options: AppOptions, size: (u16, u16)) -> Self {
        let mut person = Self::before_session(options, size, FirstMessage::default());
        person.opens_session();
        person.effects.clear();
        person
    }

    fn without_session(screen: Screen, size: (u16, u16), first: FirstMessage) -> Self {
        Self::before_session(options(screen), size, first)
    }

    fn before_session(options: AppOptions, size: (u16, u16), first: FirstMessage) -> Self {
        Self {
            app: App::new(options, size, first),
            now: Duration::ZERO,
            effects: Vec::new(),
            committed: Vec::new(),
        }
    }

    fn opens_session(&mut self) {
        self.opens(Self::opened(), &[]);
    }

    /// Opens a session with these stored events.
    fn opens(&mut self, opened: OpenedSession, stored: &[SessionEvent]) {
        self.reply(Reply::Opened(Box::new(opened)));
        stored.iter().for_each(|event| self.event(event.clone()));
        self.reply(Reply::Replayed);
    }

    fn opened() -> OpenedSession {
        let state = SessionState {
            mode: Mode::Edit,
            permission_mode: PermissionMode::Guardian,
            model: "lab/model".to_owned(),
            effort: None,
            title: None,
            branch: None,
            additional_directories: Vec::new(),
            sandbox: String::new(),
            busy: false,
        };
        let cwd = AbsPath::new("/w/shop").expect("an absolute path");
        let id = SessionId("s".to_owned());
        OpenedSession { id, cwd, state, commands: Vec::new(), new: true, held: None }
    }

    pub(super) fn new() -> Self {
        Self::at(Screen::Inline, (80, 24))
    }

    pub(super) fn press(&mut self, key: Key) {
        self.now += Duration::from_millis(50);
        self.effects.extend(self.app.input(Input::Key(key), self.now));
    }

    pub(super) fn types(&mut self, text: &str) {
        text.chars().for_each(|char| self.press(Key::plain(KeyCode::Char(char))));
    }

    pub(super) fn says(&mut self, text: &str) {
        self.types(text);
        self.press(Key::plain(KeyCode::Enter));
    }

    pub(super) fn waits(&mut self, time: Duration) {
        self.now += time;
        self.effects.extend(self.app.tick(self.now));
    }

    /// Types a line in plain mode.
    fn line(&mut self, line: &str) {
        self.effects.extend(self.app.input(Input::Line(line.to_owned()), self.now));
    }

    pub(super) fn letter(&mut self, letter: Letter) {
        self.app.set_now(self.now);
        self.effects.extend(self.app.letter(letter));
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        self.letter(Letter::Reply(Box::new(reply)));
    }

    pub(super) fn event(&mut self, event: SessionEvent) {
        self.letter(Letter::Event(Box::new(event)));
    }

    pub(super) fn turn_begins(&mut self) {
        self.event(SessionEvent::TurnStarted { turn: TurnId("run_1".to_owned()), prompt: None });
    }

    pub(super) fn turn_ends(&mut self, end: TurnEnd) {
        self.event(SessionEvent::TurnEnded { turn: TurnId("run_1".to_owned()), end });
    }

    pub(super) fn frame(&mut self) -> Frame {
        let frame = self.app.frame();
        self.committed.extend(frame.commit.iter().map(crate::text::row::Row::plain));
        frame
    }

    pub(super) fn live(&mut self) -> String {
        self.frame().live.iter().map(|row| row.plain() + "\n").collect()
    }

    /// The requests since the last call.
    pub(super) fn requests(&mut self) -> Vec<Request> {
        let effects = std::mem::take(&mut self.effects);
        let requests = effects.into_iter().filter_map(|effect| match effect {
            Effect::Request(Request::Remember(_)) => None,
            Effect::Request(request) => Some(request),
            _ => None,
        });
        requests.collect()
    }

    pub(super) fn answers(&mut self) -> Vec<(AskId, Answer)> {
        let effects = std::mem::take(&mut self.effects);
        let answers = effects.into_iter().filter_map(|effect| match effect {
            Effect::Answer(id, answer) => Some((id, answer)),
            _ => None,
        });
        answers.collect()
    }
}

fn permission() -> Asked {
    Asked::Permission(PermissionRequest {
        id: ToolCallId("tool_0".to_owned()),
        name: "bash".to_owned(),
        description: Description {
            title: "rm -rf build".to_owned(),
            kind: ToolKind::Execute,
            locations: Vec::new(),
        },
        question: "Run rm -rf build?".to_owned(),
        brief: "Run this?".to_owned(),
        place: agent::CallPlace::default(),
        content: Vec::new(),
        raw_input: serde_json::json!({"command": "rm -rf build"}),
        grant_label: "`rm …` in this session".to_owned(),
        remedy: agent::Remedy::default(),
    })
}

fn sent(text: &str, id: u64, when: When) -> Request {
    Request::Send {
        id: PromptId(id),
        content: vec![Content::text(text)],
        when,
        is_own: text.starts_with("/run "),
    }
}

#[test]
fn a_message_during_a_turn_steers_it_and_tab_sends_it_after() {
    let mut person = Person::new();
    person.says("fix the test");
    assert_eq!(person.requests(), [sent("fix the test", 1, When::Next)]);
    person.reply(Reply::Inserted(PromptId(1)));
    person.turn_begins();
    person.says("keep the signature");
    person.types("then the changelog");
    person.press(Key::plain(KeyCode::Tab));
    let expected = [sent("keep the signature", 2, When::Next), sent("then the changelog", 3, When::After)];
    assert_eq!(person.requests(), expected);
    let live = person.live();
    assert!(live.contains("next ▸ \"keep the signature\"   after ▸ \"then the changelog\""), "{live}");
    person.says("!git status");
    assert_eq!(person.requests(), [sent("/run git status", 4, When::Next)]);
    assert!(person.live().contains("next ▸ \"! git st"), "{}", person.live());
    person.press(Key::plain(KeyCode::Up));
    assert_eq!(person.requests(), [Request::Withdraw(PromptId(4))]);
    assert_eq!(person.app.composer.as_text(), "!git status");
    person.press(Key::ctrl('u'));
    // The arrow takes the last one back for editing.
    person.press(Key::plain(KeyCode::Up));
    assert_eq!(person.requests(), [Request::Withdraw(PromptId(3))]);
    assert!(person.live().contains("> then the changelog"));
}

#[test]
fn dropped_files_are_loaded_in_every_spelling_of_their_paths() {
    let mut person = Person::new();
    let mut paste = |text: &str| {
        person.effects.extend(person.app.input(Input::Paste(text.to_owned()), person.now));
        (person.requests(), std::mem::take(&mut person.app.composer).as_text())
    };
    let loads = |path: &str, text: &str| Request::Dropped { path: path.to_owned(), text: text.to_owned() };
    let path = "/a/my shot.png";
    for text in ["'/a/my shot.png'", "/a/my\\ shot.png", "/a/my shot.png "] {
        assert_eq!(paste(text), (vec![loads(path, text)], String::new()));
    }
    assert_eq!(paste("file:///a/my%20shot.png"), (vec![loads(path, path)], String::new()));
    let both = vec![loads(path, path), loads("/b.d/c.png", "/b.d/c.png")];
    assert_eq!(paste("'/a/my shot.png' /b.d/c.png"), (both, String::new()));
    // Another file is pasted as its path.
    assert_eq!(paste("file:///a/my%20notes.md"), (Vec::new(), "/a/my notes.md".to_owned()));
    assert_eq!(paste("'/a/my notes.md'"), (Vec::new(), "'/a/my notes.md'".to_owned()));
    assert_eq!(paste("file://elsewhere/a.png"), (Vec::new(), "file://elsewhere/a.png".to_owned()));
}

#[test]
fn stopping_a_turn_gives_waiting_messages_back() {
    let mut person = Person::new();
    person.turn_begins();
    person.says("one");
    person.says("two");
    person.types("three");
    person.requests();
    person.press(Key::plain(KeyCode::Esc));
    assert_eq!(person.requests(), [Request::Cancel]);
    assert_eq!(person.app.composer.as_text(), "one\ntwo\nthree");
    assert!(!person.live().contains("next ▸"));
}

#[test]
fn a_prompt_that_could_not_be_sent_returns_to_the_composer() {
    let mut person = Person::new();
    person.says("hello");
    person.reply(Reply::Settled(PromptId(1), Err(agent::TurnError::Closed)));
    let live = person.live();
    assert!(live.contains("> hello") && live.contains("the session is closed"), "{live}");
}

#[test]
fn one_press_of_ctrl_c_never_loses_a_turn() {
    let mut person = Person::new();
    person.turn_begins();
    person.types("half a thought");
    person.press(Key::ctrl('c'));
    assert_eq!(person.requests(), [], "only the draft is cleared, and it is in the history");
    person.press(Key::plain(KeyCode::Up));
    assert_eq!(person.app.composer.as_text(), "half a thought");
    person.press(Key::ctrl('c'));
    person.press(Key::ctrl('c'));
    assert_eq!(person.requests(), [Request::Cancel]);
    person.turn_ends(TurnEnd::Stopped(StopReason::Cancelled));
    person.press(Key::ctrl('c'));
    assert!(person.live().contains("press ctrl+c again to quit"));
    assert_eq!(person.effects, []);
    person.waits(Duration::from_secs(3));
    person.press(Key::ctrl('c'));
    assert_eq!(person.effects, [], "the first press was too long ago");
    person.press(Key::ctrl('c'));
    assert_eq!(person.effects, [Effect::Quit]);
}

#[test]
fn a_permission_request_takes_no_key_that_was_meant_for_the_message() {
    let mut person = Person::new();
    person.turn_begins();
    person.types("yes, and");
    person.letter(Letter::Asked(AskId(7), Box::new(permission())));
    person.types(" y");
    assert_eq!(person.answers(), []);
    assert_eq!(person.app.composer.as_text(), "yes, and y");
    assert!(person.live().contains("tab"), "the panel says how it gets the keys");
    person.press(Key::plain(KeyCode::Tab));
    person.types("y");
    assert_eq!(person.answers(), [], "it ignores keys at first");
    person.waits(Duration::from_millis(500));
    person.types("y");
    assert_eq!(person.answers(), [], "another key may follow");
    person.waits(Duration::from_millis(200));
    let once = Answer::Permission { outcome: PermissionOutcome::AllowOnce, reason: None };
    assert_eq!(person.answers(), [(AskId(7), once)]);
    assert_eq!(person.app.composer.as_text(), "yes, and y");
}

#[test]
fn an_interruption_or_a_paste_takes_back_a_letter_that_waits_to_be_an_answer() {
    for input in [Input::Key(Key::ctrl('c')), Input::Paste("and more".to_owned())] {
        let mut person = Person::new();
        person.turn_begins();
        person.letter(Letter::Asked(AskId(7), Box::new(permission())));
        person.waits(Duration::from_secs(2));
        person.waits(Duration::from_millis(500));
        person.types("y");
        person.effects.extend(person.app.input(input.clone(), person.now));
        person.waits(Duration::from_secs(1));
        assert_eq!(person.answers(), [], "{input:?}");
    }
}

#[test]
fn the_user_is_notified_only_if_elsewhere_or_after_a_long_turn() {
    let notified = |person: &Person| person.effects.iter().any(|effect| matches!(effect, Effect::Notify(_)));
    let mut person = Person::new();
    person.turn_begins();
    person.turn_ends(TurnEnd::Stopped(StopReason::EndTurn));
    assert!(!notified(&person));
    person.turn_begins();
    person.waits(Duration::from_secs(11));
    person.turn_ends(TurnEnd::Stopped(StopReason::EndTurn));
    assert!(notified(&person));
    person.effects.clear();
    person.effects.extend(person.app.input(Input::Focus(false), person.now));
    person.letter(Letter::Asked(AskId(1), Box::new(permission())));
    assert!(notified(&person));
}

#[test]
fn an_answer_is_committed_once_and_the_status_stays_below() {
    let mut person = Person::new();
    person.turn_begins();
    let id = MessageId("msg_1".to_owned());
    person.event(SessionEvent::UserMessage {
        id: MessageId("msg_0".to_owned()),
        content: vec![Content::text("hi")],
    });
    for piece in ["First para", "graph.\n\nSecond", " paragraph."] {
        person.event(SessionEvent::MessageDelta { id: id.clone(), text: piece.to_owned() });
        person.frame();
    }
    let thought = MessageId("msg_2".to_owned());
    let whole = "First paragraph.\n\nSecond paragraph.";
    let response = agent::ModelResponse::from_text(id, thought, "lab/model", whole);
    person.event(SessionEvent::ModelResponse(response));
    person.turn_ends(TurnEnd::Stopped(StopReason::EndTurn));
    let live = person.live();
    let all = person.committed.join("\n");
    for line in ["hi", "First paragraph.", "Second paragraph."] {
        assert_eq!(all.matches(line).count(), 1, "{line} in {all}");
    }
    assert!(live.contains("edit · guardian · lab/model"), "{live}");
    let outcome = PromptOutcome {
        command: None,
        stop_reason: StopReason::EndTurn,
        usage: Usage::default(),
        total: Usage::default(),
        requests: 1,
    };
    person.reply(Reply::Settled(PromptId(1), Ok(outcome)));
    person.frame();
    assert_eq!(person.committed.join("\n"), all);
}

#[test]
fn plain_mode_asks_in_words_and_writes_no_control_character() {
    let mut person = Person::at(Screen::Plain, (80, 24));
    person.frame();
    person.turn_begins();
    person.letter(Letter::Asked(AskId(3), Box::new(permission())));
    person.frame();
    assert!(person.committed.iter().any(|line| line.starts_with("permission required: ")));
    person.line("y");
    assert_eq!(person.answers(), [], "a letter is no answer");
    person.line("because it is not yours");
    let reason = Some("it is not yours".to_owned());
    let refused = Answer::Permission { outcome: PermissionOutcome::RejectOnce, reason };
    assert_eq!(person.answers(), [(AskId(3), refused)]);
    person.line("go on");
    assert_eq!(person.requests(), [sent("go on", 1, When::Next)]);
    person.frame();
    let said = person.committed.join("\n");
    assert!(said.chars().all(|char| !char.is_control() || char == '\n'), "{said:?}");
}

#[test]
fn a_change_that_waits_shows_at_least_five_rows_of_it_at_80_by_24() {
    for screen in [Screen::Inline, Screen::Full] {
        let mut person = Person::at(screen, (80, 24));
        person.turn_begins();
        let Asked::Permission(request) = permission() else { return };
        let text = |mark: &str| (0..40).map(|at| format!("line {at}{mark}\n")).collect::<String>();
        let diff = agent::Diff {
            path: AbsPath::new("/w/shop/src/page.rs").expect("an absolute path"),
            old_text: Some(text("")),
            new_text: Some(text("!")),
        };
        let request = PermissionRequest {
            name: "file_edit".to_owned(),
            description: Description {
                title: "Edit src/page.rs".to_owned(),
                kind: ToolKind::Edit,
                locations: Vec::new(),
            },
            brief: "Write src/page.rs? Each write needs approval in this mode (argus).".to_owned(),
            content: vec![agent::ToolContent::Diff(diff)],
            ..request
        };
        person.letter(Letter::Asked(AskId(1), Box::new(Asked::Permission(request))));
        let live = person.live();
        let changed = live.lines().filter(|line| line.contains("− line") || line.contains("+ line")).count();
        assert!(changed >= 5, "{live}");
        assert!(live.contains("more rows (v shows all)") && live.contains("guardian"), "{live}");
        let below = live.lines().skip_while(|line| !line.starts_with('─')).count();
        assert!(below <= 18, "it leaves what led to it: {live}");
    }
}

#[test]
fn a_running_command_says_where_it_runs() {
    let mut person = Person::new();
    person.turn_begins();
    let call = |status| {
        let mut update = agent::ToolCallUpdate::of("tool_0".into(), "bash").status(status);
        update.display.title = Some("Run cargo test".to_owned());
        update
    };
    person.event(SessionEvent::ToolCall(call(agent::ToolStatus::Pending)));
    let mut started = call(agent::ToolStatus::InProgress);
    started.display.place = Some(agent::CommandPlace::Sandbox);
    person.event(SessionEvent::ToolCall(started));
    let row = |live: String| live.lines().find(|line| line.contains("cargo test")).map(str::to_owned);
    let begins = row(person.live()).unwrap_or_default();
    assert!(begins.ends_with("  sandbox"), "{begins}");
    person.waits(Duration::from_secs(14));
    let later = row(person.live()).unwrap_or_default();
    assert!(later.ends_with("  sandbox · 14 s"), "{later}");
    person.event(SessionEvent::ToolCall(call(agent::ToolStatus::Completed)));
    person.frame();
    assert!(person.committed.iter().any(|line| line.ends_with("  14 s")), "{:?}", person.committed);
}

fn any_key() -> impl Strategy<Value = Key> {
    let codes = prop_oneof![
        8 => proptest::char::range('a', 'z').prop_map(KeyCode::Char),
        2 => prop_oneof![Just('/'), Just('@'), Just('?'), Just(' '), Just('y'), Just('漢'), Just('1')]
            .prop_map(KeyCode::Char),
        6 => prop_oneof![
            Just(KeyCode::Enter), Just(KeyCode::Tab), Just(KeyCode::Esc), Just(KeyCode::Up),
            Just(KeyCode::Down), Just(KeyCode::PageUp), Just(KeyCode::Backspace), Just(KeyCode::Left),
        ],
    ];
    (codes, prop::bool::weighted(0.2), prop::bool::weighted(0.1)).prop_map(|(code, ctrl, shift)| Key {
        code,
        ctrl,
        alt: false,
        shift,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Any keys at any size show something that fits, and nothing panics.
    #[test]
    fn every_frame_fits_the_screen(
        keys in prop::collection::vec(any_key(), 0..40),
        columns in 1..90_u16,
        rows in 1..30_u16,
        full in any::<bool>(),
    ) {
        let mut person = Person::at(if full { Screen::Full } else { Screen::Inline }, (columns, rows));
        for (number, key) in keys.into_iter().enumerate() {
            if number == 5 {
                person.turn_begins();
                person.letter(Letter::Asked(AskId(1), Box::new(permission())));
            }
            person.press(key);
            let frame = person.frame();
            prop_assert!(frame.live.len() <= usize::from(rows).max(1) , "{} rows", frame.live.len());
            if let Some((column, row)) = frame.cursor {
                prop_assert!(column < columns && usize::from(row) < frame.live.len().max(1));
            }
        }
    }
}
