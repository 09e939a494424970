//! How the interface looks and behaves, and changes of that while it runs.

use super::{App, Overlay, effect::Effect};
use crate::{look::Look, options::AppOptions, panel::AskQueue, screens::frame::Screen, theme::Theme};

impl App {
    /// Puts on a theme, in its variant for the terminal's background.
    pub(super) fn wear(&mut self, theme: Theme) {
        let colourless = !self.settled.look.theme.colour;
        let theme = theme.on(self.background);
        self.options.look.theme = if colourless { theme.without_colour() } else { theme };
        self.composer.set_look(self.options.look.clone());
    }

    /// Puts on another theme; returns what the terminal has to do for it.
    pub(super) fn change_theme(&mut self, theme: Theme) -> Vec<Effect> {
        self.wear(theme);
        match self.options.look.theme.follows_background() {
            true => vec![Effect::AskBackground, Effect::Repaint],
            false => vec![Effect::Repaint],
        }
    }

    /// Draws another kind of screen from now on. Questions that wait are asked there.
    pub(super) fn change_screen(&mut self, screen: Screen) -> Vec<Effect> {
        let before = std::mem::replace(&mut self.options.screen, screen);
        self.move_questions(before, screen);
        if screen == Screen::Plain {
            self.overlay = Overlay::None;
        }
        match self.overlay {
            Overlay::Transcript(_) => Vec::new(),
            _ => vec![Effect::Screen(screen)],
        }
    }

    /// Goes on with plain lines, because the terminal can show nothing else.
    pub fn stay_plain(&mut self) {
        let before = std::mem::replace(&mut self.options.screen, Screen::Plain);
        self.move_questions(before, Screen::Plain);
        self.overlay = Overlay::None;
        self.fail("there is no terminal here, so plain lines are all that can be shown");
    }

    fn move_questions(&mut self, before: Screen, screen: Screen) {
        if (before == Screen::Plain) == (screen == Screen::Plain) {
            return;
        }
        self.asks = AskQueue::new(self.options.bindings.clone());
        match screen {
            Screen::Plain => self.plain.put_again(),
            Screen::Inline | Screen::Full => {
                self.plain.asked().iter().for_each(|(id, asked)| self.asks.push(*id, asked.clone()));
            }
        }
    }

    /// Takes the options that follow from settings that were read again. What differs from the last
    /// time is in force at once, and so is `chosen`, the setting that the user changed; what else
    /// was changed for this session stays.
    pub(super) fn apply(&mut self, new: AppOptions, chosen: Option<&str>) -> Vec<Effect> {
        let old = std::mem::replace(&mut self.settled, new.clone());
        let is_new = |name: &str, differs: bool| differs || chosen == Some(name);
        let mut effects = Vec::new();
        if is_new("ui.enter", old.enter_steers != new.enter_steers) {
            self.options.enter_steers = new.enter_steers;
        }
        if is_new("ui.notify", old.notify != new.notify) {
            self.options.notify = new.notify;
        }
        if is_new("ui.animation", old.animation != new.animation) {
            self.options.animation = new.animation;
        }
        if is_new("ui.keys", old.bindings != new.bindings) {
            self.options.bindings = new.bindings.clone();
            self.asks.set_bindings(new.bindings.clone());
            self.options.look.unfold_key = new.look.unfold_key.clone();
        }
        if old.switches != new.switches || old.look.roots.is_empty() != new.look.roots.is_empty() {
            self.options.switches = new.switches;
            self.options.look.measure = new.look.measure;
            self.options.look.roots = new.look.roots.clone();
            self.link_files();
            effects.push(Effect::Switches(new.switches));
            effects.push(self.name_terminal());
        }
        if is_new("ui.theme", old.look.theme != new.look.theme) {
            self.wear(new.look.theme.clone());
            if self.options.look.theme.follows_background() {
                effects.push(Effect::AskBackground);
            }
        }
        if is_new("ui.screen", old.screen != new.screen) && self.options.screen != new.screen {
            effects.extend(self.change_screen(new.screen));
        }
        self.composer.set_look(self.options.look.clone());
        effects.push(Effect::Repaint);
        effects
    }

    /// Lets files of the session's directories be links, if files may be links at all.
    pub(super) fn link_files(&mut self) {
        if let (false, Some(session)) = (self.options.look.roots.is_empty(), &self.session) {
            self.options.look.roots = session.directories().collect();
        }
    }

    /// Returns the look of plain lines.
    pub(super) fn plain_look(&self) -> Look {
        Look { measure: self.options.look.measure, ..Look::plain() }
    }
}
