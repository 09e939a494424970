//! `show FILE [lines A-B]`: reads files and shows them.

use super::{
    block::block,
    file, limits,
    phrase::{Phrase, Split},
    progress::{Blocked, Call, Script},
    step::{Command, Outcome, ParsedStep, Step},
    verbs,
};
use serde_json::json;
use std::ops::RangeInclusive;

/// The command.
pub(crate) const COMMAND: Command = Command {
    verbs: verbs::SHOW,
    form: "show FILE [lines A-B | line N | first N lines]",
    example: "show src/main.rs lines 1-20",
    parse,
};

/// Files to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Show {
    /// The files; at least one.
    pub(crate) views: Vec<View>,
}

/// A file, or lines of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// The file.
    pub(crate) path: String,
    /// The 1-based lines; all of them when `None`.
    pub(crate) lines: Option<RangeInclusive<usize>>,
}

fn parse(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    let is_question = phrase.consume(&["what is in", "what's in", "what does"]);
    if !is_question
        && !phrase.consume(&["show me", "let me see", "look at", "take a look at"])
        && !phrase.consume(COMMAND.verbs)
    {
        return None;
    }
    phrase.consume_end(&["contain", "say"]);
    phrase.consume(&["the content of", "the contents of", "contents of"]);
    let mut listing = phrase;
    listing.consume(&["the", "all", "all the"]);
    if listing.at("files") {
        return super::search::parse_list_of(listing);
    }
    Some(read(phrase))
}

fn read(phrase: Phrase<'_>) -> ParsedStep {
    Ok(Box::new(Show { views: views(phrase)? }))
}

fn views(phrase: Phrase<'_>) -> Result<Vec<View>, String> {
    let mut rest = phrase;
    rest.consume(&["the", "only"]);
    if rest.at("line") || rest.at("lines") || rest.at("first") {
        if let Split::Once(lines, path) = rest.split(&["of", "in", "from"]) {
            return Ok(vec![View { path: path.file()?, lines: Some(range(lines)?) }]);
        }
        return Err("say of which file: show lines 1-20 of FILE".to_owned());
    }
    let parts = phrase.parts();
    if parts.len() > limits::ITEMS {
        return Err(format!("more than {} files in one step", limits::ITEMS));
    }
    parts.into_iter().map(view).collect()
}

fn view(phrase: Phrase<'_>) -> Result<View, String> {
    for (index, token) in phrase.tokens.iter().enumerate().skip(1) {
        let is_range =
            ["line", "lines", "first", "from", "(lines", "the"].iter().any(|word| token.is_word(word));
        if is_range {
            let lines = range(phrase.with(&phrase.tokens[index..]))?;
            return Ok(View { path: phrase.with(&phrase.tokens[..index]).file()?, lines: Some(lines) });
        }
    }
    let path = phrase.file()?;
    let is_quoted = phrase.trimmed().tokens.iter().any(super::lexer::Token::is_literal);
    if let Some((name, numbers)) = path.rsplit_once(':').filter(|_| !is_quoted) {
        let bounds = numbers.split_once('-').unwrap_or((numbers, numbers));
        if let (Ok(first), Ok(last)) = (bounds.0.parse::<usize>(), bounds.1.parse::<usize>()) {
            if first == 0 || last < first {
                return Err(format!("`{numbers}` is not a range of lines"));
            }
            return Ok(View { path: name.to_owned(), lines: Some(first..=last) });
        }
    }
    Ok(View { path, lines: None })
}

fn range(mut phrase: Phrase<'_>) -> Result<RangeInclusive<usize>, String> {
    phrase.consume(&["from"]);
    phrase.consume(&["the"]);
    if phrase.consume(&["first"]) {
        if phrase.consume(&["line"]) && phrase.is_empty() {
            return Ok(1..=1);
        }
        phrase.consume_end(&["lines", "line"]);
        return Ok(1..=*phrase.lines()?.end());
    }
    if phrase.consume(&["line", "lines"]) {
        phrase.lines()
    } else {
        Err(format!("`{}` is not a range of lines", phrase.short()))
    }
}

impl Step for Show {
    fn describe(&self) -> String {
        let views: Vec<String> = self.views.iter().map(View::describe).collect();
        format!("show {}", views.join(", "))
    }

    fn tools(&self) -> &'static [&'static str] {
        &["file_read"]
    }

    /// Reads all files in one batch.
    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let calls = self
            .views
            .iter()
            .map(|view| Call { name: "file_read", arguments: view.arguments(&view.path) })
            .collect();
        let results = script.calls(calls)?;
        let (mut shown, mut read) = (Vec::new(), Vec::new());
        for (view, result) in self.views.iter().zip(results) {
            let (path, text) = match result.is_error {
                false => (view.path.clone(), result.text.clone()),
                true if file::is_missing(&result.text) => {
                    let found = file::locate(script, &view.path, result.text.trim())?;
                    let text = script.call_or_fail("file_read", view.arguments(&found))?;
                    (found, text.to_owned())
                }
                true => return Err(Blocked::Failed(result.text.trim().to_owned())),
            };
            let heading = View { path, ..view.clone() }.describe();
            let block = block(&text);
            shown.push(if self.views.len() == 1 { block } else { format!("{heading}:\n\n{block}") });
            read.push(heading);
        }
        let line = format!("read {}", read.join(", "));
        Ok(Outcome { line, shown: Some(shown.join("\n\n")), changed: Vec::new() })
    }

    fn file(&self) -> Option<&str> {
        match self.views.as_slice() {
            [view] => Some(&view.path),
            _ => None,
        }
    }
}

impl View {
    fn describe(&self) -> String {
        match &self.lines {
            None => format!("`{}`", self.path),
            Some(lines) if lines.start() == lines.end() => format!("`{}` line {}", self.path, lines.start()),
            Some(lines) => format!("`{}` lines {}-{}", self.path, lines.start(), lines.end()),
        }
    }

    fn arguments(&self, path: &str) -> serde_json::Value {
        match &self.lines {
            None => json!({ "path": path }),
            Some(lines) => {
                json!({ "path": path, "offset": lines.start(), "limit": lines.end() - lines.start() + 1 })
            }
        }
    }
}
