//! What a shell line would run, as a list of simple commands.
//!
//! The line is parsed with the bash grammar. Whatever the grammar or this module does not fully
//! understand, and whatever another shell than the one that runs it could read otherwise, makes the
//! answer [`Shell::Unknown`]: such a line is never safe, and each reading of it is held against the
//! denials.

#[cfg(test)]
mod differential;
mod posix;
mod reader;
#[cfg(test)]
mod tests;
mod variants;

use reader::Reader;
use tree_sitter::Parser;

/// The shell that is going to read a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// GNU bash.
    Bash,
    /// Any shell that goes by `sh`: what shells read differently is unknown.
    Unknown,
}

/// A shell line, understood or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shell {
    /// Every command the line can run, wrappers (`env`, `sudo`, `timeout`, `sh -c`, …) taken off.
    Commands(Vec<SimpleCommand>),
    /// It cannot be told what the line runs; why, in words. The commands that could be seen, in any
    /// reading, are there for the deny rules.
    Unknown { why: &'static str, seen: Vec<SimpleCommand> },
}

impl Shell {
    /// The commands that can be seen, whether or not they are all.
    pub(crate) fn commands(&self) -> &[SimpleCommand] {
        let (Self::Commands(commands) | Self::Unknown { seen: commands, .. }) = self;
        commands
    }
}

/// How much of a word is known before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The text is what the program gets.
    Exact,
    /// A pattern for names of files; any number of words.
    Glob,
    /// One word, whatever it will be.
    One,
    /// Any number of words, whatever they will be.
    Many,
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its text, quotes removed; as written where it is not known.
    pub(crate) text: String,
    pub(crate) certainty: Certainty,
}

impl Word {
    pub(crate) fn exact(text: impl Into<String>) -> Self {
        Self { text: text.into(), certainty: Certainty::Exact }
    }

    /// Whether the program gets this very text.
    pub(crate) fn is_exact(&self) -> bool {
        self.certainty == Certainty::Exact
    }

    /// Whether it is only known when it runs.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.certainty, Certainty::One | Certainty::Many)
    }
}

/// One command with its words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SimpleCommand {
    /// The program and its arguments.
    pub(crate) words: Vec<Word>,
    /// Files it writes by redirection.
    pub(crate) writes: Vec<String>,
    /// Files it reads by redirection.
    pub(crate) reads: Vec<String>,
    /// Whether something else is done to its input or output.
    pub(crate) plumbed: bool,
    /// Whether it runs with more rights (`sudo`, `doas`).
    pub(crate) elevated: bool,
    /// Whether another program starts it (`env`, `timeout`, `xargs`, `find -exec`).
    pub(crate) wrapped: bool,
}

impl SimpleCommand {
    /// The words as one line, for patterns.
    pub(crate) fn line(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The program's own name, without folders.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.text.rsplit('/').next().unwrap_or(&word.text))
    }

    /// The words after the program.
    pub(crate) fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Whether it is only known when it runs which program that is.
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

/// The most wrappers and nested `sh -c` that are looked through.
const NESTING: usize = 8;
/// The most commands of a line that are looked at.
const COMMANDS: usize = 20_000;
/// Of more commands than this the same one may be listed twice.
const COMPARED: usize = 200;
/// The most bytes of a line that are parsed.
const LINE_BYTES: usize = 64 * 1024;

/// Why a line is unknown that no check can see all of. Such a line is denied: asking would hide the commands that are denied in it.
pub(crate) const TOO_MUCH: &str = "the line is too long or too deeply nested to be checked";

/// Parses a line.
pub(crate) fn parse(line: &str, dialect: Dialect) -> Shell {
    let mut read = Read::of(line, dialect, 0);
    if read.unknown.is_some_and(|why| why != TOO_MUCH) {
        for variant in variants::of(line, dialect) {
            let other = Read::of(&variant, dialect, 0);
            for command in other.commands {
                // Few of them mostly; many are not compared with many.
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

/// Whether a line holds what the grammar reads otherwise than a shell: a backslash before a line break joins two words, and one before a space
/// or a tab begins or makes a word. Both were found by comparison with another parser.
fn misread(line: &str) -> bool {
    let bytes = line.as_bytes();
    let inside_word = |at: usize| at > 0 && bytes[at - 1].is_ascii_alphanumeric();
    let misread = |at: usize| match bytes.get(at + 1) {
        Some(b' ' | b'\t') => !inside_word(at),
        Some(next) => next.is_ascii_whitespace(),
        None => true,
    };
    line.contains('\r') || bytes.iter().enumerate().any(|(at, byte)| *byte == b'\\' && misread(at))
}
