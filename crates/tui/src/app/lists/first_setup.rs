//! The choices of the first setup, with which the interface begins where no model is set up.

use super::{App, Overlay, Rows};
use crate::{
    app::effect::Effect,
    driver::{
        reply::{SetupChoice, SetupStep},
        request::Request,
    },
    picker::{How, Item, Picker},
    screens::frame::Screen,
};

/// The title of the list.
const TITLE: &str = "no model is set up; begin with";

impl App {
    /// Whether a model is being chosen, because none is set up.
    pub(in crate::app) fn finds_model(&self) -> bool {
        matches!(&self.overlay, Overlay::List(list) if matches!(list.rows, Rows::SetupChoices(_)))
    }

    /// Takes the choices of the first setup, and shows them unless a session is being chosen.
    pub(in crate::app) fn setup_choices_found(&mut self, choices: Vec<SetupChoice>) {
        self.setup_choices = Some(choices);
        if self.finds_model() {
            self.overlay = Overlay::None;
        }
        self.show_setup_choices();
    }

    /// Shows the choices of the first setup while there is no session and nothing else is shown.
    pub(in crate::app) fn show_setup_choices(&mut self) {
        if self.session.is_some() || !matches!(self.overlay, Overlay::None) {
            return;
        }
        let Some(choices) = self.setup_choices.clone() else { return };
        if self.options.screen == Screen::Plain {
            self.plain.hint("no model is set up; begin with one of these:");
        }
        let rows =
            choices.iter().map(|choice| Item::new([choice.name.clone(), choice.about.clone()])).collect();
        let ready = choices.iter().position(|choice| choice.is_ready).unwrap_or(0);
        let picker = self.setup_picker().selects(ready);
        self.show(picker, Rows::SetupChoices(choices), Some(rows));
    }

    fn setup_picker(&self) -> Picker {
        Picker::new(TITLE, self.options.bindings.clone())
            .offers([(How::Open, "choose")])
            .flexible(1)
            .empty("nothing matches")
            .closes("quit")
    }

    /// Does what a choice says.
    pub(super) fn take_setup_choice(&mut self, choice: SetupChoice) -> Vec<Effect> {
        let request = match choice.step {
            SetupStep::SetUp => return vec![Effect::SetUp],
            SetupStep::Look => Request::FindSetupChoices,
            SetupStep::ModelsOf(provider) => Request::SetupChoicesOf(provider),
            SetupStep::Take(id) => Request::TakeModel(id),
        };
        // Nothing can be chosen until the answer comes.
        let picker = self.setup_picker();
        self.show(picker, Rows::SetupChoices(Vec::new()), None);
        vec![Effect::Request(request)]
    }
}
