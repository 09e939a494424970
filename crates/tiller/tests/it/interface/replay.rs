//! The bytes of the inline screen in a scripted session, replayed into a real terminal.

use super::Tmux;
use crate::home::Home;
use agent::{
    Content, LiveOutput, MessageId, Mode, ModelResponse, PermissionMode, SessionEvent, SessionId,
    SessionState, StopReason, ToolCallId, ToolCallUpdate, ToolKind, ToolStatus, TurnEnd, TurnId,
};
use std::{fs::File, io::Write as _, process::Command, time::Duration};
use system::AbsPath;
use tui::{
    app::{App, AppOptions, FirstMessage},
    client::mailbox::Letter,
    driver::reply::{OpenedSession, Reply},
    input::{Input, Key, KeyCode},
    keys::Bindings,
    look::Look,
    screens::{
        frame::{Rendering, Screen},
        inline::Inline,
    },
    text::row::Row,
    theme::Theme,
};

const ANSWER: &str = "# Where the last page goes

The pager divides the total by the size and drops the remainder, so the **last page** is lost \
whenever the total does not divide evenly; round numbers do not show it.

1. `page.rs` rounds down.
2. The test has a total of 40 and a size of 10, which hides it.

```rust
let last = total / size; // 日本語 and a comment that is wider than any of the terminals here, to the end.
fn main() {}
```

| total | size | pages |
|---|---|---|
| 41 | 10 | 5 |
| 40 | 10 | 4 |

That is all — no other file rounds this way, and the naïve fix is the right one here.
";

/// The sizes of the terminal, one after the other.
const SIZES: [(u16, u16); 8] =
    [(80, 24), (60, 30), (100, 20), (44, 24), (120, 40), (30, 12), (72, 16), (80, 24)];

/// The interface, whose bytes go to a pane.
struct Stage<'a> {
    tmux: &'a Tmux,
    pipe: File,
    app: App,
    inline: Inline,
    now: Duration,
    committed: Vec<String>,
    /// Whether the size of the terminal changes.
    resizes: bool,
    frames: usize,
}

impl<'a> Stage<'a> {
    fn new(tmux: &'a Tmux, pipe: File, resizes: bool) -> Self {
        let (columns, rows) = SIZES[0];
        let options = AppOptions {
            look: Look::new(Theme::terminal(), usize::from(columns)),
            bindings: Bindings::default(),
            screen: Screen::Inline,
            enter_steers: true,
            animation: false,
            notify: false,
            plain_because: None,
        };
        let app = App::new(options, (columns, rows), FirstMessage::default());
        let inline = Inline::new(columns, rows, Rendering::default());
        let now = Duration::ZERO;
        let committed = Vec::new();
        let mut stage = Self { tmux, pipe, app, inline, now, committed, resizes, frames: 0 };
        let state = SessionState {
            mode: Mode::Edit,
            permission_mode: PermissionMode::Guardian,
            model: "lab/model".to_owned(),
            effort: None,
            title: None,
            additional_directories: Vec::new(),
            sandbox: String::new(),
            busy: false,
        };
        let (id, cwd) = (SessionId("s".to_owned()), AbsPath::new("/w/shop").unwrap());
        let opened = OpenedSession { id, cwd, state, commands: Vec::new(), new: true, held: None };
        stage.reply(Reply::Opened(Box::new(opened)));
        stage.reply(Reply::Replayed);
        stage
    }

    fn reply(&mut self, reply: Reply) {
        self.app.letter(Letter::Reply(Box::new(reply)));
    }

    fn event(&mut self, event: SessionEvent) {
        self.now += Duration::from_millis(60);
        self.app.set_now(self.now);
        self.app.letter(Letter::Event(Box::new(event)));
        self.draw();
    }

    fn press(&mut self, code: KeyCode) {
        self.now += Duration::from_millis(60);
        self.app.input(Input::Key(Key::plain(code)), self.now);
        self.draw();
    }

    /// Draws a frame, and waits until the terminal has taken it: the size must not change before.
    fn draw(&mut self) {
        let frame = self.app.frame();
        self.committed.extend(frame.commit.iter().map(Row::plain));
        let mut bytes = self.inline.draw(&frame);
        self.frames += 1;
        let title = format!("frame {}", self.frames);
        bytes.extend(format!("\x1b]0;{title}\x07").into_bytes());
        self.pipe.write_all(&bytes).unwrap();
        self.tmux.wait(&title, |_| self.tmux.property("#{pane_title}") == title);
    }

    fn resize(&mut self, (columns, rows): (u16, u16)) {
        if !self.resizes {
            return;
        }
        self.tmux.resize(columns, rows);
        self.inline.resize(columns, rows, true);
        self.app.input(Input::Resize { columns, rows }, self.now);
        self.draw();
    }

