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
    app::{App, FirstMessage},
    client::mailbox::Letter,
    driver::reply::{OpenedSession, Reply},
    input::{Input, Key, KeyCode},
    keys::Bindings,
    look::Look,
    options::AppOptions,
    screens::{
        frame::{Rendering, Screen},
        inline::Inline,
    },
    text::{measure::Measure, row::Row},
    theme::Theme,
};

/// An answer; `N` is the number of the turn, so that its lines differ from those of all others.
const ANSWER: &str = "# Where the last page of N goes

The pager of N divides the total by the size and drops the remainder, so the **last page** of N is lost \
whenever the total does not divide evenly in N; round numbers as in N do not show it.

1. `page_N.rs` rounds down.
2. The test of N has a total of 40 and a size of 10, which hides it.

```rust
let last_N = total / size; // 日本語 and a comment that is wider than any of the terminals here, to the end.
fn main_N() {}
```

| total of N | size | pages |
|---|---|---|
| N 41 | 10 | 5 |
| N 40 | 10 | 4 |

That is all of N — no other file rounds this way, and the naïve fix is the right one here in N.
";

/// The sizes of the terminal, one after the other.
const SIZES: [(u16, u16); 8] =
    [(80, 24), (20, 10), (120, 12), (33, 40), (90, 9), (30, 30), (25, 12), (80, 24)];

