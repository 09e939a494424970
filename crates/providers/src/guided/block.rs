//! File contents in the answers of a model.

use super::words::base;

/// Words that stand in for code that a model left out.
const OMISSIONS: [&str; 8] = [
    "rest of the",
    "rest of your",
    "existing code",
    "remaining code",
    "code unchanged",
    "unchanged code",
    "code remains",
    "same as before",
];

/// An answer that holds the text of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rewritten {
    /// The text before the file's, without surrounding white space.
    pub(super) introduction: String,
    /// The text of the file. Ends with a line feed unless it is empty.
    pub(super) text: String,
}

/// A fenced block and the lines between the block before and it.
struct Block<'a> {
    introduction: Vec<&'a str>,
    lines: Vec<&'a str>,
}

/// Reads the text of a file from an answer: from the only fenced block, or of several from the one
/// that names the file, or else from the longest. In a Markdown file fences may stand inside: its
/// block extends to the last closing fence. `None` if there is no closed block; an open one means
/// that the answer was cut off.
pub(super) fn rewritten(answer: &str, file: &str) -> Option<Rewritten> {
    let base = base(file);
    let is_apart = |head: &str| !head.ends_with(|c: char| c.is_alphanumeric() || "_-.".contains(c));
    let has_name = |line: &&str| line.match_indices(base).any(|(at, _)| is_apart(&line[..at]));
    let names_file = |block: &Block| block.introduction.iter().chain(block.lines.first()).any(has_name);
    let blocks = match base.rsplit_once('.') {
        Some((_, "md" | "markdown")) => Vec::from_iter(outer_block(answer)),
        _ => blocks(answer),
    };
    let named = if blocks.len() > 1 { blocks.iter().rfind(|block| names_file(block)) } else { None };
    let Block { introduction, lines } =
        named.or_else(|| blocks.iter().rev().max_by_key(|block| block.lines.len()))?;
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    let introduction = introduction.join("\n");
    Some(Rewritten { introduction: without_announcement(introduction.trim()).to_owned(), text })
}

fn fence(line: &str) -> Option<&str> {
    let line = line.trim();
    let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
    (ticks >= 3).then(|| &line[..ticks])
}

/// The closed blocks of an answer.
fn blocks(answer: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut introduction = Vec::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in answer.lines() {
        match (&mut open, fence(line)) {
            (Some((closing, _)), Some(_)) if line.trim() == *closing => {
                let (_, lines) = open.take().unwrap_or_default();
                blocks.push(Block { introduction: std::mem::take(&mut introduction), lines });
            }
            (Some((_, lines)), _) => lines.push(line),
            (None, Some(opening)) => open = Some((opening, Vec::new())),
            (None, None) => introduction.push(line),
        }
    }
    blocks
}

/// What stands between the first fence of an answer and the last.
fn outer_block(answer: &str) -> Option<Block<'_>> {
    let lines: Vec<&str> = answer.lines().collect();
    let start = lines.iter().position(|line| fence(line).is_some())?;
    let opening = fence(lines[start])?;
    let end = lines.iter().rposition(|line| line.trim() == opening).filter(|end| *end > start)?;
    Some(Block { introduction: lines[..start].to_vec(), lines: lines[start + 1..end].to_vec() })
}

