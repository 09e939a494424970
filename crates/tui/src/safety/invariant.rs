//! The inline invariant with the whole interface: whatever happens, the scrollback and the screen
//! without the live region hold each committed line once, whole and in order.

use super::{emulator, fields, stage::Stage};
use crate::{
    client::{asks::AskId, mailbox::Letter},
    driver::reply::Reply,
    input::{Key, KeyCode},
    screens::frame::Screen,
};
use agent::{Content, ModelResponse, SessionEvent, StopReason, ToolKind, ToolStatus, TurnEnd};
use proptest::{collection::vec, prelude::*};

/// Something that happens.
#[derive(Debug, Clone)]
enum Act {
    /// The user's message becomes part of the conversation.
    Said(usize),
    /// Paragraphs, items or lines of code of these lengths, streamed in pieces of a size.
    Answered(u8, Vec<usize>, usize),
    /// A command prints lines and ends.
    Printed(usize),
    Turn(bool),
    Asked(u8),
    Withdrawn,
    Key(usize),
    /// The transcript is opened, moved in and closed.
    Transcript,
    /// The whole interface changes its screen and back.
    FullAndBack,
    Theme,
    Resize(u16, u16),
    /// Time passes.
    Wait,
}

const KEYS: [&str; 14] = [
    "a",
    "esc",
    "tab",
    "enter",
    "ctrl+t",
    "/",
    "@",
    "up",
    "ctrl+l",
    "backspace",
    "?",
    "ctrl+r",
    "y",
    "ctrl+j",
];

fn acts(widths: std::ops::Range<u16>) -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        2 => (1..150_usize).prop_map(Act::Said),
        4 => (0..3_u8, vec(1..200_usize, 1..5), 1..40_usize).prop_map(|(kind, lengths, cut)| Act::Answered(kind, lengths, cut)),
        2 => (0..9_usize).prop_map(Act::Printed),
        1 => any::<bool>().prop_map(Act::Turn),
        2 => (0..4_u8).prop_map(Act::Asked),
        1 => Just(Act::Withdrawn),
        6 => (0..KEYS.len()).prop_map(Act::Key),
        1 => Just(Act::Transcript),
        1 => Just(Act::FullAndBack),
        1 => Just(Act::Theme),
        3 => (widths, 6..30_u16).prop_map(|(columns, rows)| Act::Resize(columns, rows)),
        1 => Just(Act::Wait),
    ];
    vec(act, 1..40)
}

/// The conversation that is played.
struct Play {
    stage: Stage,
    /// The number of the next line.
    number: usize,
    asked: u64,
}

impl Play {
    fn new(columns: u16) -> Self {
        let mut stage = Stage::new(Screen::Inline, (columns, 20));
        stage.letter(Letter::Reply(Box::new(fields::opened("x"))));
        stage.letter(Letter::Reply(Box::new(Reply::Replayed)));
        stage.draw();
        Self { stage, number: 0, asked: 0 }
    }

    /// Returns a text of a length that begins with the number of the line.
    fn line(&mut self, length: usize) -> String {
        self.number += 1;
        let words = ["and ", "so ", "on", " ", "further"].iter().cycle();
        let mut text = format!("L{:04}. ", self.number);
        words.take(length / 3).for_each(|word| text.push_str(word));
        text.trim_end().to_owned()
    }

    fn event(&mut self, event: SessionEvent) {
        self.stage.letter(Letter::Event(Box::new(event)));
        self.stage.draw();
    }

