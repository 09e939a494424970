//! The lists to choose from: sessions, models, modes, themes and turns to go back to.

mod first_setup;
mod items;
#[cfg(test)]
mod tests;

use super::{App, Overlay, effect::Effect, settings::Pick, themes::ThemeRows};
use crate::{
    driver::{
        reply::{ListedSession, ModelKey, SetupChoice},
        request::{Request, Which},
    },
    keys::Action,
    picker::{How, Item, Outcome, Picker},
    screens::frame::Screen,
    settings::Setting,
    transcript::{Body, Cell},
};
use agent::{Checkpoint, Glance, ModelInfo, PermissionMode, RewindTarget, SessionId};
use std::collections::{HashMap, HashSet};

/// A list with what its rows stand for.
pub(super) struct List {
    pub(super) picker: Picker,
    pub(super) rows: Rows,
    /// The list that it was opened from, to which one returns.
    pub(super) below: Option<Box<Self>>,
}

/// What the rows of a list stand for, in their order.
pub(super) enum Rows {
    Sessions(Sessions),
    Models(Vec<(ModelInfo, ModelKey)>),
    PermissionModes,
    Themes(Box<ThemeRows>),
    Settings(Vec<Setting>),
    /// The values of a setting.
    Values {
        name: String,
        picks: Vec<Pick>,
    },
    /// The actions, with the setting of their keys.
    Actions {
        setting: Box<Setting>,
        actions: Vec<&'static str>,
    },
    /// The choices of the first setup, where no model is set up.
    SetupChoices(Vec<SetupChoice>),
    /// The turns that a rewind goes back to.
    Turns(Vec<RewindTarget>),
}

