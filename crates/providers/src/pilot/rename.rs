//! `rename symbol a to b in DIR`: renames an identifier, whole words only, in every file that a
//! search finds.

use super::{
    file::{self, Change},
    limits,
    phrase::{Phrase, Split},
    progress::{Blocked, Script},
    step::{Command, Outcome, ParsedStep, Step},
    verbs,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The command.
pub(crate) const COMMAND: Command = Command {
    verbs: verbs::RENAME,
    form: "rename symbol A to B [in DIR or FILE]",
    example: "rename symbol greet to welcome in src",
    parse,
};

/// A rename of an identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenameSymbol {
    /// The identifier.
    pub(crate) from: String,
    /// Its new name.
    pub(crate) to: String,
    /// The directory or file; the whole project when `None`.
    pub(crate) path: Option<String>,
}

const NOUNS: &[&str] = &[
    "symbol",
    "identifier",
    "function",
    "method",
    "variable",
    "constant",
    "struct",
    "class",
    "enum",
    "trait",
    "type",
    "field",
    "interface",
    "module",
    "parameter",
];

fn parse(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    if !phrase.consume(&["rename"]) {
        return None;
    }
    phrase.consume(&["the", "every", "all"]);
    let is_symbol = phrase.consume(NOUNS);
    let place = match phrase.split(&["in", "inside", "within"]) {
        Split::Once(names, place) => Some((names, place)),
        Split::Absent => None,
        Split::Ambiguous(reason) => return Some(Err(reason)),
    };
    // Without a noun and a place, the phrase renames a file.
    if !is_symbol && place.is_none() {
        return None;
    }
    Some(read(phrase, place))
}

fn read<'a>(phrase: Phrase<'a>, place: Option<(Phrase<'a>, Phrase<'a>)>) -> ParsedStep {
    let (mut names, path) = match place {
        Some((names, place)) => (names, place.place()?),
        None => (phrase, None),
    };
    names = names.trimmed();
    names.consume_end(&["everywhere"]);
    let Split::Once(from, to) = names.split(&["to", "into", "as"]) else {
        return Err("say both names: rename symbol A to B".to_owned());
    };
    let (from, to) = (from.literal()?, to.literal()?);
    for name in [&from, &to] {
        let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !starts_well || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!(
                "`{name}` is not an identifier (letters, digits and _); for other texts use replace, for files move"
            ));
        }
    }
    if from == to {
        return Err("the old name and the new one are the same".to_owned());
    }
    Ok(Box::new(RenameSymbol { from, to, path }))
}

impl Step for RenameSymbol {
    fn describe(&self) -> String {
        let place = self.path.as_ref().map_or("the project".to_owned(), |path| format!("`{path}`"));
        format!("rename symbol `{}` to `{}` in {place}", self.from, self.to)
    }

    fn tools(&self) -> &'static [&'static str] {
        &["grep", "file_read", "file_edit"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let mut renamed = BTreeMap::new();
        let mut doubts = Vec::new();
        // A search shows a limited number of lines. It is repeated until it finds nothing, which
        // also proves that the rename is complete.
        for round in 0..limits::SEARCHES {
            let found = script.call_or_fail("grep", self.search())?;
            let files = files_of(found, self.path.as_deref());
            if files.is_empty() {
                // Notes in parentheses state what was not searched.
                doubts = found.lines().filter(|line| line.starts_with('(')).map(str::to_owned).collect();
                break;
            }
            if let Some(again) = files.iter().find(|path| renamed.contains_key(*path)) {
                return Err(Blocked::Failed(format!(
                    "`{}` still occurs in `{again}` after its edit",
                    self.from
                )));
            }
            if round + 1 == limits::SEARCHES {
                return Err(Blocked::Failed(format!(
                    "too many files contain `{}`; continue with one directory at a time",
                    self.from
                )));
            }
            script.add_message(format!(
                "{} file(s) contain `{}`; I read them before I edit.",
                files.len(),
                self.from
            ));
            for opened in file::open_all(script, &files)? {
                renamed.insert(opened.path.clone(), self.edit(script, &opened)?);
            }
        }
        let total: usize = renamed.values().sum();
        if total == 0 {
            return Err(Blocked::Failed(format!("the word `{}` was not found", self.from)));
        }
        let left = if doubts.is_empty() { "none is left".to_owned() } else { doubts.join(" ") };
        Ok(Outcome {
            line: format!(
                "renamed `{}` to `{}`: {total} place(s) in {} file(s); {left}",
                self.from,
                self.to,
                renamed.len()
            ),
            shown: None,
            changed: renamed.into_iter().map(|(path, count)| (path, format!("{count} place(s)"))).collect(),
        })
    }
}

impl RenameSymbol {
    fn search(&self) -> Value {
        let mut arguments = json!({ "pattern": format!("\\b{}\\b", self.from) });
        if let Some(path) = &self.path {
            arguments["path"] = json!(path);
        }
        arguments
    }

    /// Edits one file and returns the number of changed places.
    fn edit(&self, script: &mut Script<'_>, file: &file::File) -> Result<usize, Blocked> {
        let text = file.text();
        let count = whole_words(&text, &self.from).len();
        if count == 0 {
            let why = format!("`{}` was found in `{}`, but not in what was read of it", self.from, file.path);
            return Err(Blocked::Failed(why));
        }
        if file.whole && count == text.matches(&self.from).count() {
            script.call_or_fail("file_edit", file::edit(&file.path, &self.from, &self.to, true))?;
            return Ok(count);
        }
        // The name is also part of longer words, so all lines from the first change to the last are
        // replaced in one edit.
        let is_changed = |line: &String| !whole_words(line, &self.from).is_empty();
        let first = file.lines.iter().position(is_changed).unwrap_or(0);
        let last = file.lines.iter().rposition(is_changed).unwrap_or(first);
        let new: Vec<String> = file.lines[first..=last].iter().map(|line| self.renamed(line)).collect();
        let change = file.splice(first..last + 1, &new);
        if !file.whole || matches!(change, Change::Write(_)) {
            return Err(Blocked::Failed(format!(
                "`{}` is too long to be sure of every place in it",
                file.path
            )));
        }
        change.make(script, &file.path)?;
        Ok(count)
    }

    fn renamed(&self, line: &str) -> String {
        let mut new = String::with_capacity(line.len());
        let mut copied = 0;
        for place in whole_words(line, &self.from) {
            new.push_str(&line[copied..place]);
            new.push_str(&self.to);
            copied = place + self.from.len();
        }
        new + &line[copied..]
    }
}

/// Returns the byte offsets at which a word occurs as a whole word.
fn whole_words(text: &str, word: &str) -> Vec<usize> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_whole = |place: &usize| {
        !is_part(text[..*place].chars().next_back()) && !is_part(text[*place + word.len()..].chars().next())
    };
    text.match_indices(word).map(|(place, _)| place).filter(is_whole).collect()
}

/// Returns the files that a search result names, without duplicates, in order. Lines have the form
/// `file:line:text`, or `line:text` for a search in one file.
fn files_of(found: &str, searched: Option<&str>) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for row in found.lines() {
        let path = match row.split_once(':') {
            Some((line, _)) if line.parse::<usize>().is_ok() => searched.map(str::to_owned),
            _ => row.match_indices(':').find_map(|(index, _)| {
                let (line, _) = row[index + 1..].split_once(':')?;
                (index > 0 && line.parse::<usize>().is_ok()).then(|| row[..index].to_owned())
            }),
        };
        if let Some(path) = path.filter(|path| !files.contains(path)) {
            files.push(path);
        }
    }
    files
}