    fn press(&mut self, keys: &str) {
        for key in keys.parse::<crate::keys::spelling::Chord>().expect("keys").keys() {
            self.stage.key(*key);
            self.stage.draw();
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Said(length) => {
                let text = self.line(*length);
                let id = format!("u{}", self.number);
                self.event(SessionEvent::UserMessage {
                    id: id.as_str().into(),
                    content: vec![Content::text(text)],
                });
            }
            Act::Answered(kind, lengths, cut) => {
                let lines: Vec<String> = lengths.iter().map(|length| self.line(*length)).collect();
                let text = match kind {
                    0 => lines.join("\n\n"),
                    1 => lines.iter().map(|line| format!("- {line}\n")).collect(),
                    _ => format!("```\n{}\n```\n", lines.join("\n")),
                };
                let id = format!("m{}", self.number);
                for piece in text.as_bytes().chunks(*cut) {
                    let text = String::from_utf8(piece.to_vec()).expect("ASCII");
                    self.event(SessionEvent::MessageDelta { id: id.as_str().into(), text });
                }
                let thought = format!("{id}t");
                let whole = ModelResponse::from_text(id.as_str().into(), thought.as_str().into(), "m", &text);
                self.event(SessionEvent::ModelResponse(whole));
            }
            Act::Printed(count) => {
                self.number += 1;
                let id = format!("c{}", self.number);
                let call = |status| {
                    let mut call = agent::ToolCallUpdate::of(id.as_str().into(), "bash").status(status);
                    call.display.title = Some("Run it".to_owned());
                    call.display.kind = Some(ToolKind::Execute);
                    SessionEvent::ToolCall(call)
                };
                self.event(call(ToolStatus::InProgress));
                for _ in 0..*count {
                    let line = self.line(30) + "\n";
                    self.event(super::corpus::printed(&id, &line));
                }
                self.event(call(ToolStatus::Completed));
            }
            Act::Turn(true) => self.event(SessionEvent::TurnStarted { turn: "r".into(), prompt: None }),
            Act::Turn(false) => {
                let end = TurnEnd::Stopped(StopReason::EndTurn);
                self.event(SessionEvent::TurnEnded { turn: "r".into(), end });
            }
            Act::Asked(kind) => {
                self.asked += 1;
                let mut asks = fields::permissions("one two three\nfour\nfive");
                asks.push(fields::question("Which one?"));
                let asked = asks.swap_remove(usize::from(*kind));
                self.stage.letter(Letter::Asked(AskId(self.asked), Box::new(asked)));
                self.stage.draw();
            }
            Act::Withdrawn => {
                self.stage.letter(Letter::Withdrawn(AskId(self.asked)));
                self.stage.draw();
            }
            Act::Key(key) => self.press(KEYS[*key]),
            Act::Transcript => ["ctrl+o", "g", "j", "q"].iter().for_each(|key| self.press(key)),
            Act::FullAndBack | Act::Theme => {
                // Whatever is open takes the keys otherwise.
                ["esc", "esc", "ctrl+c"].iter().for_each(|key| self.press(key));
                let lines: &[&str] = match act {
                    Act::Theme => &["/theme dark "],
                    _ => &["/screen full ", "/screen inline "],
                };
                for line in lines {
                    line.chars().for_each(|character| self.stage.press(KeyCode::Char(character)));
                    self.stage.key(Key::plain(KeyCode::Enter));
                    self.stage.draw();
                }
            }
            Act::Resize(columns, rows) => {
                // A terminal that becomes lower than the live region scrolls the first rows of it
                // into its scrollback, where nothing can erase them.
                self.stage.resize(*columns, self.stage.live.max(*rows));
                self.stage.draw();
            }
            Act::Wait => {
                self.stage.now += std::time::Duration::from_secs(3);
                drop(self.stage.app.tick(self.stage.now));
                self.stage.draw();
            }
        }
    }
}

/// Returns the numbers of lines in texts, in order.
fn numbers(texts: &[String]) -> Vec<String> {
    let number = |text: &String| {
        let at = text.find('L').filter(|at| text.len() >= at + 6 && text.as_bytes()[at + 5] == b'.')?;
        Some(text[at..at + 5].to_owned())
    };
    texts.iter().filter_map(number).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn committed_lines_stay_whole_while_the_height_keys_and_panels_change(acts in acts(60..61)) {
        let mut play = Play::new(60);
        acts.iter().for_each(|act| play.act(act));
        play.stage.close();
        let mut committed = play.stage.committed.clone();
        while committed.last().is_some_and(String::is_empty) {
            committed.pop();
        }
        let alternate = play.stage.emulator.screen().alternate_screen();
        prop_assert!(!alternate);
        // The emulator shows a space at the end of a row that goes on as an empty cell.
        let solid = |lines: Vec<String>| lines.iter().map(|line| line.replace(' ', "")).collect::<Vec<_>>();
        prop_assert_eq!(solid(emulator::lines(&mut play.stage.emulator)), solid(committed));
    }

    #[test]
    fn no_change_of_the_width_loses_or_repeats_a_committed_line(acts in acts(30..100)) {
        let mut play = Play::new(60);
        acts.iter().for_each(|act| play.act(act));
        play.stage.close();
        let rows: Vec<String> = emulator::rows(&mut play.stage.emulator).into_iter().map(|(row, _)| row).collect();
        prop_assert_eq!(numbers(&rows), numbers(&play.stage.committed));
    }
}