    /// Streams an answer in pieces, with a change of the size after each of `turns` stretches.
    fn answer(&mut self, number: usize, sizes: &[(u16, u16)]) {
        let id = MessageId(format!("msg_{number}"));
        let characters: Vec<char> = ANSWER.chars().collect();
        let stretch = characters.len().div_ceil(sizes.len());
        for (characters, size) in characters.chunks(stretch).zip(sizes) {
            for piece in characters.chunks(37) {
                let text = piece.iter().collect();
                self.event(SessionEvent::MessageDelta { id: id.clone(), text });
            }
            self.resize(*size);
        }
        let thought = MessageId(format!("thought_{number}"));
        let response = ModelResponse::from_text(id, thought, "lab/model", ANSWER);
        self.event(SessionEvent::ModelResponse(response));
    }

    /// Runs a command whose output has a long line.
    fn command(&mut self, number: usize) {
        let update = || ToolCallUpdate::of(ToolCallId(format!("tool_{number}")), "bash");
        let mut begun = update().status(ToolStatus::InProgress);
        begun.display.title = Some("cargo test -p pager".to_owned());
        begun.display.kind = Some(ToolKind::Execute);
        self.event(SessionEvent::ToolCall(begun));
        let cwd = AbsPath::new("/w/shop").unwrap();
        let lines = (0..30).map(|line| format!("test case_{line} {} ok\n", ".".repeat(line * 5)));
        let outputs = std::iter::once(LiveOutput::Started { cwd }).chain(lines.map(LiveOutput::Text));
        for (number, output) in outputs.enumerate() {
            let mut update = update();
            update.output = Some(output);
            self.event(SessionEvent::ToolCall(update));
            if number % 10 == 9 {
                self.resize(SIZES[number / 10]);
            }
        }
        self.event(SessionEvent::ToolCall(update().status(ToolStatus::Completed)));
    }
}

/// Plays the session; returns the lines that the terminal has in the end and those that were
/// committed, and what the terminal shows. Nothing where tmux is not installed.
fn played(resizes: bool) -> Option<(Vec<String>, Vec<String>, String)> {
    let home = Home::new();
    let tmux = Tmux::start(&home, &[])?;
    // What is written to the pipe goes to the terminal as it is.
    assert!(Command::new("mkfifo").arg(home.project().join("pipe")).status().unwrap().success());
    tmux.shell("clear; stty raw -echo; exec cat pipe");
    let pipe = File::options().write(true).open(home.project().join("pipe")).unwrap();
    let mut stage = Stage::new(&tmux, pipe, resizes);
    for turn in 0..SIZES.len() {
        for character in "and the other one?".chars() {
            stage.press(KeyCode::Char(character));
        }
        stage.press(KeyCode::Enter);
        stage.event(SessionEvent::TurnStarted { turn: TurnId(format!("run_{turn}")) });
        stage.event(SessionEvent::UserMessage {
            id: MessageId(format!("user_{turn}")),
            content: vec![Content::text(format!("question {turn}: where is the last page?"))],
        });
        // Each turn meets the sizes in another order.
        let sizes: Vec<_> = SIZES.iter().cycle().skip(turn * 3).take(SIZES.len()).copied().collect();
        stage.answer(turn, &sizes);
        stage.command(turn);
        let end = TurnEnd::Stopped(StopReason::EndTurn);
        stage.event(SessionEvent::TurnEnded { turn: TurnId(format!("run_{turn}")), end });
    }
    stage.app.leave();
    stage.draw();
    stage.pipe.write_all(&stage.inline.farewell()).unwrap();
    stage.pipe.write_all(b"~end").unwrap();
    tmux.wait_for("~end");
    let text = |line: &str| Some(line.trim_end().to_owned()).filter(|line| !line.is_empty());
    let expected: Vec<String> = stage.committed.iter().filter_map(|line| text(line)).collect();
    let everything = tmux.everything();
    let found: Vec<String> = everything.lines().filter_map(text).filter(|line| line != "~end").collect();
    assert!(expected.len() > 100, "the session is long: {} lines", expected.len());
    Some((found, expected, everything))
}

#[test]
fn each_line_of_a_session_is_in_the_scrollback_once_in_order_and_whole() {
    let Some((found, expected, everything)) = played(false) else { return };
    let same = found.iter().zip(&expected).take_while(|(one, other)| one == other).count();
    assert!(
        found == expected,
        "at line {same}: {:?} in place of {:?}\n{everything}",
        found.get(same),
        expected.get(same)
    );
}

/// A terminal that wraps its lines again may keep a part of an old live region at a change of its
/// size, so there may be more lines than the committed ones.
#[test]
fn no_change_of_the_size_loses_cuts_or_moves_a_line_of_a_session() {
    let Some((found, expected, everything)) = played(true) else { return };
    let mut rest = found.iter();
    for (number, line) in expected.iter().enumerate() {
        assert!(
            rest.any(|other| other == line),
            "line {number}, {line:?}, is not there in order\n{everything}"
        );
    }
}
