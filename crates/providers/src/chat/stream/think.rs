//! Extracts reasoning that a server leaves in the content, between `<think>` and `</think>`.
//!
//! Servers that know a model's template extract it; others stream it as it is generated. Only a tag
//! at the beginning of the answer marks reasoning: text that mentions the tag later is left alone.

/// The opening tags of reasoning, each with its closing tag.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// The position of the parser in the content.
#[derive(Debug)]
pub(super) enum ThinkTagSplitter {
    /// At the beginning; text that may become an opening tag is held back.
    Beginning(String),
    /// Between the tags; text that may become the closing tag is held back.
    Inside { end: &'static str, held: String },
    /// Right after the closing tag; white space there is dropped.
    AfterTag,
    /// In the answer.
    Answer,
}

/// The reasoning and the text of a piece of content.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ContentPiece {
    pub(super) reasoning: String,
    /// The text after the reasoning.
    pub(super) text: String,
}

impl Default for ThinkTagSplitter {
    fn default() -> Self {
        Self::Beginning(String::new())
    }
}

impl ThinkTagSplitter {
    /// Parses a piece of content.
    pub(super) fn feed(&mut self, piece: &str) -> ContentPiece {
        let mut piece_read = ContentPiece::default();
        let mut rest = piece.to_owned();
        while !rest.is_empty() {
            rest = self.step(rest, &mut piece_read);
        }
        piece_read
    }

    /// Ends the content, or its beginning if reasoning arrives in another way, and emits held-back
    /// text.
    pub(super) fn finish(&mut self) -> ContentPiece {
        match std::mem::replace(self, Self::Answer) {
            Self::Beginning(held) => ContentPiece { text: held, ..ContentPiece::default() },
            Self::Inside { held, .. } => ContentPiece { reasoning: held, ..ContentPiece::default() },
            Self::AfterTag | Self::Answer => ContentPiece::default(),
        }
    }

    /// Consumes text up to the next change of position and returns the rest.
    fn step(&mut self, text: String, piece_read: &mut ContentPiece) -> String {
        match self {
            Self::Beginning(held) => {
                held.push_str(&text);
                let start = held.trim_start();
                if let Some((tag, end)) = TAGS.into_iter().find(|(tag, _)| start.starts_with(tag)) {
                    let rest = start[tag.len()..].to_owned();
                    *self = Self::Inside { end, held: String::new() };
                    return rest;
                }
                if !TAGS.iter().any(|(tag, _)| tag.starts_with(start)) {
                    piece_read.text.push_str(held);
                    *self = Self::Answer;
                }
            }
            Self::Inside { end, held } => {
                held.push_str(&text);
                if let Some(at) = held.find(*end) {
                    piece_read.reasoning.push_str(&held[..at]);
                    let rest = held[at + end.len()..].to_owned();
                    *self = Self::AfterTag;
                    return rest;
                }
                let keep = (1..end.len()).rev().find(|length| held.ends_with(&end[..*length])).unwrap_or(0);
                piece_read.reasoning.extend(held.drain(..held.len() - keep));
            }
            Self::AfterTag => {
                let rest = text.trim_start().to_owned();
                if !rest.is_empty() {
                    *self = Self::Answer;
                }
                return rest;
            }
            Self::Answer => piece_read.text.push_str(&text),
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_and_text_do_not_depend_on_chunk_boundaries() {
        for (content, reasoning, text) in [
            ("<think>Hm.\n</think>\n\nYes.", "Hm.\n", "Yes."),
            ("\n <think>a < b</think>x</think>", "a < b", "x</think>"),
            ("<thinking>a</think>b</thinking>c", "a</think>b", "c"),
            ("<think>never closed </thi", "never closed </thi", ""),
            ("<think></think>", "", ""),
            ("The tag <think> begins </think> it.", "", "The tag <think> begins </think> it."),
            ("<thin ice>", "", "<thin ice>"),
            ("  <th", "", "  <th"),
            ("  plain", "", "  plain"),
            ("Größe <think>", "", "Größe <think>"),
        ] {
            for size in 1..=content.chars().count() {
                let chars: Vec<_> = content.chars().collect();
                let (mut think, mut got) = (ThinkTagSplitter::default(), ContentPiece::default());
                let mut add = |piece_read: ContentPiece| {
                    got.reasoning.push_str(&piece_read.reasoning);
                    got.text.push_str(&piece_read.text);
                };
                chars.chunks(size).for_each(|piece| add(think.feed(&piece.iter().collect::<String>())));
                add(think.finish());
                let expected = ContentPiece { reasoning: reasoning.into(), text: text.into() };
                assert_eq!(got, expected, "{content:?} in pieces of {size}");
            }
        }
    }
}
