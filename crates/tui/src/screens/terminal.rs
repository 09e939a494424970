//! The terminal as the rest of the interface sees it: frames go in, inputs come out.

use super::{
    background::Background,
    frame::{Frame, Rendering, Screen},
    full::Full,
    inline::Inline,
    plain::{Lines, Printer},
};
use crate::{
    input::Input,
    limits,
    terminal::{
        capabilities::{Capabilities, Multiplexer, Variables},
        device::Device,
        events::{Answer, Decoder, Event},
        modes, osc,
        source::{Room, Source},
    },
    text::measure::Measure,
};
use rustix::process::{Signal as Number, getpgrp, getpid, getsid, kill_current_process_group, kill_process};
use std::{collections::VecDeque, io, sync::Arc};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Instant, sleep_until, timeout_at},
};

/// How a terminal is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The screen to begin with.
    pub screen: Screen,
    /// What the environment says about the terminal.
    pub variables: Variables,
    /// What the user's settings say about it.
    pub switches: Switches,
    /// Whether the colour of the background is asked for at the beginning.
    pub background: bool,
}

/// What the user's settings say about the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// How wide text is in it.
    pub measure: Measure,
    /// Whether the full screen takes the wheel and clicks.
    pub mouse: bool,
    /// Whether the terminal's title may be set.
    pub title: bool,
    /// Whether links may be hyperlinks; they are where the terminal is known to have them.
    pub hyperlinks: bool,
}

