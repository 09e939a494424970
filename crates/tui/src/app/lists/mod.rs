//! The lists to choose from: sessions, models, modes, themes and turns to go back to.

mod items;
mod ways;

use super::{App, Overlay, effect::Effect};
use crate::{
    driver::{
        reply::{ListedSession, Way},
        request::{Request, Which},
    },
    keys::Action,
    picker::{How, Item, Outcome, Picker},
    theme::Theme,
    transcript::{Body, Cell},
};
use agent::{Checkpoint, Credentials, ModelInfo, PermissionMode, RewindTarget};

/// A list with what its rows stand for.
pub(super) struct List {
    pub(super) picker: Picker,
    rows: Rows,
}

/// What the rows of a list stand for, in their order.
enum Rows {
    Sessions(Vec<ListedSession>),
    Models(Vec<ModelInfo>),
    PermissionModes,
    Themes,
    /// Ways to a model, where none is set up.
    Ways(Vec<Way>),
    /// The turns that a rewind goes back to.
    Turns(Vec<RewindTarget>),
}

/// The rows of a page in plain mode.
const PAGE: usize = 10;

impl App {
    /// Shows the list of sessions before anything else.
    pub fn choose_session(&mut self) -> Vec<Effect> {
        self.choosing = true;
        self.list_sessions("")
    }

    pub(super) fn list_sessions(&mut self, words: &str) -> Vec<Effect> {
        let picker = Picker::new("sessions", self.options.bindings.clone())
            .offers([
                (How::Open, "open"),
                (How::Fork, "fork"),
                (How::Rename, "rename"),
                (How::Archive, "archive"),
            ])
            .scopes(["this directory", "all"], usize::from(self.everywhere))
            .flexible(1)
            .searches()
            .empty("no session matches")
            .query_of(words);
        self.show(picker, Rows::Sessions(Vec::new()), None);
        vec![self.query_sessions()]
    }

    fn query_sessions(&self) -> Effect {
        let words = match &self.overlay {
            Overlay::List(list) => list.picker.query().to_owned(),
            _ => String::new(),
        };
        Effect::Request(Request::ListSessions { words, everywhere: self.everywhere })
    }

    pub(super) fn sessions_listed(&mut self, sessions: Vec<ListedSession>) {
        let open = self.session.as_ref().map(|session| session.id.clone());
        let (today, everywhere) = (self.today, self.everywhere);
        let Overlay::List(list) = &mut self.overlay else { return };
        let Rows::Sessions(rows) = &mut list.rows else { return };
        let item = |session: &ListedSession| {
            let mut item = items::session(session, today, everywhere);
            item.marked = open.as_ref() == Some(&session.record.id);
            item
        };
        list.picker.set_items(sessions.iter().map(item).collect());
        list.picker.set_loading(false);
        *rows = sessions;
        self.say_list();
    }

    /// Asks for the models; they are shown when they come.
    pub(super) fn list_models() -> Vec<Effect> {
        vec![Effect::Request(Request::ListModels)]
    }

    pub(super) fn models_listed(&mut self, models: Vec<(ModelInfo, Credentials)>) {
        let current = self.session.as_ref().map(|session| session.controls.model.clone());
        let picker = Picker::new("model", self.options.bindings.clone())
            .offers([(How::Open, "this session"), (How::Default, "also as default")])
            .empty("no model matches; tiller setup adds providers");
        let item = |(model, credentials): &(ModelInfo, Credentials)| {
            let mut item = items::model(model, *credentials);
            item.marked = current.as_ref() == Some(&model.id);
            item
        };
        let rows = models.iter().map(item).collect();
        let models = models.into_iter().map(|(model, _)| model).collect();
        self.show(picker, Rows::Models(models), Some(rows));
    }

    pub(super) fn list_permission_modes(&mut self) -> Vec<Effect> {
        let current = self.session.as_ref().map(|session| session.controls.permission_mode);
        let picker = Picker::new("permission mode", self.options.bindings.clone())
            .offers([(How::Open, "choose")])
            .flexible(1);
        let item = |mode: PermissionMode| Item {
            marked: current == Some(mode),
            ..Item::new([mode.label(), mode.description()])
        };
        let rows = PermissionMode::ALL.into_iter().map(item).collect();
        self.show(picker, Rows::PermissionModes, Some(rows));
        Vec::new()
    }

