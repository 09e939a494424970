//! Parses a shell line into the list of simple commands that it would run.
//!
//! The line is parsed with the bash grammar. Anything that the grammar or this module does not
//! fully understand, or that another shell could read differently from the one that runs it, makes
//! the result [`Shell::Unknown`]. Such a line is never safe, and the deny rules are checked against
//! each reading of it.

#[cfg(test)]
mod differential;
mod posix;
mod reader;
#[cfg(test)]
mod tests;
mod variants;

use reader::Reader;
use tree_sitter::Parser;

/// The shell that will run a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// GNU bash.
    Bash,
    /// Any shell invoked as `sh`: whatever shells read differently is unknown.
    Unknown,
}

/// Returns a word as a shell line has it, in quotes where it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./=:,@%+".contains(char);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A parsed shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shell {
    /// Every command that the line can run, with wrappers (`env`, `sudo`, `timeout`, `sh -c`, …)
    /// removed.
    Commands(Vec<SimpleCommand>),
    /// What the line runs cannot be determined, for the reason `why`. `seen` holds the commands
    /// found in any reading, for the deny rules.
    Unknown { why: &'static str, seen: Vec<SimpleCommand> },
}

impl Shell {
    /// Returns the commands that were found, complete or not.
    pub(crate) fn commands(&self) -> &[SimpleCommand] {
        let (Self::Commands(commands) | Self::Unknown { seen: commands, .. }) = self;
        commands
    }
}

/// How much of a word is known before the line runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The program receives exactly this text.
    Exact,
    /// A pattern for file names; any number of words.
    Glob,
    /// One unknown word.
    One,
    /// Any number of unknown words.
    Many,
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text without quotes; the source text if the value is unknown.
    pub(crate) text: String,
    pub(crate) certainty: Certainty,
}

impl Word {
    pub(crate) fn exact(text: impl Into<String>) -> Self {
        Self { text: text.into(), certainty: Certainty::Exact }
    }

    /// Whether the program receives exactly this text.
    pub(crate) fn is_exact(&self) -> bool {
        self.certainty == Certainty::Exact
    }

    /// Whether the word is known only at run time.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.certainty, Certainty::One | Certainty::Many)
    }
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SimpleCommand {
    /// The program and its arguments.
    pub(crate) words: Vec<Word>,
    /// Files written by redirection.
    pub(crate) writes: Vec<String>,
    /// Files read by redirection.
    pub(crate) reads: Vec<String>,
    /// Whether its input or output is redirected in any other way.
    pub(crate) plumbed: bool,
    /// Whether it runs with elevated rights (`sudo`, `doas`).
    pub(crate) elevated: bool,
    /// Whether another program starts it (`env`, `timeout`, `xargs`, `find -exec`).
    pub(crate) wrapped: bool,
}

impl SimpleCommand {
    /// Returns the words as one line, for pattern matching.
    pub(crate) fn line(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the program's base name.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.text.rsplit('/').next().unwrap_or(&word.text))
    }

    /// Returns the words after the program.
    pub(crate) fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Whether the program's name is known only at run time.
    pub(crate) fn is_open_program(&self) -> bool {
        let open = |word: &Word| {
            !word.is_exact() && word.program_part().contains(['$', '`', '*', '?', '[', '{', '('])
        };
        self.words.first().is_some_and(open)
    }
}

impl Word {
    fn program_part(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or(&self.text)
    }
}

/// The maximum depth of wrappers and nested `sh -c`.
const NESTING: usize = 8;
/// The maximum number of commands of a line.
const COMMANDS: usize = 20_000;
/// The number of commands beyond which duplicates are no longer removed.
const COMPARED: usize = 200;
/// The maximum length of a parsed line, in bytes.
const LINE_BYTES: usize = 64 * 1024;

/// The reason for a line that is too large to check. Such a line is denied, because asking would
/// hide the denied commands in it.
pub(crate) const TOO_MUCH: &str = "the line is too long or too deeply nested to be checked";

/// Parses a line in a dialect.
pub(crate) fn parse(line: &str, dialect: Dialect) -> Shell {
    let mut read = Read::of(line, dialect, 0);
    if read.unknown.is_some_and(|why| why != TOO_MUCH) {
        for variant in variants::of(line, dialect) {
            let other = Read::of(&variant, dialect, 0);
            for command in other.commands {
                // Usually there are few commands; beyond the limit, the quadratic comparison is
                // skipped.
                if read.commands.len() > COMPARED || !read.commands.contains(&command) {
                    read.commands.push(command);
                }
            }
        }
    }
    match read.unknown {
        None => Shell::Commands(read.commands),
        Some(why) => Shell::Unknown { why, seen: read.commands },
    }
}

/// One reading of a line.
struct Read {
    commands: Vec<SimpleCommand>,
    unknown: Option<&'static str>,
}

impl Read {
    fn of(line: &str, dialect: Dialect, depth: usize) -> Self {
        if line.len() > LINE_BYTES || depth > NESTING {
            return Self { commands: Vec::new(), unknown: Some(TOO_MUCH) };
        }
        let mut parser = Parser::new();
        parser
            .set_language(&tree_sitter_bash::LANGUAGE.into())
            .expect("the grammar is built for this parser version");
        let Some(tree) = parser.parse(line, None) else {
            return Self { commands: Vec::new(), unknown: Some("the line cannot be parsed") };
        };
        let mut reader = Reader::new(line, dialect, depth);
        if tree.root_node().has_error() {
            reader.unknown("the line cannot be parsed");
        }
        if misread(line) {
            reader.unknown("it escapes a space or a line break");
        }
        reader.visit(tree.root_node(), 0);
        if dialect == Dialect::Unknown
            && let Some(why) = posix::differs(tree.root_node(), line)
        {
            reader.unknown(why);
        }
        reader.finish()
    }
}

/// Whether a line contains what the grammar reads differently from a shell: a backslash before a
/// line break joins two words, a backslash before a space or tab begins or forms a word, and the
/// grammar takes a line that begins with a backslash for a part of the line before. Comparison with
/// another parser, and with other spellings of a line, revealed them.
fn misread(line: &str) -> bool {
    if line.split('\n').skip(1).any(|line| line.trim_start().starts_with('\\')) {
        return true;
    }
    let bytes = line.as_bytes();
    let inside_word = |at: usize| at > 0 && bytes[at - 1].is_ascii_alphanumeric();
    let misread = |at: usize| match bytes.get(at + 1) {
        Some(b' ' | b'\t') => !inside_word(at),
        Some(next) => next.is_ascii_whitespace(),
        None => true,
    };
    line.contains('\r') || bytes.iter().enumerate().any(|(at, byte)| *byte == b'\\' && misread(at))
}