/// Why there is no terminal to work with.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// The process has none, or may not open it.
    #[error("the terminal cannot be opened: {0}; use `tiller -p` without one")]
    Open(#[source] io::Error),
    /// It does not do what terminals do.
    #[error("the terminal cannot be set up: {0}; use `tiller -p` without one")]
    SetUp(#[source] io::Error),
}

/// The terminal. Dropping it gives it back.
///
/// It belongs to a thread with a current-thread runtime of its own: nothing here waits for another
/// part of Tiller, and nothing but [`Self::input`] waits at all.
#[derive(Debug)]
pub struct Terminal {
    device: Arc<Device>,
    source: Source,
    room: Room,
    options: Options,
    capabilities: Capabilities,
    screen: Screen,
    inline: Inline,
    full: Full,
    size: (u16, u16),
    decoder: Decoder,
    lines: Lines,
    printer: Printer,
    queue: VecDeque<Input>,
    start: Instant,
    /// When a change of the size is reported.
    resized: Option<Instant>,
    /// A frame was refused.
    refused: bool,
    /// The terminal is with another program.
    paused: bool,
    /// The process is about to be stopped, or is.
    suspended: bool,
    gone: bool,
    background: Background,
    window: Signal,
    stop: Signal,
    carry_on: Signal,
}

impl Terminal {
    /// Takes the terminal of this process and enters the modes of the screen. Must be called within
    /// a runtime with I/O and time.
    ///
    /// In plain mode, standard input and output are used where one of them is no terminal.
    ///
    /// # Errors
    /// If there is no terminal.
    pub fn open(options: Options) -> Result<Self, TerminalError> {
        let device = match options.screen == Screen::Plain && !system::is_interactive() {
            true => Device::streams(),
            false => system::open_terminal().and_then(Device::new),
        };
        Self::on(device.map_err(TerminalError::Open)?, options)
    }

    /// Takes a terminal that is open. For tests.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn on(device: Arc<Device>, options: Options) -> Result<Self, TerminalError> {
        let capabilities = Capabilities::from_variables(&options.variables);
        let hyperlinks = options.switches.hyperlinks && capabilities.hyperlinks;
        let rendering =
            Rendering { colours: capabilities.colours, measure: options.switches.measure, hyperlinks };
        let size @ (columns, rows) = device.size();
        let on = |kind: SignalKind| signal(kind).map_err(TerminalError::SetUp);
        let number = |number: Number| SignalKind::from_raw(number.as_raw());
        let mut terminal = Self {
            source: Source::new(device.input()).map_err(TerminalError::SetUp)?,
            room: Room::new(device.output()).map_err(TerminalError::SetUp)?,
            capabilities,
            screen: options.screen,
            inline: Inline::new(columns, rows, rendering),
            full: Full::new(columns, rows, rendering),
            size,
            decoder: Decoder::default(),
            lines: Lines::default(),
            printer: Printer::default(),
            queue: VecDeque::new(),
            start: Instant::now(),
            resized: None,
            refused: false,
            paused: false,
            suspended: false,
            gone: false,
            background: Background::default(),
            window: on(SignalKind::window_change())?,
            stop: on(number(Number::TSTP))?,
            carry_on: on(number(Number::CONT))?,
            options,
            device,
        };
        terminal.take().map_err(TerminalError::SetUp)?;
        terminal.ask();
        Ok(terminal)
    }

    /// Returns the size in columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Whether the user sees in plain mode what is typed, because the terminal shows it.
    pub fn echoes(&self) -> bool {
        self.device.is_terminal()
    }

    /// Returns the screen in use.
    pub fn screen(&self) -> Screen {
        self.screen
    }

    /// Returns what the terminal can do, as far as it is known by now.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns the colour of the background, once the terminal has answered.
    pub fn background(&self) -> Option<[u8; 3]> {
        self.background.colour()
    }

    /// Waits for the answer about the background, if it was asked for, for
    /// [`limits::BACKGROUND_WAIT`] at the longest. What the user does meanwhile is kept for
    /// [`Self::input`].
    pub async fn wait_for_background(&mut self) {
        let deadline = Instant::now() + limits::BACKGROUND_WAIT;
        while self.background.is_awaited() && !self.gone {
            if timeout_at(deadline, self.step()).await.is_err() {
                return;
            }
        }
    }

    /// Whether the next frame would be taken.
    pub fn is_ready(&self) -> bool {
        !self.is_resizing() && !self.paused && !self.suspended && self.device.is_drained()
    }

    /// Whether the terminal has a size for which the live region was not counted yet: rows that are
    /// written now could be wrapped otherwise than is assumed, and erase what is above them.
    fn is_resizing(&self) -> bool {
        self.screen == Screen::Inline && (self.resized.is_some() || self.device.size() != self.size)
    }

    /// Whether the terminal has taken nothing for [`limits::STALLED`].
    pub fn is_stalled(&self) -> bool {
        self.device.is_stalled()
    }

    /// Draws a frame, unless the terminal has not taken the one before: then it returns false, the
    /// caller keeps what it wanted to commit, and [`Input::Ready`] comes when a frame can be drawn.
    pub fn draw(&mut self, frame: &Frame) -> bool {
        if !self.is_ready() {
            self.refused = true;
            // The kernel reports a new size to the terminal's own session only.
            if self.resized.is_none() && self.is_resizing() {
                self.resized = Some(Instant::now() + limits::RESIZE_PAUSE);
            }
            return false;
        }
        let bytes = match self.screen {
            Screen::Inline => self.inline.draw(frame),
            Screen::Full => self.full.draw(frame),
            Screen::Plain => self.printer.draw(frame).into_bytes(),
        };
        if self.screen == Screen::Inline {
            self.device.set_farewell(self.inline.farewell());
        }
        self.write(&bytes);
        true
    }

    /// Has the next frame draw everything that is not committed.
    pub fn redraw(&mut self) {
        self.inline.redraw();
        self.full.redraw();
    }

    /// Waits for what the user does next; `None` when the terminal is gone, or in plain mode when
    /// the input has ended. Cancel-safe.
    ///
    /// Also writes what the terminal had not taken, follows its size, and stops the process on
    /// SIGTSTP, with the terminal given back.
    pub async fn input(&mut self) -> Option<Input> {
        loop {
            if let Some(input) = self.queue.pop_front() {
                return Some(input);
            }
            if self.gone {
                return None;
            }
            if self.refused && self.is_ready() {
                self.refused = false;
                return Some(Input::Ready);
            }
            self.step().await;
        }
    }

    /// Waits for one thing and takes it. Cancel-safe.
    async fn step(&mut self) {
        let decoded = self.decoder.deadline().map(|deadline| self.start + deadline);
        let deadline = decoded.into_iter().chain(self.resized).min();
        let reads = !self.paused && !self.suspended;
        let mut bytes = [0; 4096];
        tokio::select! {
            // What waits to be read belongs to a burst even if its time is over.
            biased;
            _ = self.stop.recv() => self.stop_process(),
            _ = self.carry_on.recv() => self.continue_process(),
            _ = self.window.recv() => self.resized = Some(Instant::now() + limits::RESIZE_PAUSE),
            () = self.room.wait(), if !self.device.is_drained() => {
                self.gone |= self.device.flush().is_err();
            }
            read = self.source.read(&mut bytes), if reads => self.take_read(read.map(|count| &bytes[..count])),
            () = sleep_until(deadline.unwrap_or(self.start)), if deadline.is_some() => self.take_time(),
        }
    }

    /// Switches to another screen; the live region and the full screen are drawn anew with the next
    /// frame. Returns false where plain lines are all that is possible.
    pub fn set_screen(&mut self, screen: Screen) -> bool {
        if screen == self.screen || !self.device.is_terminal() {
            return screen == self.screen;
        }
        if self.screen == Screen::Inline && screen == Screen::Plain {
            let bytes = self.inline.farewell();
            self.inline.removed();
            self.write(&bytes);
        }
        let end = self.printer.end();
        self.write(end.as_bytes());
        let from = std::mem::replace(&mut self.screen, screen);
        self.write(&[]);
        self.device.leave_modes();
        // A terminal that is gone ends the inputs.
        self.gone |= self.take().is_err();
        match screen {
            Screen::Inline if from == Screen::Full => self.take_size(true),
            Screen::Full => self.full.redraw(),
            Screen::Inline | Screen::Plain => {}
        }
        true
    }

    /// Takes what changed in the user's settings; it is in force with the next frame.
    pub fn set_switches(&mut self, switches: Switches) {
        let before = std::mem::replace(&mut self.options.switches, switches);
        let hyperlinks = switches.hyperlinks && self.capabilities.hyperlinks;
        self.inline.set_hyperlinks(hyperlinks);
        self.full.set_hyperlinks(hyperlinks);
        if before.measure != switches.measure {
            self.inline.set_measure(switches.measure);
            self.full.set_measure(switches.measure);
        }
        if !self.device.is_terminal() || self.screen == Screen::Plain {
            return;
        }
        let wanted =
            [(modes::TITLE, switches.title), (modes::MOUSE, switches.mouse && self.screen == Screen::Full)];
        for (mode, wanted) in wanted {
            match wanted {
                true => self.device.enter(mode),
                false => self.device.leave(mode),
            }
        }
        self.device.modes_changed();
        self.write(&[]);
    }

    /// Gives the terminal to another program, such as an editor, until [`Self::resume`]. The live
    /// region is removed; nothing is read or drawn meanwhile.
    pub fn pause(&mut self) {
        self.paused = true;
        self.give_back();
    }

    /// Takes the terminal again after [`Self::pause`].
    ///
    /// # Errors
    /// If it is gone.
    pub fn resume(&mut self) -> Result<(), TerminalError> {
        self.paused = false;
        self.take_again().map_err(TerminalError::SetUp)
    }

    /// Stops the process and its group, as ctrl+z does in a shell; returns false where no shell
    /// could continue it. [`Input::Resize`] comes when it has been continued.
    pub fn suspend(&mut self) -> bool {
        // No shell continues the group of the session's leader.
        let continued = getsid(None).is_ok_and(|leader| leader != getpgrp());
        continued && kill_current_process_group(Number::TSTP).is_ok()
    }

    /// Sets the title of the terminal, if that is wanted.
    pub fn set_title(&mut self, title: &str) {
        if self.options.switches.title && self.screen != Screen::Plain {
            self.write(&osc::title(title));
        }
    }

    /// Has the terminal notify the user, in the way it knows. In plain mode this is a bell, and in
    /// a pipe nothing.
    pub fn notify(&mut self, text: &str) {
        let bytes = match self.screen {
            Screen::Plain if !self.device.is_terminal() => return,
            Screen::Plain => b"\x07".to_vec(),
            Screen::Inline | Screen::Full => osc::notification(text, &self.capabilities),
        };
        self.write(&bytes);
    }

    /// Copies a text to the user's clipboard through the terminal, which may be on another machine.
    /// Returns false if it is longer than [`limits::MAX_TERMINAL_COPY`] or the screen is plain. No
    /// terminal says whether it did it.
    pub fn copy(&mut self, text: &str) -> bool {
        match osc::copy(text, &self.capabilities).filter(|_| self.screen != Screen::Plain) {
            Some(bytes) => {
                self.write(&bytes);
                true
            }
            None => false,
        }
    }

    /// Asks for the colour of the background, once; see [`Self::background`]. [`Input::Ready`]
    /// comes with the answer.
    pub fn ask_background(&mut self) {
        if self.asks() && self.background.ask() {
            self.write(osc::BACKGROUND.as_bytes());
        }
    }

    /// Starts the watcher, which restores the terminal if this process is killed. `command` is what
    /// starts this program with [`crate::terminal::watcher::run`].
    pub fn watch(&mut self, command: &[String]) {
        if !self.device.is_terminal() {
            return;
        }
        let terminal = self.device.output().try_clone_to_owned();
        match terminal.and_then(|terminal| system::start_watcher(command, terminal)) {
            Ok(pipe) => self.device.watch(pipe),
            Err(error) => tracing::warn!(%error, "the terminal is not restored if tiller is killed"),
        }
    }

    /// Sets the session that the terminal shows, for the line that is printed if this process is
    /// killed or panics.
    pub fn show_session(&mut self, id: &str) {
        self.device.show_session(id);
    }

    /// Gives the terminal back, with the live region removed.
    pub fn close(mut self) {
        self.give_back();
    }

    /// Returns the device, for the watcher.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    fn write(&mut self, bytes: &[u8]) {
        self.gone |= self.device.write(bytes).is_err();
    }

    /// Enters the modes of the screen.
    fn take(&mut self) -> io::Result<()> {
        if !self.device.is_terminal() {
            return Ok(());
        }
        if self.screen == Screen::Plain {
            self.device.leave_raw()?;
            self.device.take();
            return Ok(());
        }
        self.device.enter_raw()?;
        if self.options.switches.title {
            self.device.enter(modes::TITLE);
        }
        if self.screen == Screen::Full {
            self.device.enter(modes::ALTERNATE_SCREEN);
        }
        for mode in [modes::BRACKETED_PASTE, modes::FOCUS] {
            self.device.enter(mode);
        }
        if self.capabilities.answers {
            self.device.enter(modes::KEYBOARD);
        }
        if self.capabilities.other_keys {
            self.device.enter(modes::OTHER_KEYS);
        }
        if self.screen == Screen::Full && self.options.switches.mouse {
            self.device.enter(modes::MOUSE);
        }
        self.device.take();
        self.device.write(&[])
    }

    /// Asks the terminal what it is and what it can do. The answers come among the inputs.
    fn ask(&mut self) {
        if self.asks() {
            self.background.asked_otherwise();
            self.write(osc::QUESTIONS.as_bytes());
        }
        if self.options.background {
            self.ask_background();
        }
    }

    fn asks(&self) -> bool {
        // GNU screen names itself by a variable. A terminal of the type `screen` without it is
        // rather tmux, whose variable a shell did not pass on.
        let is_screen = self.options.variables.multiplexer == Some(Multiplexer::Screen);
        let answers = self.capabilities.answers && !is_screen;
        answers && self.device.is_terminal() && self.screen != Screen::Plain
    }

    fn give_back(&mut self) {
        let end = self.printer.end();
        self.write(end.as_bytes());
        self.device.give_back();
        self.inline.removed();
    }

    fn take_again(&mut self) -> io::Result<()> {
        self.take()?;
        self.size = self.device.size();
        self.take_size(true);
        self.full.redraw();
        Ok(())
    }

    fn take_read(&mut self, read: io::Result<&[u8]>) {
        let now = self.start.elapsed();
        match (read, self.screen) {
            (Ok([]), Screen::Plain) => {
                self.queue.extend(self.lines.finish().map(Input::Line));
                self.gone = true;
            }
            (Ok([]), _) | (Err(_), _) => self.gone = true,
            (Ok(bytes), Screen::Plain) => {
                let lines = self.lines.push(bytes);
                if !lines.is_empty() && self.device.is_terminal() {
                    self.printer.entered();
                }
                self.queue.extend(lines.into_iter().map(Input::Line));
            }
            (Ok(bytes), _) => {
                let events = self.decoder.push(bytes, now);
                self.take_events(events);
            }
        }
    }

    fn take_time(&mut self) {
        let events = self.decoder.expire(self.start.elapsed());
        self.take_events(events);
        if self.resized.is_some_and(|at| Instant::now() >= at) {
            self.resized = None;
            self.take_size(false);
        }
    }

    /// Reports the size, if it has changed or `always`.
    fn take_size(&mut self, always: bool) {
        let size @ (columns, rows) = self.device.size();
        if !always && size == self.size {
            return;
        }
        self.size = size;
        // What the alternate screen hides is wrapped like the rest.
        self.inline.resize(columns, rows, self.capabilities.rewraps);
        self.full.resize(columns, rows);
        self.queue.push_back(Input::Resize { columns, rows });
    }

    fn take_events(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Input(input) => self.queue.push_back(input),
                Event::Answer(Answer::Name(name)) => {
                    self.capabilities.named(&name);
                    let hyperlinks = self.options.switches.hyperlinks && self.capabilities.hyperlinks;
                    self.inline.set_hyperlinks(hyperlinks);
                    self.full.set_hyperlinks(hyperlinks);
                }
                Event::Answer(Answer::Synchronised(can)) => self.capabilities.synchronised = Some(can),
                Event::Answer(Answer::Background(colour)) => {
                    self.background.answered(colour);
                    self.queue.push_back(Input::Ready);
                }
                Event::Answer(Answer::Attributes) => self.background.passed(),
                Event::Answer(Answer::MarksPastes(_) | Answer::Keyboard | Answer::Cursor(..)) => {}
            }
        }
    }

    /// Stops the process, after SIGTSTP.
    fn stop_process(&mut self) {
        self.suspended = true;
        self.give_back();
        // The process cannot refuse this signal, and every process may send it to itself.
        let _ = kill_process(getpid(), Number::STOP);
    }

    fn continue_process(&mut self) {
        if !std::mem::take(&mut self.suspended) || self.paused {
            return;
        }
        self.gone |= self.take_again().is_err();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.device.give_back();
    }
}
