//! `search for X in DIR` and `list files matching GLOB in DIR`.

use super::{
    block::block,
    file,
    phrase::{Phrase, Split, short},
    progress::{Blocked, Script},
    step::{Command, Outcome, ParsedStep, Step, past},
    verbs,
};
use serde_json::json;

/// Searches file contents.
pub(crate) const SEARCH: Command = Command {
    verbs: verbs::SEARCH,
    form: "search for TEXT [in DIR or FILE] (search for regex 'RE' for a regular expression)",
    example: "search for 'fn main' in src",
    parse: parse_search,
};

/// Lists files.
pub(crate) const LIST: Command = Command {
    verbs: verbs::LIST,
    form: "list files [matching GLOB] [in DIR]",
    example: "list files matching *.rs in src",
    parse: parse_list,
};

/// A search in file contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Search {
    /// The text to search for.
    pub(crate) text: String,
    /// Whether the text is a regular expression.
    pub(crate) regex: bool,
    /// The directory or file; the whole project when `None`.
    pub(crate) path: Option<String>,
    /// A glob that restricts the files.
    pub(crate) glob: Option<String>,
}

/// A list of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List {
    /// The glob for their paths.
    pub(crate) pattern: String,
    /// The directory; the whole project when `None`.
    pub(crate) path: Option<String>,
}

fn parse_search(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    if phrase.consume(&["where is", "where's"]) {
        phrase = phrase.trimmed();
        phrase.consume_end(&["used", "defined", "mentioned"]);
    } else if !phrase.consume(&["search for", "look for", "grep for", "search", "grep", "find"]) {
        return None;
    }
    let mut path = None;
    // "search in src for X"
    if phrase.consume(&["in"]) {
        match phrase.split(&["for"]) {
            Split::Once(place, rest) => (path, phrase) = (Some(place), rest),
            Split::Absent => return Some(Err("it does not say what for: search for TEXT in DIR".to_owned())),
            Split::Ambiguous(reason) => return Some(Err(reason)),
        }
    }
    Some(read_search(phrase, path))
}

fn read_search<'a>(mut phrase: Phrase<'a>, mut place: Option<Phrase<'a>>) -> ParsedStep {
    let regex = phrase.consume(&["the regex", "the pattern", "the regular expression", "regex", "pattern"]);
    phrase.consume(&["all occurrences of", "every occurrence of", "the text", "the word", "text"]);
    let mut text = phrase;
    if place.is_none() {
        match phrase.split(&["in", "inside", "under", "within"]) {
            Split::Once(before, after) => (text, place) = (before, Some(after)),
            Split::Absent => {}
            Split::Ambiguous(reason) => return Err(reason),
        }
    }
    let path = place.map(Phrase::place).transpose()?.flatten();
    let (path, glob) = match path {
        Some(path) if path.contains(['*', '?', '[']) => (None, Some(path)),
        path => (path, None),
    };
    let is_quoted = regex && matches!(text.trimmed().tokens, [only] if only.is_literal());
    let text = if is_quoted { text.trimmed().tokens[0].raw.clone() } else { text.literal()? };
    if text.is_empty() || text.contains('\n') {
        return Err("what is searched for must be one line, and not empty".to_owned());
    }
    Ok(Box::new(Search { text, regex, path, glob }))
}

fn parse_list(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    let is_find = phrase.at("find");
    if !phrase.consume(&["list", "ls", "find"]) {
        return None;
    }
    phrase.consume(&["me"]);
    phrase.consume(&["all the", "all", "the"]);
    if is_find {
        let names_files = phrase.at("file")
            || phrase.at("files")
            || phrase
                .tokens
                .iter()
                .any(|token| !token.is_literal() && (token.is_word("files") || token.text.contains('*')));
        let is_one_name =
            |text: Phrase<'_>| text.tokens.len() == 1 && !text.tokens[0].is_literal() && text.file().is_ok();
        let subject = match phrase.split(&["in"]) {
            Split::Once(subject, _) => subject,
            _ => phrase,
        };
        if !names_files && !is_one_name(subject.trimmed()) {
            return None;
        }
    }
    parse_list_of(phrase)
}

