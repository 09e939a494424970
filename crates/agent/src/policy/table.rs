//! The table of commands that run without approval and without confinement.
//!
//! A command is in the table if its program is, by its bare name, and so is each of its words: a
//! listed option, with its value if it takes one, or an operand. No entry writes, runs another
//! program, sends data, or reads from the project what to run. An unlisted or abbreviated option is
//! rejected.

mod programs;
mod search;
mod shapes;

use super::{
    rules,
    shell::{Certainty, SimpleCommand, Word},
};
use programs::PROGRAMS;

/// One program of the table.
struct Program {
    name: &'static str,
    /// Letters of options without a value; they may be combined.
    letters: &'static str,
    /// Letters of options with a value, attached or in the next word.
    valued: &'static str,
    /// Long options without a value.
    flags: &'static [&'static str],
    /// Long options with a value, after `=` or in the next word; a trailing `?` marks an optional
    /// value, only after `=`.
    long: &'static [&'static str],
    operands: Operands,
    /// Whether the operands are files that the program reads.
    reads: bool,
    /// Whether words may be patterns, because no option of the program is harmful.
    globs: bool,
}

/// The words allowed besides options.
enum Operands {
    None,
    Any,
    AtMost(usize),
    /// Everything after the program, checked as a whole.
    All(fn(&[&str]) -> bool),
    /// Each operand, checked separately.
    Each(fn(&str) -> bool),
}

/// The accesses of a command in the table.
pub(super) struct TableMatch<'a> {
    /// Words that name files.
    pub(super) files: Vec<&'a str>,
}

/// Returns what a command reads if it is in the table.
pub(super) fn lookup(command: &SimpleCommand) -> Option<TableMatch<'_>> {
    let plain = command.writes.is_empty()
        && command.reads.is_empty()
        && !command.plumbed
        && !command.elevated
        && !command.wrapped
        && !command.words.iter().any(Word::is_open);
    let (name, words) = command.words.split_first().filter(|_| plain)?;
    let program = PROGRAMS.iter().find(|program| name.is_exact() && program.name == name.text)?;
    program.match_words(words)
}

/// Returns the program and subcommand of a command that "always" may allow outside a sandbox,
/// whatever its listed options and operands.
pub(super) fn shape(command: &SimpleCommand) -> Option<&'static str> {
    let mut shapes = shapes::SHAPES.iter();
    shapes.find_map(|(words, program)| {
        let mut rest = command.words.as_slice();
        for word in words.split(' ') {
            let (first, others) = rest.split_first()?;
            rest = (first.is_exact() && first.text == word).then_some(others)?;
        }
        (rest.iter().all(Word::is_exact) && program.match_words(rest).is_some()).then_some(*words)
    })
}

impl Program {
    fn match_words<'a>(&self, words: &'a [Word]) -> Option<TableMatch<'a>> {
        let mut operands = Vec::new();
        let mut words = words.iter();
        if let Operands::All(check) = self.operands {
            let all: Vec<_> = words.clone().map(|word| word.text.as_str()).collect();
            let exact = words.all(|word| {
                word.is_exact() || begins_plainly(&word.text) || word.text.starts_with("--include=")
            });
            let files = if self.reads { all.clone() } else { Vec::new() };
            return (exact && check(&all)).then_some(TableMatch { files });
        }
        let mut options = true;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if word.certainty == Certainty::Glob {
                if !(self.globs || !options || begins_plainly(text)) || rules::may_name_secret(text) {
                    return None;
                }
                operands.push(text);
            } else if options && text == "--" {
                options = false;
            } else if options && text.len() > 1 && text.starts_with('-') {
                if self.takes_next(text)? {
                    words.next().filter(|word| word.is_exact())?;
                }
            } else {
                operands.push(text);
            }
        }
        let fits = match self.operands {
            Operands::None => operands.is_empty(),
            Operands::Any | Operands::All(_) => true,
            Operands::AtMost(most) => operands.len() <= most,
            Operands::Each(check) => operands.iter().all(|operand| check(operand)),
        };
        let files = if self.reads { operands } else { Vec::new() };
        fits.then_some(TableMatch { files })
    }

    /// Whether an option takes the next word as its value; `None` if the option is not in the
    /// table.
    fn takes_next(&self, option: &str) -> Option<bool> {
        if let Some(long) = option.strip_prefix("--") {
            return match long.split_once('=') {
                None if self.flags.contains(&long) => Some(false),
                None if self.long.contains(&long) => Some(true),
                None => self.long.iter().any(|own| own.strip_suffix('?') == Some(long)).then_some(false),
                Some((name, _)) => {
                    self.long.iter().any(|own| own.strip_suffix('?').unwrap_or(own) == name).then_some(false)
                }
            };
        }
        let letters = &option[1..];
        let number = letters.bytes().all(|byte| byte.is_ascii_digit());
        if number && matches!(self.name, "head" | "tail" | "grep" | "diff") {
            return Some(false);
        }
        for (at, letter) in letters.char_indices() {
            if self.valued.contains(letter) {
                return Some(at + letter.len_utf8() == letters.len());
            }
            if !self.letters.contains(letter) {
                return None;
            }
        }
        Some(false)
    }
}

/// Whether a pattern begins with a literal character, so that it never expands to a name that looks
/// like an option.
fn begins_plainly(pattern: &str) -> bool {
    pattern.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_'))
}

#[cfg(test)]
mod tests;
