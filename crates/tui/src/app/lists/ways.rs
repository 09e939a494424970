//! The list of ways to a model, with which the interface begins where none is set up.

use super::{App, Overlay, Rows};
use crate::{
    app::effect::Effect,
    driver::{
        reply::{Step, Way},
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
        matches!(&self.overlay, Overlay::List(list) if matches!(list.rows, Rows::Ways(_)))
    }

    /// Takes the ways to a model, and shows them unless a session is being chosen.
    pub(in crate::app) fn ways_found(&mut self, ways: Vec<Way>) {
        self.ways = Some(ways);
        if self.finds_model() {
            self.overlay = Overlay::None;
        }
        self.show_ways();
    }

    /// Shows the ways to a model while there is no session and nothing else is shown.
    pub(in crate::app) fn show_ways(&mut self) {
        if self.session.is_some() || !matches!(self.overlay, Overlay::None) {
            return;
        }
        let Some(ways) = self.ways.clone() else { return };
        if self.options.screen == Screen::Plain {
            self.plain.hint("no model is set up; begin with one of these:");
        }
        let rows = ways.iter().map(|way| Item::new([way.name.clone(), way.about.clone()])).collect();
        let ready = ways.iter().position(|way| way.is_ready).unwrap_or(0);
        let picker = self.ways_picker().selects(ready);
        self.show(picker, Rows::Ways(ways), Some(rows));
    }

    fn ways_picker(&self) -> Picker {
        Picker::new(TITLE, self.options.bindings.clone())
            .offers([(How::Open, "choose")])
            .flexible(1)
            .empty("nothing matches")
            .closes("quit")
    }

    /// Goes a step on the way to a model.
    pub(super) fn go(&mut self, way: Way) -> Vec<Effect> {
        let request = match way.step {
            Step::SetUp => return vec![Effect::SetUp],
            Step::Look => Request::FindWays,
            Step::ModelsOf(provider) => Request::WaysOf(provider),
            Step::Take(id) => Request::TakeModel(id),
        };
        // Nothing can be chosen until the answer comes.
        let picker = self.ways_picker();
        self.show(picker, Rows::Ways(Vec::new()), None);
        vec![Effect::Request(request)]
    }
}
