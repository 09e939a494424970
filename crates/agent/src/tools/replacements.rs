//! The replacements of `file_edit`: one, or several applied in order.

use super::{
    args,
    edit::{self, EditError, Step},
    nearest,
};
use crate::{ToolError, limits::NEAREST_LINE_CHARS, text::cut};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;
use std::fmt::Write as _;

/// A replacement of one text by another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replacement {
    pub(super) old_string: String,
    pub(super) new_string: String,
    #[serde(default, deserialize_with = "args::flag")]
    pub(super) replace_all: bool,
}

/// The result of applying replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The whole text.
    pub text: String,
    /// The number of removed lines.
    pub removed: usize,
    /// The number of added lines.
    pub added: usize,
    /// A note for the model on how old texts were found that do not occur verbatim. Empty, or
    /// begins with a line ending.
    pub note: String,
}

/// Deserializes a list of replacements, or the same as JSON in a string.
pub(super) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Replacement>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(Vec::new()),
        Value::String(text) if text.trim().is_empty() => Ok(Vec::new()),
        Value::String(text) => serde_json::from_str(&text).map_err(D::Error::custom),
        one @ Value::Object(_) => Ok(vec![serde_json::from_value(one).map_err(D::Error::custom)?]),
        list => serde_json::from_value(list).map_err(D::Error::custom),
    }
}

/// Applies replacements one after another, each to the result of the previous one; all of them or
/// none. `name` is the model's name for the file; `before` is the file's text, `None` if the file
/// does not exist.
///
/// # Errors
/// The message for the model if a replacement cannot be applied.
pub(super) fn apply(
    name: &str,
    before: Option<&str>,
    replacements: &[Replacement],
) -> Result<Replaced, ToolError> {
    let mut now = before.map(str::to_owned);
    let mut done = Replaced { text: String::new(), removed: 0, added: 0, note: String::new() };
    let (mut undone, mut doubts) = (Vec::new(), Vec::new());
    for (index, one) in replacements.iter().enumerate() {
        let Replacement { old_string: old, new_string: new, replace_all } = one;
        let text = now.as_deref().unwrap_or_default();
        if old.is_empty() && text.is_empty() {
            done.added += new.lines().count();
            now = Some(new.clone());
            continue;
        }
        let edited = edit::apply(text, old, new, *replace_all).map_err(|error| {
            let why = explain(name, text, old, new, error);
            match replacements.len() {
                1 => ToolError::message(why),
                all => ToolError::message(format!(
                    "Edit {} of {all}: {why}\nNone of the edits was made.",
                    index + 1
                )),
            }
        })?;
        let which = if replacements.len() > 1 { format!("edit {}: ", index + 1) } else { String::new() };
        done.note += &note(&which, &edited.steps);
        if let Some((step, sign)) =
            edit::doubtful(new, &[text, old]).filter(|(step, _)| !edited.steps.contains(step))
        {
            doubts.push((index + 1, step, sign));
        }
        undone.extend(edited.steps);
        done.removed += edited.removed;
        done.added += edited.added;
        now = Some(edited.text);
    }
    for (index, step, sign) in doubts {
        // Another edit of this call contained this kind of mistake, so it is ambiguous whether this
        // text does too. The call is rejected instead of guessing.
        if step != Step::LookAlikes && undone.contains(&step) {
            return Err(ToolError::message(format!(
                "Edit {index} of {}: it is unclear whether `{sign}` in new_string is literal: another edit {}.\nNone of the edits was made. \
                 Write the texts exactly as they should be in the file.",
                replacements.len(),
                edit::matched_after(&[step])
            )));
        }
        let _ = write!(
            done.note,
            "\n(`{sign}` in new_string was written literally. If that is not intended, edit it again.)"
        );
    }
    done.text = now.unwrap_or_default();
    if before.is_some() && replacements.len() > 1 {
        (done.removed, done.added) = edit::changed_lines(before.unwrap_or_default(), &done.text);
    }
    Ok(done)
}

/// Replaces `old` by `new`: the only occurrence, or with `all` every occurrence. `name` is the
/// model's name for the file.
///
/// # Errors
/// The message of `file_edit` if the replacement cannot be applied.
pub fn edited(name: &str, text: &str, old: &str, new: &str, all: bool) -> Result<Replaced, ToolError> {
    let one = Replacement { old_string: old.to_owned(), new_string: new.to_owned(), replace_all: all };
    apply(name, Some(text), &[one])
}

fn note(which: &str, steps: &[Step]) -> String {
    match steps.is_empty() {
        true => String::new(),
        false => format!(
            "\n({which}old_string {}; new_string was treated the same way. Check the result if that matters.)",
            edit::matched_after(steps)
        ),
    }
}

/// Returns advice for a model that searches for text it has yet to add, in order to add lines after
/// it.
fn how_to_add(text: &str, old: &str, new: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    match last.filter(|_| !old.trim().is_empty() && new.trim_start().starts_with(old.trim())) {
        Some(last) => format!(
            " To add lines, take a line that is in the file as old_string and repeat it in new_string with the new lines after it; the last one is `{}`.",
            cut::cut(last, NEAREST_LINE_CHARS)
        ),
        None => String::new(),
    }
}

fn explain(path: &str, text: &str, old: &str, new: &str, error: EditError) -> String {
    match error {
        EditError::EmptyOld => format!(
            "old_string is empty, but {path} exists and is not empty; nothing was changed. Give the text to replace as old_string: to add lines, a line that is in the file, and as new_string the same line with the new ones. To replace the whole file use file_write."
        ),
        EditError::Same => "old_string and new_string are the same: there is nothing to change.".to_owned(),
        EditError::NoDifference(steps) => format!(
            "old_string {} is in {path}, and so is new_string: there is nothing to change.",
            edit::matched_after(&steps)
        ),
        EditError::NotFound => format!(
            "old_string not found in {path}. Make sure it matches exactly including whitespace.{}{}",
            how_to_add(text, old, new),
            nearest::nearest(text, old)
        ),
        EditError::ElidedOld(line) => format!(
            "old_string not found in {path}: its line `{line}` stands for lines that are left out. Give every line of the text to replace, or make several \
             smaller edits.{}",
            nearest::nearest(text, &old.replace(line.as_str(), ""))
        ),
        EditError::ElidedNew(line) => format!(
            "new_string has the line `{line}`, which stands for lines that are left out and would be written to {path} as it is; nothing was changed. Give \
             every line, or make old_string and new_string smaller."
        ),
        EditError::Ambiguous { lines, steps } => {
            let after = match steps.is_empty() {
                true => String::new(),
                false => format!(" There is no exact match, but it {}:", edit::matched_after(&steps)),
            };
            format!(
                "old_string found multiple times in {path}. It must be unique. Provide more context.{after}\n{} places, the first ones:{}",
                lines.len(),
                nearest::at_lines(text, &lines[..lines.len().min(5)])
            )
        }
    }
}