    pub(super) fn choose_theme(&mut self, name: &str) -> Vec<Effect> {
        if name.is_empty() {
            let picker = Picker::new("theme", self.options.bindings.clone()).offers([(How::Open, "choose")]);
            let current = self.options.look.theme.name.clone();
            let item = |name: &str| Item { marked: name == current, ..Item::new([name]) };
            let rows = Theme::SHIPPED.into_iter().map(item).collect();
            self.show(picker, Rows::Themes, Some(rows));
            return Vec::new();
        }
        match Theme::shipped(name, self.background) {
            Some(theme) => {
                let colourless = !self.options.look.theme.colour;
                self.options.look.theme = if colourless { theme.without_colour() } else { theme };
                self.composer.set_look(self.options.look.clone());
                match self.options.look.theme.follows_background() {
                    true => vec![Effect::AskBackground, Effect::Repaint],
                    false => vec![Effect::Repaint],
                }
            }
            None => {
                let names = Theme::SHIPPED.join(", ");
                self.fail(&format!(
                    "there is no theme {name}; choose {names}, or set ui.theme to one of yours"
                ))
            }
        }
    }

    pub(super) fn turns_listed(&mut self, turns: &[Checkpoint]) {
        let rewound = |cell: &Cell| matches!(cell.body, Body::Rewound { .. });
        let has_rewound = self.transcript.cells().iter().any(rewound);
        if turns.is_empty() && !has_rewound {
            self.tell("no turn of this session has changed files: there is nothing to undo");
            return;
        }
        let picker = Picker::new("go back to", self.options.bindings.clone())
            .offers([(How::Open, "undo the changes of files after it")])
            .flexible(1);
        let (mut items, mut targets) = (Vec::new(), Vec::new());
        for turn in turns.iter().rev() {
            items.push(items::turn(turn));
            targets.push(RewindTarget::Turn(turn.turn.saturating_sub(1)));
        }
        // Last, so that it is never what Enter takes without a choice while there are turns.
        if has_rewound {
            items.push(Item::new(["redo", "the files as they were before the last rewind"]));
            targets.push(RewindTarget::Redo);
        }
        self.show(picker, Rows::Turns(targets), Some(items));
    }

    /// Shows a list; without items, as one that is being read.
    fn show(&mut self, mut picker: Picker, rows: Rows, items: Option<Vec<Item>>) {
        let loading = items.is_none();
        picker.set_loading(loading);
        picker.set_items(items.unwrap_or_default());
        self.overlay = Overlay::List(Box::new(List { picker, rows }));
        if !loading {
            self.say_list();
        }
    }

    /// After the query changed: lists that the store searches are read again.
    pub(super) fn list_changed(&mut self) -> Vec<Effect> {
        match &self.overlay {
            Overlay::List(list) if matches!(list.rows, Rows::Sessions(_)) => vec![self.query_sessions()],
            _ => Vec::new(),
        }
    }

    pub(super) fn in_list(&mut self, action: Action) -> Vec<Effect> {
        let Overlay::List(list) = &mut self.overlay else { return Vec::new() };
        match list.picker.act(action) {
            Outcome::Ignored | Outcome::Changed => Vec::new(),
            Outcome::Scope(scope) => {
                self.everywhere = scope > 0;
                vec![self.query_sessions()]
            }
            Outcome::Closed => self.close_list(),
            Outcome::Edited { index, text } => self.renamed(index, text),
            Outcome::Picked { index, how } => self.picked(index, how),
        }
    }

    /// Closes the list. Without a model there is nothing else to do than to choose one.
    fn close_list(&mut self) -> Vec<Effect> {
        if self.finds_model() {
            return vec![Effect::Quit];
        }
        self.overlay = Overlay::None;
        Vec::new()
    }