/// The interface, whose bytes go to a pane.
struct Stage<'a> {
    tmux: &'a Tmux,
    pipe: File,
    app: App,
    inline: Inline,
    now: Duration,
    committed: Vec<String>,
    /// The live rows that were drawn last, and the row of the cursor among them.
    live: (Vec<String>, usize),
    /// Rows of the live region that left the screen at the top when its size changed.
    scrolled_off: Vec<String>,
    size: (usize, usize),
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
            everywhere: false,
            notes: Default::default(),
            switches: Default::default(),
        };
        let app = App::new(options, (columns, rows), FirstMessage::default());
        let inline = Inline::new(columns, rows, Rendering::default());
        let now = Duration::ZERO;
        let committed = Vec::new();
        let (live, scrolled_off) = Default::default();
        let size = (columns.into(), rows.into());
        let mut stage =
            Self { tmux, pipe, app, inline, now, committed, live, scrolled_off, size, resizes, frames: 0 };
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
        let live = frame.live.iter().map(Row::plain).collect();
        self.live = (live, frame.cursor.map_or(0, |(_, row)| row.into()));
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
        self.note_scrolled_off(columns.into(), rows.into());
        self.size = (columns.into(), rows.into());
        self.tmux.resize(columns, rows);
        self.inline.resize(columns, rows, true);
        self.app.input(Input::Resize { columns, rows }, self.now);
        self.draw();
    }

    /// Notes which live rows tmux moves into its scrollback at a change of the size, where nothing
    /// can erase them: the first ones, if the region does not fit above what is below it.
    ///
    /// tmux changes the height first: lines below the cursor go first, then those at the top. Then
    /// it wraps all lines again, and shows as many of the last ones as there are rows. Empty rows
    /// below the live region count among them.
    fn note_scrolled_off(&mut self, columns: usize, rows: usize) {
        let (live, cursor) = &self.live;
        let (old_columns, old_rows) = self.size;
        let cursor_row: usize = self.tmux.property("#{cursor_y}").parse().unwrap();
        let removed = (old_rows - 1 - cursor_row).min(old_rows.saturating_sub(rows));
        let below = old_rows - 1 - cursor_row - removed;
        let height = |row: &String| Measure::default().text(row).div_ceil(columns).max(1);
        let mut excess = match columns == old_columns {
            true => (old_rows - removed).saturating_sub(rows).saturating_sub(cursor_row - cursor),
            false => {
                let above: usize = live[..=*cursor].iter().map(height).sum();
                let wrapped = live[cursor + 1..].iter().take(below).map(|row| height(row) - 1);
                (above + below + wrapped.sum::<usize>()).saturating_sub(rows)
            }
        };
        for row in live {
            if excess == 0 {
                return;
            }
            self.scrolled_off.push(row.trim_end().to_owned());
            excess = excess.saturating_sub(height(row));
        }
    }

    /// Streams an answer in pieces, with a change of the size after each of `turns` stretches.
    fn answer(&mut self, number: usize, sizes: &[(u16, u16)]) {
        let id = MessageId(format!("msg_{number}"));
        let answer = ANSWER.replace('N', &format!("turn{number}"));
        let characters: Vec<char> = answer.chars().collect();
        let stretch = characters.len().div_ceil(sizes.len());
        for (characters, size) in characters.chunks(stretch).zip(sizes) {
            for piece in characters.chunks(37) {
                let text = piece.iter().collect();
                self.event(SessionEvent::MessageDelta { id: id.clone(), text });
            }
            self.resize(*size);
        }
        let thought = MessageId(format!("thought_{number}"));
        let response = ModelResponse::from_text(id, thought, "lab/model", &answer);
        self.event(SessionEvent::ModelResponse(response));
    }

    /// Runs a command whose output has a long line.
    fn command(&mut self, number: usize) {
        let update = || ToolCallUpdate::of(ToolCallId(format!("tool_{number}")), "bash");
        let mut begun = update().status(ToolStatus::InProgress);
        begun.display.title = Some(format!("cargo test -p pager{number}"));
        begun.display.kind = Some(ToolKind::Execute);
        self.event(SessionEvent::ToolCall(begun));
        let cwd = AbsPath::new("/w/shop").unwrap();
        let lines =
            (0..30).map(|line| format!("test turn{number}_case_{line} {} ok\n", ".".repeat(line * 5)));
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

/// What became of a session.
struct Played {
    /// The lines that the terminal has in the end.
    found: Vec<String>,
    /// Those that were committed.
    expected: Vec<String>,
    /// Rows of the live region that the terminal moved into its scrollback.
    scrolled_off: Vec<String>,
    /// What the terminal shows.
    everything: String,
}

/// Plays the session. Nothing where tmux is not installed.
fn played(resizes: bool) -> Option<Played> {
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
        stage.event(SessionEvent::TurnStarted { turn: TurnId(format!("run_{turn}")), prompt: None });
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
    Some(Played { found, expected, scrolled_off: stage.scrolled_off, everything })
}

#[test]
fn each_line_of_a_session_is_in_the_scrollback_once_in_order_and_whole() {
    let Some(Played { found, expected, everything, .. }) = played(false) else { return };
    let same = found.iter().zip(&expected).take_while(|(one, other)| one == other).count();
    assert!(
        found == expected,
        "at line {same}: {:?} in place of {:?}\n{everything}",
        found.get(same),
        expected.get(same)
    );
}

/// A line may be there once more than it was committed in one case only: it was an unfinished row
/// of the live region when tmux moved that row into its scrollback
/// ([`Stage::note_scrolled_off`]).
#[test]
fn no_change_of_the_size_loses_cuts_moves_or_repeats_a_line_of_a_session() {
    let Some(Played { found, expected, mut scrolled_off, everything }) = played(true) else { return };
    let mut rest = found.iter();
    let mut others: Vec<&String> = Vec::new();
    for (number, line) in expected.iter().enumerate() {
        loop {
            match rest.next() {
                Some(found) if found == line => break,
                Some(other) => others.push(other),
                None => panic!("line {number}, {line:?}, is not there in order\n{everything}"),
            }
        }
    }
    others.extend(rest);
    for other in others {
        // Of a row that the terminal had wrapped, only the beginning may be left.
        let at = scrolled_off.iter().position(|row| row.starts_with(other.as_str()));
        let at = at.unwrap_or_else(|| {
            let times = expected.iter().filter(|line| *line == other).count();
            panic!("{other:?} was committed {times} times and is there once more\n{everything}")
        });
        scrolled_off.remove(at);
    }
}
