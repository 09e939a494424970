//! Parses a command's options as GNU programs and git do: in any order, letters combined, long
//! names abbreviated.

use super::shell::Word;

/// The words after a program or its subcommand.
#[derive(Clone, Copy)]
pub(super) struct Options<'a> {
    words: &'a [Word],
    /// Letters of options that take a value.
    valued: &'a str,
}

impl<'a> Options<'a> {
    pub(super) fn new(words: &'a [Word], valued: &'a str) -> Self {
        Self { words, valued }
    }

    /// Returns the words before `--`.
    fn before_operands(&self) -> impl Iterator<Item = &'a Word> + use<'a> {
        self.words.iter().take_while(|word| word.text != "--")
    }

    /// Whether an option letter is given, alone or combined with others.
    pub(super) fn has_letter(&self, letter: char) -> bool {
        self.before_operands().any(|word| {
            let letters = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            let letters = letters.unwrap_or_default();
            // The rest of a word after a letter with a value is that value.
            let end = letters.find(|c| self.valued.contains(c)).map_or(letters.len(), |at| at + 1);
            letters[..end.min(letters.len())].contains(letter)
        })
    }

    /// Whether a long option is given. Every abbreviation counts, even an ambiguous one, because a
    /// newer version of the program may accept it.
    pub(super) fn has_long(&self, name: &str) -> bool {
        self.before_operands().any(|word| {
            let given = word.text.strip_prefix("--").map(|rest| rest.split('=').next().unwrap_or(rest));
            given.is_some_and(|given| !given.is_empty() && name.starts_with(given))
        })
    }

    /// Returns the value of a letter or long option, attached or in the next word; empty if it is
    /// missing.
    pub(super) fn value(&self, letter: char, name: &str) -> Option<&'a str> {
        let mut words = self.before_operands().peekable();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if let Some(long) = text.strip_prefix("--") {
                let (given, value) = long.split_once('=').map_or((long, None), |(a, b)| (a, Some(b)));
                if !given.is_empty() && name.starts_with(given) {
                    return value.or_else(|| words.peek().map(|next| next.text.as_str())).or(Some(""));
                }
            } else if let Some(letters) = text.strip_prefix('-')
                && let Some(at) = letters.find(letter)
            {
                let rest = &letters[at + letter.len_utf8()..];
                return match rest {
                    "" => words.peek().map(|next| next.text.as_str()).or(Some("")),
                    rest => Some(rest),
                };
            }
        }
        None
    }

    /// Returns the words that are not options, as far as the words alone show.
    pub(super) fn operands(&self) -> impl Iterator<Item = &'a Word> + use<'a> {
        let end = self.words.iter().position(|word| word.text == "--").unwrap_or(self.words.len());
        let (before, after) = self.words.split_at(end);
        let before = before.iter().filter(|word| !word.text.starts_with('-') || word.text == "-");
        before.chain(after.iter().skip(1))
    }

    /// Whether a word that is known only at run time may hide an option.
    pub(super) fn is_open(&self) -> bool {
        let mut before = self.before_operands().filter(|word| !word.text.starts_with('-') || word.is_open());
        let (mut open, mut one, mut operands) = (false, 0, self.operands().count());
        before.by_ref().for_each(|word| {
            match word.certainty {
                super::shell::Certainty::Many => open = true,
                super::shell::Certainty::Glob => open |= may_be_option(&word.text),
                // A single unknown word is either the option or its operand, and one without the
                // other has no effect.
                super::shell::Certainty::One
                    if !word.text.starts_with(|c: char| c.is_ascii_alphanumeric() || "./~".contains(c)) =>
                {
                    one += 1
                }
                _ => {}
            }
        });
        operands = operands.saturating_sub(one);
        open || (one > 0 && (operands > 0 || one > 1))
    }
}

/// Whether a pattern may expand to a file name that looks like an option.
fn may_be_option(pattern: &str) -> bool {
    pattern.starts_with(['*', '?', '['])
        && pattern.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '*' | '?' | '[' | ']' | '-'))
}
