//! Lines of a file: `append X to FILE`, `insert X before/after …`, `delete lines A-B in FILE`.

use super::{
    file::{self, File},
    lexer::Token,
    phrase::{Phrase, Split, short},
    progress::{Blocked, Script},
    replace::Replace,
    step::{Command, Outcome, ParsedStep, Step, past},
    verbs,
};
use std::ops::Range;

/// Adds lines at the end.
pub(crate) const APPEND: Command = Command {
    verbs: verbs::APPEND,
    form: "append TEXT to FILE",
    example: "append '- buy milk' to notes.md",
    parse: append,
};

/// Adds lines at a place.
pub(crate) const INSERT: Command = Command {
    verbs: verbs::INSERT,
    form: "insert TEXT before|after line N in FILE, or before|after 'TEXT' in FILE",
    example: "insert 'use std::fmt;' before line 1 in src/main.rs",
    parse: insert,
};

/// Deletes lines or text.
pub(crate) const DELETE: Command = Command {
    verbs: verbs::DELETE_LINES,
    form: "delete line N | lines A-B in FILE, or delete 'TEXT' in FILE",
    example: "delete lines 3-5 in notes.md",
    parse: delete,
};

/// Lines to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Insert {
    /// The file.
    pub(crate) path: String,
    /// The lines, without the last line end.
    pub(crate) text: String,
    /// The position.
    pub(crate) place: Place,
}

/// The position at which lines are added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the first line.
    Start,
    /// After the last line.
    End,
    /// Before this 1-based line.
    BeforeLine(usize),
    /// After this 1-based line.
    AfterLine(usize),
    /// Before the only line that contains this text.
    BeforeText(String),
    /// After the only line that contains this text.
    AfterText(String),
}

/// Lines to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeleteLines {
    /// The file.
    pub(crate) path: String,
    /// The first line, 1-based.
    pub(crate) first: usize,
    /// The last line, inclusive.
    pub(crate) last: usize,
}

fn append(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    let is_add = phrase.at("add");
    if !phrase.consume(&["append", "add"]) {
        return None;
    }
    if is_add && (phrase.at("task") || phrase.at("tasks") || phrase.at("todo") || phrase.at("todos")) {
        return None;
    }
    noun(&mut phrase);
    let split = match phrase.split(&["to"]) {
        Split::Once(text, file) => (text, file),
        Split::Ambiguous(reason) => return Some(Err(reason)),
        // "add X before line 3 in FILE" is an insertion.
        Split::Absent if is_add => return None,
        Split::Absent => return Some(Err("it does not say to which file: append TEXT to FILE".to_owned())),
    };
    let (text, mut file) = split;
    let start = file.consume(&["the top of", "the start of", "the beginning of", "top of"]);
    file.consume(&["the end of", "the bottom of", "end of"]);
    let place = if start { Place::Start } else { Place::End };
    Some(text.literal().and_then(|text| added(text, file, place)))
}

fn insert(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    if phrase.consume(&["prepend"]) {
        let Split::Once(text, file) = phrase.split(&["to"]) else {
            return Some(Err("say to which file: prepend TEXT to FILE".to_owned()));
        };
        return Some(text.literal().and_then(|text| added(text, file, Place::Start)));
    }
    if !phrase.consume(&["insert", "add", "put"]) {
        return None;
    }
    noun(&mut phrase);
    Some(insertion(phrase))
}

fn insertion(phrase: Phrase<'_>) -> ParsedStep {
    let (text, place, before) = match (phrase.split(&["before"]), phrase.split(&["after"])) {
        (Split::Once(text, place), Split::Absent) => (text, place, true),
        (Split::Absent, Split::Once(text, place)) => (text, place, false),
        (Split::Absent, Split::Absent) => match phrase.split(&["at"]) {
            Split::Once(text, place) => (text, place, true),
            _ => {
                return Err(
                    "it does not say where: before line N, after line N, after 'TEXT', at the end".to_owned()
                );
            }
        },
        _ => return Err("it is not clear where; put the texts in quotes".to_owned()),
    };
    let text = text.literal()?;
    let (mut place, file) = match place.split(&["in", "of", "into"]) {
        Split::Once(place, file) => (place, file),
        Split::Absent => return Err("it does not say in which file: end with `in FILE`".to_owned()),
        Split::Ambiguous(reason) => return Err(reason),
    };
    if place.consume(&["the top", "the start", "the beginning", "top", "the first line"]) && place.is_empty()
    {
        return added(text, file, Place::Start);
    }
    if place.consume(&["the end", "the bottom", "end", "the last line"]) && place.is_empty() {
        return added(text, file, Place::End);
    }
    place.consume(&["the"]);
    let is_number =
        |token: &Token| !token.is_literal() && token.text.starts_with(|c: char| c.is_ascii_digit());
    if place.consume(&["line"]) && place.tokens.first().is_some_and(is_number) {
        let lines = place.lines()?;
        if lines.start() != lines.end() {
            return Err("name one line to insert at".to_owned());
        }
        let line = *lines.start();
        return added(text, file, if before { Place::BeforeLine(line) } else { Place::AfterLine(line) });
    }
    place.consume(&["containing", "with", "that says"]);
    let anchor = place.literal()?;
    if anchor.is_empty() || anchor.contains('\n') {
        return Err("the text to insert at must be part of one line".to_owned());
    }
    added(text, file, if before { Place::BeforeText(anchor) } else { Place::AfterText(anchor) })
}

fn noun(phrase: &mut Phrase<'_>) {
    phrase.consume(&["the line", "the lines", "the text", "a line", "line", "lines"]);
    *phrase = phrase.trimmed();
}

