//! `tiller keys`: the keys of the terminal interface, as the user's settings have them.

use crate::{
    answer::{Answer, Console},
    exit::Exit,
    layout::{definitions, paragraph},
};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tui::keys::{Bindings, listing};

/// The result of `tiller keys`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyList {
    /// Every action, by place.
    keys: Vec<KeyRow>,
    /// Lines of `[ui.keys]` that are not used, and keys that never reach their action.
    problems: Vec<String>,
}

/// An action with its keys.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyRow {
    /// The name in `[ui.keys]`.
    action: &'static str,
    /// The keys; none if the action is unbound.
    keys: Vec<String>,
    /// Where the keys come from.
    origin: KeyOrigin,
    /// The part of the interface that has the keys.
    place: &'static str,
    /// The condition under which the keys do it; empty if always.
    when: String,
    /// What the action does.
    does: &'static str,
}

/// Where the keys of an action come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum KeyOrigin {
    /// They come with Tiller.
    Default,
    /// They are from the user's settings.
    Settings,
}

/// Runs the command. `bound` are the user's keys of actions.
///
/// # Errors
/// If stdout fails.
pub(crate) fn run(console: &Console, bound: &BTreeMap<String, Vec<String>>) -> Result<Exit> {
    let list = list(bound);
    let text = text(&list);
    console.print(Answer::new(list, text))
}

/// Returns the keys with how to change them.
pub(crate) fn explained(bound: &BTreeMap<String, Vec<String>>) -> String {
    let before = "The keys of the terminal interface, as your settings have them. The word in brackets is the name of \
                  the action. Lines in your settings file change its keys, and an empty list removes them:";
    let example = "  [ui.keys]\n  undo = [\"ctrl+q\"]\n  suspend = []";
    format!("{}\n{example}\n\n{}", paragraph(before), text(&list(bound)))
}

fn list(bound: &BTreeMap<String, Vec<String>>) -> KeyList {
    let (bindings, errors) = Bindings::with(bound);
    let row = |listed: listing::Listed| KeyRow {
        action: listed.action,
        keys: listed.keys,
        origin: if listed.is_set { KeyOrigin::Settings } else { KeyOrigin::Default },
        place: listed.place,
        when: listed.when,
        does: listed.does,
    };
    let errors = errors.iter().map(ToString::to_string);
    let problems = errors.chain(bindings.clashes().iter().map(ToString::to_string)).collect();
    KeyList { keys: listing::listed(&bindings).into_iter().map(row).collect(), problems }
}

fn text(list: &KeyList) -> String {
    let mut places: Vec<_> = list.keys.iter().map(|row| row.place).collect();
    places.dedup();
    let section = |place: &&str| {
        let rows: Vec<_> = list.keys.iter().filter(|row| row.place == *place).map(described).collect();
        format!("{place}:\n{}", definitions(&rows))
    };
    let mut text = places.iter().map(section).collect::<Vec<_>>().join("\n");
    if !list.problems.is_empty() {
        text += "\nProblems:\n";
        text.extend(list.problems.iter().map(|problem| format!("  {problem}\n")));
    }
    text
}

/// Returns the keys of an action, and what it does.
fn described(row: &KeyRow) -> (String, String) {
    let keys = if row.keys.is_empty() { "(none)".to_owned() } else { row.keys.join(", ") };
    let when = if row.when.is_empty() { String::new() } else { format!(" (if {})", row.when) };
    let origin = if row.origin == KeyOrigin::Settings { ", from your settings" } else { "" };
    (keys, format!("{}{when} [{}{origin}]", row.does, row.action))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(lines: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        lines.iter().map(|(action, given)| ((*action).to_owned(), keys(given))).collect()
    }

    #[test]
    fn the_keys_in_force_are_listed_with_their_origin() {
        let list = list(&bound(&[("undo", &["ctrl+q"]), ("help", &[])]));
        assert_eq!(list.problems, [""; 0]);
        let row = |action: &str| list.keys.iter().find(|row| row.action == action).unwrap();
        assert_eq!(
            (row("undo").keys.as_slice(), row("undo").origin),
            (&["ctrl+q".to_owned()][..], KeyOrigin::Settings)
        );
        assert_eq!(row("send").origin, KeyOrigin::Default);
        let text = text(&list);
        assert!(text.contains("ctrl+q") && text.contains("[undo, from your settings]"), "{text}");
        assert!(text.contains("(none)") && text.starts_with("message:\n"), "{text}");
    }

    #[test]
    fn unknown_actions_and_keys_that_are_never_reached_are_problems() {
        let list = list(&bound(&[("rewnd", &["x"]), ("permission_once", &["j"])]));
        assert_eq!(list.problems.len(), 2, "{:?}", list.problems);
        assert!(list.problems[0].contains("did you mean 'rewind'?"), "{:?}", list.problems);
        assert!(list.problems[1].contains("never reaches 'permission_down'"), "{:?}", list.problems);
        assert!(text(&list).contains("Problems:\n"));
    }
}