/// Parses the subject of a listing, after the verb.
pub(crate) fn parse_list_of(phrase: Phrase<'_>) -> Option<ParsedStep> {
    Some(read_list(phrase))
}

fn read_list(phrase: Phrase<'_>) -> ParsedStep {
    let phrase = phrase.trimmed();
    let (mut subject, path) = match phrase.split(&["in", "under", "inside", "of"]) {
        Split::Once(subject, place) => (subject.trimmed(), place.place()?),
        Split::Absent => (phrase, None),
        Split::Ambiguous(reason) => return Err(reason),
    };
    subject.consume(&["the"]);
    subject.consume(&["contents", "content"]);
    let named = subject.consume(&["files", "file"]);
    let matching = subject.consume(&["matching", "named", "called", "with the name", "like"]);
    subject.consume_end(&["files"]);
    let pattern = match subject.tokens {
        [] if matching => return Err("the pattern is missing".to_owned()),
        [] => "**/*".to_owned(),
        [only] if only.is_literal() => only.raw.clone(),
        [only] => only.text.clone(),
        _ => return Err(format!("`{}` is not one pattern such as *.rs", subject.short())),
    };
    let is_folder =
        path.is_none() && !named && !matching && !pattern.contains(['*', '?', '[']) && !pattern.contains('.');
    if is_folder {
        return Ok(Box::new(List { pattern: "**/*".to_owned(), path: Some(pattern) }));
    }
    // A pattern without a directory applies to every directory.
    let pattern = if pattern.contains('/') { pattern } else { format!("**/{pattern}") };
    let pattern = if pattern == "**/**/*" { "**/*".to_owned() } else { pattern };
    Ok(Box::new(List { pattern, path }))
}

impl Step for Search {
    fn describe(&self) -> String {
        let place =
            self.path.as_ref().or(self.glob.as_ref()).map_or(String::new(), |path| format!(" in `{path}`"));
        format!("search for '{}'{place}", short(&self.text))
    }

    fn tools(&self) -> &'static [&'static str] {
        &["grep"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let pattern = if self.regex { self.text.clone() } else { escape_regex(&self.text) };
        let mut arguments = json!({ "pattern": pattern });
        if let Some(path) = &self.path {
            arguments["path"] = json!(path);
        }
        if let Some(glob) = &self.glob {
            arguments["glob"] = json!(glob);
        }
        let found = script.call_or_fail("grep", arguments)?;
        Ok(listed(past(&self.describe()), found, "No matches"))
    }
}

impl Step for List {
    fn describe(&self) -> String {
        let place = self.path.as_ref().map_or(String::new(), |path| format!(" in `{path}`"));
        format!("list files matching `{}`{place}", self.pattern)
    }

    fn tools(&self) -> &'static [&'static str] {
        &["glob"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let mut arguments = json!({ "pattern": self.pattern });
        if let Some(path) = &self.path {
            arguments["path"] = json!(path);
        }
        let found = script.call_or_fail("glob", arguments)?;
        let outcome = listed(past(&self.describe()), found, "No files");
        let count = file::paths(found).len();
        Ok(Outcome { line: format!("{} ({count} listed)", outcome.line), ..outcome })
    }
}

fn listed(line: String, found: &str, nothing: &str) -> Outcome {
    if found.trim_start().starts_with(nothing) {
        return Outcome { line: format!("{line}: {}", found.trim()), ..Outcome::default() };
    }
    Outcome { line, shown: Some(block(found)), changed: Vec::new() }
}

fn escape_regex(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut regex, c| {
        if "\\.+*?()|[]{}^$".contains(c) {
            regex.push('\\');
        }
        regex.push(c);
        regex
    })
}
