//! The type of a setting's definition.

use super::{Value, ValueError};
use crate::options::Options;
use std::fmt;

/// The definition of a setting.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// The dotted name. A part `NAME` stands for a name that the user chooses.
    pub(crate) name: &'static str,
    /// Whether a project's file may set it.
    pub(crate) in_project: InProject,
    /// Applies a value; the string is the name in place of `NAME`.
    pub(crate) set: fn(&mut Options, &str, &Value) -> Result<(), ValueError>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What a project's file may do with a setting. Anybody can write a project, so without trust its
/// settings may only tighten.
#[derive(Clone, Copy)]
pub(crate) enum InProject {
    /// Ignored until the user trusts these settings of the directory. Holds the reason.
    WhenTrusted(&'static str),
    /// Adds to the list, trusted or not: every entry forbids more.
    Adds,
    /// Ignored, trusted or not. Holds the reason.
    Never(&'static str),
    /// May be tightened, trusted or not: returns whether `after` is no looser than `before`.
    Tightens(fn(before: &Options, after: &Options) -> bool),
}

impl InProject {
    /// Returns the word for it in the schema.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::WhenTrusted(_) => "trusted",
            Self::Never(_) => "never",
            Self::Adds => "adds",
            Self::Tightens(_) => "tightens",
        }
    }
}

impl Key {
    /// Matches a dotted name against this definition.
    ///
    /// Returns the part in place of `NAME` (empty without such a part), or `None` if it is another
    /// setting.
    pub(crate) fn matches<'a>(&self, written: &'a str) -> Option<&'a str> {
        let (own, given) = (self.name.split('.'), written.split('.'));
        let mut name = "";
        for (own, given) in own.clone().zip(given.clone()) {
            match own {
                "NAME" => name = given,
                own if own == given => {}
                _ => return None,
            }
        }
        (own.count() == given.count()).then_some(name)
    }

    /// Whether a part of the name is chosen by the user.
    pub(crate) fn has_chosen_name(&self) -> bool {
        self.name.split('.').any(|part| part == "NAME")
    }

    /// Whether the setting belongs to a group.
    pub(crate) fn is_in(&self, group: &str) -> bool {
        let (mut own, given) = (self.name.split('.'), group.split('.'));
        for given in given {
            if !own.next().is_some_and(|own| own == "NAME" || own == given) {
                return false;
            }
        }
        own.next().is_some()
    }
}

/// Joins two parts of a table.
pub(super) const fn joined<T: Copy, const N: usize>(first: &[T], second: &[T]) -> [T; N] {
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}
