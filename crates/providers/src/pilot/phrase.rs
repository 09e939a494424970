//! A range of tokens being parsed, and the nouns that all commands share: texts, files,
//! directories, numbers.

use super::{
    lexer::{Kind, Token},
    uri::path_of_uri,
    verbs::is_verb,
};
use std::ops::RangeInclusive;

/// The tokens of one step. Copying is cheap: a parser tries an alternative on a copy and keeps the
/// copy if it matches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phrase<'a> {
    /// The whole prompt.
    pub(crate) source: &'a str,
    /// The remaining tokens.
    pub(crate) tokens: &'a [Token],
    /// The file that "it" refers to: the last one named, or the only attachment.
    pub(crate) it: Option<&'a str>,
}

/// The occurrences of a keyword in a phrase.
pub(crate) enum Split<'a> {
    /// None.
    Absent,
    /// One: the tokens before and after it.
    Once(Phrase<'a>, Phrase<'a>),
    /// Several, so that quotes are needed to tell which one is meant.
    Ambiguous(String),
}

/// File names without an extension.
const PLAIN_FILES: &[&str] = &[
    "makefile",
    "dockerfile",
    "justfile",
    "license",
    "readme",
    "changelog",
    "gemfile",
    "rakefile",
    "procfile",
    "codeowners",
    "authors",
    "notice",
    "todo",
    "vagrantfile",
    "jenkinsfile",
    "copying",
    "contributing",
];

impl<'a> Phrase<'a> {
    /// Returns a copy with other tokens.
    pub(crate) fn with(self, tokens: &'a [Token]) -> Self {
        Self { tokens, ..self }
    }

    /// Returns whether no tokens remain.
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns whether the next token is this word.
    pub(crate) fn at(&self, word: &str) -> bool {
        self.tokens.first().is_some_and(|token| token.is_word(word))
    }

    /// Consumes the longest matching alternative; each alternative is a sequence of words separated
    /// by spaces.
    pub(crate) fn consume(&mut self, alternatives: &[&str]) -> bool {
        let fits = |words: &&str| {
            let count = words.split(' ').count();
            let tokens = self.tokens.get(..count)?;
            words.split(' ').zip(tokens).all(|(word, token)| token.is_word(word)).then_some(count)
        };
        let Some(count) = alternatives.iter().filter_map(fits).max() else { return false };
        self.tokens = &self.tokens[count..];
        true
    }

    /// Consumes the longest matching alternative from the end.
    pub(crate) fn consume_end(&mut self, alternatives: &[&str]) -> bool {
        let fits = |words: &&str| {
            let start = self.tokens.len().checked_sub(words.split(' ').count())?;
            words
                .split(' ')
                .zip(&self.tokens[start..])
                .all(|(word, token)| token.is_word(word))
                .then_some(start)
        };
        let Some(start) = alternatives.iter().filter_map(fits).min() else { return false };
        self.tokens = &self.tokens[..start];
        true
    }

    /// Consumes a token of this kind.
    pub(crate) fn consume_kind(&mut self, kind: Kind) -> bool {
        let fits = self.tokens.first().is_some_and(|token| token.kind == kind);
        if fits {
            self.tokens = &self.tokens[1..];
        }
        fits
    }

    /// Removes punctuation and line ends at both ends.
    pub(crate) fn trimmed(mut self) -> Self {
        let is_mark = |token: &Token| !token.is_literal() && token.kind != Kind::Word;
        while self.tokens.first().is_some_and(is_mark) {
            self.tokens = &self.tokens[1..];
        }
        while self.tokens.last().is_some_and(is_mark) {
            self.tokens = &self.tokens[..self.tokens.len() - 1];
        }
        self
    }

