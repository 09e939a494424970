//! Sections of a file that is too long to be rewritten as a whole.

use std::ops::Range;

/// Bytes from which a section ends at the next line that begins a definition or paragraph.
const SECTION_BYTES: usize = 1_500;
/// Bytes after which a section ends at any line.
const MAX_SECTION_BYTES: usize = 6 * 1024;
/// Characters of a label's excerpt.
const EXCERPT_CHARS: usize = 70;

/// Consecutive lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// The lines, the first being 1.
    lines: Range<usize>,
    bytes: Range<usize>,
    /// The text of the lines.
    pub(super) text: String,
}

impl Section {
    /// A line that identifies the section in a list: its lines, and how they begin.
    pub(super) fn label(&self) -> String {
        let first = self.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let excerpt: String = first.trim().chars().take(EXCERPT_CHARS).collect();
        format!("lines {}-{}: {excerpt}", self.lines.start, self.lines.end - 1)
    }

    /// What the section is called in a request.
    pub(super) fn title(&self, name: &str) -> String {
        format!("lines {}-{} of {name}", self.lines.start, self.lines.end - 1)
    }

    /// Returns the file's text with a new text of this section.
    pub(super) fn replaced(&self, text: &str, new: &str) -> String {
        format!("{}{new}{}", &text[..self.bytes.start], &text[self.bytes.end..])
    }
}

/// Splits a text into sections. They begin at lines without indentation that follow an empty line,
/// if there are any.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut sections = Vec::new();
    let (mut first, mut start, mut at) = (1, 0, 0);
    let mut follows_blank = false;
    let mut push = |lines: Range<usize>, bytes: Range<usize>| {
        let text = text[bytes.clone()].to_owned();
        sections.push(Section { lines, bytes, text });
    };
    let mut count = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let size = at - start;
        let begins = follows_blank && line.starts_with(|c: char| !c.is_whitespace());
        if size > 0 && ((begins && size >= SECTION_BYTES) || size + line.len() > MAX_SECTION_BYTES) {
            push(first..number, start..at);
            (first, start) = (number, at);
        }
        follows_blank = line.trim().is_empty();
        at += line.len();
        count = number;
    }
    if at > start {
        push(first..count + 1, start..at);
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_begin_at_definitions_and_cover_the_text() {
        let function = |n: usize| format!("def f{n}():\n{}\n", "    print(1)\n".repeat(60));
        let text: String = (0..9).map(function).collect();
        let parts = sections(&text);
        assert!(parts.len() > 2, "{}", parts.len());
        assert_eq!(parts.iter().map(|part| part.text.as_str()).collect::<String>(), text);
        assert!(parts.iter().all(|part| part.text.starts_with("def f")));
        assert_eq!(parts[0].label(), "lines 1-124: def f0():");
        let new = parts[1].replaced(&text, "x\n");
        assert_eq!(new.len(), text.len() - parts[1].text.len() + 2);
        assert!(new.contains("\n\nx\ndef f"));
    }

    #[test]
    fn a_text_without_paragraphs_is_split_at_lines() {
        let text = "word word word\n".repeat(1_000);
        let parts = sections(&text);
        assert!(parts.iter().all(|part| part.text.len() <= MAX_SECTION_BYTES));
        assert_eq!(parts.iter().map(|part| part.text.as_str()).collect::<String>(), text);
        assert!(sections("").is_empty());
    }
}
