//! File contents in the answers of a model.

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

/// Reads the first fenced block of an answer. It extends to the last closing fence, because a
/// Markdown file may contain fences itself. `None` if there is no block, or if it is not closed,
/// which means that the answer was cut off.
pub(super) fn rewritten(answer: &str) -> Option<Rewritten> {
    let lines: Vec<&str> = answer.lines().collect();
    let start = lines.iter().position(|line| line.trim_start().starts_with("```"))?;
    let fence: String = lines[start].trim_start().chars().take_while(|c| *c == '`').collect();
    let end = lines.iter().rposition(|line| line.trim() == fence).filter(|end| *end > start)?;
    let mut text = lines[start + 1..end].join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    Some(Rewritten { introduction: without_announcement(lines[..start].join("\n").trim()).to_owned(), text })
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
    fn a_block_ends_at_the_last_fence() {
        let answer = "It must say bye. Here is a.md:\n\n```markdown\n# A\n\n```sh\nls\n```\nend\n```\nDone.";
        let read = rewritten(answer).unwrap();
        assert_eq!(read.introduction, "It must say bye.");
        assert_eq!(read.text, "# A\n\n```sh\nls\n```\nend\n");
    }

    #[test]
    fn an_answer_without_a_closed_block_has_no_file() {
        assert_eq!(rewritten("I changed it."), None);
        assert_eq!(rewritten("```py\nprint(1)\n"), None);
        assert_eq!(rewritten("```\n```").unwrap().text, "");
    }

    #[test]
    fn a_text_that_is_the_same_or_leaves_code_out_is_refused() {
        assert!(!is_usable(Some("a\n"), "a"));
        assert!(!is_usable(Some("a\nb\n"), "c\n# ... rest of the code\n"));
        assert!(is_usable(Some("a\n# rest of the code\n"), "c\n# rest of the code\n"));
        assert!(is_usable(None, "# rest of the code"));
    }
}