fn added(text: String, file: Phrase<'_>, place: Place) -> ParsedStep {
    let text = text.strip_suffix('\n').map(str::to_owned).unwrap_or(text);
    Ok(Box::new(Insert { path: file.file()?, text, place }))
}

fn delete(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    if !phrase.consume(&["delete", "remove"]) {
        return None;
    }
    let mut all = phrase.consume(&["all occurrences of", "every occurrence of", "all", "every"]);
    phrase.consume(&["the text", "the word", "the string", "the"]);
    let Split::Once(mut what, file) = phrase.split(&["in", "from", "of"]) else { return None };
    if what.consume(&["line", "lines"]) && !what.tokens.first().is_some_and(Token::is_literal) {
        return Some(line_deletion(what, file));
    }
    let mut file = file.trimmed();
    all |= file.consume_end(&["everywhere"]);
    // Unquoted words are ambiguous; only a quote is accepted as the text to delete.
    if !matches!(what.trimmed().tokens, [only] if only.is_literal()) {
        return Some(Err("put the text to delete in quotes, or name lines".to_owned()));
    }
    Some(removal(what, file, all))
}

fn line_deletion(lines: Phrase<'_>, file: Phrase<'_>) -> ParsedStep {
    let lines = lines.lines()?;
    Ok(Box::new(DeleteLines { path: file.file()?, first: *lines.start(), last: *lines.end() }))
}

fn removal(text: Phrase<'_>, file: Phrase<'_>, all: bool) -> ParsedStep {
    let old = text.literal()?;
    if old.is_empty() {
        return Err("the text to delete is empty".to_owned());
    }
    Ok(Box::new(Replace { old, new: String::new(), path: file.file()?, all }))
}

impl Step for Insert {
    fn describe(&self) -> String {
        let place = match &self.place {
            Place::Start => "at the start of".to_owned(),
            Place::End => return format!("append '{}' to `{}`", short(&self.text), self.path),
            Place::BeforeLine(line) => format!("before line {line} in"),
            Place::AfterLine(line) => format!("after line {line} in"),
            Place::BeforeText(text) => format!("before the line with '{}' in", short(text)),
            Place::AfterText(text) => format!("after the line with '{}' in", short(text)),
        };
        format!("insert '{}' {place} `{}`", short(&self.text), self.path)
    }

    fn tools(&self) -> &'static [&'static str] {
        &["file_read", "file_edit"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let file = open_whole(script, &self.path)?;
        let at = self.place.index(&file)?;
        let new: Vec<String> = self.text.split('\n').map(str::to_owned).collect();
        file.splice(at..at, &new).make(script, &file.path)?;
        let done = past(&Self { path: file.path.clone(), ..self.clone() }.describe());
        Ok(Outcome {
            line: done,
            shown: None,
            changed: vec![(file.path, format!("{} line(s) added", new.len()))],
        })
    }

    fn file(&self) -> Option<&str> {
        Some(&self.path)
    }
}

impl Place {
    /// Returns the 0-based line before which the text is inserted.
    fn index(&self, file: &File) -> Result<usize, Blocked> {
        match self {
            Self::Start => Ok(0),
            Self::End => Ok(file.lines.len()),
            Self::BeforeLine(line) => Ok(existing(file, *line..*line)?.start),
            Self::AfterLine(line) => Ok(existing(file, *line..*line)?.end),
            Self::BeforeText(text) => Ok(only_line(file, text)? - 1),
            Self::AfterText(text) => only_line(file, text),
        }
    }
}

impl Step for DeleteLines {
    fn describe(&self) -> String {
        let lines = if self.first == self.last { "line" } else { "lines" };
        let last = if self.first == self.last { String::new() } else { format!("-{}", self.last) };
        format!("delete {lines} {}{last} in `{}`", self.first, self.path)
    }

    fn tools(&self) -> &'static [&'static str] {
        &["file_read", "file_edit"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let file = open_whole(script, &self.path)?;
        let lines = existing(&file, self.first..self.last)?;
        let count = lines.len();
        file.splice(lines, &[]).make(script, &file.path)?;
        let done = past(&Self { path: file.path.clone(), ..self.clone() }.describe());
        Ok(Outcome {
            line: done,
            shown: None,
            changed: vec![(file.path, format!("{count} line(s) deleted"))],
        })
    }

    fn file(&self) -> Option<&str> {
        Some(&self.path)
    }
}

fn open_whole(script: &mut Script<'_>, path: &str) -> Result<File, Blocked> {
    let file = file::open(script, path)?;
    if file.whole {
        return Ok(file);
    }
    Err(Blocked::Failed(format!("`{}` is too long, or has too long lines, to be edited by line", file.path)))
}

/// Converts the 1-based lines `first..last`, both inclusive, to a 0-based range, if they exist.
fn existing(file: &File, lines: Range<usize>) -> Result<Range<usize>, Blocked> {
    if lines.end <= file.lines.len() {
        return Ok(lines.start - 1..lines.end);
    }
    Err(Blocked::Failed(format!("`{}` has only {} line(s)", file.path, file.lines.len())))
}

/// Returns the 1-based number of the only line that contains a text.
fn only_line(file: &File, text: &str) -> Result<usize, Blocked> {
    let mut places = file.places(text);
    places.dedup();
    match places.as_slice() {
        [only] => Ok(*only),
        [] => Err(Blocked::Failed(format!("'{}' does not occur in `{}`", short(text), file.path))),
        several => Err(Blocked::Failed(format!(
            "'{}' occurs in {} lines of `{}` ({}). Quote more of the line, or name its number",
            short(text),
            several.len(),
            file.path,
            several.iter().take(10).map(usize::to_string).collect::<Vec<_>>().join(", ")
        ))),
    }
}
