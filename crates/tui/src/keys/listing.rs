//! The table of keys for people and for programs.

use super::bindings::{Bindings, Bound};
use super::situation::PLACES;
use crate::look::Look;
use crate::text::row::Row;
use crate::theme::Role;
use ratatui_core::text::{Line, Span};

/// The column of the keys, in cells.
const KEYS_WIDTH: usize = 24;

/// An action of the table, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name in `[ui.keys]`.
    pub action: &'static str,
    /// Its keys; none if it is unbound.
    pub keys: Vec<String>,
    /// Whether the keys are from the user's settings.
    pub is_set: bool,
    /// The name of the part of the interface in which it applies.
    pub place: &'static str,
    /// The condition under which it applies; empty if always.
    pub when: String,
    /// What it does.
    pub does: &'static str,
}

/// Returns the table as rows: a heading for each place, and a row for each action that has keys.
pub fn rows(bindings: &Bindings, look: &Look) -> Vec<Row> {
    let mut rows = Vec::new();
    for place in PLACES {
        if !rows.is_empty() {
            rows.push(Row::empty());
        }
        rows.push(Span::styled(place.name(), look.style(Role::Heading)).into());
        let here = bindings.all().iter().filter(|bound| bound.entry.place == place);
        for bound in here.filter(|bound| !bound.keys.is_empty()) {
            let keys = spelled(bound, ", ");
            rows.push(Row::logical(Line::from(vec![
                Span::styled(format!("  {keys:KEYS_WIDTH$} "), look.style(Role::Strong)),
                Span::styled(bound.entry.does, look.style(Role::Text)),
                Span::styled(condition(bound), look.style(Role::Dim)),
            ])));
        }
    }
    rows
}

/// Returns the table as Markdown.
pub fn markdown(bindings: &Bindings) -> String {
    let mut out = String::new();
    for place in PLACES {
        let name = place.name();
        let head = format!("### Keys: {name}\n\n| keys | action | does |\n|---|---|---|\n");
        out.push_str(if out.is_empty() { "" } else { "\n" });
        out.push_str(&head);
        for bound in bindings.all().iter().filter(|bound| bound.entry.place == place) {
            let keys = bound.keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            let (id, does) = (bound.entry.id, bound.entry.does);
            out.push_str(&format!("| {keys} | `{id}` | {does}{} |\n", condition(bound)));
        }
    }
    out
}

/// Returns every action, by place.
pub fn listed(bindings: &Bindings) -> Vec<Listed> {
    let one = |bound: &Bound| Listed {
        action: bound.entry.id,
        keys: bound.keys.iter().map(ToString::to_string).collect(),
        is_set: bound.set,
        place: bound.entry.place.name(),
        when: bound.entry.when.in_words(),
        does: bound.entry.does,
    };
    let of = |place| bindings.all().iter().filter(move |bound| bound.entry.place == place);
    PLACES.into_iter().flat_map(of).map(one).collect()
}

fn spelled(bound: &Bound, between: &str) -> String {
    bound.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

fn condition(bound: &Bound) -> String {
    match bound.entry.when.in_words() {
        words if words.is_empty() => String::new(),
        words => format!(" (if {words})"),
    }
}
