//! The interface on a screen, as `run.rs` connects them, with every byte that is written read by
//! [`super::control`].

use super::{
    control::{self, Written},
    emulator,
};
use crate::{
    app::{App, FirstMessage, effect::Effect},
    client::mailbox::Letter,
    input::{Input, Key, KeyCode},
    keys::Bindings,
    look::Look,
    options::AppOptions,
    screens::{
        frame::{Frame, Rendering, Screen},
        full::Full,
        inline::Inline,
        plain::Printer,
    },
    terminal::{
        capabilities::{Capabilities, Colours, Variables},
        osc,
    },
    theme::Theme,
};
use std::time::Duration;

pub(crate) struct Stage {
    pub(crate) app: App,
    pub(crate) now: Duration,
    pub(crate) screen: Screen,
    inline: Inline,
    full: Full,
    printer: Printer,
    capabilities: Capabilities,
    /// All text that was written, with line feeds.
    pub(crate) text: String,
    /// The bytes that were written last.
    pub(crate) last: Vec<u8>,
    /// How many rows the live region has that was drawn last.
    pub(crate) live: u16,
    /// The rows that were committed inline.
    pub(crate) committed: Vec<String>,
    pub(crate) emulator: vt100::Parser,
}

impl Stage {
    pub(crate) fn new(screen: Screen, (columns, rows): (u16, u16)) -> Self {
        let options = AppOptions {
            look: Look::new(Theme::terminal(), usize::from(columns)),
            bindings: Bindings::default(),
            screen,
            enter_steers: true,
            animation: true,
            notify: true,
            everywhere: false,
            notes: Default::default(),
            switches: crate::screens::terminal::Switches::default(),
        };
        let rendering = Rendering { colours: Colours::True, ..Rendering::default() };
        let variables = Variables { term: "xterm-kitty".to_owned(), ..Variables::default() };
        Self {
            app: App::new(options, (columns, rows), FirstMessage::default()),
            now: Duration::ZERO,
            screen,
            inline: Inline::new(columns, rows, rendering),
            full: Full::new(columns, rows, rendering),
            printer: Printer::default(),
            capabilities: Capabilities::from_variables(&variables),
            text: String::new(),
            last: Vec::new(),
            live: 0,
            committed: Vec::new(),
            emulator: emulator::terminal(columns, rows),
        }
    }

    /// Draws a frame; returns it.
    pub(crate) fn draw(&mut self) -> Frame {
        let frame = self.app.frame();
        let bytes = match self.screen {
            Screen::Inline => self.inline.draw(&frame),
            Screen::Full => self.full.draw(&frame),
            Screen::Plain => self.printer.draw(&frame).into_bytes(),
        };
        self.written(bytes);
        if self.screen == Screen::Inline {
            self.live = u16::try_from(frame.live.len()).expect("a live region fits the screen");
            self.committed.extend(frame.commit.iter().map(|row| row.plain().trim_end().to_owned()));
        }
        frame
    }

    /// Ends the interface, with the live region removed.
    pub(crate) fn close(&mut self) {
        self.app.leave();
        self.set_screen(Screen::Inline);
        self.draw();
        self.written(self.inline.farewell());
    }

    pub(crate) fn letter(&mut self, letter: Letter) {
        self.now += Duration::from_millis(700);
        self.app.set_now(self.now);
        let effects = self.app.letter(letter);
        self.perform(effects);
    }

    pub(crate) fn input(&mut self, input: Input) {
        self.now += Duration::from_millis(500);
        let effects = self.app.input(input, self.now);
        self.perform(effects);
    }

    pub(crate) fn key(&mut self, key: Key) {
        self.input(Input::Key(key));
    }

    pub(crate) fn press(&mut self, code: KeyCode) {
        self.key(Key::plain(code));
    }

    pub(crate) fn types(&mut self, text: &str) {
        text.chars().for_each(|character| self.press(KeyCode::Char(character)));
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        emulator::resize(&mut self.emulator, columns, rows);
        self.inline.resize(columns, rows, false);
        self.full.resize(columns, rows);
        self.input(Input::Resize { columns, rows });
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Screen(screen) => self.set_screen(screen),
                Effect::Copy(text) => {
                    let copied = osc::copy(&text, &self.capabilities);
                    self.app.copied(&text, copied.is_some());
                    self.written(copied.filter(|_| self.screen != Screen::Plain).unwrap_or_default());
                }
                Effect::Notify(occasion) if self.screen != Screen::Plain => {
                    let text = self.app.notification(occasion);
                    self.written(osc::notification(&text, &self.capabilities));
                }
                Effect::Title(title) if self.screen != Screen::Plain => self.written(osc::title(&title)),
                Effect::Repaint => {
                    self.inline.redraw();
                    self.full.redraw();
                }
                _ => {}
            }
        }
    }

    fn set_screen(&mut self, screen: Screen) {
        if self.screen == screen {
            return;
        }
        if self.screen == Screen::Inline && screen == Screen::Plain {
            self.written(self.inline.farewell());
            self.inline.removed();
        }
        let from = std::mem::replace(&mut self.screen, screen);
        if from == Screen::Full {
            self.emulator.process(b"\x1b[?1049l");
        }
        if screen == Screen::Full {
            self.emulator.process(b"\x1b[?1049h");
        }
        self.full.redraw();
        self.inline.redraw();
    }

    fn written(&mut self, bytes: Vec<u8>) {
        let Written { text, .. } = control::read(&bytes, self.screen);
        self.text.push_str(&text);
        self.emulator.process(&bytes);
        self.last = bytes;
    }
}