    fn renamed(&mut self, index: usize, title: String) -> Vec<Effect> {
        let Overlay::List(list) = &self.overlay else { return Vec::new() };
        let Rows::Sessions(sessions) = &list.rows else { return Vec::new() };
        let Some(session) = sessions.get(index) else { return Vec::new() };
        let rename = Request::Rename { id: session.record.id.clone(), title };
        vec![Effect::Request(rename), self.query_sessions()]
    }

    fn picked(&mut self, index: usize, how: How) -> Vec<Effect> {
        let Overlay::List(list) = &mut self.overlay else { return Vec::new() };
        let mut close = true;
        let request = match (&list.rows, how) {
            (Rows::Sessions(sessions), how) => {
                let Some(ListedSession { record, .. }) = sessions.get(index) else { return Vec::new() };
                let id = record.id.clone();
                match how {
                    How::Open | How::Default if self.choosing => {
                        Request::Open(Which::First { chosen: Some(id), take_over: false })
                    }
                    How::Open | How::Default => Request::Open(Which::Stored { id, take_over: false }),
                    How::Fork => Request::Open(Which::Fork(id)),
                    How::Rename => {
                        let title = record.title.clone().unwrap_or_default();
                        list.picker.edit(index, "title", &title);
                        return Vec::new();
                    }
                    How::Archive => {
                        close = false;
                        Request::Archive(id)
                    }
                }
            }
            (Rows::Models(models), how) => match models.get(index) {
                Some(model) => Request::SetModel { id: model.id.clone(), default: how == How::Default },
                None => return Vec::new(),
            },
            (Rows::PermissionModes, _) => match PermissionMode::ALL.get(index) {
                Some(mode) => Request::SetPermissionMode(*mode),
                None => return Vec::new(),
            },
            (Rows::Turns(targets), _) => match targets.get(index) {
                Some(target) => Request::Rewind(*target),
                None => return Vec::new(),
            },
            (Rows::Ways(ways), _) => {
                return ways.get(index).cloned().map_or_else(Vec::new, |way| self.go(way));
            }
            (Rows::Themes, _) => {
                self.overlay = Overlay::None;
                return match Theme::SHIPPED.get(index) {
                    Some(name) => self.choose_theme(name),
                    None => Vec::new(),
                };
            }
        };
        if close {
            self.overlay = Overlay::None;
            return vec![Effect::Request(request)];
        }
        vec![Effect::Request(request), self.query_sessions()]
    }

    /// In plain mode, prints the first rows of the list.
    fn say_list(&mut self) {
        if self.options.screen == crate::screens::frame::Screen::Plain {
            self.plain.page = 0;
            self.say_page();
        }
    }

    fn say_page(&mut self) {
        let Overlay::List(list) = &self.overlay else { return };
        let lines = list.picker.numbered(self.plain.page * PAGE, PAGE);
        let lines = if lines.is_empty() { vec!["nothing more".to_owned()] } else { lines };
        let hint = match (&list.rows, list.picker.number()) {
            (Rows::Ways(_), Some(number)) => format!(
                "Answer with a number (Enter alone: {number}), more for the next page, or cancel to quit"
            ),
            _ => "Answer with a number, more for the next page, or cancel".to_owned(),
        };
        lines.iter().for_each(|line| self.plain.say(line));
        self.plain.hint(&hint);
    }

    /// Takes a line that the user typed while a list waits in plain mode.
    pub(super) fn line_of_list(&mut self, line: &str) -> Vec<Effect> {
        let finds_model = self.finds_model();
        let Overlay::List(list) = &mut self.overlay else { return Vec::new() };
        match line {
            "" if finds_model => {
                let index = list.picker.index();
                return index.map_or_else(Vec::new, |index| self.picked(index, How::Open));
            }
            "more" => {
                self.plain.page += 1;
                self.say_page();
            }
            "" | "cancel" => return self.close_list(),
            number => match number.parse().ok().and_then(|number| list.picker.select_number(number)) {
                Some(index) => return self.picked(index, How::Open),
                None => self.plain.say("there is no such number; write one of the list, more or cancel"),
            },
        }
        Vec::new()
    }
}
