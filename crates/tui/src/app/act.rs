//! What the user does: keys, pastes and changes of the terminal.

use super::{App, Overlay, effect::Effect, reading::Read};
use crate::{
    client::asks::{Answer, AskId},
    composer::Outcome,
    driver::request::Request,
    input::{Input, Key, KeyCode},
    keys::{Action, Place, Pressed, Situation},
    limits::{LEAVE_PAUSE, MAX_PASTE},
    panel::KeyUse,
    screens::frame::Screen,
    transcript::rows::Paint,
};
use agent::Mode;
use std::time::Duration;

impl App {
    /// Takes an input of the user at `now`, the time since the interface started.
    pub fn input(&mut self, input: Input, now: Duration) -> Vec<Effect> {
        self.now = now;
        let mut effects = self.settle_answer();
        effects.extend(self.take(input));
        self.show_setup_choices();
        self.settle();
        effects
    }

    fn take(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => self.key(key),
            Input::Paste(text) => self.paste(&text),
            Input::Resize { columns, rows } => {
                self.resize(columns, rows);
                Vec::new()
            }
            Input::Line(line) => self.line(&line),
            Input::Ready => Vec::new(),
            Input::Focus(focused) => {
                self.focused = focused;
                self.asks.focus_changed(focused, self.now);
                Vec::new()
            }
            Input::Scroll(rows) => {
                if let Overlay::Transcript(reading) = &mut self.overlay {
                    let transcript = self.of_subagent.as_ref().unwrap_or(&self.transcript);
                    let (look, highlighter, now) = (&self.options.look, &self.highlighter, self.now);
                    let paint = Paint { transcript, look, highlighter, now };
                    reading.scroll(&paint, isize::try_from(rows).unwrap_or_default());
                } else if self.options.screen == Screen::Full {
                    let (transcript, look) = (&self.transcript, &self.options.look);
                    let (highlighter, now) = (&self.highlighter, self.now);
                    let paint = Paint { transcript, look, highlighter, now };
                    self.page.scroll(isize::try_from(rows).unwrap_or_default(), &paint);
                }
                Vec::new()
            }
            Input::Click { .. } => Vec::new(),
        }
    }

    fn paste(&mut self, text: &str) -> Vec<Effect> {
        self.asks.typed(self.now);
        match &mut self.overlay {
            Overlay::None | Overlay::Work(_) => {}
            Overlay::List(list) => {
                list.picker.paste(text);
                return self.list_changed();
            }
            Overlay::Transcript(_) | Overlay::Keys(_) | Overlay::Binding(_) => return Vec::new(),
        }
        if self.asks.has_focus() {
            self.asks.paste(text, self.now);
            return Vec::new();
        }
        if let Some(effects) = self.drop_files(text) {
            return effects;
        }
        self.composer.paste(text);
        if text.len() >= MAX_PASTE {
            self.fail(&format!(
                "only the first {} MiB of the pasted text are in the message",
                MAX_PASTE >> 20
            ));
        }
        Vec::new()
    }

    fn situation(&self) -> Situation {
        let place = match &self.overlay {
            Overlay::List(_) | Overlay::Binding(_) => Place::Picker,
            Overlay::Transcript(_) | Overlay::Keys(_) => Place::Transcript,
            Overlay::Work(_) => Place::Agents,
            Overlay::None if self.asks.has_focus() => self.asks.place(),
            Overlay::None => self.composer.place(),
        };
        Situation {
            place,
            empty: self.composer.is_empty(),
            running: self.is_running(),
            completing: self.composer.is_completing(),
            asked: !self.asks.is_empty() && !self.asks.has_focus(),
            waiting: !self.waiting.all().is_empty(),
            held: self.is_read_only(),
        }
    }

    /// Whether a turn runs.
    pub(super) fn is_running(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.turn.is_some())
    }

    fn key(&mut self, key: Key) -> Vec<Effect> {
        self.message = None;
        if let Overlay::Binding(_) = self.overlay {
            return self.pressed_for_binding(key);
        }
        let leaving = self.leaving.take();
        let situation = self.situation();
        if self.typed_into_search(key) {
            return Vec::new();
        }
        if let Some(effects) = self.retry_key(situation.place, key) {
            return effects;
        }
        let pressed = self.reader.press(&self.options.bindings, &situation, key, self.now);
        if situation.place == Place::Composer || situation.place == Place::Search {
            self.asks.typed(self.now);
        }
        // Also before an interruption, which takes back a letter that waits to be an answer.
        if self.is_message(key, &pressed, situation.place) {
            return Vec::new();
        }
        match pressed {
            Pressed::Begun => {
                self.leaving = leaving;
                Vec::new()
            }
            Pressed::Action(Action::Interrupt) => self.interrupt(leaving),
            Pressed::Action(action) => self.act(situation.place, action),
            Pressed::Key(key) => self.typed(situation.place, key),
        }
    }

    /// Gives a key that is pressed while a question has the focus to the message, if the user is
    /// typing one. Returns whether the question does not get it, or not yet.
    fn is_message(&mut self, key: Key, pressed: &Pressed, place: Place) -> bool {
        if !matches!(place, Place::Permission | Place::Reason | Place::Question) {
            return false;
        }
        let action = match pressed {
            Pressed::Action(action) => Some(*action),
            _ => None,
        };
        match self.asks.use_of(key, action, self.now) {
            KeyUse::Question => false,
            KeyUse::Held => true,
            KeyUse::Message(keys) => {
                keys.into_iter().for_each(|key| drop(self.composer.key(key)));
                true
            }
        }
    }

    /// Performs what a letter does that answers a question, once nothing else was typed.
    pub(super) fn settle_answer(&mut self) -> Vec<Effect> {
        let Some((id, answer)) = self.asks.settle_held(self.now) else { return Vec::new() };
        self.answered(id, answer)
    }

    fn answered(&mut self, id: AskId, answer: Answer) -> Vec<Effect> {
        self.plain.withdraw(id);
        vec![Effect::Answer(id, answer)]
    }

    /// Takes a key of the transcript's search while its query is typed.
    fn typed_into_search(&mut self, key: Key) -> bool {
        let Overlay::Transcript(reading) = &mut self.overlay else { return false };
        if !reading.is_typing() {
            return false;
        }
        let transcript = self.of_subagent.as_ref().unwrap_or(&self.transcript);
        let (look, highlighter, now) = (&self.options.look, &self.highlighter, self.now);
        let paint = Paint { transcript, look, highlighter, now };
        match key.code {
            KeyCode::Enter => reading.end_typing(&paint, true),
            KeyCode::Esc => reading.end_typing(&paint, false),
            _ => reading.key(&paint, key),
        }
        true
    }

    /// Takes a key that nothing is bound to.
    fn typed(&mut self, place: Place, key: Key) -> Vec<Effect> {
        match (&mut self.overlay, place) {
            (Overlay::List(list), _) => {
                if list.picker.key(key) {
                    return self.list_changed();
                }
            }
            (Overlay::Transcript(_) | Overlay::Work(_) | Overlay::Keys(_) | Overlay::Binding(_), _) => {}
            (Overlay::None, Place::Composer | Place::Search) => {
                self.composer.key(key);
            }
            (Overlay::None, _) => self.asks.key(key, self.now),
        }
        Vec::new()
    }

    fn act(&mut self, place: Place, action: Action) -> Vec<Effect> {
        match action {
            Action::Transcript => return self.toggle_transcript(),
            Action::TranscriptPage => {
                let mut effects = Vec::new();
                if !matches!(self.overlay, Overlay::Transcript(_)) {
                    effects = self.toggle_transcript();
                }
                effects.extend(self.act(Place::Transcript, Action::PageUp));
                return effects;
            }
            Action::Agents => {
                self.overlay = match self.overlay {
                    Overlay::Work(_) => Overlay::None,
                    // Without a session there is neither a plan nor a subagent.
                    _ if self.session.is_none() => return Vec::new(),
                    _ => Overlay::Work(0),
                };
                return Vec::new();
            }
            Action::Suspend => return vec![Effect::Suspend],
            Action::Repaint => return vec![Effect::Repaint],
            Action::AgentMode => return self.next_mode(),
            _ => {}
        }
        match place {
            Place::Composer | Place::Search => self.in_composer(action),
            Place::Permission | Place::Reason | Place::Question => {
                let Some((id, answer)) = self.asks.act(action, self.now) else { return Vec::new() };
                self.answered(id, answer)
            }
            Place::Picker => self.in_list(action),
            Place::Agents => self.in_work(action),
            Place::Transcript => self.in_transcript(action),
            Place::Anywhere | Place::Failure => Vec::new(),
        }
    }

    fn in_composer(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Answer => {
                self.asks.take_focus(self.now);
                Vec::new()
            }
            Action::TakeBack => self.take_back(),
            Action::Stop => self.stop(),
            Action::Rewind => vec![Effect::Request(Request::ListTurns)],
            Action::Quit => vec![Effect::Quit],
            Action::TakeOver => self.take_over(),
            Action::Help => {
                self.overlay = Overlay::Keys(0);
                Vec::new()
            }
            Action::Editor => vec![Effect::Edit(self.composer.as_text())],
            Action::Clipboard => vec![Effect::Request(Request::ReadClipboard)],
            action => match self.composer.act(action) {
                Outcome::Sent(sent) => self.sent(sent),
                Outcome::Ignored | Outcome::Changed => Vec::new(),
            },
        }
    }

    /// Takes the last waiting message back into the composer.
    fn take_back(&mut self) -> Vec<Effect> {
        let Some(waited) = self.waiting.take_last() else { return Vec::new() };
        self.composer.put_back(waited.content);
        vec![Effect::Request(Request::Withdraw(waited.id))]
    }

    /// Cancels the turn; messages that wait return to the composer.
    fn stop(&mut self) -> Vec<Effect> {
        for waited in self.waiting.take_all().into_iter().rev() {
            self.composer.put_back(waited.content);
        }
        vec![Effect::Request(Request::Cancel)]
    }

    /// Clears the draft; without one cancels the turn; without a turn quits when pressed twice.
    fn interrupt(&mut self, leaving: Option<Duration>) -> Vec<Effect> {
        if let Overlay::List(_) = self.overlay {
            return self.leave_list();
        }
        if !matches!(self.overlay, Overlay::None) {
            self.overlay = Overlay::None;
            return self.screen_of_overlay();
        }
        if !self.composer.is_empty() {
            let entry = self.composer.clear();
            return entry.map(|entry| Effect::Request(Request::Remember(entry))).into_iter().collect();
        }
        if self.is_running() {
            return self.stop();
        }
        if leaving.is_some_and(|at| self.now.saturating_sub(at) <= LEAVE_PAUSE) {
            return vec![Effect::Quit];
        }
        self.leaving = Some(self.now);
        self.tell("press ctrl+c again to quit");
        Vec::new()
    }

    fn next_mode(&mut self) -> Vec<Effect> {
        let Some(session) = &self.session else { return Vec::new() };
        let next = match session.controls.mode {
            Mode::Edit => Mode::Plan,
            Mode::Plan => Mode::Ask,
            Mode::Ask => Mode::Edit,
        };
        vec![Effect::Request(Request::SetMode(next))]
    }

    fn in_work(&mut self, action: Action) -> Vec<Effect> {
        let Some(session) = &self.session else { return Vec::new() };
        let Overlay::Work(selected) = &mut self.overlay else { return Vec::new() };
        let last = session.work.agents.len().saturating_sub(1);
        match action {
            Action::AgentsUp => *selected = selected.saturating_sub(1),
            Action::AgentsDown => *selected = (*selected + 1).min(last),
            Action::AgentsCancel => {
                if let Some(agent) = session.work.agents.get(*selected) {
                    return vec![Effect::Request(Request::CancelSubagent(agent.id.clone()))];
                }
            }
            Action::AgentsOpen => {
                if let Some(session) =
                    session.work.agents.get(*selected).and_then(|it| it.place.session.clone())
                {
                    return vec![Effect::Request(Request::ShowSubagent(session))];
                }
            }
            Action::AgentsClose => self.overlay = Overlay::None,
            _ => {}
        }
        Vec::new()
    }

    fn toggle_transcript(&mut self) -> Vec<Effect> {
        self.overlay = match self.overlay {
            Overlay::Transcript(_) => Overlay::None,
            _ => Overlay::Transcript(Box::default()),
        };
        self.of_subagent = None;
        self.screen_of_overlay()
    }

    fn in_transcript(&mut self, action: Action) -> Vec<Effect> {
        match &mut self.overlay {
            Overlay::Keys(top) => match action {
                Action::ScrollDown => *top += 1,
                Action::ScrollUp => *top = top.saturating_sub(1),
                Action::PageDown => *top += usize::from(self.rows),
                Action::PageUp => *top = top.saturating_sub(usize::from(self.rows)),
                Action::TranscriptClose => self.overlay = Overlay::None,
                _ => {}
            },
            Overlay::Transcript(reading) => {
                let transcript = self.of_subagent.as_ref().unwrap_or(&self.transcript);
                let (look, highlighter, now) = (&self.options.look, &self.highlighter, self.now);
                let paint = Paint { transcript, look, highlighter, now };
                match reading.act(&paint, action) {
                    Read::Shown => {}
                    Read::Copied(text) => return vec![Effect::Copy(text)],
                    Read::Closed => {
                        self.overlay = Overlay::None;
                        return self.screen_of_overlay();
                    }
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// Puts a draft back that the user's editor saved, or says why there is none.
    pub fn edited(&mut self, text: Result<String, String>) {
        match text {
            Ok(text) => self.composer.set_text(text.trim_end_matches('\n')),
            Err(error) => {
                self.fail(&error);
            }
        }
    }
}
