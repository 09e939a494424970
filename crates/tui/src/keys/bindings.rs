//! Which keys are bound to which action: the defaults and what the user's settings change.

use super::action::{Action, Entry, TABLE};
use super::situation::{Place, Situation};
use super::spelling::{Chord, SpellingError};
use crate::input::{Key, KeyCode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keys in force. Clones share the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bindings {
    /// One for each row of the table, in its order.
    bound: Arc<Vec<Bound>>,
}

/// The keys of one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The action's row of the table.
    pub entry: &'static Entry,
    /// Its keys; empty if the user unbound it.
    pub keys: Vec<Chord>,
    /// Whether the keys are from the settings.
    pub set: bool,
}

/// What pressed keys are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// To an action.
    Action(Action),
    /// They begin a longer sequence.
    Begun,
    /// To nothing.
    Nothing,
}

/// A line of `[ui.keys]` that is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// There is no such action.
    #[error("ui.keys.{id}: there is no action '{id}'{nearest} (`tiller keys` lists them)", nearest = hint(.nearest))]
    UnknownAction {
        /// The name.
        id: String,
        /// The most similar name, if one is similar.
        nearest: Option<&'static str>,
    },
    /// A key cannot be read.
    #[error("ui.keys.{id}: {source}")]
    Spelling {
        /// The action.
        id: String,
        /// Why.
        source: SpellingError,
    },
    /// The key may not approve a call.
    #[error(
        "ui.keys.{id}: '{key}' may not answer a permission request, as it is pressed for other things; bind a letter"
    )]
    Approves {
        /// The action.
        id: String,
        /// The key.
        key: String,
    },
}

impl BindingError {
    /// Returns the name of the action, which may be none.
    pub fn action(&self) -> &str {
        match self {
            Self::UnknownAction { id, .. } | Self::Spelling { id, .. } | Self::Approves { id, .. } => id,
        }
    }
}

/// A key that never reaches its action in some state, because another action takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The action that is not reached.
    pub action: Action,
    /// The key.
    pub key: Chord,
    /// The action that takes the key.
    pub taken_by: Action,
}

impl std::fmt::Display for Clash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (action, taker) = (self.action.entry().id, self.taken_by.entry().id);
        write!(f, "ui.keys: '{}' never reaches '{action}', as '{taker}' takes it first", self.key)
    }
}

/// How similar a name must be to be suggested, from 0 to 1.
const SIMILAR: f64 = 0.7;

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map(|id| format!("; did you mean '{id}'?")).unwrap_or_default()
}

impl Default for Bindings {
    fn default() -> Self {
        let bound: Vec<_> = TABLE
            .iter()
            .map(|entry| {
                let keys = entry.keys.iter().map(|key| key.parse().expect("a test reads all default keys"));
                Bound { entry, keys: keys.collect(), set: false }
            })
            .collect();
        Self { bound: Arc::new(bound) }
    }
}

impl Bindings {
    /// Returns the defaults with the user's changes, and the lines that are not used: the action
    /// keeps its other keys, and its default ones if no key of the line can be used.
    pub fn with(settings: &BTreeMap<String, Vec<String>>) -> (Self, Vec<BindingError>) {
        let mut bindings = Self::default();
        let all = Arc::make_mut(&mut bindings.bound);
        let mut errors = Vec::new();
        for (id, keys) in settings {
            let Some(bound) = all.iter_mut().find(|bound| bound.entry.id == id) else {
                errors.push(BindingError::UnknownAction { id: id.clone(), nearest: nearest(id) });
                continue;
            };
            let (read, unusable): (Vec<_>, Vec<_>) =
                keys.iter().map(|key| usable(bound.entry, key)).partition(Result::is_ok);
            errors.extend(unusable.into_iter().filter_map(Result::err));
            if keys.is_empty() || !read.is_empty() {
                bound.keys = read.into_iter().flatten().collect();
                bound.set = true;
            }
        }
        (bindings, errors)
    }

    /// Returns what keys that were pressed one after the other do.
    pub fn find(&self, situation: &Situation, keys: &[Key]) -> Match {
        let mut begun = false;
        for place in [situation.place, Place::Anywhere] {
            let here = self.bound.iter().filter(|bound| bound.entry.place == place);
            for bound in here.filter(|bound| bound.entry.when.holds(situation)) {
                for chord in &bound.keys {
                    if chord.keys() == keys {
                        return Match::Action(bound.entry.action);
                    }
                    begun |= chord.keys().starts_with(keys);
                }
            }
        }
        if begun { Match::Begun } else { Match::Nothing }
    }

    /// Returns all actions with their keys.
    pub fn all(&self) -> &[Bound] {
        &self.bound
    }

    /// Returns the first key of an action as it is written, to name it in a hint.
    pub fn key_of(&self, action: Action) -> Option<String> {
        let bound = self.bound.iter().find(|bound| bound.entry.action == action)?;
        bound.keys.first().map(Chord::to_string)
    }

    /// Returns the keys that never reach one of their actions. The defaults have none.
    pub fn clashes(&self) -> Vec<Clash> {
        let mut clashes = Vec::new();
        for (at, late) in self.bound.iter().enumerate() {
            for key in &late.keys {
                let before = self.bound.iter().enumerate().filter(|(other, early)| {
                    let same_place = early.entry.place == late.entry.place && *other != at;
                    let first = *other < at;
                    let shadows = early.keys.iter().any(|early| {
                        let longer = early.keys().len() < key.keys().len();
                        (first || longer) && key.keys().starts_with(early.keys())
                    });
                    same_place && shadows && early.entry.when.covers(&late.entry.when)
                });
                clashes.extend(before.map(|(_, early)| Clash {
                    action: late.entry.action,
                    key: key.clone(),
                    taken_by: early.entry.action,
                }));
            }
        }
        clashes
    }
}

fn usable(entry: &Entry, key: &str) -> Result<Chord, BindingError> {
    let id = entry.id.to_owned();
    let chord: Chord = match key.parse() {
        Ok(chord) => chord,
        Err(source) => return Err(BindingError::Spelling { id, source }),
    };
    let letter =
        |key: &Key| matches!(key.code, KeyCode::Char(c) if c.is_alphabetic()) && !key.ctrl && !key.alt;
    match entry.action.approves() && !(chord.keys().len() == 1 && chord.keys().iter().all(letter)) {
        true => Err(BindingError::Approves { id, key: key.to_owned() }),
        false => Ok(chord),
    }
}

fn nearest(id: &str) -> Option<&'static str> {
    let scored = TABLE.iter().map(|entry| (strsim::jaro_winkler(id, entry.id), entry.id));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= SIMILAR).then_some(best.1)
}