/// The sessions of a list, and how those that were selected ended.
#[derive(Default)]
pub(super) struct Sessions {
    listed: Vec<ListedSession>,
    glances: HashMap<SessionId, Glance>,
    /// Those whose glance was asked for.
    asked: HashSet<SessionId>,
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
            .scopes(["this folder", "all"], usize::from(self.everywhere))
            .flexible(1)
            // Cost, turns, model, branch: when, what and where stay longest.
            .leaves_out([5, 3, 4, 2])
            .numbers([3, 5])
            .searches()
            .empty("no session matches")
            .query_of(words);
        self.show(picker, Rows::Sessions(Sessions::default()), None);
        vec![self.query_sessions()]
    }

    fn query_sessions(&self) -> Effect {
        let words = match &self.overlay {
            Overlay::List(list) => list.picker.query().to_owned(),
            _ => String::new(),
        };
        Effect::Request(Request::ListSessions { words, everywhere: self.everywhere })
    }

    pub(super) fn sessions_listed(&mut self, listed: Vec<ListedSession>, more: bool) -> Vec<Effect> {
        let open = self.session.as_ref().map(|session| session.id.clone());
        let (today, everywhere) = (self.today, self.everywhere);
        let Overlay::List(list) = &mut self.overlay else { return Vec::new() };
        let Rows::Sessions(sessions) = &mut list.rows else { return Vec::new() };
        let item = |session: &ListedSession| {
            let mut item = items::session(session, today, everywhere);
            item.marked = open.as_ref() == Some(&session.record.id);
            let glance = sessions.glances.get(&session.record.id);
            item.preview = items::preview(session, glance, &self.options.look);
            item
        };
        list.picker.set_items(listed.iter().map(item).collect());
        list.picker.set_loading(false);
        list.picker.set_more(more);
        sessions.listed = listed;
        self.say_list();
        self.look_at_selected().into_iter().collect()
    }

    /// Asks how the selected session ended, once.
    fn look_at_selected(&mut self) -> Option<Effect> {
        if self.options.screen == Screen::Plain {
            return None;
        }
        let Overlay::List(list) = &mut self.overlay else { return None };
        let Rows::Sessions(sessions) = &mut list.rows else { return None };
        let id = &sessions.listed.get(list.picker.index()?)?.record.id;
        sessions.asked.insert(id.clone()).then(|| Effect::Request(Request::Glance(id.clone())))
    }

    /// Shows how a session of the list ended.
    pub(super) fn glanced(&mut self, id: SessionId, glance: Glance) {
        let Overlay::List(list) = &mut self.overlay else { return };
        let Rows::Sessions(sessions) = &mut list.rows else { return };
        for (index, session) in sessions.listed.iter().enumerate().filter(|(_, row)| row.record.id == id) {
            let preview = items::preview(session, Some(&glance), &self.options.look);
            list.picker.set_preview(index, preview);
        }
        sessions.glances.insert(id, glance);
    }

    /// Asks for the models; they are shown when they come.
    pub(super) fn list_models() -> Vec<Effect> {
        vec![Effect::Request(Request::ListModels)]
    }

    /// Shows the models, and updates them once servers on this machine were looked for.
    pub(super) fn models_listed(&mut self, models: Vec<(ModelInfo, ModelKey)>, complete: bool) {
        let current = self.session.as_ref().map(|session| session.controls.model.clone());
        let item = |(model, key): &(ModelInfo, ModelKey)| {
            let mut item = items::model(model, key);
            item.marked = current.as_ref() == Some(&model.id);
            item
        };
        let rows = models.iter().map(item).collect();
        if complete {
            // It may have been closed meanwhile.
            if let Overlay::List(list) = &mut self.overlay
                && let Rows::Models(listed) = &mut list.rows
            {
                list.picker.set_items(rows);
                list.picker.set_loading(false);
                *listed = models;
            }
            return;
        }
        let picker = Picker::new("model", self.options.bindings.clone())
            .offers([(How::Open, "this session"), (How::Default, "also as default")])
            .leaves_out([1, 2])
            .numbers([1])
            .uncut([3])
            .empty("no model matches; tiller setup adds providers");
        self.show(picker, Rows::Models(models), Some(rows));
        if let Overlay::List(list) = &mut self.overlay {
            list.picker.set_loading(true);
        }
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
    pub(super) fn show(&mut self, mut picker: Picker, rows: Rows, items: Option<Vec<Item>>) {
        let loading = items.is_none();
        picker.set_loading(loading);
        picker.set_items(items.unwrap_or_default());
        self.overlay = Overlay::List(Box::new(List { picker, rows, below: None }));
        if !loading {
            self.say_list();
        }
    }

    /// Shows a list above the one that is open, if there is one. It is closed to return there.
    pub(super) fn show_above(&mut self, picker: Picker, rows: Rows, items: Vec<Item>) {
        let below = match std::mem::take(&mut self.overlay) {
            Overlay::List(list) => Some(list),
            _ => None,
        };
        self.show(picker, rows, Some(items));
        if let Overlay::List(list) = &mut self.overlay {
            list.below = below;
        }
    }

    /// Closes the list, and returns to the one that it was opened from.
    pub(super) fn close_list(&mut self) -> Option<Box<List>> {
        match std::mem::take(&mut self.overlay) {
            Overlay::List(mut list) => {
                if let Some(below) = list.below.take() {
                    self.overlay = Overlay::List(below);
                }
                Some(list)
            }
            other => {
                self.overlay = other;
                None
            }
        }
    }

    /// After the query changed: lists that the store searches are read again.
    pub(super) fn list_changed(&mut self) -> Vec<Effect> {
        match &self.overlay {
            Overlay::List(list) if matches!(list.rows, Rows::Sessions(_)) => vec![self.query_sessions()],
            _ => self.preview_theme(),
        }
    }

    pub(super) fn in_list(&mut self, action: Action) -> Vec<Effect> {
        let Overlay::List(list) = &mut self.overlay else { return Vec::new() };
        match list.picker.act(action) {
            Outcome::Ignored => Vec::new(),
            Outcome::Changed => match &list.rows {
                Rows::Sessions(_) => self.look_at_selected().into_iter().collect(),
                _ => self.preview_theme(),
            },
            Outcome::Scope(scope) => {
                self.everywhere = scope > 0;
                let keep = Request::KeepScope { everywhere: self.everywhere };
                vec![Effect::Request(keep), self.query_sessions()]
            }
            Outcome::Closed => self.leave_list(),
            Outcome::Edited { index, text } => self.renamed(index, text),
            Outcome::Picked { index, how } => self.picked(index, how),
        }
    }

    /// Closes the list. Without a model there is nothing else to do than to choose one.
    pub(super) fn leave_list(&mut self) -> Vec<Effect> {
        if self.finds_model() {
            return vec![Effect::Quit];
        }
        self.close_list().map(|closed| self.unpreview_theme(&closed)).unwrap_or_default()
    }

    fn renamed(&mut self, index: usize, title: String) -> Vec<Effect> {
        let Overlay::List(list) = &self.overlay else { return Vec::new() };
        let Rows::Sessions(sessions) = &list.rows else { return Vec::new() };
        let Some(session) = sessions.listed.get(index) else { return Vec::new() };
        let rename = Request::Rename { id: session.record.id.clone(), title };
        vec![Effect::Request(rename), self.query_sessions()]
    }

    fn picked(&mut self, index: usize, how: How) -> Vec<Effect> {
        if let Some(effects) = self.picked_setting(index, how) {
            return effects;
        }
        let Overlay::List(list) = &mut self.overlay else { return Vec::new() };
        let mut close = true;
        let request = match (&list.rows, how) {
            (Rows::Sessions(sessions), how) => {
                let Some(ListedSession { record, .. }) = sessions.listed.get(index) else {
                    return Vec::new();
                };
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
                Some((model, ModelKey::Missing(command))) => {
                    let text = format!("there is no key for {}: {command} asks for one", model.id);
                    self.overlay = Overlay::None;
                    return self.fail(&text);
                }
                Some((model, _)) => Request::SetModel { id: model.id.clone(), default: how == How::Default },
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
            (Rows::SetupChoices(choices), _) => {
                return choices
                    .get(index)
                    .cloned()
                    .map_or_else(Vec::new, |choice| self.take_setup_choice(choice));
            }
            (Rows::Themes(_) | Rows::Settings(_) | Rows::Values { .. } | Rows::Actions { .. }, _) => {
                return Vec::new();
            }
        };
        if close {
            self.overlay = Overlay::None;
            return vec![Effect::Request(request)];
        }
        vec![Effect::Request(request), self.query_sessions()]
    }

    /// Picks a row of a list of settings or of themes; `None` if the list is another.
    fn picked_setting(&mut self, index: usize, how: How) -> Option<Vec<Effect>> {
        let Overlay::List(list) = &self.overlay else { return None };
        let effects = match &list.rows {
            Rows::Settings(settings) => {
                let settings = settings.clone();
                settings.get(index).map(|setting| self.open_setting(&setting.name, &settings))
            }
            Rows::Actions { actions, .. } => {
                let action = actions.get(index).copied();
                action.map(|action| self.open_action(action))
            }
            Rows::Values { name, picks } => {
                let (name, pick) = (name.clone(), picks.get(index).cloned());
                self.close_list();
                pick.map(|pick| self.picked_value(&name, pick))
            }
            Rows::Themes(_) => match self.close_list().map(|list| list.rows) {
                Some(Rows::Themes(rows)) => Some(self.picked_theme(&rows, index, how)),
                _ => None,
            },
            _ => return None,
        };
        Some(effects.unwrap_or_default())
    }

    /// In plain mode, prints the first rows of the list.
    fn say_list(&mut self) {
        if self.options.screen == Screen::Plain {
            self.plain.page = 0;
            self.say_page();
        }
    }

    fn say_page(&mut self) {
        let Overlay::List(list) = &self.overlay else { return };
        let lines = list.picker.numbered(self.plain.page * PAGE, PAGE);
        let lines = if lines.is_empty() { vec!["nothing more".to_owned()] } else { lines };
        let hint = match (&list.rows, list.picker.number()) {
            (Rows::SetupChoices(_), Some(number)) => format!(
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
            "" | "cancel" => return self.leave_list(),
            number => match number.parse().ok().and_then(|number| list.picker.select_number(number)) {
                Some(index) => {
                    // Each answer opens the next list or ends them all.
                    list.below = None;
                    return self.picked(index, How::Open);
                }
                None => self.plain.say("there is no such number; write one of the list, more or cancel"),
            },
        }
        Vec::new()
    }
}
