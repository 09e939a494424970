//! Comments and documents are short lines of plain words.

use super::Problem;
use super::tree::{File, Tree};

/// Directories and files that do not follow these rules yet. Remove a line once they do.
const EXCLUDED: &[&str] = &["docs/tests.md"];

/// The width of a comment line.
const COMMENT: usize = 100;
/// The width of a line in a document, outside tables, code and links.
const DOCUMENT: usize = 120;

/// Words that were overused, with what to write instead. Words in backticks and in double quotes
/// are not checked: that is how a text mentions a word.
const WORDS: &[(&str, &str)] = &[
    ("nobody", "name who does not, or write \"no client\", \"no user\""),
    ("somebody", "name who: the user, a client, another process"),
    ("whoever", "name who: the caller, the user, the client"),
    ("told", "write notified, reported, or what is sent"),
    ("said", "write reported, answered, or what was sent"),
    ("looked at", "write read, checked or examined"),
    ("for ever", "write forever, or give the limit"),
    ("for good", "write permanently or indefinitely"),
    ("by hand", "write manually"),
    ("put away", "write archived"),
    ("becomes of", "write what happens to it, or the result"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let checked = |file: &&File| !EXCLUDED.iter().any(|folder| file.path.starts_with(folder));
    // The checks of this directory name the words that they search.
    for file in tree.rust().filter(checked).filter(|file| file.path != "xtask/src/tidy/prose.rs") {
        for (number, line) in (1..).zip(file.text.lines()) {
            let Some(comment) = comment(line) else { continue };
            if line.trim_start().starts_with("//") && is_long(line, COMMENT) {
                let message = format!("the comment is over {COMMENT} columns; wrap it");
                problems.push(Problem::line(&file.path, number, message));
            }
            problems.extend(words(comment).map(|message| Problem::line(&file.path, number, message)));
        }
    }
    for file in tree.files().iter().filter(|file| is_document(&file.path)).filter(checked) {
        let mut fenced = false;
        for (number, line) in (1..).zip(file.text.lines()) {
            fenced ^= line.trim_start().starts_with("```");
            if fenced {
                continue;
            }
            if !line.starts_with('|') && is_long(line, DOCUMENT) {
                let message = format!("the line is over {DOCUMENT} columns; wrap it");
                problems.push(Problem::line(&file.path, number, message));
            }
            problems.extend(words(line).map(|message| Problem::line(&file.path, number, message)));
        }
    }
    problems
}

/// Returns whether a file is a document of the project: not a text that the program contains.
fn is_document(path: &str) -> bool {
    path.ends_with(".md") && !path.starts_with("crates/") && !path.starts_with("eval/tasks/")
}

/// Returns whether a line is too long although it can be wrapped: links cannot.
fn is_long(line: &str, width: usize) -> bool {
    let longest = line.split_whitespace().map(|word| word.chars().count()).max().unwrap_or_default();
    line.chars().count() > width && longest < width / 2
}

/// Returns the comment of a line of Rust.
fn comment(line: &str) -> Option<&str> {
    let starts = line.match_indices("//").map(|(at, _)| at);
    let mut starts = starts.filter(|at| !super::tree::in_string(line, *at));
    // An address in a string over several lines is not a comment.
    starts.find(|at| line[..*at].trim_end().is_empty() || line[..*at].ends_with(' ')).map(|at| &line[at..])
}

/// Returns a message for each overused word.
fn words(text: &str) -> impl Iterator<Item = String> {
    let plain = without(&without(text, '`'), '"').to_lowercase();
    let found = move |word: &str| {
        plain.match_indices(word).any(|(at, _)| {
            let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !letter(plain[..at].chars().next_back()) && !letter(plain[at + word.len()..].chars().next())
        })
    };
    let found = WORDS.iter().filter(move |(word, _)| found(word));
    found.map(|(word, instead)| format!("`{word}` is overused here: {instead}"))
}

/// Returns a text without what is between two quotes.
fn without(text: &str, quote: char) -> String {
    text.split(quote).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn long_lines_are_found_where_they_can_be_wrapped() {
        let long = "word ".repeat(25);
        assert_eq!(found("crates/x/src/a.rs", &format!("// {long}")), 1);
        assert_eq!(found("crates/x/src/a.rs", &format!("let x = \"{long}\";")), 0);
        assert_eq!(found("crates/x/src/a.rs", &format!("// {}", "x".repeat(120))), 0);
        assert_eq!(found("docs/a.md", &long), 1);
        assert_eq!(found("docs/a.md", &format!("| {long} |")), 0);
        assert_eq!(found("docs/a.md", &format!("```\n{long}\n```")), 0);
        assert_eq!(found("crates/lua/src/guides/a.md", &long), 0);
    }

    #[test]
    fn overused_words_are_found_in_comments_and_documents() {
        assert_eq!(found("crates/x/src/a.rs", "f(); // Nobody waits."), 1);
        assert_eq!(found("crates/x/src/a.rs", "let nobody = \"// nobody\";"), 0);
        assert_eq!(found("crates/x/src/a.rs", "/// The name `nobody`, and \"told\"."), 0);
        assert_eq!(found("docs/a.md", "It is told, and put away."), 2);
        assert_eq!(found("docs/a.md", "untold, sailors_said"), 0);
    }

    #[test]
    fn excluded_paths_exist() {
        let tree = Tree::from_workspace().unwrap();
        for folder in EXCLUDED {
            assert!(
                tree.files().iter().any(|file| file.path.starts_with(folder)),
                "{folder} is gone; remove it"
            );
        }
    }
}
