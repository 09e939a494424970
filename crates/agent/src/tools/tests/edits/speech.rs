//! The scripted model: writes an edit in a given form with a given mistake.

use super::cases::{Edit, Numbers};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The forms of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Exact,
    LineNumbers,
    UnifiedDiff,
    Patch,
    EditsList,
    OtherIndent,
}

pub(super) const FORMS: [Form; 6] =
    [Form::Exact, Form::LineNumbers, Form::UnifiedDiff, Form::Patch, Form::EditsList, Form::OtherIndent];

/// The mistakes in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noise {
    None,
    TrailingBlanks,
    TabsOrSpaces,
    HardBlanks,
    CurlyQuotes,
    Escapes,
    Entities,
    LineEnds,
    ShiftedIndent,
}

pub(super) const NOISES: [Noise; 9] = [
    Noise::None,
    Noise::TrailingBlanks,
    Noise::TabsOrSpaces,
    Noise::HardBlanks,
    Noise::CurlyQuotes,
    Noise::Escapes,
    Noise::Entities,
    Noise::LineEnds,
    Noise::ShiftedIndent,
];

/// Returns the tool call for edits in one form with one mistake: the tool's name and its arguments.
pub(super) fn call(
    file: &str,
    edits: &[Edit],
    form: Form,
    noise: Noise,
    numbers: &mut Numbers,
) -> (&'static str, Value) {
    let shift = numbers.below(3) + 2;
    let said: Vec<Said> = edits.iter().map(|edit| Said::of(edit, form, noise, shift, numbers)).collect();
    let whole = |text: String| match noise {
        Noise::Escapes => escaped(&text),
        Noise::LineEnds => text.replace('\n', "\r\n"),
        _ => text,
    };
    let replacement = |said: &Said| json!({"old_string": whole(said.old.join("\n")), "new_string": whole(said.new.join("\n"))});
    match form {
        Form::Exact | Form::LineNumbers | Form::OtherIndent => {
            let mut arguments = replacement(&said[0]);
            arguments["path"] = json!(file);
            ("file_edit", arguments)
        }
        Form::EditsList => {
            ("file_edit", json!({"path": file, "edits": said.iter().map(replacement).collect::<Vec<_>>()}))
        }
        Form::UnifiedDiff => {
            let hunks: String = said
                .iter()
                .map(|said| {
                    said.hunk(&format!("@@ -{},7 +{},9 @@", numbers.below(90) + 1, numbers.below(90) + 1))
                })
                .collect();
            let git =
                if numbers.below(2) == 0 { format!("diff --git a/{file} b/{file}\n") } else { String::new() };
            ("apply_patch", json!({"patch": whole(format!("{git}--- a/{file}\n+++ b/{file}\n{hunks}"))}))
        }
        Form::Patch => {
            let hints = ["@@", "@@ line 3", "@@ fn nowhere()"];
            let hunks: String = said.iter().map(|said| said.hunk(hints[numbers.below(3)])).collect();
            let end = if numbers.below(2) == 0 { "*** End Patch\n" } else { "" };
            (
                "apply_patch",
                json!({"patch": whole(format!("*** Begin Patch\n*** Update File: {file}\n{hunks}{end}"))}),
            )
        }
    }
}

/// An edit with mistakes.
struct Said {
    old: Vec<String>,
    new: Vec<String>,
}

impl Said {
    fn of(edit: &Edit, form: Form, noise: Noise, shift: usize, numbers: &mut Numbers) -> Self {
        let all = || edit.old.iter().chain(&edit.new).filter(|line| !line.trim().is_empty());
        let depth = |line: &String| line.len() - line.trim_start_matches(' ').len();
        let room = all().map(depth).min().unwrap_or(0);
        let deeper = room < shift || numbers.below(2) == 0;
        let with_tabs = all().any(|line| line.starts_with('\t'));
        let shifted = |line: &String| match (line.trim().is_empty(), deeper) {
            (true, _) => line.clone(),
            (false, true) => " ".repeat(shift) + line,
            (false, false) => line[shift..].to_owned(),
        };
        let other_tabs = |line: &String| {
            let body = line.trim_start_matches([' ', '\t']);
            let indent = &line[..line.len() - body.len()];
            match with_tabs {
                true => indent.replace('\t', "    ") + body,
                // Only whole levels can be expressed in tabs.
                false if all().all(|line| depth(line) % 4 == 0) => indent.replace("    ", "\t") + body,
                false => line.clone(),
            }
        };
        let noisy = |line: &String| match noise {
            Noise::TrailingBlanks if hash(line).is_multiple_of(2) => format!("{line}  "),
            Noise::TabsOrSpaces => other_tabs(line),
            Noise::HardBlanks if hash(line).is_multiple_of(2) => line.replacen(' ', "\u{a0}", 4),
            Noise::CurlyQuotes => curly(line),
            Noise::Entities => {
                line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
            }
            Noise::ShiftedIndent if form != Form::OtherIndent => shifted(line),
            _ => line.clone(),
        };
        let indented = |line: &String| if form == Form::OtherIndent { shifted(line) } else { line.clone() };
        let style = numbers.below(3);
        let numbered = |(index, line): (usize, String)| {
            let number = edit.lines.start + index + 1;
            match (form, style) {
                (Form::LineNumbers, 0) => format!("{number}\t{line}"),
                (Form::LineNumbers, 1) => format!("{number:>6}→{line}"),
                (Form::LineNumbers, _) => format!("{number}| {line}"),
                _ => line,
            }
        };
        let written = |lines: &[String]| {
            lines.iter().map(indented).map(|line| noisy(&line)).enumerate().map(numbered).collect()
        };
        Self { old: written(&edit.old), new: written(&edit.new) }
    }

    /// Formats the edit as a hunk of a diff, with the common lines as context.
    fn hunk(&self, head: &str) -> String {
        let same = |pair: &(&String, &String)| pair.0 == pair.1;
        let above = self.old.iter().zip(&self.new).take_while(same).count();
        let (old, new) = (&self.old[above..], &self.new[above..]);
        let below = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
        let lines = |mark: &str, lines: &[String]| {
            lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>()
        };
        [
            format!("{head}\n"),
            lines(" ", &self.old[..above]),
            lines("-", &old[..old.len() - below]),
            lines("+", &new[..new.len() - below]),
            lines(" ", &old[old.len() - below..]),
        ]
        .concat()
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t").replace('\n', "\\n")
}

fn curly(line: &str) -> String {
    let mut open = false;
    let quote = |char| match char {
        '"' => {
            open = !open;
            if open { '“' } else { '”' }
        }
        '\'' => '’',
        char => char,
    };
    line.chars().map(quote).collect()
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}
