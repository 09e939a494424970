//! Splits a prompt into steps, and removes the filler words around them.

use super::{
    lexer::{Kind, Token},
    phrase::Phrase,
    verbs::is_verb,
};

/// Splits a prompt where steps end.
pub(crate) fn split_steps(phrase: Phrase<'_>) -> Vec<Phrase<'_>> {
    let tokens = phrase.tokens;
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut index = 0;
    while index < tokens.len() {
        let length = separator(tokens, index);
        if length > 0 {
            pieces.push(&tokens[start..index]);
            start = index + length;
        }
        index += length.max(1);
    }
    pieces.push(&tokens[start..]);
    let pieces = pieces.into_iter().map(|tokens| strip_fillers(phrase.with(tokens)));
    pieces.filter(|piece| !piece.is_empty() && !is_noise(*piece)).collect()
}

/// Returns how many tokens from `index` on separate two steps; 0 if the step continues.
fn separator(tokens: &[Token], index: usize) -> usize {
    let next = tokens.get(index + 1);
    match tokens[index].kind {
        Kind::Semicolon => 1,
        Kind::Break => {
            let next = tokens[index..].iter().find(|token| token.kind != Kind::Break);
            let continues = next.is_none_or(|next| {
                next.is_literal() && next.kind != Kind::Patch
                    || CONTINUATIONS.iter().any(|word| next.is_word(word))
            });
            let is_patch_of = next.is_some_and(|next| next.kind == Kind::Patch);
            usize::from(!continues && !is_patch_of)
        }
        Kind::Word if tokens[index].is_word("then") => 1,
        Kind::Word if tokens[index].is_word("after") && next.is_some_and(|next| next.is_word("that")) => 2,
        Kind::Stop => {
            let begins = |next: &Token| {
                let is_capital = next.text.starts_with(char::is_uppercase);
                is_capital
                    && (is_verb(next)
                        || FILLERS.iter().any(|word| next.is_word(word.split(' ').next().unwrap_or(word))))
            };
            usize::from(next.is_some_and(|next| next.kind == Kind::Word && begins(next)))
        }
        _ => 0,
    }
}

/// Removes filler words and punctuation at both ends.
fn strip_fillers(phrase: Phrase<'_>) -> Phrase<'_> {
    let mut phrase = strip_leading_fillers(phrase);
    while phrase.consume_end(&["and"]) {
        phrase = phrase.trimmed();
    }
    phrase
}

/// Removes filler words at the start.
pub(crate) fn strip_leading_fillers(phrase: Phrase<'_>) -> Phrase<'_> {
    let mut phrase = phrase.trimmed();
    loop {
        let before = phrase.tokens.len();
        if phrase.consume(&["step"]) {
            let is_number = phrase.tokens.first().is_some_and(|token| token.text.parse::<usize>().is_ok());
            phrase.tokens = &phrase.tokens[usize::from(is_number)..];
        }
        phrase.consume(FILLERS);
        phrase = phrase.trimmed();
        if phrase.tokens.len() == before {
            return phrase;
        }
    }
}

fn is_noise(mut phrase: Phrase<'_>) -> bool {
    phrase.consume(NOISE) && phrase.is_empty()
}

const FILLERS: &[&str] = &[
    "please",
    "now",
    "first",
    "second",
    "next",
    "also",
    "finally",
    "lastly",
    "kindly",
    "ok",
    "okay",
    "and",
    "so",
    "just",
    "can you",
    "could you",
    "would you",
    "will you",
    "i want you to",
    "i would like you to",
    "i'd like you to",
    "let's",
    "let us",
    "hello",
    "hi",
    "hey",
    "fix",
    "after that",
    "afterwards",
    "you should",
];
const NOISE: &[&str] =
    &["do the following", "do this", "follow these steps", "the following steps", "steps", "do these steps"];
const CONTINUATIONS: &[&str] = &["with", "by", "in", "to", "into", "from", "after", "before", "everywhere"];