/// Removes what models put around a file that is not part of it, unless the old text has it: the
/// tags in which it was shown to them, and a first line that only names it in a comment.
pub(super) fn without_frame(text: &str, file: &str, old: Option<&str>) -> String {
    let base = base(file);
    let is_old = |line: &str| old.is_some_and(|old| old.lines().any(|known| known.trim() == line.trim()));
    let is_tag = |line: &str| {
        let line = line.trim();
        (line == "<file>" || line == "</file>" || line.starts_with("<file path=")) && !is_old(line)
    };
    let is_name = |line: &str| {
        let line = line.trim();
        let words = line.trim_start_matches(['#', '/', '*', '<', '!', '-', ';', ' ']);
        let words = words.trim_end_matches(['*', '/', '-', '>', ' ', ':']);
        words.len() < line.len() && (words == base || words == file) && !is_old(line)
    };
    let mut lines: Vec<&str> = text.lines().filter(|line| !is_tag(line)).collect();
    if lines.len() > 1 && is_name(lines[0]) {
        lines.remove(0);
    }
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Removes a last sentence such as "Here is the new text:", whose block is not shown.
fn without_announcement(text: &str) -> &str {
    if !text.ends_with(':') {
        return text;
    }
    let sentence = text.rfind(". ").map_or(0, |at| at + 1);
    let line = text.rfind('\n').unwrap_or(0);
    text[..sentence.max(line)].trim_end()
}

/// Returns whether a rewritten text can replace the old one: it differs, and no comment stands in
/// for a part of the file.
pub(super) fn is_usable(old: Option<&str>, new: &str) -> bool {
    let Some(old) = old else { return true };
    let omits = |line: &str| {
        let lower = line.to_lowercase();
        let is_comment = ["//", "#", "/*", "<!--", "--", "...", "…"].iter().any(|mark| lower.contains(mark));
        is_comment && OMISSIONS.iter().any(|words| lower.contains(words)) && !old.contains(line.trim())
    };
    old.trim_end() != new.trim_end() && !new.lines().any(omits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_markdown_file_may_contain_fences() {
        let answer = "It must say bye. Here is a.md:\n\n```markdown\n# A\n\n```sh\nls\n```\nend\n```\nDone.";
        let read = rewritten(answer, "a.md").unwrap();
        assert_eq!(read.introduction, "It must say bye.");
        assert_eq!(read.text, "# A\n\n```sh\nls\n```\nend\n");
    }

    #[test]
    fn an_answer_without_a_closed_block_has_no_file() {
        for file in ["a.py", "a.md"] {
            assert_eq!(rewritten("I changed it.", file), None);
            assert_eq!(rewritten("```py\nprint(1)\n", file), None);
            assert_eq!(rewritten("```\n```", file).unwrap().text, "");
        }
    }

    #[test]
    fn of_several_blocks_the_one_that_names_the_file_is_read() {
        let answer =
            "Here is `a.py`:\n```py\na = 1\n```\nAnd here is `src/test_a.py`:\n```py\nb = 1\n```\nDone.";
        assert_eq!(rewritten(answer, "a.py").unwrap().text, "a = 1\n");
        assert_eq!(rewritten(answer, "src/test_a.py").unwrap().text, "b = 1\n");
        let answer = "This line changes:\n```py\na = 2\n```\nThe whole text:\n```py\na = 2\nb = 1\n```\n";
        assert_eq!(rewritten(answer, "a.py").unwrap().text, "a = 2\nb = 1\n");
    }

    #[test]
    fn what_models_put_around_a_file_is_removed() {
        assert_eq!(without_frame("# a.py\nx = 1\n", "src/a.py", Some("x = 0\n")), "x = 1\n");
        assert_eq!(without_frame("<file>\nx = 1\n</file>\n", "a.py", Some("x = 0\n")), "x = 1\n");
        assert_eq!(without_frame("// src/a.js\nx\n", "src/a.js", None), "x\n");
        assert_eq!(without_frame("/* a.c */\nx\n", "a.c", None), "x\n");
        for (text, old) in
            [("# a.py\nx = 1\n", Some("# a.py\nx = 0\n")), ("a.py\nb.py\n", None), ("# a\n", None)]
        {
            assert_eq!(without_frame(text, "a.py", old), text);
        }
    }

    #[test]
    fn a_text_that_is_the_same_or_leaves_code_out_is_refused() {
        assert!(!is_usable(Some("a\n"), "a"));
        assert!(!is_usable(Some("a\nb\n"), "c\n# ... rest of the code\n"));
        assert!(is_usable(Some("a\n# rest of the code\n"), "c\n# rest of the code\n"));
        assert!(is_usable(None, "# rest of the code"));
    }
}
