//! The code contains no stubs, skipped tests, silenced lints, or notes for later.

use super::Problem;
use super::tree::{Tree, in_code, in_string};

/// Forbidden code, and what to do instead.
const CODE: [(&str, &str); 5] = [
    ("todo!(", "write it"),
    ("unimplemented!(", "write it, or return an error that says what is not supported"),
    ("#[ignore", "make the test fast and sure, or remove it"),
    ("#[allow(", "write `#[expect(lint, reason = \"…\")]`"),
    ("#![allow(", "write `#![expect(lint, reason = \"…\")]`"),
];

/// Words that a comment must not begin with.
const NOTES: [&str; 4] = ["TODO", "FIXME", "HACK", "XXX"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust_except_tidy() {
        for (index, line) in file.text.lines().enumerate() {
            for (needle, instead) in CODE.iter().filter(|(needle, _)| in_code(line, needle)) {
                problems.push(Problem::line(&file.path, index + 1, format!("`{needle}`: {instead}")));
            }
            if let Some(note) = NOTES.iter().find(|note| comment_begins_with(line, note)) {
                problems.push(Problem::line(
                    &file.path,
                    index + 1,
                    format!("{note}: do it now, or file an issue"),
                ));
            }
        }
    }
    problems
}

fn comment_begins_with(line: &str, note: &str) -> bool {
    let begins = |at: usize| line[at..].trim_start_matches(['/', '!', ' ']).starts_with(note);
    line.find("//").is_some_and(|at| !in_string(line, at) && begins(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> usize {
        check(&Tree::of(&[("crates/a/src/a.rs", line)])).len()
    }

    #[test]
    fn every_kind_of_stub_is_found() {
        for (needle, _) in CODE {
            assert_eq!(found(&format!("    {needle})]")), 1, "{needle}");
        }
        for note in NOTES {
            assert_eq!(found(&format!("    // {note}: later")), 1, "{note}");
            assert_eq!(found(&format!("    code(); /// {note} later")), 1, "{note}");
        }
    }

    #[test]
    fn a_mention_of_a_stub_is_not_one() {
        assert_eq!(found("    write(\"// TODO: a fixture\");"), 0);
        assert_eq!(found("    assert_eq!(grep(\"TODO\"), 1);"), 0);
        assert_eq!(found("    // A `todo!()` in a comment."), 0);
    }
}
