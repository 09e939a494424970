//! No prompt makes the pilot panic or answer without end.

use super::{phrasings::parse_piece, tools::FakeTools};
use agent::Content;
use proptest::prelude::*;

const PIECES: &[&str] = &[
    "show",
    "replace",
    "with",
    "in",
    "'a'",
    "\"b",
    "`",
    "```",
    "\n",
    ";",
    "then",
    "and",
    "a.txt",
    "lines",
    "1-2",
    "0",
    "rename",
    "symbol",
    "to",
    "run",
    "ls",
    "create",
    "insert",
    "after",
    "line",
    "delete",
    "make a plan",
    ":",
    ",",
    ".",
    "*** Begin Patch\n",
    "*** End Patch",
    "ü",
    "🦀",
    "search for",
    "(",
    "\\",
    "2.",
    "-",
    "“x”",
    "it",
    "the",
    "file",
    "all",
    "append",
    "move",
    "list",
    "*.rs",
    "every",
    "first",
];

proptest! {
    #[test]
    fn any_text_is_parsed_without_panicking(text in any::<String>()) {
        parse_piece(&text);
    }

    #[test]
    fn any_mix_of_words_comes_to_an_end(picks in prop::collection::vec(0..PIECES.len(), 0..24), glued in any::<bool>()) {
        let words: Vec<&str> = picks.into_iter().map(|pick| PIECES[pick]).collect();
        let prompt = words.join(if glued { "" } else { " " });
        let mut fake = FakeTools::new(&[("a.txt", "a\nb\n\na\n"), ("src/b.rs", "fn a() {}\n")]);
        let messages = fake.play(vec![Content::text(prompt)]);
        prop_assert!(!messages.last().expect("it says something").is_empty());
    }
}
