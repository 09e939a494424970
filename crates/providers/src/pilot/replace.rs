//! `replace X with Y in FILE`: replaces the only occurrence of a text, or every one if so
//! requested.

use super::{
    file,
    phrase::{Phrase, Split, short},
    progress::{Blocked, Script},
    step::{Command, Outcome, ParsedStep, Step, past},
    verbs,
};

/// The command.
pub(crate) const COMMAND: Command = Command {
    verbs: verbs::REPLACE,
    form: "replace X with Y in FILE [everywhere]",
    example: "replace 'Hello' with 'Good morning' in src/main.rs",
    parse,
};

/// A replacement in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replace {
    /// The text to replace.
    pub(crate) old: String,
    /// The replacement; empty to remove the text.
    pub(crate) new: String,
    /// The file.
    pub(crate) path: String,
    /// Whether to replace every occurrence.
    pub(crate) all: bool,
}

fn parse(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    let mut file = None;
    // "in FILE, replace …", "edit FILE: replace …"
    if phrase.consume(&["in", "edit"]) {
        let verb =
            phrase.tokens.iter().position(|token| COMMAND.verbs.iter().any(|verb| token.is_word(verb)))?;
        file = Some(phrase.with(&phrase.tokens[..verb]));
        phrase = phrase.with(&phrase.tokens[verb..]);
    }
    if phrase.consume(&["substitute"]) {
        return Some(read(phrase, file, &["for"], true));
    }
    if phrase.consume(&["change", "swap"]) {
        return Some(read(phrase, file, &["to", "into", "for"], false));
    }
    phrase.consume(&["replace"]).then(|| read(phrase, file, &["with", "by"], false))
}

fn read(mut phrase: Phrase<'_>, file: Option<Phrase<'_>>, between: &[&str], swapped: bool) -> ParsedStep {
    let everywhere = ["everywhere", "in all places", "throughout", "all", "globally"];
    let mut all = phrase.consume(&[
        "all occurrences of",
        "every occurrence of",
        "all instances of",
        "all",
        "every",
        "each",
    ]);
    phrase.consume(&["the text", "the string", "the word", "the line"]);
    phrase = phrase.trimmed();
    all |= phrase.consume_end(&everywhere);
    let (left, right) = match phrase.split(between) {
        Split::Once(left, right) => (left, right),
        Split::Absent => {
            return Err(format!("it has no `{}` between the old text and the new one", between[0]));
        }
        Split::Ambiguous(reason) => return Err(reason),
    };
    // The file is at the end, in the middle ("replace X in FILE with Y"), or was given first.
    let (left, right, path) = match file {
        Some(file) => (left, right, file.file()?),
        None => match (left.split(&["in"]), right.split(&["in"])) {
            (_, Split::Once(right, file)) => (left, right, file.file()?),
            (Split::Once(left, file), Split::Absent) => (left, right, file.file()?),
            (Split::Absent, Split::Absent) => {
                return Err("it does not say in which file: end with `in FILE`".to_owned());
            }
            (Split::Ambiguous(reason), _) | (_, Split::Ambiguous(reason)) => return Err(reason),
        },
    };
    let mut right = right.trimmed();
    all |= !right.tokens.is_empty() && right.tokens.len() > 1 && right.consume_end(&everywhere);
    let (mut old, mut new) = (left.literal()?, right.literal()?);
    if swapped {
        std::mem::swap(&mut old, &mut new);
    }
    if old.is_empty() {
        return Err("the text to replace is empty".to_owned());
    }
    if old == new {
        return Err("the old text and the new one are the same".to_owned());
    }
    Ok(Box::new(Replace { old, new, path, all }))
}

impl Step for Replace {
    fn describe(&self) -> String {
        let place = if self.all { "everywhere " } else { "" };
        if self.new.is_empty() {
            return format!("remove '{}' {place}from `{}`", short(&self.old), self.path);
        }
        format!("replace '{}' with '{}' {place}in `{}`", short(&self.old), short(&self.new), self.path)
    }

    fn tools(&self) -> &'static [&'static str] {
        &["file_read", "file_edit"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let file = file::open(script, &self.path)?;
        let places = file.places(&self.old);
        if file.whole && places.is_empty() {
            return Err(Blocked::Failed(format!("'{}' does not occur in `{}`", short(&self.old), file.path)));
        }
        if places.len() > 1 && !self.all {
            let lines: Vec<String> = places.iter().take(10).map(usize::to_string).collect();
            return Err(Blocked::Failed(format!(
                "'{}' occurs in `{}` at least {} times (lines {}). Quote more of the text around it, or add `everywhere`",
                short(&self.old),
                file.path,
                places.len(),
                lines.join(", ")
            )));
        }
        let output =
            script.call_or_fail("file_edit", file::edit(&file.path, &self.old, &self.new, self.all))?;
        let count =
            if file.whole { format!("{} replacement(s)", places.len()) } else { output.trim().to_owned() };
        Ok(Outcome { line: self.describe_done(&file.path), shown: None, changed: vec![(file.path, count)] })
    }

    fn file(&self) -> Option<&str> {
        Some(&self.path)
    }
}

impl Replace {
    fn describe_done(&self, path: &str) -> String {
        let done = Self { path: path.to_owned(), ..self.clone() }.describe();
        past(&done)
    }
}
