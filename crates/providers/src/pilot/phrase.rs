//! A stretch of tokens that is being understood, and the nouns all commands share: texts, files, folders, numbers.

use super::lexer::{Kind, Token};
use std::ops::RangeInclusive;

/// Tokens of one step. Copies are cheap: a parser tries a reading on a copy and keeps it if it holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phrase<'a> {
    /// The whole prompt.
    pub(crate) source: &'a str,
    /// The tokens left.
    pub(crate) tokens: &'a [Token],
    /// The file that "it" means: the last one named, or the only one attached.
    pub(crate) it: Option<&'a str>,
}

/// How often a keyword stands in a phrase.
pub(crate) enum Split<'a> {
    /// Not at all.
    Absent,
    /// Once: what is before it and after it.
    Once(Phrase<'a>, Phrase<'a>),
    /// Several times, so that only quotes can tell which one is meant.
    Ambiguous(String),
}

/// Names without an extension that are files all the same.
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
    /// The same with other tokens.
    pub(crate) fn with(self, tokens: &'a [Token]) -> Self {
        Self { tokens, ..self }
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Whether the next token is this word.
    pub(crate) fn at(&self, word: &str) -> bool {
        self.tokens.first().is_some_and(|token| is_word(token, word))
    }

    /// Takes the words of one of the alternatives, of the longest that fits; each alternative is words with spaces between.
    pub(crate) fn eat(&mut self, alternatives: &[&str]) -> bool {
        let fits = |words: &&str| {
            let count = words.split(' ').count();
            let tokens = self.tokens.get(..count)?;
            words.split(' ').zip(tokens).all(|(word, token)| is_word(token, word)).then_some(count)
        };
        let Some(count) = alternatives.iter().filter_map(fits).max() else { return false };
        self.tokens = &self.tokens[count..];
        true
    }

    /// Takes the words of one of the alternatives from the end, of the longest that fits.
    pub(crate) fn eat_end(&mut self, alternatives: &[&str]) -> bool {
        let fits = |words: &&str| {
            let start = self.tokens.len().checked_sub(words.split(' ').count())?;
            words
                .split(' ')
                .zip(&self.tokens[start..])
                .all(|(word, token)| is_word(token, word))
                .then_some(start)
        };
        let Some(start) = alternatives.iter().filter_map(fits).min() else { return false };
        self.tokens = &self.tokens[..start];
        true
    }

    /// Takes a mark.
    pub(crate) fn eat_kind(&mut self, kind: Kind) -> bool {
        let fits = self.tokens.first().is_some_and(|token| token.kind == kind);
        if fits {
            self.tokens = &self.tokens[1..];
        }
        fits
    }

    /// Without marks and line ends around it.
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

    /// Cuts at the one place where one of these words stands outside quotes.
    pub(crate) fn split(self, words: &[&str]) -> Split<'a> {
        let at = |token: &Token| words.iter().any(|word| is_word(token, word));
        let mut places =
            self.tokens.iter().enumerate().filter(|(_, token)| at(token)).map(|(index, _)| index);
        match (places.next(), places.next()) {
            (None, _) => Split::Absent,
            (Some(index), None) => {
                Split::Once(self.with(&self.tokens[..index]), self.with(&self.tokens[index + 1..]))
            }
            (Some(index), Some(_)) => Split::Ambiguous(format!(
                "`{}` stands in it more than once; put the texts in quotes",
                self.tokens[index].text
            )),
        }
    }

    /// The items of a list joined by commas and "and". Never empty, and an item may be.
    pub(crate) fn parts(self) -> Vec<Phrase<'a>> {
        let between = |token: &Token| token.kind == Kind::Comma || is_word(token, "and");
        let parts = self.trimmed().tokens.split(between).map(|tokens| self.with(tokens));
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { vec![self.with(&[])] } else { parts }
    }

    /// The prompt's own characters from the first token to the last.
    pub(crate) fn raw(&self) -> &'a str {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => &self.source[first.start..last.end],
            _ => "",
        }
    }

    /// A text: one quote, one code block, or plain words as they stand.
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

    /// The verb of the first "and VERB" in plain words: there another step may begin.
    pub(crate) fn next_verb(&self) -> Option<&'a str> {
        let joins = |pair: &&[Token]| is_word(&pair[0], "and") && super::parse::is_verb(&pair[1]);
        self.tokens.windows(2).find(joins).map(|pair| pair[1].text.as_str())
    }

    /// What a task is about: one quote, or words as they stand.
    pub(crate) fn subject(self) -> Result<String, String> {
        let phrase = self.trimmed();
        match phrase.tokens {
            [] => Err("a task has no words".to_owned()),
            [only] if only.is_literal() => Ok(only.text.clone()),
            _ => Ok(phrase.raw().to_owned()),
        }
    }

    /// A file.
    pub(crate) fn file(self) -> Result<String, String> {
        let mut phrase = self.trimmed();
        if phrase.eat(&["it", "this", "that", "this file", "that file", "the same file", "the file"])
            && phrase.is_empty()
        {
            let message = "it is not clear which file is meant; name it";
            return phrase.it.map(str::to_owned).ok_or_else(|| message.to_owned());
        }
        let mut phrase = self.trimmed();
        phrase.eat(&["the", "a", "an"]);
        phrase.eat(&["new", "existing"]);
        phrase.eat(&["file"]);
        phrase.eat(&["called", "named", "at"]);
        phrase.eat_end(&["file"]);
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

    /// A folder or file to look in; `None` for the whole project.
    pub(crate) fn place(self) -> Result<Option<String>, String> {
        let mut phrase = self.trimmed();
        phrase.eat(&["the", "this", "my", "all of the"]);
        phrase.eat(&["whole", "entire", "current"]);
        phrase.eat(&["folder", "directory", "dir", "file"]);
        if phrase.tokens.len() > 1 {
            phrase.eat_end(&["folder", "directory", "dir", "file", "files"]);
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
            _ => Err(format!("`{}` is not one folder; put a path with spaces in quotes", phrase.short())),
        }
    }

    /// `A`, `A-B`, `A to B`: 1-based line numbers.
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
            _ => Err(format!("`{}` is no line number or range of lines such as 3 or 3-9", phrase.short())),
        }
    }

    /// Its characters, shortened for a message.
    pub(crate) fn short(&self) -> String {
        short(self.raw())
    }
}

/// A text shortened for a message, on one line.
pub(crate) fn short(text: &str) -> String {
    let line = text.trim().replace('\n', "⏎");
    if line.chars().count() <= super::limits::SNIPPET_CHARS {
        return line;
    }
    line.chars().take(super::limits::SNIPPET_CHARS).chain(['…']).collect()
}

/// Whether a token is this word, in any case.
pub(crate) fn is_word(token: &Token, word: &str) -> bool {
    token.kind == Kind::Word && token.text.to_lowercase() == word
}

/// The path of `file:///path`, percent signs resolved; other addresses as they are.
pub(crate) fn path_of_uri(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_owned() };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A path as written in a prompt: `@path`, `[name](file:///path)`, `path`.
fn mention(word: &str) -> String {
    if let Some((_, target)) = word.strip_suffix(')').and_then(|word| word.split_once("](")) {
        return path_of_uri(target);
    }
    path_of_uri(word.strip_prefix('@').unwrap_or(word))
}