    /// Splits at the only occurrence of one of these words outside quotes.
    pub(crate) fn split(self, words: &[&str]) -> Split<'a> {
        let at = |token: &Token| words.iter().any(|word| token.is_word(word));
        let mut places =
            self.tokens.iter().enumerate().filter(|(_, token)| at(token)).map(|(index, _)| index);
        match (places.next(), places.next()) {
            (None, _) => Split::Absent,
            (Some(index), None) => {
                Split::Once(self.with(&self.tokens[..index]), self.with(&self.tokens[index + 1..]))
            }
            (Some(index), Some(_)) => Split::Ambiguous(format!(
                "`{}` occurs in it more than once; put the texts in quotes",
                self.tokens[index].text
            )),
        }
    }

    /// Splits a list at commas and "and". The result is never empty, but may consist of one empty
    /// item.
    pub(crate) fn parts(self) -> Vec<Phrase<'a>> {
        let between = |token: &Token| token.kind == Kind::Comma || token.is_word("and");
        let parts = self.trimmed().tokens.split(between).map(|tokens| self.with(tokens));
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { vec![self.with(&[])] } else { parts }
    }

    /// Returns the text of the prompt from the first token to the last.
    pub(crate) fn raw(&self) -> &'a str {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => &self.source[first.start..last.end],
            _ => "",
        }
    }

    /// Parses a text: one quote, one code block, or unquoted words.
    pub(crate) fn literal(self) -> Result<String, String> {
        let phrase = self.trimmed();
        match phrase.tokens {
            [] => Err("a text is missing".to_owned()),
            [only] if only.is_literal() => Ok(only.text.clone()),
            tokens if tokens.iter().any(Token::is_literal) => Err(format!(
                "`{}` mixes quoted and plain words; put all of it in one pair of quotes",
                phrase.short()
            )),
            tokens if tokens.iter().any(|token| token.kind == Kind::Break) => {
                Err("a text over several lines needs quotes or a code block".to_owned())
            }
            _ => match phrase.next_verb() {
                Some(verb) => {
                    Err(format!("it is not clear whether `and {verb}` belongs to the text; use quotes"))
                }
                None => Ok(phrase.raw().to_owned()),
            },
        }
    }

    /// Returns the verb of the first "and VERB" in unquoted words, where another step may begin.
    pub(crate) fn next_verb(&self) -> Option<&'a str> {
        let joins = |pair: &&[Token]| pair[0].is_word("and") && is_verb(&pair[1]);
        self.tokens.windows(2).find(joins).map(|pair| pair[1].text.as_str())
    }

    /// Parses the subject of a task: one quote, or unquoted words.
    pub(crate) fn subject(self) -> Result<String, String> {
        let phrase = self.trimmed();
        match phrase.tokens {
            [] => Err("a task has no words".to_owned()),
            [only] if only.is_literal() => Ok(only.text.clone()),
            _ => Ok(phrase.raw().to_owned()),
        }
    }

    /// Parses a file name.
    pub(crate) fn file(self) -> Result<String, String> {
        let mut phrase = self.trimmed();
        if phrase.consume(&["it", "this", "that", "this file", "that file", "the same file", "the file"])
            && phrase.is_empty()
        {
            let message = "it is not clear which file is meant; name it";
            return phrase.it.map(str::to_owned).ok_or_else(|| message.to_owned());
        }
        let mut phrase = self.trimmed();
        phrase.consume(&["the", "a", "an"]);
        phrase.consume(&["new", "existing"]);
        phrase.consume(&["file"]);
        phrase.consume(&["called", "named", "at"]);
        phrase.consume_end(&["file"]);
        match phrase.tokens {
            [] => Err("a file is missing".to_owned()),
            [only] if only.kind == Kind::Quoted && !only.raw.trim().is_empty() => Ok(only.raw.clone()),
            [only] if only.kind == Kind::Word => {
                let path = mention(&only.text);
                if path.contains(['*', '?']) {
                    return Err(format!("`{path}` names many files; name one"));
                }
                let has_shape =
                    path.contains(['.', '/', '\\']) || PLAIN_FILES.contains(&path.to_lowercase().as_str());
                let is_name = path.chars().any(char::is_alphanumeric);
                if has_shape && is_name {
                    return Ok(path);
                }
                Err(format!("`{path}` does not look like a file; put it in quotes if it is one"))
            }
            _ => Err(format!("`{}` is not one file; put a path with spaces in quotes", phrase.short())),
        }
    }

    /// Parses a directory or file to search; `None` for the whole project.
    pub(crate) fn place(self) -> Result<Option<String>, String> {
        let mut phrase = self.trimmed();
        phrase.consume(&["the", "this", "my", "all of the"]);
        phrase.consume(&["whole", "entire", "current"]);
        phrase.consume(&["folder", "directory", "dir", "file"]);
        if phrase.tokens.len() > 1 {
            phrase.consume_end(&["folder", "directory", "dir", "file", "files"]);
        }
        match phrase.tokens {
            [] => Ok(None),
            [only] if only.kind == Kind::Quoted && !only.raw.trim().is_empty() => Ok(Some(only.raw.clone())),
            [only] if only.kind == Kind::Word => {
                let path = mention(&only.text);
                let whole =
                    ["project", "workspace", "repository", "repo", "codebase", "here", "everything", "."];
                Ok((!whole.contains(&path.to_lowercase().as_str())).then_some(path))
            }
            _ => Err(format!("`{}` is not one directory; put a path with spaces in quotes", phrase.short())),
        }
    }

    /// Parses `A`, `A-B` or `A to B`: 1-based line numbers.
    pub(crate) fn lines(self) -> Result<RangeInclusive<usize>, String> {
        let phrase = self.trimmed();
        let text = phrase.raw().to_lowercase();
        let halves = text
            .split_once(['-', '–'])
            .or_else(|| text.split_once(" to "))
            .or_else(|| text.split_once(" through "))
            .unwrap_or((&text, &text));
        let number = |half: &str| half.trim().parse::<usize>().ok().filter(|number| *number > 0);
        match (number(halves.0), number(halves.1)) {
            (Some(first), Some(last)) if first <= last => Ok(first..=last),
            _ => Err(format!("`{}` is not a line number or range of lines such as 3 or 3-9", phrase.short())),
        }
    }

    /// Returns the text of the phrase, shortened for a message.
    pub(crate) fn short(&self) -> String {
        short(self.raw())
    }
}

/// Shortens a text for a message, on one line.
pub(crate) fn short(text: &str) -> String {
    let line = text.trim().replace('\n', "⏎");
    if line.chars().count() <= super::limits::SNIPPET_CHARS {
        return line;
    }
    line.chars().take(super::limits::SNIPPET_CHARS).chain(['…']).collect()
}

/// Parses a path as written in a prompt: `@path`, `[name](file:///path)`, `path`.
fn mention(word: &str) -> String {
    if let Some((_, target)) = word.strip_suffix(')').and_then(|word| word.split_once("](")) {
        return path_of_uri(target);
    }
    path_of_uri(word.strip_prefix('@').unwrap_or(word))
}
